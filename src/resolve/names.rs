//! Names in expressions: locals, globals, graph variables, operators and constructors (relay-text 4).

use super::errors::{self, Meant};
use super::{Resolver, name_text};
use crate::base::{Idx, Span};
use crate::ir::ExprKind;
use crate::syntax::literal;
use crate::types::Ty;

impl<'a> Resolver<'a> {
    pub(super) fn local(&mut self, span: Span) {
        let name = self.ast.text(span);
        match self.scopes.find(name) {
            Some(var) => self.push_new(span, ExprKind::Var(var)),
            None => {
                let meant = self.meant_local(name);
                self.diagnostics.push(errors::unknown_local(name, span, meant));
                // One report for each name and function: later mentions find it declared.
                let var = self.module.var(name.trim_start_matches('%'), Some(Ty::ERROR), span);
                self.scopes.declare_free(name, var);
                self.push_new(span, ExprKind::Error);
            }
        }
    }

    /// What an unknown local may have meant; nothing once too much has been looked for.
    fn meant_local(&mut self, name: &str) -> Meant<'a> {
        let plain = name.trim_start_matches('%');
        if self.globals.contains_key(plain) {
            return Meant::OtherSigil(format!("@{plain}"));
        }
        if !self.near.spend(self.module.vars.len() - self.first_var.index() + self.scopes.n_names()) {
            return Meant::Nothing;
        }
        let mut bound = self.module.vars.iter_ids().rev().take_while(|(id, _)| *id >= self.first_var);
        if let Some((_, var)) = bound.find(|(_, var)| *var.name == *plain) {
            return Meant::OutOfScope(var.span);
        }
        match self.near.among_unordered(name, self.scopes.names()) {
            Some(near) => Meant::Near(near),
            None if self.scopes.names().next().is_none() => Meant::NoneThere,
            None => Meant::Nothing,
        }
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
            Some(&global) => self.push_new(span, ExprKind::Global(global)),
            None => {
                let plain = name.trim_start_matches('@');
                let local = format!("%{plain}");
                let meant = if self.scopes.find(&local).is_some() {
                    Meant::OtherSigil(local)
                } else {
                    let names = self.module.globals.iter().map(|global| &*global.name);
                    self.near.among(plain, names).map_or(Meant::Nothing, Meant::Near)
                };
                self.diagnostics.push(errors::unknown_global(name, span, meant));
                self.push_new(span, ExprKind::Error);
            }
        }
    }

    pub(super) fn graph_use(&mut self, span: Span) {
        let name = self.ast.text(span);
        let key = literal::graph_key(name);
        match self.graph.find(key).or_else(|| Some((self.forward_use(key, span)?, true))) {
            Some((expr, own)) => {
                if !own {
                    self.diagnostics.push(errors::foreign_graph(name, span, self.module.exprs[expr].span));
                }
                self.push(expr, span);
            }
            None => {
                // One digit is near every other.
                let has_near = name.len() > 2 && self.near.spend(self.graph.n_names());
                let near = has_near.then(|| self.near.among_unordered(name, self.graph.names())).flatten();
                let report = super::renamed::near_graph(errors::unknown_graph(name, span), near, span);
                self.diagnostics.push(report);
                self.push_new(span, ExprKind::Error);
            }
        }
    }

    /// A constructor or an operator, with blanks and comments around its dots removed.
    pub(super) fn name(&mut self, span: Span, is_callee: bool) {
        let name = name_text(self.ast.text(span));
        if let Some(ctor) = self.find_ctor(&name, span) {
            return self.ctor_value(ctor, span, is_callee);
        }
        if let Some(op) = self.ops.find(&name) {
            return self.push_new(span, ExprKind::Op(op));
        }
        let diagnostic = match self.ctors.get(&*name) {
            Some(&ctor) => errors::unknown_ctor(&name, span, None, Some(self.module.ctors[ctor].span)),
            None => {
                let elsewhere = self.ops.elsewhere(&name);
                let near = || self.near.among_unordered(&name, self.ops.names().iter().chain(self.ctors.keys()).copied());
                errors::unknown_operator(&name, span, elsewhere.or_else(near))
            }
        };
        self.diagnostics.push(diagnostic);
        self.push_new(span, ExprKind::Error);
    }
}
