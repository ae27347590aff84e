//! Writes where variables die: TVM's `ManifestLifetimes` (`src/relay/backend/vm/manifest_lifetimes.cc`).
//!
//! `memory.kill(%x)` stands behind the last binding that reads `%x`; a variable that only one branch reads dies in that branch.
//! Variables that name another one go first. The rewrite is sound because nothing that runs later reads the variable. Here, where
//! nothing frees memory by hand, `memory.kill` runs and does nothing.
//!
//! ```text
//! let %y = add(%x, %x);  %y    →    let %y = add(%x, %x);  let %_0 = memory.kill(%x);  %y
//! ```

use super::bindings::Bindings;
use super::build::{bind, set_ty, typed};
use super::fold_constants::lets;
use super::rewrite::rewrite;
use super::{Pass, PassCx, liveness};
use relayc_ir::{ExprId, ExprKind, Func, Module, VarId};
use relayc_ops::declarations::KILL;
use rustc_hash::FxHashMap;

pub(crate) const PASS: Pass = Pass {
    name: "manifest-lifetimes",
    doc: "Writes `memory.kill` behind the last use of each variable, for programs in A-normal form.",
    run: |module, cx| Ok(run(module, cx)),
    ..Pass::BASE
};

fn run(module: &mut Module, cx: &PassCx) -> bool {
    let mut any = without_aliases(module);
    let mut deaths: Vec<(ExprId, Vec<VarId>)> = Vec::new();
    for global in module.globals.iter() {
        liveness::visit(module, body(module, &module.funcs[global.func]), |site| {
            let dead: Vec<VarId> = site.read.iter().copied().filter(|var| !site.after.contains(var)).collect();
            deaths.push((site.binding, dead));
        });
    }
    for (binding, dead) in deaths.into_iter().filter(|(_, dead)| !dead.is_empty()) {
        kill(module, cx, binding, &dead);
        any = true;
    }
    any
}

/// What a function computes, or the function that a closure returns.
fn body(module: &Module, func: &Func) -> ExprId {
    let is_closure = func.attrs.iter().any(|(name, _)| &**name == "Closure");
    match module.exprs[func.body].kind {
        ExprKind::Fn(inner) if is_closure => module.funcs[inner].body,
        _ => func.body,
    }
}

/// Lets variables go that are bound to another variable.
fn without_aliases(module: &mut Module) -> bool {
    let order = module.post_order(&module.roots());
    let bindings = Bindings::of(module, &order);
    let target = |(var, value): (VarId, ExprId)| match module.exprs[value].kind {
        ExprKind::Var(of) if bindings.may_go(module, var, value) => Some((var, of)),
        _ => None,
    };
    let aliases: FxHashMap<VarId, VarId> = lets(module, &order).into_iter().filter_map(target).collect();
    rewrite(module, |module, expr| match module.exprs[expr].kind {
        ExprKind::Let { var, body, .. } if aliases.contains_key(&var) => Some(body),
        ExprKind::Var(var) => {
            let mut named = var;
            while let Some(&of) = aliases.get(&named) {
                named = of;
            }
            let (span, ty) = (module.exprs[expr].span, module.ty(expr));
            (named != var).then(|| typed(module, span, ExprKind::Var(named), ty))
        }
        _ => None,
    })
}

fn kill(module: &mut Module, cx: &PassCx, binding: ExprId, dead: &[VarId]) {
    let ExprKind::Let { var, value, body } = module.exprs[binding].kind else { return };
    let (span, ty) = (module.exprs[binding].span, module.ty(body));
    let mut kills = Vec::with_capacity(dead.len());
    for (at, &dead) in dead.iter().enumerate() {
        let of = module.vars[dead].checked_ty.or(module.vars[dead].ty);
        let mention = module.expr(span, ExprKind::Var(dead));
        if let Some(of) = of {
            set_ty(module, mention, of);
        }
        let call = cx.call(module, span, &KILL, &[mention], vec![]);
        kills.push((module.var(&format!("_{at}"), None, span), call));
    }
    let body = bind(module, span, ty, kills.into_iter(), body);
    module.exprs[binding].kind = ExprKind::Let { var, value, body };
}
