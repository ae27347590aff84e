//! Puts the bodies of functions marked `Inline=1` in the place of their mentions, and removes these functions, in the form of TVM's
//! `Inline` (`src/relay/transforms/inline.cc`).
//!
//! Where `inline` binds parameters, this pass puts arguments in the place of parameters. The rewrite is sound because it does so only with
//! arguments without effects; the others are bound. Types that a parameter or the result declares stay (`bindings.rs`). A function is inlined once it mentions no other function. One for another compiler is
//! called as a literal, and one that is a value becomes a literal. Entries stay, and functions that call themselves.
//!
//! ```text
//! def @f(%a: int32, Inline=1) { add(%a, %a) }  def @main(%x: int32) { @f(negative(%x)) }
//! →
//! def @main(%x: int32) { %0 = negative(%x); add(%0, %0) }
//! ```

use super::bindings::{Bindings, declared};
use super::build::{ExprKey, args, bind, set_ty, typed};
use super::copy::Copy;
use super::dead_code::keep_globals;
use super::effects::{pure, pure_with_calls};
use super::inline::{MAX_COPIED, callee, callees_first, is_marked};
use super::rewrite::substitute;
use super::{Pass, PassCx, refused};
use relayc_base::Idx;
use relayc_base::diag::Diagnostic;
use relayc_ir::types::Ty;
use relayc_ir::{ExprId, ExprKind, Func, GlobalId, Module};
use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) const PASS: Pass = Pass {
    name: "inline-globals",
    doc: "Puts the bodies of functions marked `Inline=1` in the place of their mentions, arguments in the place of parameters, and removes \
          these functions.",
    needs_types: false,
    run,
    ..Pass::BASE
};

fn run(module: &mut Module, _: &PassCx) -> Result<bool, Box<Diagnostic>> {
    let mut mentions: Vec<Vec<GlobalId>> = module.globals.ids().map(|global| mentioned(module, global)).collect();
    let entries: Vec<bool> = {
        let all: FxHashSet<GlobalId> = mentions.iter().flatten().copied().collect();
        module.globals.ids().map(|global| !all.contains(&global)).collect()
    };
    let order = callees_first(&mentions);
    let bindings = Bindings::of(module, &module.post_order(&module.roots()));
    let mut left = MAX_COPIED;
    let mut any = false;
    for &global in &order {
        let own = &mentions[global.index()];
        let can = |callee: &GlobalId| mentions[callee.index()].is_empty() && is_marked(module, *callee);
        let wanted: FxHashSet<GlobalId> = own.iter().copied().filter(can).collect();
        if !wanted.is_empty() {
            inline(module, &bindings, global, &wanted, &mut left);
            mentions[global.index()] = mentioned(module, global);
            any = true;
        }
    }
    let used: FxHashSet<GlobalId> = mentions.iter().flatten().copied().collect();
    let mut kept = Vec::new();
    for global in module.globals.ids() {
        let at = global.index();
        if entries[at] || mentions[at].contains(&global) || !is_marked(module, global) {
            kept.push(global);
        } else if used.contains(&global) {
            return Err(refused(&PASS, &format!("{} is marked as inline but not inlined", module.globals[global].name)));
        }
    }
    Ok(keep_globals(module, kept) || any)
}

/// The functions that a function mentions.
fn mentioned(module: &Module, global: GlobalId) -> Vec<GlobalId> {
    let body = module.funcs[module.globals[global].func].body;
    let global = |expr: ExprId| match module.exprs[expr].kind {
        ExprKind::Global(global) => Some(global),
        _ => None,
    };
    module.post_order(&[body]).into_iter().filter_map(global).collect()
}

/// Inlines some functions in another one: first the calls of them, then what else mentions them.
fn inline(module: &mut Module, bindings: &Bindings, global: GlobalId, wanted: &FxHashSet<GlobalId>, left: &mut usize) {
    let wanted_callee = |module: &Module, expr: ExprId| callee(module, expr).filter(|callee| wanted.contains(callee));
    let is_pure = |global: &GlobalId| {
        let body = module.funcs[module.globals[*global].func].body;
        pure(module, &module.post_order(&[body]))[body.index()]
    };
    let pure_callees: FxHashSet<GlobalId> = wanted.iter().copied().filter(is_pure).collect();
    let order = module.post_order(&[module.funcs[module.globals[global].func].body]);
    let calls_pure = |expr: ExprId| callee(module, expr).is_some_and(|callee| pure_callees.contains(&callee));
    let pure = pure_with_calls(module, &order, calls_pure);
    replace(module, global, |module, expr| called(module, bindings, &pure, expr, wanted_callee(module, expr)?, left));
    replace(module, global, |module, expr| match module.exprs[expr].kind {
        ExprKind::Global(callee) if wanted.contains(&callee) => literal(module, expr, callee, left),
        _ => None,
    });
}

/// Replaces expressions of a function, operands before users.
fn replace(module: &mut Module, global: GlobalId, mut f: impl FnMut(&mut Module, ExprId) -> Option<ExprId>) {
    let order = module.post_order(&[module.funcs[module.globals[global].func].body]);
    let first_new = module.exprs.next_id();
    let mut by: FxHashMap<ExprId, ExprId> = FxHashMap::default();
    for &expr in &order {
        if let Some(new) = f(module, expr) {
            // The body of a function may be one of its parameters, and so an argument that was replaced.
            by.insert(expr, by.get(&new).copied().unwrap_or(new));
        }
    }
    let users: Vec<ExprId> = order.into_iter().chain(module.exprs.ids().skip(first_new.index())).collect();
    let numbers = module.exprs.ids().map(|expr| by.get(&expr).copied()).collect();
    substitute(module, &users, numbers);
}

/// The body with arguments in the place of parameters; `None` if a literal is to be called, as of a function for another compiler.
fn called(
    module: &mut Module,
    bindings: &Bindings,
    pure: &[bool],
    call: ExprId,
    global: GlobalId,
    left: &mut usize,
) -> Option<ExprId> {
    let Func { params, body, type_params, attrs, ret, .. } = module.funcs[module.globals[global].func].clone();
    let (span, ty) = (module.exprs[call].span, module.ty(call));
    let is_foreign = attrs.iter().any(|(name, value)| match &**name {
        "Compiler" => true,
        "Extern" => value.as_int().is_some_and(|value| value != 0),
        _ => false,
    });
    let operands = args(module, call);
    // The body of a function with type parameters has no types of its own.
    if is_foreign || !type_params.is_empty() || operands.len() != params.len() {
        return None;
    }
    let order = module.post_order(&[body]);
    *left = left.checked_sub(order.len())?;
    let (mut given, mut bound) = (FxHashMap::default(), Vec::new());
    for (&param, &operand) in params.iter().zip(&operands) {
        let mut value = operand;
        let has_type = module.ty(operand) != Ty::ERROR;
        if pure[operand.index()] {
            if has_type && !bindings.may_go(module, param, operand) {
                value = declared(module, operand, module.vars[param].ty);
            }
        } else {
            let of = module.vars[param].clone();
            let var = module.vars.push(of);
            value = typed(module, span, ExprKind::Var(var), module.ty(operand));
            bound.push((var, operand));
        }
        given.insert(ExprKey::Var(param), value);
    }
    let body = Copy::applied(module, given, &order).expr(body);
    let body = if module.ty(body) == Ty::ERROR { body } else { declared(module, body, ret) };
    Some(bind(module, span, ty, bound.into_iter(), body))
}

/// The function as a literal.
fn literal(module: &mut Module, mention: ExprId, global: GlobalId, left: &mut usize) -> Option<ExprId> {
    let func = module.globals[global].func;
    let (span, ty) = (module.exprs[mention].span, module.expr_tys.get(mention).copied().flatten());
    let order = module.post_order(&[module.funcs[func].body]);
    *left = left.checked_sub(order.len())?;
    let expr = module.expr(span, ExprKind::Fn(func));
    let order: Vec<ExprId> = order.into_iter().chain([expr]).collect();
    let copy = Copy::applied(module, FxHashMap::default(), &order).expr(expr);
    if let Some(ty) = ty {
        set_ty(module, copy, ty);
    }
    Some(copy)
}
