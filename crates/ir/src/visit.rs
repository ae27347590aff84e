//! Walks expressions without recursion.

use super::{ExprId, ExprKind, Module, PatId, PatKind, VarId};
use relayc_base::Idx;
use rustc_hash::FxHashSet;

/// The expressions that a walk has visited. The cost is proportional to the visited part, however large the program is.
pub struct Seen {
    few: FxHashSet<ExprId>,
    /// By number, from when there are no longer few.
    many: Vec<bool>,
    n_exprs: usize,
}

impl Seen {
    /// So many times as many expressions as have been seen may be cleared at once.
    const MANY: usize = 64;

    pub fn none(module: &Module) -> Seen {
        Seen { few: FxHashSet::default(), many: vec![], n_exprs: module.exprs.len() }
    }

    /// Adds an expression and says whether it is new.
    pub fn insert(&mut self, expr: ExprId) -> bool {
        if !self.many.is_empty() {
            return !std::mem::replace(&mut self.many[expr.index()], true);
        }
        let new = self.few.insert(expr);
        if self.few.len() * Seen::MANY > self.n_exprs {
            self.many = vec![false; self.n_exprs];
            self.few.drain().for_each(|expr| self.many[expr.index()] = true);
        }
        new
    }
}

impl Module {
    /// The direct children of an expression, in text order.
    pub fn children(&self, expr: ExprId, out: &mut Vec<ExprId>) {
        match self.exprs[expr].kind {
            ExprKind::Error
            | ExprKind::Const(_)
            | ExprKind::Var(_)
            | ExprKind::Global(_)
            | ExprKind::Op(_)
            | ExprKind::Ctor(_) => {}
            ExprKind::Tuple(fields) => out.extend(self.items(fields).iter().map(|field| field.expr)),
            ExprKind::Proj { tuple, .. } => out.push(tuple),
            ExprKind::Call { callee, args, .. } => {
                out.push(callee);
                out.extend(self.items(args).iter().map(|arg| arg.expr));
            }
            ExprKind::Fn(func) => out.push(self.funcs[func].body),
            ExprKind::Let { value, body, .. } => out.extend([value, body]),
            ExprKind::If { cond, then_branch, else_branch } => out.extend([cond, then_branch, else_branch]),
            ExprKind::Match { scrutinee, clauses, .. } => {
                out.push(scrutinee);
                out.extend(self.clause_items(clauses).iter().map(|clause| clause.body));
            }
            ExprKind::RefNew(value) => out.push(value),
            ExprKind::RefRead(cell) => out.push(cell),
            ExprKind::RefWrite { cell, value } => out.extend([cell, value]),
        }
    }

    /// The direct children of an expression, in the order of evaluation: a callee after its arguments (language 8).
    pub fn evaluated_children(&self, expr: ExprId, out: &mut Vec<ExprId>) {
        let start = out.len();
        self.children(expr, out);
        if matches!(self.exprs[expr].kind, ExprKind::Call { .. }) {
            out[start..].rotate_left(1);
        }
    }

    /// The variables a pattern binds, in text order.
    pub fn pat_vars(&self, pat: PatId) -> Vec<VarId> {
        let (mut vars, mut stack) = (Vec::new(), vec![pat]);
        while let Some(pat) = stack.pop() {
            match self.pats[pat].kind {
                PatKind::Error | PatKind::Wildcard => {}
                PatKind::Var(var) => vars.push(var),
                PatKind::Ctor(_, fields) | PatKind::Tuple(fields) => stack.extend(self.sub_pats(fields).iter().rev()),
            }
        }
        vars
    }

    /// The roots of the program: the body of each global, or the bare expression.
    pub fn roots(&self) -> Vec<ExprId> {
        match self.root {
            super::Root::Globals => self.globals.iter().map(|global| self.funcs[global.func].body).collect(),
            super::Root::Expr(expr) => vec![expr],
        }
    }

    /// All expressions under the roots, each once, children before parents.
    pub fn post_order(&self, roots: &[ExprId]) -> Vec<ExprId> {
        self.post_order_by(roots, Module::children)
    }

    /// All expressions under the roots, each once, in the order of evaluation.
    pub fn evaluation_order(&self, roots: &[ExprId]) -> Vec<ExprId> {
        self.post_order_by(roots, Module::evaluated_children)
    }

    /// For each expression, by its number: when an evaluation of the roots first reaches it. An expression is reached before its
    /// operands, and the operands in the order of evaluation.
    pub fn first_met(&self, roots: &[ExprId]) -> Vec<u32> {
        let mut met = vec![u32::MAX; self.exprs.len()];
        let mut n_met = 0;
        let mut stack: Vec<ExprId> = roots.iter().rev().copied().collect();
        let mut children = Vec::new();
        while let Some(expr) = stack.pop() {
            if met[expr.index()] != u32::MAX {
                continue;
            }
            met[expr.index()] = n_met;
            n_met += 1;
            children.clear();
            self.evaluated_children(expr, &mut children);
            stack.extend(children.iter().rev());
        }
        met
    }

    /// As [`Module::post_order`], with `children_of` as the children of each expression.
    pub fn post_order_by(&self, roots: &[ExprId], children_of: fn(&Module, ExprId, &mut Vec<ExprId>)) -> Vec<ExprId> {
        let mut order = Vec::new();
        let mut seen = Seen::none(self);
        let mut stack: Vec<(ExprId, bool)> = roots.iter().rev().map(|&root| (root, false)).collect();
        let mut children = Vec::new();
        while let Some((expr, done)) = stack.pop() {
            if done {
                order.push(expr);
                continue;
            }
            if !seen.insert(expr) {
                continue;
            }
            stack.push((expr, true));
            children.clear();
            children_of(self, expr, &mut children);
            stack.extend(children.iter().rev().map(|&child| (child, false)));
        }
        order
    }

    /// For each expression, the number of mentions by expressions under the roots.
    pub fn use_counts(&self, roots: &[ExprId]) -> Vec<u32> {
        let mut counts = vec![0; self.exprs.len()];
        let mut children = Vec::new();
        for expr in self.post_order(roots) {
            children.clear();
            self.children(expr, &mut children);
            children.iter().for_each(|child| counts[child.index()] += 1);
        }
        counts
    }

    /// Every binding of a variable under the roots.
    pub(crate) fn binders(&self) -> Vec<VarId> {
        let mut binders: Vec<VarId> = self.globals.iter().flat_map(|global| self.funcs[global.func].params.clone()).collect();
        for expr in self.post_order(&self.roots()) {
            match self.exprs[expr].kind {
                ExprKind::Fn(func) => binders.extend(&self.funcs[func].params),
                ExprKind::Let { var, .. } => binders.push(var),
                ExprKind::Match { clauses, .. } => {
                    binders.extend(self.clause_items(clauses).iter().flat_map(|clause| self.pat_vars(clause.pat)));
                }
                _ => {}
            }
        }
        binders
    }

    /// The free variables, in the order of their first mention, a callee before its arguments.
    pub fn free_vars(&self) -> Vec<VarId> {
        let mut seen = vec![false; self.vars.len()];
        self.binders().iter().for_each(|var| seen[var.index()] = true);
        let mut free = Vec::new();
        for expr in self.post_order(&self.roots()) {
            if let ExprKind::Var(var) = self.exprs[expr].kind
                && !std::mem::replace(&mut seen[var.index()], true)
            {
                free.push(var);
            }
        }
        free
    }
}
