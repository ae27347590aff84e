//! Names in expressions: locals, globals, graph variables, operators and constructors (relay-text 4).

use super::errors::{self, Meant};
use super::{Resolver, name_text};
use crate::base::Span;
use crate::ir::ExprKind;
use crate::syntax::literal;
use crate::types::Ty;

impl Resolver<'_> {
    pub(super) fn local(&mut self, span: Span) {
        let name = self.ast.text(span);
        match self.scopes.find(name) {
            Some(var) => self.push_new(span, ExprKind::Var(var)),
            None => {
                let plain = name.trim_start_matches('%');
                let bound = self.module.vars.iter_ids().rev().take_while(|(id, _)| *id >= self.first_var);
                let meant = Meant {
                    names: self.scopes.names(),
                    other_sigil: self.globals.contains_key(plain).then(|| format!("@{plain}")),
                    out_of_scope: bound.into_iter().find(|(_, var)| *var.name == *plain).map(|(_, var)| var.span),
                };
                self.diagnostics.push(errors::unknown_local(name, span, meant));
                // One report for each name and function: later mentions find it declared.
                let var = self.module.var(name.trim_start_matches('%'), Some(Ty::ERROR), span);
                self.scopes.declare_free(name, var);
                self.push_new(span, ExprKind::Error);
            }
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
                let local = format!("%{}", name.trim_start_matches('@'));
                let meant = Meant {
                    names: self.module.globals.iter().map(|global| &*global.name).collect(),
                    other_sigil: self.scopes.find(&local).map(|_| local),
                    out_of_scope: None,
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
                let near = crate::base::text::nearest(name, self.graph.names()).filter(|_| name.len() > 2).map(str::to_owned);
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
            Some(&ctor) => errors::unknown_ctor(&name, span, &[], Some(self.module.ctors[ctor].span)),
            None => {
                let names = [self.ops.names(), &self.ctor_names()].concat();
                errors::unknown_operator(&name, span, &names, self.ops.elsewhere(&name))
            }
        };
        self.diagnostics.push(diagnostic);
        self.push_new(span, ExprKind::Error);
    }
}
