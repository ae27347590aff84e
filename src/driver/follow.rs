//! A compiled run, followed group by group: what each got and what it gave, read from the memory of the run.
//!
//! The arena gives a buffer to one value after the other. Operands are read before the first step of a group and the result after
//! the last one, so what is seen is what the kernels saw. Deliberately not here: what is made of it (`both.rs`, `steps/`).

use super::budget::{Near, NearValue};
use crate::diag::Diagnostic;
use crate::ir::{ExprId, ExprKind, Module};
use crate::jit::program::Memory;
use crate::kernel::Lane;
use crate::ops;
use crate::plan::{Group, Plan, Seen};
use crate::tensor::Tensor;

/// Is given a group that is done, and its operands where they could be read.
pub type Each<'a> = &'a mut dyn FnMut(&Group, Option<Vec<NearValue>>, &Memory) -> Result<(), Box<Diagnostic>>;

/// The groups of a plan, some of them before a step of a run, some after it.
pub struct Groups<'a> {
    plan: &'a Plan,
    /// The first group whose operands are not taken, and the first one that is not done.
    next: usize,
    last: usize,
    /// The operands of the groups between.
    operands: Vec<Option<Vec<NearValue>>>,
}

impl<'a> Groups<'a> {
    pub fn of(plan: &'a Plan) -> Groups<'a> {
        Groups { plan, next: 0, last: 0, operands: vec![] }
    }

    /// To be called before each step, and when all are done: gives the groups whose steps are done, and takes the operands of those
    /// that begin. Errors: those of `each`.
    pub fn before(&mut self, step: usize, memory: &Memory, each: Each) -> Result<(), Box<Diagnostic>> {
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

/// A value where it lies.
pub fn read(seen: &Seen, memory: &Memory) -> Option<NearValue> {
    Some(match seen {
        Seen::Buffer(buffer, view) => NearValue::Tensor(Near::exact(memory.tensor(*buffer, view)?)),
        Seen::Scalar(bits, lane) => {
            let dtype = lane.dtype()?;
            let bytes = if *lane == Lane::Bool {
                vec![u8::from(*bits != 0)]
            } else {
                bits.to_le_bytes()[..dtype.bytes() as usize].to_vec()
            };
            NearValue::Tensor(Near::exact(Tensor::from_le_bytes(dtype, &[], &bytes)?))
        }
        // As deep as a type is.
        Seen::Tuple(fields) => NearValue::Tuple(fields.iter().map(|field| read(field, memory)).collect::<Option<_>>()?),
        Seen::Nowhere => return None,
    })
}

/// The operators of a group, in order of evaluation.
pub fn operators(module: &Module, call: ExprId) -> Vec<ExprId> {
    let ExprKind::Call { callee, .. } = module.exprs[call].kind else { return vec![] };
    match module.exprs[callee].kind {
        ExprKind::Fn(func) => {
            let order = module.evaluation_order(&[module.funcs[func].body]);
            order.into_iter().filter(|&expr| module.called_op(expr).is_some()).collect()
        }
        _ => vec![call],
    }
}

/// `` `add` `` or ``the group of `add`, `nn.relu` ``.
pub fn named(module: &Module, call: ExprId) -> String {
    let names: Vec<String> = operators(module, call).iter().map(|&expr| format!("`{}`", name(module, expr))).collect();
    if names.len() == 1 { names.concat() } else { format!("the group of {}", names.join(", ")) }
}

fn name(module: &Module, expr: ExprId) -> &'static str {
    module.called_op(expr).map_or("", |op| ops::table().def(op).name)
}

/// A diagnostic at the operators of a group, the last of them its place.
pub fn shown(module: &Module, call: ExprId, mut diagnostic: Diagnostic) -> Diagnostic {
    let operators = operators(module, call);
    for (at, &expr) in operators.iter().enumerate().rev() {
        let (span, text) = (module.exprs[expr].span, format!("computes `{}`", name(module, expr)));
        diagnostic = if at + 1 == operators.len() { diagnostic.at(span, text) } else { diagnostic.also(span, text) };
    }
    diagnostic
}
