//! Names in expressions: locals, globals, graph variables, operators and constructors (language 4).

use super::errors::{self, Hint};
use super::{Meaning, Resolver, Step, name_text};
use relayc_base::diag::{Diagnostic, Edit};
use relayc_base::{Idx, Span};
use relayc_ir::ExprKind;
use relayc_ir::types::Ty;
use relayc_syntax::{ast, is_ambiguous_method, literal, old_calls};

/// The most dots of a name that are looked at.
const MAX_PARTS: usize = 8;

impl<'a> Resolver<'a> {
    pub(super) fn local(&mut self, span: Span) {
        let name = self.ast.text(span);
        match self.scopes.find(name).or_else(|| self.scopes.undefined(name)) {
            Some(var) => {
                self.mention(span, Meaning::Local(var));
                self.push_new(span, ExprKind::Var(var));
            }
            None => {
                let method = self.method(span);
                let report = method.unwrap_or_else(|| {
                    let meant = self.meant_local(name);
                    errors::unknown_local(name, span, meant)
                });
                self.diagnostics.push(report);
                // One report for each name and function: later mentions find it declared.
                let var = self.module.var(name.trim_start_matches('%'), Some(Ty::ERROR), span);
                self.scopes.declare_undefined(name, var);
                self.push_new(span, ExprKind::Error);
            }
        }
    }

    /// The sign that a name lacks whose variable or function is defined, and whether only one of them is.
    fn sign_of(&self, name: &str, is_callee: bool) -> Option<(&'static str, bool)> {
        let first = name.split('.').next()?;
        let local = self.scopes.find(&format!("%{first}")).is_some();
        let global = self.globals.contains_key(first) && first == name;
        match (local, global) {
            (false, false) => None,
            (true, true) => Some((if is_callee { "@" } else { "%" }, false)),
            _ => Some((if local { "%" } else { "@" }, true)),
        }
    }

    /// The report of `%x.add(…)` or `%x.shape` where `%x` is defined.
    fn method(&self, span: Span) -> Option<Diagnostic> {
        let name = self.ast.text(span);
        let (variable, field) = name
            .match_indices('.')
            .take(MAX_PARTS)
            .map(|(dot, _)| (&name[..dot], &name[dot + 1..]))
            .find(|(variable, _)| self.scopes.find(variable).is_some())?;
        let rest = self.ast.source.get(span.end as usize..)?;
        // No more than the blanks before an argument.
        let called = rest.trim_start().strip_prefix('(');
        let has_arguments = called.is_some_and(|args| !args.trim_start().starts_with(')'));
        let fix = self.method_name(name, field, called.is_some()).map(|ours| match called {
            Some(args) => {
                let end = span.end + (rest.len() - args.len()) as u32;
                let (shown, more) = if has_arguments { (", …", ", ") } else { ("", "") };
                (
                    format!("{ours}({variable}{shown})"),
                    vec![Edit { span: Span { end, ..span }, text: format!("{ours}({variable}{more}") }],
                    // Another name may stand for something else: `flatten` keeps the first axis or does not.
                    ours.rsplit('.').next() == Some(field) && !is_ambiguous_method(field, has_arguments),
                )
            }
            None => {
                let attrs = if ours == "transpose" { "axes=None" } else { "dtype=\"int32\"" };
                let text = format!("{ours}({variable}, {attrs})");
                (text.clone(), vec![Edit { span, text }], true)
            }
        });
        Some(errors::method(name, span, fix))
    }

    /// The operator that is meant by the method or field of a tensor at the end of a name.
    fn method_name(&self, name: &str, field: &str, is_called: bool) -> Option<&'static str> {
        match (field, is_called) {
            ("shape" | "T", false) => self.ops.elsewhere(field),
            (_, true) => self.ops.find(field).map(|op| self.ops.name(op)).or_else(|| self.ops.elsewhere(name)),
            _ => None,
        }
    }

    /// A hint for an unknown local; none once the work limit is spent.
    fn meant_local(&mut self, name: &str) -> Hint<'a> {
        let plain = name.trim_start_matches('%');
        if self.globals.contains_key(plain) {
            return Hint::OtherSigil(format!("@{plain}"));
        }
        if !self.near.spend(self.module.vars.len() - self.first_var.index() + self.scopes.n_names()) {
            return Hint::Nothing;
        }
        let first = self.first_var;
        let bound = self.module.vars.iter_ids().rev().take_while(|(id, _)| *id >= first).find(|(_, var)| *var.name == *plain);
        if let Some((_, var)) = bound {
            return Hint::OutOfScope(var.span);
        }
        if let Some(binding) = self.bound_below(name) {
            return Hint::BoundBelow(binding);
        }
        if let Some(number) = self.graph_alike(plain) {
            return Hint::Near(number);
        }
        // Without the sign: with it, one letter would be near every other.
        match self.near.among_unordered(plain, self.scopes.names().map(|name| name.trim_start_matches('%'))) {
            Some(near) => Hint::Near(near),
            None if self.scopes.names().next().is_none() => Hint::NoneThere,
            None => Hint::Nothing,
        }
    }

    /// Where a statement further down binds a name, in the sequences around the current place.
    fn bound_below(&mut self, name: &str) -> Option<Span> {
        let ast = self.ast;
        let Resolver { steps, near, .. } = self;
        let rest = steps.iter().rev().filter_map(|step| match *step {
            Step::Stmt { seq, index, .. } => match ast.exprs[seq].kind {
                ast::ExprKind::Seq { stmts, .. } => ast.items(stmts).get(index..),
                _ => None,
            },
            _ => None,
        });
        for &stmt in rest.flatten() {
            if !near.spend(1) {
                return None;
            }
            if let ast::StmtKind::Let { name: bound, .. } = ast.stmts[stmt].kind
                && ast.text(bound) == name
            {
                return Some(bound);
            }
        }
        None
    }

    /// The number of a graph variable that looks like a name of letters: `l` is read for `1`, `O` for `0`.
    fn graph_alike(&self, plain: &str) -> Option<&'a str> {
        let digit = |c: char| match c {
            'O' | 'o' => Some('0'),
            'l' | 'I' => Some('1'),
            digit => digit.is_ascii_digit().then_some(digit),
        };
        let digits: Option<String> = plain.chars().map(digit).collect();
        let digits = digits?;
        self.graph.names().map(|name| name.trim_start_matches('%')).find(|name| *name == digits)
    }

    /// Notes a binding that hides another; a chain of a million such bindings is noted only at its start.
    pub(super) fn lint_hidden(&mut self, name: &str, span: Span) {
        const MAX: usize = 100;
        if self.n_hidden < MAX
            && let Some(outer) = self.scopes.hidden(name)
        {
            self.n_hidden += 1;
            self.diagnostics.push(errors::shadowed(name, span, self.module.vars[outer].span));
        }
    }

    pub(super) fn global(&mut self, span: Span) {
        let name = self.ast.text(span);
        match self.globals.get(name.trim_start_matches('@')) {
            Some(&global) => {
                self.mention(span, Meaning::Global(global));
                self.push_new(span, ExprKind::Global(global));
            }
            None => {
                let plain = name.trim_start_matches('@');
                let local = format!("%{plain}");
                let meant = if self.scopes.find(&local).is_some() {
                    Hint::OtherSigil(local)
                } else if let Some(op) = self.ops.find(plain) {
                    Hint::Operator(self.ops.name(op))
                } else {
                    let names = self.module.globals.iter().map(|global| &*global.name);
                    let near = self.near.among(plain, names).map(Hint::Near);
                    let in_nn = || self.ops.find(&format!("nn.{plain}")).map(|op| self.ops.name(op));
                    let operator = || self.ops.elsewhere(plain).or_else(in_nn).map(Hint::Operator);
                    near.or_else(operator).unwrap_or(Hint::Nothing)
                };
                self.diagnostics.push(errors::unknown_global(name, span, meant));
                self.push_new(span, ExprKind::Error);
            }
        }
    }

    pub(super) fn graph_use(&mut self, span: Span) {
        let name = self.ast.text(span);
        let key = literal::graph_key(name);
        let bound = self.graph.find(key).or_else(|| {
            let (node, binder) = self.forward_use(key, span)?;
            Some((node, true, binder))
        });
        match bound {
            Some((expr, own, binder)) => {
                self.mention(span, Meaning::Graph { node: expr, binder });
                if !own {
                    self.diagnostics.push(errors::foreign_graph(name, span, self.module.exprs[expr].span));
                }
                self.push(expr, span);
            }
            None => {
                let report = match self.own_binding(key, span) {
                    Some(binder) => errors::cyclic_graph(name, span, binder),
                    None => errors::unknown_graph(name, span, self.near_graph(name)),
                };
                self.diagnostics.push(report);
                self.push_new(span, ExprKind::Error);
            }
        }
    }

    /// The graph variable that an unknown one may be meant as: the one before it, else one of nearly the same name.
    fn near_graph(&mut self, name: &'a str) -> Option<&'a str> {
        // One digit is near every other.
        if name.len() <= 2 || !self.near.spend(self.graph.n_names()) {
            return None;
        }
        let before = literal::graph_key(name).parse().ok().and_then(|number: u32| number.checked_sub(1));
        let before = before.map(|before| format!("%{before}"));
        self.graph
            .names()
            .find(|&name| Some(name) == before.as_deref())
            .or_else(|| self.near.among_unordered(name, self.graph.names()))
    }

    /// A constructor or an operator, with blanks and comments around its dots removed.
    pub(super) fn name(&mut self, span: Span, is_callee: bool) {
        let name = name_text(self.ast.text(span));
        if let Some(ctor) = self.find_ctor(&name, span) {
            return self.ctor_value(ctor, span, is_callee);
        }
        if let Some(op) = self.ops.find(&name) {
            self.mention(span, Meaning::Operator(op));
            return self.push_new(span, ExprKind::Op(op));
        }
        // What such a call is today depends on its arguments.
        if is_callee && old_calls::is_gone(self.ast.text(span)) {
            return self.push_new(span, ExprKind::Error);
        }
        let diagnostic = match self.ctors.get(&*name) {
            Some(&ctor) => errors::unknown_ctor(&name, span, None, Some(self.module.ctors[ctor].span)),
            None if &*name == "return" => {
                let rest = &self.ast.source[span.end as usize..];
                let n_blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
                errors::no_return(span, Span { end: span.end + n_blanks as u32, ..span })
            }
            None => match self.sign_of(&name, is_callee) {
                Some((sign, certain)) => {
                    // Of `x // y` the divisor would go.
                    let divides = relayc_syntax::divisor(&self.ast.source, span.end as usize).is_some();
                    // A method that no operator has is left as it is.
                    let method = name.split_once('.').map(|(_, field)| self.method_name(&name, field, is_callee));
                    errors::without_sign(&name, span, sign, certain && !divides && method != Some(None))
                }
                None => {
                    let elsewhere = self.ops.elsewhere(&name);
                    let near = || self.near.among_unordered(&name, self.ops.names().iter().chain(self.ctors.keys()).copied());
                    errors::unknown_operator(&name, span, elsewhere.or_else(near))
                }
            },
        };
        self.diagnostics.push(diagnostic);
        self.push_new(span, ExprKind::Error);
    }
}
