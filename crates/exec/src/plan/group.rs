//! Values inside a group: elements not yet computed, over loads of buffers and of results in registers.

use super::{BufferId, ValueLocation};
use relayc_ir::kernel::{Body, Instr, Val, View};
use relayc_ir::types::DType;
use std::sync::Arc;

/// A value, whose parts are shared. Tuples are as shallow as [`Types::is_shallow`](relayc_ir::types::Types::is_shallow) requires.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Tensor(Arc<Lazy>),
    Tuple(Arc<[Value]>),
}

impl From<Lazy> for Value {
    fn from(lazy: Lazy) -> Value {
        Value::Tensor(Arc::new(lazy))
    }
}

impl Value {
    /// Location of the value.
    pub(crate) fn seen(&self) -> ValueLocation {
        match self {
            Value::Tensor(lazy) => lazy.seen(),
            Value::Tuple(fields) => ValueLocation::Tuple(fields.iter().map(Value::seen).collect()),
        }
    }
}

/// The source of a load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    Buffer(BufferId),
    /// The result of an anchor, at the same index.
    Anchor(usize),
}

/// A load: one element for each index.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Load {
    pub(crate) source: Source,
    pub(crate) dtype: DType,
    pub(crate) view: View,
}

/// A tensor whose elements are computed by a body over loads.
#[derive(Clone, Debug)]
pub(crate) struct Lazy {
    pub(crate) dims: Vec<u64>,
    pub(crate) dtype: DType,
    pub(crate) loads: Vec<Load>,
    pub(crate) body: Body,
    pub(crate) result: Val,
    /// The operators in the body.
    pub(crate) ops: Vec<&'static str>,
}

impl Lazy {
    /// The unchanged elements of a load.
    pub(crate) fn load(load: Load) -> Lazy {
        let mut body = Body::new();
        let result = body.read(0);
        Lazy { dims: load.view.dims.clone(), dtype: load.dtype, loads: vec![load], body, result, ops: vec![] }
    }

    /// The load that this is, if it computes nothing.
    pub(crate) fn plain(&self) -> Option<&Load> {
        let [load] = &self.loads[..] else { return None };
        matches!(self.body.instrs.get(self.result.0 as usize), Some(relayc_ir::kernel::Instr::Read(0))).then_some(load)
    }

    pub(crate) fn seen(&self) -> ValueLocation {
        if let Some(Load { source: Source::Buffer(buffer), view, .. }) = self.plain() {
            return ValueLocation::Buffer(*buffer, view.clone());
        }
        match self.body.instrs[self.result.0 as usize] {
            Instr::Const(bits, lane) if self.dims.is_empty() => ValueLocation::Scalar(bits, lane),
            _ => ValueLocation::Nowhere,
        }
    }

    /// The anchors that it reads.
    pub(crate) fn anchors(&self) -> Vec<usize> {
        let mut anchors: Vec<usize> = vec![];
        for load in &self.loads {
            if let Source::Anchor(anchor) = load.source
                && !anchors.contains(&anchor)
            {
                anchors.push(anchor);
            }
        }
        anchors.sort_unstable();
        anchors
    }

    /// The same computation with every load's view mapped.
    pub(crate) fn map_views(&self, dims: &[u64], f: impl Fn(&View) -> Option<View>) -> Option<Lazy> {
        let mut lazy = self.clone();
        for load in &mut lazy.loads {
            load.view = f(&load.view)?;
        }
        lazy.dims = dims.to_vec();
        Some(lazy)
    }

    /// Appends the computation to a body and returns its value. `load` gives each load a value.
    pub(crate) fn append_to(&self, body: &mut Body, mut load: impl FnMut(&mut Body, &Load) -> Val) -> Val {
        let reads: Vec<Val> = self.loads.iter().map(|own| load(body, own)).collect();
        body.append(&self.body, &reads, self.result)
    }
}

/// What lies around a tensor.
#[derive(Clone)]
pub(crate) struct Padded {
    pub(crate) view: View,
    pub(crate) margins: Vec<(u64, u64)>,
    /// Of each element there.
    pub(crate) bits: u64,
}

impl Padded {
    /// Whether a view of the tensor has these margins: the tensor has them, along axes that the view does not cut.
    pub(crate) fn surrounds(&self, view: &View, wanted: &[(u64, u64)]) -> bool {
        let mut rest = view.offset - self.view.offset;
        let mut axes: Vec<usize> = (0..view.rank()).collect();
        axes.sort_by_key(|&axis| std::cmp::Reverse(self.view.strides.get(axis)));
        let inside = |axis: usize| {
            let begin = rest / self.view.strides[axis].max(1);
            rest -= begin * self.view.strides[axis];
            let (have, want) = (self.margins[axis], wanted.get(axis).copied().unwrap_or((0, 0)));
            let whole = begin == 0 && view.dims[axis] == self.view.dims[axis];
            let within = begin >= 0 && begin as u64 + view.dims[axis] <= self.view.dims[axis];
            within && (want == (0, 0) || (whole && have.0 >= want.0 && have.1 >= want.1))
        };
        view.strides == self.view.strides && axes.into_iter().all(inside) && rest == 0
    }
}
