//! Makes global functions of function literals: TVM's `LambdaLift` (`src/relay/backend/vm/lambda_lift.cc`).
//!
//! A literal without free variables becomes a function. Another one becomes a function of its free variables that returns the literal; it
//! has the attribute `Closure=1`, and its call makes the closure. Fused groups stay where they are.
//!
//! The rewrite is sound because a variable never changes: the value that a closure captures is the value of the argument. So is a shared
//! expression that is computed around the literal. A function that calls itself by the name of its `let` makes itself anew from the same
//! captured values.
//!
//! ```text
//! let %f = fn (%y: int32) { add(%x, %y) };  %f(1)
//! →
//! def @lifted_name0(%x: int32, Closure=1) { fn (%y: int32) { add(%x, %y) } }
//! let %f = @lifted_name0(%x);  %f(1)
//! ```

use super::Pass;
use super::build::{ExprKey, typed};
use super::copy::Copy;
use super::let_list::mention;
use super::names::Names;
use super::regions::Regions;
use relayc_base::Span;
use relayc_ir::types::{Ty, TyData};
use relayc_ir::{AttrValue, ExprId, ExprKind, Func, FuncId, Global, GlobalId, Module, Operand, Root, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) const PASS: Pass = Pass {
    name: "lambda-lift",
    doc: "Makes functions of function literals. What a literal captures becomes arguments of a function that returns it.",
    run: |module, _| Ok(run(module)),
    ..Pass::BASE
};

fn run(module: &mut Module) -> bool {
    let Root::Globals = module.root else { return false };
    let order = module.post_order(&module.roots());
    let regions = Regions::of(module, &order);
    if regions.join_functions(module, &order) {
        return false;
    }
    let mut any = false;
    let mut names = Names::of_globals(module);
    for global in module.globals.ids().collect::<Vec<_>>() {
        let func = module.globals[global].func;
        if module.funcs[func].is_for_a_compiler() {
            continue;
        }
        let order = module.post_order_by(&[module.funcs[func].body], children_outside_groups);
        let mut bound_to: FxHashMap<ExprId, VarId> = FxHashMap::default();
        for &expr in &order {
            if let ExprKind::Let { var, value, .. } = module.exprs[expr].kind {
                bound_to.insert(value, var);
            }
        }
        // Inner literals first: an outer one then holds calls of what they became.
        for expr in order {
            if let ExprKind::Fn(func) = module.exprs[expr].kind
                && !module.funcs[func].is_primitive()
            {
                lift(module, &regions, (expr, func), bound_to.get(&expr).copied(), &mut names);
                any = true;
            }
        }
    }
    any
}

/// The children of an expression, but not those of a fused group.
fn children_outside_groups(module: &Module, expr: ExprId, out: &mut Vec<ExprId>) {
    match module.exprs[expr].kind {
        ExprKind::Fn(func) if module.funcs[func].is_primitive() => {}
        _ => module.children(expr, out),
    }
}

/// Replaces a literal, in place, by the name of a function or by a call of one.
fn lift(module: &mut Module, regions: &Regions, (literal, func): (ExprId, FuncId), own_name: Option<VarId>, names: &mut Names) {
    let span = module.exprs[literal].span;
    let (body, nodes) = regions.own_and_captured(module, literal);
    let (vars, mentions_itself) = free_vars(module, &body, own_name);
    let order = [&body[..], &nodes].concat();
    let mut captured: Vec<ExprId> = vars.into_iter().map(|var| mention(module, span, var)).collect();
    captured.extend(nodes);
    let params: Vec<VarId> = captured.iter().map(|&expr| captured_param(module, expr)).collect();
    let type_params = free_type_params(module, func, &body, &params);
    let (name, ty) = (names.numbered("lifted_name"), module.ty(literal));
    // The body follows once it can name the new function.
    let global = module.globals.push(Global { name, func, span });
    let is_closed = captured.is_empty() && type_params.is_empty();
    let inside: Vec<ExprId> = params.iter().map(|&param| mention(module, span, param)).collect();
    let mut given: FxHashMap<ExprKey, ExprId> =
        captured.iter().zip(&inside).map(|(&expr, &param)| (ExprKey::of(module, expr), param)).collect();
    if let Some(own_name) = own_name.filter(|_| mentions_itself) {
        let itself = if is_closed { ExprKind::Global(global) } else { call(module, span, global, &inside) };
        given.insert(ExprKey::Var(own_name), typed(module, span, itself, ty));
    }
    let copy = Copy::applied(module, given, &order).expr(literal);
    let ExprKind::Fn(copied) = module.exprs[copy].kind else { unreachable!("the copy of a literal is a literal") };
    if is_closed {
        module.globals[global].func = copied;
        module.exprs[literal].kind = ExprKind::Global(global);
        return;
    }
    let attrs = vec![("Closure".into(), AttrValue::int(1))];
    let closure = Func { span, type_params, params, ret: Some(ty), ret_span: Span::NONE, body: copy, attrs };
    module.globals[global].func = module.funcs.push(closure);
    module.exprs[literal].kind = call(module, span, global, &captured);
}

fn call(module: &mut Module, span: Span, global: GlobalId, args: &[ExprId]) -> ExprKind {
    let args: Vec<Operand> = args.iter().map(|&expr| Operand { expr, span }).collect();
    let args = module.operands(&args);
    ExprKind::Call { callee: module.expr(span, ExprKind::Global(global)), args, attrs: None }
}

/// The parameter for a captured variable or value, with its type.
fn captured_param(module: &mut Module, expr: ExprId) -> VarId {
    let (span, ty) = (module.exprs[expr].span, module.ty(expr));
    let ty = Some(ty).filter(|&ty| ty != Ty::ERROR);
    let name = match module.exprs[expr].kind {
        ExprKind::Var(var) => module.vars[var].name.clone(),
        _ => "x".into(),
    };
    module.var(&name, ty, span)
}

/// The variables that a literal captures, in the order of mention, and whether it mentions the name of its `let`.
pub(crate) fn free_vars(module: &Module, body: &[ExprId], own_name: Option<VarId>) -> (Vec<VarId>, bool) {
    let mut seen: FxHashSet<VarId> = body.iter().flat_map(|&expr| bound_by(module, expr)).collect();
    let (mut captured, mut mentions_itself) = (Vec::new(), false);
    for &expr in body {
        let ExprKind::Var(var) = module.exprs[expr].kind else { continue };
        if own_name == Some(var) {
            mentions_itself = true;
        } else if seen.insert(var) {
            captured.push(var);
        }
    }
    (captured, mentions_itself)
}

/// The variables that an expression binds.
pub(crate) fn bound_by(module: &Module, expr: ExprId) -> Vec<VarId> {
    match module.exprs[expr].kind {
        ExprKind::Fn(func) => module.funcs[func].params.clone(),
        ExprKind::Let { var, .. } => vec![var],
        ExprKind::Match { clauses, .. } => {
            module.clause_items(clauses).iter().flat_map(|clause| module.pat_vars(clause.pat)).collect()
        }
        _ => vec![],
    }
}

/// The type parameters of functions around a literal that its types mention.
fn free_type_params(module: &Module, func: FuncId, body: &[ExprId], captured: &[VarId]) -> Vec<Ty> {
    let mut tys: Vec<Ty> = module.funcs[func].ret.into_iter().collect();
    let mut own: FxHashSet<Ty> = FxHashSet::default();
    let bound = body.iter().flat_map(|&expr| bound_by(module, expr));
    tys.extend(bound.chain(captured.iter().copied()).filter_map(|var| module.vars[var].checked_ty.or(module.vars[var].ty)));
    for &expr in body {
        if let ExprKind::Fn(func) = module.exprs[expr].kind {
            own.extend(&module.funcs[func].type_params);
            tys.extend(module.funcs[func].ret);
        }
    }
    let mut found = Vec::new();
    let mut seen: FxHashSet<Ty> = FxHashSet::default();
    while let Some(ty) = tys.pop() {
        if !module.types.has_param(ty) || !seen.insert(ty) {
            continue;
        }
        match module.types.data(ty) {
            TyData::Param { .. } if !own.contains(&ty) => found.push(ty),
            // The parameters that a function type binds are its own.
            TyData::Fn { type_params, .. } => {
                own.extend(type_params);
                module.types.children(ty, &mut tys);
            }
            _ => module.types.children(ty, &mut tys),
        }
    }
    found.retain(|ty| !own.contains(ty));
    found
}
