//! Finds the users of an expression.

use relayc_base::Idx;
use relayc_ir::{ExprId, Module};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

/// The users of the expressions under a module's roots.
pub(crate) struct Users {
    /// By the number of an expression; one that mentions it twice stands there twice.
    lists: Vec<SmallVec<[ExprId; 2]>>,
    results: FxHashSet<ExprId>,
}

impl Users {
    /// The users in a module, and the expressions under its roots, operands before users.
    pub(crate) fn of(module: &Module) -> (Users, Vec<ExprId>) {
        let roots = module.roots();
        let order = module.post_order(&roots);
        let mut lists = vec![SmallVec::new(); module.exprs.len()];
        let mut children = Vec::new();
        for &expr in &order {
            children.clear();
            module.children(expr, &mut children);
            children.iter().for_each(|child| lists[child.index()].push(expr));
        }
        (Users { lists, results: roots.into_iter().collect() }, order)
    }

    pub(crate) fn list(&self, expr: ExprId) -> &[ExprId] {
        self.lists.get(expr.index()).map_or(&[], |list| list)
    }

    /// Whether the expression is the result of a function or of the program.
    pub(crate) fn is_result(&self, expr: ExprId) -> bool {
        self.results.contains(&expr)
    }

    /// Whether one mention by `user` is the only use of the value.
    pub(crate) fn only(&self, expr: ExprId, user: ExprId) -> bool {
        *self.list(expr) == [user] && !self.is_result(expr)
    }

    /// Removes `expr` from the graph: its users mention `operand` instead.
    pub(crate) fn bypass(&mut self, expr: ExprId, operand: ExprId) {
        let users = std::mem::take(&mut self.lists[expr.index()]);
        let list = &mut self.lists[operand.index()];
        list.retain(|user| *user != expr);
        list.extend(users);
        if self.results.contains(&expr) {
            self.results.insert(operand);
        }
    }
}
