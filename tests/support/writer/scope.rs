//! Values in scope, by type; and names for new ones.

use super::Writer;
use super::ty::Ty;

/// A local or graph variable.
#[derive(Clone)]
struct Var {
    text: String,
    ty: Ty,
}

#[derive(Default)]
pub struct Scope {
    vars: Vec<Var>,
    n_params: usize,
    /// Graph variables that mention only the parameters: they may be used wherever text follows (language 2.3).
    shared: Vec<Var>,
    /// While one of those is written: what was bound before, parameters aside, may not be mentioned.
    hidden_to: usize,
    /// While a function is written that is applied at once: what was bound before is seen unless it is a graph variable.
    graphs_hidden: (usize, usize),
}

/// A point to which a scope is taken back.
pub struct Mark(usize);

impl Scope {
    pub fn mark(&self) -> Mark {
        Mark(self.vars.len())
    }

    pub fn close(&mut self, mark: &Mark) {
        self.vars.truncate(mark.0);
    }

    pub fn bind(&mut self, text: String, ty: Ty) {
        self.vars.push(Var { text, ty });
    }

    pub fn end_params(&mut self) {
        self.n_params = self.vars.len();
    }

    /// Hides all but the parameters; gives what [`Scope::show`] takes back.
    pub fn hide(&mut self) -> usize {
        std::mem::replace(&mut self.hidden_to, self.vars.len())
    }

    pub fn show(&mut self, before: usize) {
        self.hidden_to = before;
    }

    /// Hides graph variables; gives what [`Scope::show_graphs`] takes back.
    pub fn hide_graphs(&mut self) -> (usize, usize) {
        std::mem::replace(&mut self.graphs_hidden, (self.vars.len(), self.shared.len()))
    }

    /// Shows them again, but not those bound since.
    pub fn show_graphs(&mut self, before: (usize, usize)) {
        self.shared.truncate(self.graphs_hidden.1);
        self.graphs_hidden = before;
    }

    pub fn share(&mut self, text: String, ty: Ty) {
        self.shared.push(Var { text, ty });
    }

    /// The variables that can be mentioned, the last bound first.
    fn visible(&self) -> impl Iterator<Item = &Var> {
        let is_graph = |at: usize| self.vars[at].text.as_bytes()[1].is_ascii_digit();
        let is_seen =
            move |at: usize| (at < self.n_params || at >= self.hidden_to) && (at >= self.graphs_hidden.0 || !is_graph(at));
        let is_shadowed = |at: usize| self.vars[at + 1..].iter().any(|later| later.text == self.vars[at].text);
        let bound = (0..self.vars.len()).rev().filter(move |&at| is_seen(at) && !is_shadowed(at)).map(|at| &self.vars[at]);
        bound.chain(&self.shared[self.graphs_hidden.1..])
    }

    /// Whether a variable of the name is the only way to a value of its type.
    fn needs(&self, name: &str) -> bool {
        self.vars.iter().any(|var| var.text == name && !var.ty.is_closed())
    }

    /// The variables of a type.
    pub fn of(&self, ty: &Ty) -> Vec<String> {
        self.visible().filter(|var| var.ty == *ty).map(|var| var.text.clone()).collect()
    }

    pub fn has(&self, ty: &Ty) -> bool {
        self.visible().any(|var| var.ty == *ty)
    }

    /// Variables with what `f` makes of their types.
    pub fn select<T>(&self, mut f: impl FnMut(&Ty) -> Option<T>) -> Vec<(String, T)> {
        self.visible().filter_map(|var| Some((var.text.clone(), f(&var.ty)?))).collect()
    }

    pub fn types(&self) -> Vec<Ty> {
        self.visible().map(|var| var.ty.clone()).filter(|ty| !matches!(ty, Ty::Generic(..))).collect()
    }
}

impl Writer<'_> {
    /// A name for a variable, none of those `taken`; often one that is in use around.
    pub fn var_name(&mut self, taken: &[String]) -> String {
        const NAMES: [&str; 20] = [
            "x",
            "y",
            "a",
            "b",
            "x1",
            "v",
            "input_1",
            "conv/weight",
            "_",
            "_t",
            "True",
            "Tensor",
            "meta",
            "inff",
            "let_",
            "p0",
            "Xy",
            "ref_",
            "data",
            "a_name_of_a_variable_that_is_so_long_that_no_one_would_want_to_type_it_twice_in_a_program",
        ];
        let name = format!("%{}", self.pick(&NAMES));
        if !taken.contains(&name) && !self.scope.needs(&name) {
            return name;
        }
        let n = self.fresh();
        format!("{name}__{n}")
    }

    /// A name that nothing else has.
    pub fn fresh_name(&mut self, prefix: &str) -> String {
        let n = self.fresh();
        format!("%{prefix}__{n}")
    }
}
