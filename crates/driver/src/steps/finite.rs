//! `--check-nan`: finds the first operator, or fused group, with NaN or infinity in its result but not in its operands.

use super::summary::{Census, index_of};
use crate::group;
use relayc_base::diag::{Diagnostic, codes};
use relayc_ir::tensor::Tensor;
use relayc_ir::{ExprId, ExprKind, Module};

/// Whether every element is finite.
pub fn is_finite(tensor: &Tensor) -> bool {
    !tensor.any(|x| !x.is_finite(), |_| false)
}

/// Whether the constants inside a group are finite. They are operands of its operators. If one is not finite, only running the
/// operators one by one shows which of them is at fault.
fn constants_are_finite(module: &Module, call: ExprId) -> bool {
    let ExprKind::Call { callee, .. } = module.exprs[call].kind else { return true };
    let ExprKind::Fn(group) = module.exprs[callee].kind else { return true };
    module.post_order(&[module.funcs[group].body]).into_iter().all(|expr| match module.exprs[expr].kind {
        ExprKind::Const(id) => is_finite(&module.consts[id]),
        _ => true,
    })
}

/// Checks that the results of a call are finite if its operands are. Errors: E0509, with the operators of the call.
pub fn check(module: &Module, call: ExprId, operands: &[&Tensor], results: &[&Tensor]) -> Result<(), Box<Diagnostic>> {
    let Some(at) = results.iter().position(|tensor| !is_finite(tensor)) else { return Ok(()) };
    if !operands.iter().all(|tensor| is_finite(tensor)) || !constants_are_finite(module, call) {
        return Ok(());
    }
    let census = Census::of(results[at]);
    let what = if census.n_nan > 0 { "NaN" } else { "infinity" };
    let name = group::named(module, call);
    let mut diagnostic = Diagnostic::new(codes::E0509, format!("{name} gives {what}, and its operands hold none"));
    let n = results[at].len();
    let first = census.first.map_or(vec![], |first| index_of(results[at], first));
    diagnostic = diagnostic.note(format!("of its {n} elements: {}; the first is {first:?}", census.not_finite()));
    for (number, operand) in operands.iter().enumerate() {
        diagnostic = diagnostic.note(format!("operand {number}: {}", super::summary::summary(operand)));
    }
    Err(Box::new(group::shown(module, call, diagnostic)))
}
