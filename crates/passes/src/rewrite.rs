//! The rewriter that passes share: it visits every expression once, operands before users, and may replace it.
//!
//! An expression that stays is changed in place, so it keeps its number, its span and its users. Shared expressions stay shared,
//! and a rewrite that replaces nothing changes nothing. Nothing recurses, so long chains of `let`s are safe.

use super::build::{set_ty, typed};
use relayc_base::Idx;
use relayc_ir::{Clause, ExprId, ExprKind, FuncId, Module, Operand, Operands, Root};
use rustc_hash::FxHashMap;

/// The replacements so far.
pub(crate) struct Replaced {
    /// By the number of an expression that was there when the rewrite began.
    by: Vec<Option<ExprId>>,
}

impl Replaced {
    /// The expression that replaces `expr` now.
    pub(crate) fn get(&self, expr: ExprId) -> ExprId {
        self.by.get(expr.index()).copied().flatten().unwrap_or(expr)
    }
}

/// Visits every expression under the roots, children before parents. `f` gets an expression whose operands have been replaced. It
/// returns the replacement: one of the operands, or a new expression made of them. The replacement gets the old type unless `f`
/// set one. Says whether anything was replaced.
pub(crate) fn rewrite(module: &mut Module, mut f: impl FnMut(&mut Module, ExprId) -> Option<ExprId>) -> bool {
    rewrite_with(module, |module, _, expr| f(module, expr))
}

/// As [`rewrite`], for a function that looks up the replacements of other expressions, such as the value of a variable.
pub(crate) fn rewrite_with(module: &mut Module, mut f: impl FnMut(&mut Module, &Replaced, ExprId) -> Option<ExprId>) -> bool {
    let order = module.post_order(&module.roots());
    let mut replaced = Replaced { by: vec![None; module.exprs.len()] };
    let mut any = false;
    for expr in order {
        replace_children(module, &|expr| replaced.get(expr), expr);
        if let Some(new) = f(module, &replaced, expr).filter(|&new| new != expr) {
            if module.expr_tys.get(new).copied().flatten().is_none()
                && let Some(ty) = module.expr_tys.get(expr).copied().flatten()
            {
                set_ty(module, new, ty);
            }
            replaced.by[expr.index()] = Some(new);
            any = true;
        }
    }
    replace_roots(module, &replaced);
    any
}

/// Replaces expressions, given by number, among the operands of `users` and at the roots.
pub fn substitute(module: &mut Module, users: &[ExprId], by: Vec<Option<ExprId>>) {
    let replaced = Replaced { by };
    for &user in users {
        replace_children(module, &|expr| replaced.get(expr), user);
    }
    replace_roots(module, &replaced);
}

/// As [`substitute`], in one function; the cost does not depend on how large the program is.
pub(crate) fn substitute_in(module: &mut Module, func: FuncId, users: &[ExprId], by: &FxHashMap<ExprId, ExprId>) {
    let now = |expr: ExprId| by.get(&expr).copied().unwrap_or(expr);
    for &user in users {
        replace_children(module, &now, user);
    }
    module.funcs[func].body = now(module.funcs[func].body);
}

fn replace_roots(module: &mut Module, replaced: &Replaced) {
    match module.root {
        Root::Expr(expr) => module.root = Root::Expr(replaced.get(expr)),
        Root::Globals => {
            for global in module.globals.ids() {
                let func = module.globals[global].func;
                module.funcs[func].body = replaced.get(module.funcs[func].body);
            }
        }
    }
}

/// Replaces the children of an expression by their replacements.
fn replace_children(module: &mut Module, now: &impl Fn(ExprId) -> ExprId, expr: ExprId) {
    let old = module.exprs[expr].kind;
    let new = match old {
        ExprKind::Error | ExprKind::Const(_) | ExprKind::Var(_) | ExprKind::Global(_) | ExprKind::Op(_) | ExprKind::Ctor(_) => {
            return;
        }
        ExprKind::Tuple(fields) => ExprKind::Tuple(operands(module, now, fields)),
        ExprKind::Proj { tuple, index } => ExprKind::Proj { tuple: now(tuple), index },
        ExprKind::Call { callee, args, attrs } => {
            ExprKind::Call { callee: now(callee), args: operands(module, now, args), attrs }
        }
        ExprKind::Fn(func) => {
            module.funcs[func].body = now(module.funcs[func].body);
            return;
        }
        ExprKind::Let { var, value, body } => ExprKind::Let { var, value: now(value), body: now(body) },
        ExprKind::If { cond, then_branch, else_branch } => {
            ExprKind::If { cond: now(cond), then_branch: now(then_branch), else_branch: now(else_branch) }
        }
        ExprKind::Match { scrutinee, clauses, total } => {
            let old = module.clause_items(clauses);
            let new: Vec<Clause> = old.iter().map(|clause| Clause { body: now(clause.body), ..*clause }).collect();
            let same = old.iter().zip(&new).all(|(old, new)| old.body == new.body);
            let clauses = if same { clauses } else { module.clauses(&new) };
            ExprKind::Match { scrutinee: now(scrutinee), clauses, total }
        }
        ExprKind::RefNew(value) => ExprKind::RefNew(now(value)),
        ExprKind::RefRead(cell) => ExprKind::RefRead(now(cell)),
        ExprKind::RefWrite { cell, value } => ExprKind::RefWrite { cell: now(cell), value: now(value) },
    };
    module.exprs[expr].kind = new;
}

/// The list with its replacements; the same list if nothing was replaced.
fn operands(module: &mut Module, now: &impl Fn(ExprId) -> ExprId, list: Operands) -> Operands {
    let items = module.items(list);
    if items.iter().all(|item| now(item.expr) == item.expr) {
        return list;
    }
    let new: Vec<Operand> = items.iter().map(|item| Operand { expr: now(item.expr), ..*item }).collect();
    module.operands(&new)
}

/// The expression with other children, in the order of [`Module::children`]: itself if they are its own, else a new one of the same
/// type. A function literal gets its new body in place.
pub(crate) fn with_children(module: &mut Module, expr: ExprId, new: &[ExprId]) -> ExprId {
    let mut old = Vec::new();
    module.children(expr, &mut old);
    if old == new {
        return expr;
    }
    let spanned = |list: &[Operand], new: &[ExprId]| -> Vec<Operand> {
        list.iter().zip(new).map(|(old, &expr)| Operand { expr, ..*old }).collect()
    };
    let kind = match module.exprs[expr].kind {
        kind @ (ExprKind::Error
        | ExprKind::Const(_)
        | ExprKind::Var(_)
        | ExprKind::Global(_)
        | ExprKind::Op(_)
        | ExprKind::Ctor(_)) => kind,
        ExprKind::Tuple(fields) => {
            let fields = spanned(module.items(fields), new);
            ExprKind::Tuple(module.operands(&fields))
        }
        ExprKind::Proj { index, .. } => ExprKind::Proj { tuple: new[0], index },
        ExprKind::Call { args, attrs, .. } => {
            let args = spanned(module.items(args), &new[1..]);
            ExprKind::Call { callee: new[0], args: module.operands(&args), attrs }
        }
        ExprKind::Fn(func) => {
            module.funcs[func].body = new[0];
            return expr;
        }
        ExprKind::Let { var, .. } => ExprKind::Let { var, value: new[0], body: new[1] },
        ExprKind::If { .. } => ExprKind::If { cond: new[0], then_branch: new[1], else_branch: new[2] },
        ExprKind::Match { clauses, total, .. } => {
            let old = module.clause_items(clauses);
            let clauses: Vec<Clause> = old.iter().zip(&new[1..]).map(|(old, &body)| Clause { body, ..*old }).collect();
            ExprKind::Match { scrutinee: new[0], clauses: module.clauses(&clauses), total }
        }
        ExprKind::RefNew(_) => ExprKind::RefNew(new[0]),
        ExprKind::RefRead(_) => ExprKind::RefRead(new[0]),
        ExprKind::RefWrite { .. } => ExprKind::RefWrite { cell: new[0], value: new[1] },
    };
    let (span, ty) = (module.exprs[expr].span, module.ty(expr));
    typed(module, span, kind, ty)
}
