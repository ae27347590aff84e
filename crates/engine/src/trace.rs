//! Traces a compiled run group by group: reads operands and results from the memory of the run.
//!
//! The arena reuses buffers for successive values. Operands are read before the first step of a group, and the result after the
//! last one, so a trace shows what the kernels saw. Absent: uses of a trace (`cross_check.rs`, `steps/`).

use super::error_budget::{BoundedTensor, BoundedValue};
use relayc_base::diag::Diagnostic;
use relayc_exec::plan::{Group, Plan, ValueLocation};
use relayc_exec::program::Memory;
use relayc_ir::kernel::ScalarType;
use relayc_ir::tensor::Tensor;

/// A callback for a completed group, with its operands if they could be read.
pub(crate) type TraceCallback<'a> = &'a mut dyn FnMut(&Group, Option<Vec<BoundedValue>>, &Memory) -> Result<(), Box<Diagnostic>>;

/// The groups of a plan, at a point of a run.
pub(crate) struct Groups<'a> {
    plan: &'a Plan,
    /// The first group without read operands, and the first one that is not completed.
    next: usize,
    last: usize,
    /// The operands of the groups between.
    operands: Vec<Option<Vec<BoundedValue>>>,
}

impl<'a> Groups<'a> {
    pub(crate) fn of(plan: &'a Plan) -> Groups<'a> {
        Groups { plan, next: 0, last: 0, operands: vec![] }
    }

    /// Advances to a step; call it before each step, and after the last. Reports completed groups, and reads the operands of
    /// groups that begin. Errors: those of `each`.
    pub(crate) fn before(&mut self, step: usize, memory: &Memory, each: TraceCallback) -> Result<(), Box<Diagnostic>> {
        let plan = self.plan;
        loop {
            if let Some(group) = plan.groups.get(self.last).filter(|group| self.last < self.next && group.steps.end <= step) {
                let operands = self.operands.remove(0);
                self.last += 1;
                each(group, operands, memory)?;
            } else if let Some(group) = plan.groups.get(self.next).filter(|group| group.steps.start <= step) {
                self.operands.push(group.operands.iter().map(|seen| read(seen, memory)).collect());
                self.next += 1;
            } else {
                return Ok(());
            }
        }
    }
}

/// Reads a value from its location.
pub(crate) fn read(seen: &ValueLocation, memory: &Memory) -> Option<BoundedValue> {
    Some(match seen {
        ValueLocation::Buffer(buffer, view) => BoundedValue::Tensor(BoundedTensor::exact(memory.tensor(*buffer, view)?)),
        ValueLocation::Scalar(bits, lane) => {
            let dtype = lane.dtype()?;
            let bytes = if *lane == ScalarType::Bool {
                vec![u8::from(*bits != 0)]
            } else {
                bits.to_le_bytes()[..dtype.bytes() as usize].to_vec()
            };
            BoundedValue::Tensor(BoundedTensor::exact(Tensor::from_le_bytes(dtype, &[], &bytes)?))
        }
        // As deep as a type is.
        ValueLocation::Tuple(fields) => {
            BoundedValue::Tuple(fields.iter().map(|field| read(field, memory)).collect::<Option<_>>()?)
        }
        ValueLocation::Nowhere => return None,
    })
}
