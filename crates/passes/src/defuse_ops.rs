//! Puts the bodies of function literals in the places of their calls, the inverse of `fuse-ops`: TVM's `DefuseOps`
//! (`src/relay/transforms/defuse_ops.cc`).
//!
//! A parameter becomes the argument itself, as a shared expression. The rewrite is sound because an argument without effects may be
//! computed wherever it is used; a call with other arguments stays. Each call gets a copy of the body, with variables of its own.
//!
//! ```text
//! (fn (%p: Tensor[(3), float32], Primitive=1) { exp(add(%p, 1f)) })(%x)    →    exp(add(%x, 1f))
//! ```

use super::Pass;
use super::build::args;
use super::copy::Copy;
use super::effects::Pure;
use super::rewrite::rewrite;
use relayc_ir::{ExprId, ExprKind, Module};

pub(crate) const PASS: Pass = Pass {
    name: "defuse-ops",
    doc: "Puts the bodies of fused groups, and of other function literals that are called, in the places of the calls.",
    run: |module, _| Ok(defuse(module)),
    ..Pass::BASE
};

/// How many expressions copies may add.
const MAX_COPIED: usize = 1 << 20;

pub(crate) fn defuse(module: &mut Module) -> bool {
    let order = module.post_order(&module.roots());
    let mut pure = Pure::of(module, &order);
    let mut left = MAX_COPIED;
    rewrite(module, |module, call| {
        let ExprKind::Call { callee, .. } = module.exprs[call].kind else { return None };
        let ExprKind::Fn(func) = module.exprs[callee].kind else { return None };
        let arguments = args(module, call);
        let of = module.funcs[func].clone();
        pure.learn(module);
        if of.params.len() != arguments.len() || !pure.are(&arguments) {
            return None;
        }
        let body: Vec<ExprId> = module.post_order(&[of.body]);
        left = left.checked_sub(body.len())?;
        let given = of.params.into_iter().zip(arguments).collect();
        Some(Copy::applied(module, given, &body).expr(of.body))
    })
}
