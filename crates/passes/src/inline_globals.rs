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
use super::effects::Pure;
use super::inline::{MAX_COPIED, callee, callees_first, is_marked};
use super::rewrite::substitute_in;
use super::{Pass, PassCx, Stop, refused};
use relayc_base::Idx;
use relayc_base::diag::Diagnostic;
use relayc_ir::types::Ty;
use relayc_ir::{ExprId, ExprKind, Func, FuncId, Global, GlobalId, Module};
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
    let exprs = module.post_order(&module.roots());
    let mut inliner = Inliner { bindings: Bindings::of(module, &exprs), pure: Pure::of(module, &exprs), left: MAX_COPIED };
    let stays = |module: &Module, global: GlobalId| {
        let Global { name, span, .. } = &module.globals[global];
        refused(&PASS, Stop::from(format!("{name} is marked as inline but not inlined")).at(*span))
    };
    let mut any = false;
    for &global in &order {
        let own = &mentions[global.index()];
        let can = |callee: &GlobalId| mentions[callee.index()].is_empty() && is_marked(module, *callee);
        let wanted: FxHashSet<GlobalId> = own.iter().copied().filter(can).collect();
        if !wanted.is_empty() {
            inliner.inline(module, global, &wanted).map_err(|callee| stays(module, callee))?;
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
            return Err(stays(module, global));
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

/// What is known while functions are inlined, callees first. Errors of its functions: a function for whose copies no room is left.
struct Inliner {
    bindings: Bindings,
    pure: Pure,
    /// How many expressions may still be copied.
    left: usize,
}

impl Inliner {
    /// Inlines some functions in another one: first the calls of them, then what else mentions them.
    fn inline(&mut self, module: &mut Module, global: GlobalId, wanted: &FxHashSet<GlobalId>) -> Result<(), GlobalId> {
        let func = module.globals[global].func;
        let is_pure = |&&global: &&GlobalId| self.pure.is(module.funcs[module.globals[global].func].body);
        let pure_callees: FxHashSet<GlobalId> = wanted.iter().filter(is_pure).copied().collect();
        let calls_pure = |expr: ExprId| callee(module, expr).is_some_and(|callee| pure_callees.contains(&callee));
        self.pure.learn_again(module, &module.post_order(&[module.funcs[func].body]), calls_pure);
        replace(module, func, |module, expr| match callee(module, expr).filter(|callee| wanted.contains(callee)) {
            Some(callee) => self.called(module, expr, callee),
            None => Ok(None),
        })?;
        replace(module, func, |module, expr| match module.exprs[expr].kind {
            ExprKind::Global(callee) if wanted.contains(&callee) => self.literal(module, expr, callee).map(Some),
            _ => Ok(None),
        })?;
        self.pure.learn_again(module, &module.post_order(&[module.funcs[func].body]), |_| false);
        Ok(())
    }

    /// The body with arguments in the place of parameters; `None` if a literal is to be called, as of a function for another compiler.
    fn called(&mut self, module: &mut Module, call: ExprId, global: GlobalId) -> Result<Option<ExprId>, GlobalId> {
        let func = module.funcs[module.globals[global].func].clone();
        let (span, ty) = (module.exprs[call].span, module.ty(call));
        let is_extern =
            func.attrs.iter().any(|(name, value)| &**name == "Extern" && value.as_int().is_some_and(|value| value != 0));
        let operands = args(module, call);
        // The body of a function with type parameters has no types of its own.
        if func.is_for_a_compiler() || is_extern || !func.type_params.is_empty() || operands.len() != func.params.len() {
            return Ok(None);
        }
        let Func { params, body, ret, .. } = func;
        let order = self.body_for_copy(module, body, global)?;
        let (mut given, mut bound) = (FxHashMap::default(), Vec::new());
        for (&param, &operand) in params.iter().zip(&operands) {
            let mut value = operand;
            if !self.pure.is(operand) {
                let of = module.vars[param].clone();
                let var = module.vars.push(of);
                value = typed(module, span, ExprKind::Var(var), module.ty(operand));
                bound.push((var, operand));
            } else if module.ty(operand) != Ty::ERROR && !self.bindings.may_go(module, param, operand) {
                value = declared(module, operand, module.vars[param].ty);
            }
            given.insert(ExprKey::Var(param), value);
        }
        let is_plain = |value: &ExprId| matches!(module.exprs[*value].kind, ExprKind::Var(_) | ExprKind::Const(_));
        let captures = !given.values().all(is_plain);
        let copy = Copy::applied(module, given, &order);
        self.pure.copied(module, &order, &copy, captures);
        let body = copy.expr(body);
        let body = if module.ty(body) == Ty::ERROR { body } else { declared(module, body, ret) };
        Ok(Some(bind(module, span, ty, bound.into_iter(), body)))
    }

    /// The function as a literal.
    fn literal(&mut self, module: &mut Module, mention: ExprId, global: GlobalId) -> Result<ExprId, GlobalId> {
        let func = module.globals[global].func;
        let (span, ty) = (module.exprs[mention].span, module.expr_tys.get(mention).copied().flatten());
        let mut order = self.body_for_copy(module, module.funcs[func].body, global)?;
        let expr = module.expr(span, ExprKind::Fn(func));
        order.push(expr);
        let copy = Copy::applied(module, FxHashMap::default(), &order);
        self.pure.copied(module, &order, &copy, false);
        let copy = copy.expr(expr);
        if let Some(ty) = ty {
            set_ty(module, copy, ty);
        }
        Ok(copy)
    }

    /// The expressions of a function's body, if they may be copied.
    fn body_for_copy(&mut self, module: &Module, body: ExprId, global: GlobalId) -> Result<Vec<ExprId>, GlobalId> {
        let order = module.post_order(&[body]);
        self.left = self.left.checked_sub(order.len()).ok_or(global)?;
        Ok(order)
    }
}

/// Replaces expressions of a function, operands before users.
fn replace(
    module: &mut Module,
    func: FuncId,
    mut f: impl FnMut(&mut Module, ExprId) -> Result<Option<ExprId>, GlobalId>,
) -> Result<(), GlobalId> {
    let order = module.post_order(&[module.funcs[func].body]);
    let first_new = module.exprs.next_id();
    let mut by: FxHashMap<ExprId, ExprId> = FxHashMap::default();
    for &expr in &order {
        if let Some(new) = f(module, expr)? {
            // The body of a function may be one of its parameters, and so an argument that was replaced.
            by.insert(expr, by.get(&new).copied().unwrap_or(new));
        }
    }
    let created = (first_new.index()..module.exprs.len()).map(ExprId::from_usize);
    let users: Vec<ExprId> = order.into_iter().chain(created).collect();
    substitute_in(module, func, &users, &by);
    Ok(())
}
