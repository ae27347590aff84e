//! Values inside of a group: elements not yet computed, over loads of buffers and of results still in registers.

use super::{BufferId, Seen};
use crate::kernel::{Body, Instr, Val, View};
use crate::types::DType;
use std::rc::Rc;

/// A value. Tuples nest as little as [`Types::is_shallow`](crate::types::Types::is_shallow) says, and are shared.
#[derive(Clone, Debug)]
pub enum Value {
    Tensor(Lazy),
    Tuple(Rc<[Value]>),
}

impl Value {
    /// Where it lies.
    pub fn seen(&self) -> Seen {
        match self {
            Value::Tensor(lazy) => lazy.seen(),
            Value::Tuple(fields) => Seen::Tuple(fields.iter().map(Value::seen).collect()),
        }
    }
}

/// What a load reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    Buffer(BufferId),
    /// The result of an anchor, at the same place.
    Anchor(usize),
}

/// A load: an element for each index.
#[derive(Clone, PartialEq, Debug)]
pub struct Load {
    pub source: Source,
    pub dtype: DType,
    pub view: View,
}

/// A tensor each of whose elements is a body over loads.
#[derive(Clone, Debug)]
pub struct Lazy {
    pub dims: Vec<u64>,
    pub dtype: DType,
    pub loads: Vec<Load>,
    pub body: Body,
    pub result: Val,
    /// The operators in the body.
    pub ops: Vec<&'static str>,
}

impl Lazy {
    /// The elements of a load as they are.
    pub fn load(load: Load) -> Lazy {
        let mut body = Body::new();
        let result = body.read(0);
        Lazy { dims: load.view.dims.clone(), dtype: load.dtype, loads: vec![load], body, result, ops: vec![] }
    }

    /// The load that this is without any computation.
    pub fn plain(&self) -> Option<&Load> {
        let [load] = &self.loads[..] else { return None };
        matches!(self.body.instrs.get(self.result.0 as usize), Some(crate::kernel::Instr::Read(0))).then_some(load)
    }

    fn seen(&self) -> Seen {
        if let Some(Load { source: Source::Buffer(buffer), view, .. }) = self.plain() {
            return Seen::Buffer(*buffer, view.clone());
        }
        match self.body.instrs[self.result.0 as usize] {
            Instr::Const(bits, lane) if self.dims.is_empty() => Seen::Scalar(bits, lane),
            _ => Seen::Nowhere,
        }
    }

    /// The anchors it reads.
    pub fn anchors(&self) -> Vec<usize> {
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

    /// Every load seen otherwise.
    pub fn map_views(&self, dims: &[u64], f: impl Fn(&View) -> Option<View>) -> Option<Lazy> {
        let mut lazy = self.clone();
        for load in &mut lazy.loads {
            load.view = f(&load.view)?;
        }
        lazy.dims = dims.to_vec();
        Some(lazy)
    }

    /// Adds the computation to a body; its value there. `load` gives each load a value.
    pub fn append_to(&self, body: &mut Body, mut load: impl FnMut(&mut Body, &Load) -> Val) -> Val {
        let reads: Vec<Val> = self.loads.iter().map(|own| load(body, own)).collect();
        body.append(&self.body, &reads, self.result)
    }
}
