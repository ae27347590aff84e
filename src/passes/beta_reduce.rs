//! A call of a function literal that nothing else mentions becomes its body, after bindings of its parameters.
//!
//! Sound because a `let` computes an argument once, before the body, as the call does, and what the literal captures is what
//! the variables mean where it is called: a variable is bound once and never changes. A literal with attributes (a fused group,
//! a function for another compiler) or with type parameters stays, and so does one without parameters whose body others share.
//!
//! ```text
//! (fn (%a: int32) { add(%a, %a) })(%x)    →    let %a = %x;  add(%a, %a)
//! ```

use super::build::{args, set_ty};
use super::{Pass, PassCx};
use crate::base::Idx;
use crate::ir::{ExprId, ExprKind, FuncId, Module};

pub const PASS: Pass = Pass {
    name: "beta-reduce",
    doc: "Puts the body of a function literal that is called in one place there. The parameters become bindings.",
    level: 1,
    run,
};

fn run(module: &mut Module, _: &PassCx) {
    let roots = module.roots();
    let mentions = module.use_counts(&roots);
    for call in module.post_order(&roots) {
        if let Some(func) = literal(module, call, &mentions) {
            reduce(module, call, func);
        }
    }
}

/// The literal that a call is the only one to mention.
fn literal(module: &Module, call: ExprId, mentions: &[u32]) -> Option<FuncId> {
    let ExprKind::Call { callee, args, .. } = module.exprs[call].kind else { return None };
    let ExprKind::Fn(func) = module.exprs[callee].kind else { return None };
    let of = &module.funcs[func];
    let plain = of.attrs.is_empty() && of.type_params.is_empty() && of.params.len() == args.len();
    // Without parameters the call becomes the body itself; what others mention too must stay one expression.
    let alone = !of.params.is_empty() || mentions[of.body.index()] == 1;
    (plain && alone && mentions[callee.index()] == 1).then_some(func)
}

fn reduce(module: &mut Module, call: ExprId, func: FuncId) {
    let (params, body) = (module.funcs[func].params.clone(), module.funcs[func].body);
    let (span, ty) = (module.exprs[call].span, module.ty(call));
    let bound = params.into_iter().zip(args(module, call)).rev().fold(body, |body, (var, value)| {
        let binding = module.expr(span, ExprKind::Let { var, value, body });
        set_ty(module, binding, ty);
        binding
    });
    module.exprs[call].kind = module.exprs[bound].kind;
}
