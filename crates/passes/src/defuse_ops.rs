//! Puts the bodies of function literals in the places of their calls, the inverse of `fuse-ops`: TVM's `DefuseOps`
//! (`src/relay/transforms/defuse_ops.cc`).
//!
//! A parameter becomes the argument itself, as a shared expression. The rewrite is sound because an argument without effects may be
//! computed wherever it is used; a call with other arguments stays. Each call gets a copy of the body, with variables of its own. A literal
//! whose body has effects stays if it captures a shared expression, which must be computed once. Types that a parameter or the result
//! declares stay too (`bindings.rs`).
//!
//! ```text
//! (fn (%p: Tensor[(3), float32], Primitive=1) { exp(add(%p, 1f)) })(%x)    →    exp(add(%x, 1f))
//! ```

use super::Pass;
use super::bindings::{Bindings, declared};
use super::build::{ExprKey, args};
use super::copy::Copy;
use super::effects::Pure;
use super::rewrite::rewrite;
use relayc_base::Idx;
use relayc_ir::{ExprId, ExprKind, Module};
use rustc_hash::FxHashMap;

pub(crate) const PASS: Pass = Pass {
    name: "defuse-ops",
    doc: "Puts the bodies of fused groups, and of other function literals that are called, in the places of the calls.",
    run: |module, _| Ok(defuse(module)),
    ..Pass::BASE
};

/// How many expressions of bodies may be looked at and copied.
const MAX_COPIED: usize = 1 << 20;

pub(crate) fn defuse(module: &mut Module) -> bool {
    let order = module.post_order(&module.roots());
    let mut pure = Pure::of(module, &order);
    let (bindings, n_vars) = (Bindings::of(module, &order), module.vars.len());
    let mut left = MAX_COPIED;
    rewrite(module, |module, call| {
        let ExprKind::Call { callee, .. } = module.exprs[call].kind else { return None };
        let ExprKind::Fn(func) = module.exprs[callee].kind else { return None };
        let arguments = args(module, call);
        let of = module.funcs[func].clone();
        pure.learn(module);
        if !of.type_params.is_empty() || of.params.len() != arguments.len() || !pure.are(&arguments) {
            return None;
        }
        if left == 0 {
            return None;
        }
        let body: Vec<ExprId> = module.post_order(&[of.body]);
        // What is around a body that is too long is longer: after the first one no other is walked through.
        left = left.saturating_sub(body.len());
        if left == 0 || !pure.is(callee) {
            return None;
        }
        // What the body captured, and the arguments, are around the copies of the literals in it.
        let is_plain = |&arg: &ExprId| matches!(module.exprs[arg].kind, ExprKind::Var(_) | ExprKind::Const(_));
        let captures = !arguments.iter().all(is_plain);
        let mut given = FxHashMap::default();
        for (param, argument) in of.params.into_iter().zip(arguments) {
            // How copies of variables are used is not known.
            let goes = param.index() < n_vars && bindings.may_go(module, param, argument);
            let argument = if goes { argument } else { declared(module, argument, module.vars[param].ty) };
            given.insert(ExprKey::Var(param), argument);
        }
        let copy = Copy::applied(module, given, &body);
        pure.copied(module, &body, &copy, captures);
        Some(declared(module, copy.expr(of.body), of.ret))
    })
}
