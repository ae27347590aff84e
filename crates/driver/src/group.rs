//! Describes fused groups in messages: their operators and places.

use relayc_base::diag::Diagnostic;
use relayc_ir::{ExprId, ExprKind, Module};
use relayc_ops as ops;

/// The operators of a group, in order of evaluation.
pub(crate) fn operators(module: &Module, call: ExprId) -> Vec<ExprId> {
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

/// Moves a diagnostic to the operators of a group; its primary place is the last of them.
pub fn shown(module: &Module, call: ExprId, mut diagnostic: Diagnostic) -> Diagnostic {
    let operators = operators(module, call);
    for (at, &expr) in operators.iter().enumerate().rev() {
        let (span, text) = (module.exprs[expr].span, format!("computes `{}`", name(module, expr)));
        diagnostic = if at + 1 == operators.len() { diagnostic.at(span, text) } else { diagnostic.also(span, text) };
    }
    diagnostic
}
