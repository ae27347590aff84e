//! Replaces a call of a function literal, which nothing else mentions, by its body; `let`s bind its parameters.
//!
//! The rewrite is sound because a `let` computes an argument once, before the body, as the call does. Captured variables mean the
//! same at the call, because a variable is bound once and never changes. A literal stays if it has attributes (a fused group, a
//! function for another compiler) or type parameters. A literal without parameters stays if other expressions share its body. One whose
//! body has effects stays if it captures a shared expression: that is computed before the body, whatever comes first in there.
//!
//! ```text
//! (fn (%a: int32) { add(%a, %a) })(%x)    →    let %a = %x;  add(%a, %a)
//! ```

use super::bindings::declared;
use super::build::{args, bind};
use super::effects::pure;
use super::{Pass, PassCx};
use relayc_base::Idx;
use relayc_ir::{ExprId, ExprKind, FuncId, Module};

pub(crate) const PASS: Pass = Pass {
    name: "beta-reduce",
    doc: "Puts the body of a function literal that is called in one place there. The parameters become bindings.",
    level: 1,
    run: |module, cx| Ok(run(module, cx)),
    ..Pass::BASE
};

fn run(module: &mut Module, _: &PassCx) -> bool {
    let roots = module.roots();
    let mentions = module.use_counts(&roots);
    let order = module.post_order(&roots);
    if !order.iter().any(|&call| literal(module, call, &mentions).is_some()) {
        return false;
    }
    let pure = pure(module, &order);
    let mut any = false;
    for call in order {
        let ExprKind::Call { callee, .. } = module.exprs[call].kind else { continue };
        if let Some(func) = literal(module, call, &mentions)
            && pure[callee.index()]
        {
            reduce(module, call, func);
            any = true;
        }
    }
    any
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
    let (params, ret) = (module.funcs[func].params.clone(), module.funcs[func].ret);
    let body = declared(module, module.funcs[func].body, ret);
    let (span, ty) = (module.exprs[call].span, module.ty(call));
    let bindings = params.into_iter().zip(args(module, call));
    let bound = bind(module, span, ty, bindings, body);
    module.exprs[call].kind = module.exprs[bound].kind;
}
