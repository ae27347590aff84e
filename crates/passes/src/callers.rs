//! Keeps what calls a function whose signature a pass changes.

use super::copy::Copy;
use super::names::Names;
use relayc_ir::{ExprId, ExprKind, Func, Global, GlobalId, Module, VarId};

/// Has those that mention a function mention a copy of it as it was, `@f_0`. Without mentions there is no copy.
pub(crate) fn keep_callers(module: &mut Module, changed: GlobalId, was: &Func, names: &mut Names) {
    if mentions(module, changed).is_empty() {
        return;
    }
    let order = module.post_order(&[was.body]);
    let copy = Copy::of(module, &was.params, &order);
    let params: Vec<VarId> = was.params.iter().map(|&param| copy.var(param)).collect();
    let func = module.funcs.push(Func { params, body: copy.expr(was.body), ..was.clone() });
    let of = module.globals[changed].clone();
    let name = names.numbered(&format!("{}_", of.name));
    let kept = module.globals.push(Global { name, func, ..of });
    for mention in mentions(module, changed) {
        module.exprs[mention].kind = ExprKind::Global(kept);
    }
}

fn mentions(module: &Module, of: GlobalId) -> Vec<ExprId> {
    let mut order = module.post_order(&module.roots());
    order.retain(|&expr| matches!(module.exprs[expr].kind, ExprKind::Global(global) if global == of));
    order
}
