//! Copies of expressions, for passes that put a function's body in more than one place.

use super::build::{ExprKey, set_ty};
use relayc_ir::{Clause, ExprId, ExprKind, Func, FuncId, Module, Operand, Operands, Pat, PatId, PatKind, VarId};
use rustc_hash::FxHashMap;

/// A copy: the expressions and variables that replace those of the original.
pub(crate) struct Copy {
    exprs: FxHashMap<ExprId, ExprId>,
    vars: FxHashMap<VarId, VarId>,
}

impl Copy {
    /// Copies expressions, children before parents, with new variables for `params` and for whatever they bind. Those that are not
    /// in `order` stay shared.
    pub(crate) fn of(module: &mut Module, params: &[VarId], order: &[ExprId]) -> Copy {
        let mut copy = Copy { exprs: FxHashMap::default(), vars: FxHashMap::default() };
        params.iter().for_each(|&param| copy.bound(module, param));
        copy.all(module, order);
        copy
    }

    /// As [`Copy::of`], with an expression in the place of each of some others, and of each mention of some variables.
    pub(crate) fn applied(module: &mut Module, given: FxHashMap<ExprKey, ExprId>, order: &[ExprId]) -> Copy {
        let mut copy = Copy { exprs: FxHashMap::default(), vars: FxHashMap::default() };
        for &expr in order {
            copy.exprs.extend(given.get(&ExprKey::of(module, expr)).map(|&value| (expr, value)));
        }
        copy.all(module, order);
        copy
    }

    fn all(&mut self, module: &mut Module, order: &[ExprId]) {
        // Every variable that is bound inside gets a new one before any mention is copied.
        for &expr in order {
            self.binders(module, expr);
        }
        for &expr in order {
            if !self.exprs.contains_key(&expr) {
                self.copied(module, expr);
            }
        }
    }

    /// What replaces a variable.
    pub(crate) fn var(&self, var: VarId) -> VarId {
        self.vars.get(&var).copied().unwrap_or(var)
    }

    /// What replaces an expression.
    pub(crate) fn expr(&self, expr: ExprId) -> ExprId {
        self.exprs.get(&expr).copied().unwrap_or(expr)
    }

    fn bound(&mut self, module: &mut Module, var: VarId) {
        let new = module.vars[var].clone();
        self.vars.insert(var, module.vars.push(new));
    }

    fn binders(&mut self, module: &mut Module, expr: ExprId) {
        let bound: Vec<VarId> = match module.exprs[expr].kind {
            ExprKind::Let { var, .. } => vec![var],
            ExprKind::Fn(func) => module.funcs[func].params.clone(),
            ExprKind::Match { clauses, .. } => {
                let pats: Vec<PatId> = module.clause_items(clauses).iter().map(|clause| clause.pat).collect();
                pats.into_iter().flat_map(|pat| module.pat_vars(pat)).collect()
            }
            _ => return,
        };
        for var in bound {
            self.bound(module, var);
        }
    }

    fn copied(&mut self, module: &mut Module, expr: ExprId) {
        let kind = match module.exprs[expr].kind {
            // Functions share no expressions.
            kind @ (ExprKind::Error | ExprKind::Const(_) | ExprKind::Global(_) | ExprKind::Op(_) | ExprKind::Ctor(_)) => kind,
            ExprKind::Var(var) => ExprKind::Var(self.var(var)),
            ExprKind::Tuple(fields) => ExprKind::Tuple(self.operands(module, fields)),
            ExprKind::Proj { tuple, index } => ExprKind::Proj { tuple: self.expr(tuple), index },
            ExprKind::Call { callee, args, attrs } => {
                ExprKind::Call { callee: self.expr(callee), args: self.operands(module, args), attrs }
            }
            ExprKind::Fn(func) => ExprKind::Fn(self.func(module, func)),
            ExprKind::Let { var, value, body } => {
                ExprKind::Let { var: self.vars[&var], value: self.expr(value), body: self.expr(body) }
            }
            ExprKind::If { cond, then_branch, else_branch } => {
                ExprKind::If { cond: self.expr(cond), then_branch: self.expr(then_branch), else_branch: self.expr(else_branch) }
            }
            ExprKind::Match { scrutinee, clauses, total } => {
                let clauses = module.clause_items(clauses).to_vec();
                let copies: Vec<Clause> = clauses
                    .iter()
                    .map(|clause| Clause { pat: self.pat(module, clause.pat), body: self.expr(clause.body) })
                    .collect();
                ExprKind::Match { scrutinee: self.expr(scrutinee), clauses: module.clauses(&copies), total }
            }
            ExprKind::RefNew(value) => ExprKind::RefNew(self.expr(value)),
            ExprKind::RefRead(cell) => ExprKind::RefRead(self.expr(cell)),
            ExprKind::RefWrite { cell, value } => ExprKind::RefWrite { cell: self.expr(cell), value: self.expr(value) },
        };
        let (span, ty) = (module.exprs[expr].span, module.expr_tys.get(expr).copied().flatten());
        let new = module.expr(span, kind);
        if let Some(ty) = ty {
            set_ty(module, new, ty);
        }
        self.exprs.insert(expr, new);
    }

    fn operands(&self, module: &mut Module, list: Operands) -> Operands {
        let items: Vec<Operand> = module.items(list).iter().map(|item| Operand { expr: self.expr(item.expr), ..*item }).collect();
        module.operands(&items)
    }

    fn func(&self, module: &mut Module, func: FuncId) -> FuncId {
        let func = module.funcs[func].clone();
        let params = func.params.iter().map(|param| self.vars[param]).collect();
        module.funcs.push(Func { params, body: self.expr(func.body), ..func })
    }

    fn pat(&self, module: &mut Module, pat: PatId) -> PatId {
        renamed_pattern(module, pat, &mut |_, var| self.vars[&var])
    }
}

/// A copy of a pattern with other variables, the inner patterns first.
pub(crate) fn renamed_pattern(module: &mut Module, root: PatId, renamed: &mut dyn FnMut(&mut Module, VarId) -> VarId) -> PatId {
    let mut copies: FxHashMap<PatId, PatId> = FxHashMap::default();
    let mut stack = vec![(root, false)];
    while let Some((pat, done)) = stack.pop() {
        let Pat { span, kind } = module.pats[pat];
        let inside = match kind {
            PatKind::Ctor(_, inside) | PatKind::Tuple(inside) => module.sub_pats(inside).to_vec(),
            PatKind::Error | PatKind::Wildcard | PatKind::Var(_) => vec![],
        };
        if !done {
            stack.push((pat, true));
            stack.extend(inside.into_iter().map(|inner| (inner, false)));
            continue;
        }
        let inside: Vec<PatId> = inside.into_iter().map(|inner| copies[&inner]).collect();
        let kind = match kind {
            PatKind::Error | PatKind::Wildcard => kind,
            PatKind::Var(var) => PatKind::Var(renamed(module, var)),
            PatKind::Ctor(ctor, _) => PatKind::Ctor(ctor, module.pats(&inside)),
            PatKind::Tuple(_) => PatKind::Tuple(module.pats(&inside)),
        };
        copies.insert(pat, module.pats.push(Pat { span, kind }));
    }
    copies[&root]
}
