//! `--check-nan`: the first operator, or fused group, that gives NaN or infinity though its operands hold none.

use super::summary::{Census, index_of};
use crate::diag::{Diagnostic, codes};
use crate::driver::follow;
use crate::ir::{ExprId, ExprKind, Module};
use crate::tensor::Tensor;

/// Whether every element is finite.
pub fn is_finite(tensor: &Tensor) -> bool {
    !tensor.any(|x| !x.is_finite(), |_| false)
}

/// Whether the constants inside of a group are finite. They are operands of its operators: which of these gives something that is
/// not finite of numbers that are, if any does, only the operators one by one can say.
fn constants_are_finite(module: &Module, call: ExprId) -> bool {
    let ExprKind::Call { callee, .. } = module.exprs[call].kind else { return true };
    let ExprKind::Fn(group) = module.exprs[callee].kind else { return true };
    module.post_order(&[module.funcs[group].body]).into_iter().all(|expr| match module.exprs[expr].kind {
        ExprKind::Const(id) => is_finite(&module.consts[id]),
        _ => true,
    })
}

/// Requires the results of a call to be finite if the operands are. Errors: E0509, with the operators of the call.
pub fn check(module: &Module, call: ExprId, operands: &[&Tensor], results: &[&Tensor]) -> Result<(), Box<Diagnostic>> {
    let Some(at) = results.iter().position(|tensor| !is_finite(tensor)) else { return Ok(()) };
    if !operands.iter().all(|tensor| is_finite(tensor)) || !constants_are_finite(module, call) {
        return Ok(());
    }
    let census = Census::of(results[at]);
    let what = if census.n_nan > 0 { "NaN" } else { "infinity" };
    let name = follow::named(module, call);
    let mut diagnostic = Diagnostic::new(codes::E0509, format!("{name} gives {what}, and its operands hold none"));
    let n = results[at].len();
    let first = census.first.map_or(vec![], |first| index_of(results[at], first));
    diagnostic = diagnostic.note(format!("of its {n} elements: {}; the first is {first:?}", census.not_finite()));
    for (number, operand) in operands.iter().enumerate() {
        diagnostic = diagnostic.note(format!("operand {number}: {}", super::summary::summary(operand)));
    }
    Err(Box::new(follow::shown(module, call, diagnostic)))
}
