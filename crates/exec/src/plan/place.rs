//! Places results where their users expect them, with the padding that they expect.

use super::group::{Lazy, Load, Padded, Source, Value};
use super::lowering::Lowering;
use super::{BufferId, Fill, Place, Step, Work, call};
use relayc_ir::ExprId;
use relayc_ir::kernel::View;
use relayc_ops::lower::Tensor;

impl Lowering<'_> {
    /// Stores the result of a group where its users expect it.
    pub(crate) fn settle(&mut self, expr: ExprId, value: Value) -> Value {
        match value {
            Value::Tuple(fields) => {
                Value::Tuple(fields.iter().map(|field| self.settle(ExprId(u32::MAX), field.clone())).collect())
            }
            Value::Tensor(lazy) => {
                let request = self.requests.of(expr);
                let wanted =
                    request.part_of.is_some() || request.output.is_some() || request.margins.iter().any(|&m| m != (0, 0));
                let computed = lazy.plain().is_none() || !lazy.anchors().is_empty();
                if lazy.dims.contains(&0) || !wanted {
                    return if computed { self.in_buffers(&lazy).into() } else { Value::Tensor(lazy) };
                }
                let already = self.places.get(&expr).is_some_and(|(buffer, view)| {
                    lazy.plain().is_some_and(|load| load.source == Source::Buffer(*buffer) && load.view == *view)
                });
                // What is only another sight of memory stays where it is, unless it is to have zeros around it.
                if already || (!computed && request.margins.iter().all(|&m| m == (0, 0))) {
                    return Value::Tensor(lazy);
                }
                let tensor = Tensor { shape: lazy.dims.clone(), dtype: lazy.dtype };
                let (buffer, view) = self.place_of(expr, &tensor);
                self.store(&lazy, buffer, &view);
                Lazy::load(Load { source: Source::Buffer(buffer), dtype: lazy.dtype, view }).into()
            }
        }
    }

    /// The location for the value of an expression.
    pub(crate) fn place_of(&mut self, expr: ExprId, tensor: &Tensor) -> (BufferId, View) {
        // From the value to the whole it is a part of, then back.
        let (mut chain, mut at) = (vec![], expr);
        while !self.places.contains_key(&at)
            && let Some((whole, axis, begin)) = self.requests.of(at).part_of
        {
            chain.push((at, axis, begin));
            at = whole;
        }
        if !self.places.contains_key(&at) {
            let whole = if at == expr { tensor.clone() } else { self.type_of(at).unwrap_or_else(|| tensor.clone()) };
            let request = self.requests.of(at);
            let place = match request.output {
                Some(output) if request.margins.iter().all(|&margin| margin == (0, 0)) => Place::Output(output),
                _ => Place::Arena(0),
            };
            let padded = self.padded_buffer(&whole, &request.margins, 0, place);
            self.places.insert(at, padded);
        }
        let (buffer, mut view) = self.places[&at].clone();
        if !chain.is_empty() {
            self.parts.insert(buffer);
        }
        for &(part, axis, begin) in chain.iter().rev() {
            let n = self.type_of(part).map_or(0, |tensor| tensor.shape[axis]);
            view = view.slice(axis, begin as i64, 1, n);
            self.places.insert(part, (buffer, view.clone()));
        }
        (buffer, view)
    }

    fn type_of(&self, expr: ExprId) -> Option<Tensor> {
        call::tensor(self.module, self.module.ty(expr)).ok()
    }

    /// A buffer with margins of these bits around the tensor.
    pub(crate) fn padded_buffer(&mut self, tensor: &Tensor, margins: &[(u64, u64)], bits: u64, place: Place) -> (BufferId, View) {
        let margin = |axis: usize| margins.get(axis).copied().unwrap_or((0, 0));
        let outer: Vec<u64> = tensor.shape.iter().enumerate().map(|(axis, dim)| dim + margin(axis).0 + margin(axis).1).collect();
        let whole = Tensor { shape: outer.clone(), dtype: tensor.dtype };
        let buffer = self.buffer(&whole, place);
        let mut view = View::dense(&outer);
        for (axis, &dim) in tensor.shape.iter().enumerate() {
            view = view.slice(axis, margin(axis).0 as i64, 1, dim);
        }
        if outer != tensor.shape {
            // Axes behind the last margin lie in one piece.
            let last = (0..outer.len()).rev().find(|&axis| margin(axis) != (0, 0)).unwrap_or(0);
            let axes = (0..=last).map(|axis| [margin(axis).0, tensor.shape[axis], margin(axis).1].map(|extent| extent as i64));
            let piece = outer[last + 1..].iter().product();
            let step = Step {
                work: Work::Fill(Fill { bits, axes: axes.collect(), piece }),
                args: vec![buffer],
                writes: [true].into(),
                origin: self.origin,
                ops: [].into(),
                once: false,
            };
            self.plan.steps.push(step);
            let margins = (0..tensor.shape.len()).map(margin).collect();
            self.padded.insert(buffer, Padded { view: view.clone(), margins, bits });
        }
        (buffer, view)
    }

    pub(crate) fn outputs(&mut self, result: Value) {
        let mut stack = vec![result];
        while let Some(value) = stack.pop() {
            match value {
                Value::Tuple(fields) => stack.extend(fields.iter().rev().cloned()),
                Value::Tensor(lazy) => {
                    let at = self.plan.outputs.len();
                    self.plan.results.push(lazy.seen());
                    let tensor = Tensor { shape: lazy.dims.clone(), dtype: lazy.dtype };
                    let there = lazy.plain().and_then(|load| match load.source {
                        Source::Buffer(buffer) if matches!(self.plan.buffers[buffer].place, Place::Output(own) if own == at) => {
                            (load.view == View::dense(&lazy.dims)).then_some(buffer)
                        }
                        _ => None,
                    });
                    let buffer = there.unwrap_or_else(|| {
                        let buffer = self.buffer(&tensor, Place::Output(at));
                        self.store(&lazy, buffer, &View::dense(&tensor.shape));
                        buffer
                    });
                    self.plan.outputs.push(buffer);
                }
            }
        }
    }
}
