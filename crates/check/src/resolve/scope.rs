//! Scopes of local names and the table of graph variables (language 4 and 2.3).

use relayc_base::Span;
use relayc_ir::{ExprId, VarId};
use rustc_hash::FxHashMap;

/// Local names, innermost scope last. A chain of a million lets is a million scopes, so a scope is only a mark in a trail.
#[derive(Default)]
pub(super) struct Scopes<'a> {
    /// For each name its bindings, innermost last, each with the depth of its scope.
    bindings: FxHashMap<&'a str, Vec<(VarId, usize)>>,
    /// The names declared, in order; closing a scope undoes them down to its mark.
    trail: Vec<&'a str>,
    marks: Vec<usize>,
    /// `free_var` names: outside all scopes, looked up last.
    free: FxHashMap<&'a str, VarId>,
    /// What the function mentions and nothing defines, so that it is reported once.
    undefined: FxHashMap<&'a str, VarId>,
}

impl<'a> Scopes<'a> {
    pub(crate) fn open(&mut self) {
        self.marks.push(self.trail.len());
    }

    pub(crate) fn close(&mut self) {
        let mark = self.marks.pop().unwrap_or(0);
        for name in self.trail.drain(mark..) {
            if let Some(bindings) = self.bindings.get_mut(name) {
                bindings.pop();
            }
        }
    }

    /// Adds a name to the innermost scope. If the scope holds it already, that variable keeps it and is returned.
    pub(crate) fn declare(&mut self, name: &'a str, var: VarId) -> Option<VarId> {
        let depth = self.marks.len();
        let bindings = self.bindings.entry(name).or_default();
        if let Some(&(first, at)) = bindings.last()
            && at == depth
        {
            return Some(first);
        }
        bindings.push((var, depth));
        self.trail.push(name);
        None
    }

    /// The variable that a name in the innermost scope hides.
    pub(crate) fn hidden(&self, name: &str) -> Option<VarId> {
        let bindings = self.bindings.get(name)?;
        let &(last, depth) = bindings.last()?;
        let outer = if depth == self.marks.len() { bindings.iter().rev().nth(1).map(|&(var, _)| var) } else { Some(last) };
        outer.or_else(|| self.free.get(name).copied())
    }

    /// Adds a free variable; the first declaration wins.
    pub(crate) fn declare_free(&mut self, name: &'a str, var: VarId) {
        self.free.entry(name).or_insert(var);
    }

    pub(crate) fn declare_undefined(&mut self, name: &'a str, var: VarId) {
        self.undefined.insert(name, var);
    }

    /// Forgets what the last function mentioned.
    pub(crate) fn next_function(&mut self) {
        self.undefined.clear();
    }

    /// The variable that stands for an undefined one which was mentioned before.
    pub(crate) fn undefined(&self, name: &str) -> Option<VarId> {
        self.undefined.get(name).copied()
    }

    pub(crate) fn find(&self, name: &str) -> Option<VarId> {
        let bound = self.bindings.get(name).and_then(|bindings| bindings.last()).map(|&(var, _)| var);
        bound.or_else(|| self.free.get(name).copied())
    }

    /// The names in scope, in no order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'a str> {
        let bound = self.bindings.iter().filter(|(_, bindings)| !bindings.is_empty()).map(|(name, _)| *name);
        bound.chain(self.free.keys().copied())
    }

    /// How many names are or were in scope.
    pub(crate) fn n_names(&self) -> usize {
        self.bindings.len() + self.free.len()
    }
}

/// Graph variables. Each function has numbers of its own, but text that TVM printed may mention one of an earlier function.
#[derive(Default)]
pub(super) struct GraphTable<'a> {
    function: usize,
    /// Whether this function binds a number twice: one of them is meant to be another.
    has_duplicate: bool,
    nodes: FxHashMap<&'a str, (ExprId, Span, usize, &'a str)>,
}

impl<'a> GraphTable<'a> {
    pub(crate) fn next_function(&mut self) {
        self.function += 1;
        self.has_duplicate = false;
    }

    /// Binds a number. If this function has bound it already, the first stays and its place is returned.
    pub(crate) fn define(&mut self, key: &'a str, name: &'a str, expr: ExprId, at: Span) -> Option<Span> {
        if let Some(&(_, first, function, _)) = self.nodes.get(key)
            && function == self.function
        {
            self.has_duplicate = true;
            return Some(first);
        }
        self.nodes.insert(key, (expr, at, self.function, name));
        None
    }

    /// The names this function has bound, as they are written, in no order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'a str> {
        let own = self.nodes.values().filter(|node| node.2 == self.function);
        own.map(|node| node.3)
    }

    /// How many names this function and those before it have bound.
    pub(crate) fn n_names(&self) -> usize {
        self.nodes.len()
    }

    /// The node, whether this function bound it, and the place of the name that binds it. A number that this function does not bind
    /// may be meant by one that it binds twice.
    pub(crate) fn find(&self, key: &str) -> Option<(ExprId, bool, Span)> {
        let node = self.nodes.get(key).filter(|node| node.2 == self.function || !self.has_duplicate);
        node.map(|&(expr, binder, function, _)| (expr, function == self.function, binder))
    }
}
