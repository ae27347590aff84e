//! The rewriter that passes share: every expression is visited once, operands before users, and may be replaced.
//!
//! An expression that stays is changed in place, so it keeps its number, its span and its users: what was shared stays shared,
//! and a rewrite that replaces nothing changes nothing. Nothing recurses; a chain of `let`s is as good as any other.

use super::build::set_ty;
use crate::base::Idx;
use crate::ir::{Clause, ExprId, ExprKind, Module, Operand, Operands, Root};

/// What has been replaced so far.
pub struct Replaced {
    /// By the number of an expression that was there when the rewrite began.
    by: Vec<Option<ExprId>>,
}

impl Replaced {
    /// What stands in the place of an expression now.
    pub fn get(&self, expr: ExprId) -> ExprId {
        self.by.get(expr.index()).copied().flatten().unwrap_or(expr)
    }
}

/// Visits every expression under the roots, children before parents. `f` gets one whose operands have been replaced and
/// gives what is to stand in its place: one of its operands, or something new made of them. Its type is the old one unless
/// `f` gave it one. Says whether anything was replaced.
pub fn rewrite(module: &mut Module, mut f: impl FnMut(&mut Module, ExprId) -> Option<ExprId>) -> bool {
    rewrite_with(module, |module, _, expr| f(module, expr))
}

/// As [`rewrite`], for one that asks what has become of other expressions, such as the value of a variable.
pub fn rewrite_with(module: &mut Module, mut f: impl FnMut(&mut Module, &Replaced, ExprId) -> Option<ExprId>) -> bool {
    let order = module.post_order(&module.roots());
    let mut replaced = Replaced { by: vec![None; module.exprs.len()] };
    let mut any = false;
    for expr in order {
        replace_children(module, &replaced, expr);
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

/// Puts other expressions in the place of those given by number, among the operands of `users` and at the roots.
pub fn substitute(module: &mut Module, users: &[ExprId], by: Vec<Option<ExprId>>) {
    let replaced = Replaced { by };
    for &user in users {
        replace_children(module, &replaced, user);
    }
    replace_roots(module, &replaced);
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

/// Puts what has been replaced in the place of the children of an expression.
fn replace_children(module: &mut Module, replaced: &Replaced, expr: ExprId) {
    let old = module.exprs[expr].kind;
    let new = match old {
        ExprKind::Error | ExprKind::Const(_) | ExprKind::Var(_) | ExprKind::Global(_) | ExprKind::Op(_) | ExprKind::Ctor(_) => {
            return;
        }
        ExprKind::Tuple(fields) => ExprKind::Tuple(operands(module, replaced, fields)),
        ExprKind::Proj { tuple, index } => ExprKind::Proj { tuple: replaced.get(tuple), index },
        ExprKind::Call { callee, args, attrs } => {
            ExprKind::Call { callee: replaced.get(callee), args: operands(module, replaced, args), attrs }
        }
        ExprKind::Fn(func) => {
            module.funcs[func].body = replaced.get(module.funcs[func].body);
            return;
        }
        ExprKind::Let { var, value, body } => ExprKind::Let { var, value: replaced.get(value), body: replaced.get(body) },
        ExprKind::If { cond, then_branch, else_branch } => ExprKind::If {
            cond: replaced.get(cond),
            then_branch: replaced.get(then_branch),
            else_branch: replaced.get(else_branch),
        },
        ExprKind::Match { scrutinee, clauses, total } => {
            let old = module.clause_items(clauses);
            let new: Vec<Clause> = old.iter().map(|clause| Clause { body: replaced.get(clause.body), ..*clause }).collect();
            let same = old.iter().zip(&new).all(|(old, new)| old.body == new.body);
            let clauses = if same { clauses } else { module.clauses(&new) };
            ExprKind::Match { scrutinee: replaced.get(scrutinee), clauses, total }
        }
        ExprKind::RefNew(value) => ExprKind::RefNew(replaced.get(value)),
        ExprKind::RefRead(cell) => ExprKind::RefRead(replaced.get(cell)),
        ExprKind::RefWrite { cell, value } => ExprKind::RefWrite { cell: replaced.get(cell), value: replaced.get(value) },
    };
    module.exprs[expr].kind = new;
}

/// A list with what has been replaced; the same list where nothing was.
fn operands(module: &mut Module, replaced: &Replaced, list: Operands) -> Operands {
    let items = module.items(list);
    if items.iter().all(|item| replaced.get(item.expr) == item.expr) {
        return list;
    }
    let new: Vec<Operand> = items.iter().map(|item| Operand { expr: replaced.get(item.expr), ..*item }).collect();
    module.operands(&new)
}
