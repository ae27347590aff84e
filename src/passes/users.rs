//! Who mentions an expression.

use crate::base::Idx;
use crate::ir::{ExprId, Module};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

/// The mentions of the expressions under a module's roots.
pub struct Users {
    /// By the number of an expression; one that mentions it twice stands there twice.
    lists: Vec<SmallVec<[ExprId; 2]>>,
    results: FxHashSet<ExprId>,
}

impl Users {
    /// The mentions in a module, and the expressions that mention, operands before users.
    pub fn of(module: &Module) -> (Users, Vec<ExprId>) {
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

    pub fn list(&self, expr: ExprId) -> &[ExprId] {
        self.lists.get(expr.index()).map_or(&[], |list| list)
    }

    /// Whether a function or the program gives it as its result.
    pub fn is_result(&self, expr: ExprId) -> bool {
        self.results.contains(&expr)
    }

    /// Whether nothing but one mention by `user` needs the value.
    pub fn only(&self, expr: ExprId, user: ExprId) -> bool {
        *self.list(expr) == [user] && !self.is_result(expr)
    }

    /// Takes `expr` out of the graph: who mentioned it mentions `operand` instead.
    pub fn bypass(&mut self, expr: ExprId, operand: ExprId) {
        let users = std::mem::take(&mut self.lists[expr.index()]);
        let list = &mut self.lists[operand.index()];
        list.retain(|user| *user != expr);
        list.extend(users);
        if self.results.contains(&expr) {
            self.results.insert(operand);
        }
    }
}
