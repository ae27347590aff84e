//! Checks the invariants of the representation.
//!
//! - One function, `let` or pattern binds every variable, or nothing does: a free variable, legal in a bare expression only.
//! - A variable is mentioned only inside the scope of its binder, on the graph. A shared node that mentions a variable is used
//!   only where that variable is in scope (language 7.9).
//! - After inference every reachable expression has a type without holes.

use super::{ExprId, ExprKind, Module, Root, VarId};
use relayc_base::{Idx, Span};

/// A broken invariant of variables and their binders.
#[derive(Clone, PartialEq, Debug)]
pub enum Violation {
    /// The variable is mentioned outside the scope of its binder.
    OutOfScope { var: VarId, at: Span },
    /// Two binders bind one variable.
    BoundTwice { var: VarId, at: Span },
}

enum Step {
    Enter(ExprId, Span),
    Bind(VarId),
    Leave(VarId),
    /// Ends a scope: nodes visited in it must be checked again.
    Forget(usize),
}

/// The violations, in the order found.
///
/// A node that mentions no variable bound since its last visit need not be visited again, so sharing stays cheap. A visited mark
/// therefore lives as long as its scope.
pub fn well_formed(module: &Module) -> Vec<Violation> {
    let mut walk = Walk {
        module,
        in_scope: vec![false; module.vars.len()],
        visited: vec![false; module.exprs.len()],
        trail: vec![],
        violations: bound_twice(module),
    };
    match module.root {
        Root::Globals => {
            for global in module.globals.iter() {
                let func = &module.funcs[global.func];
                let mut steps = vec![Step::Enter(func.body, Span::NONE)];
                steps.extend(func.params.iter().rev().map(|&var| Step::Bind(var)));
                walk.run(steps);
            }
        }
        Root::Expr(expr) => {
            // Variables that nothing binds are free; a bare expression may have them.
            module.free_vars().iter().for_each(|var| walk.in_scope[var.index()] = true);
            walk.run(vec![Step::Enter(expr, Span::NONE)]);
        }
    }
    walk.violations
}

fn bound_twice(module: &Module) -> Vec<Violation> {
    let mut bound = vec![false; module.vars.len()];
    let twice = module.binders().into_iter().filter(|var| std::mem::replace(&mut bound[var.index()], true));
    twice.map(|var| Violation::BoundTwice { var, at: module.vars[var].span }).collect()
}

struct Walk<'a> {
    module: &'a Module,
    in_scope: Vec<bool>,
    visited: Vec<bool>,
    /// Visited nodes in order, to forget those of a scope.
    trail: Vec<ExprId>,
    violations: Vec<Violation>,
}

impl Walk<'_> {
    fn run(&mut self, mut steps: Vec<Step>) {
        let mut children = Vec::new();
        while let Some(step) = steps.pop() {
            match step {
                Step::Bind(var) => self.in_scope[var.index()] = true,
                Step::Leave(var) => self.in_scope[var.index()] = false,
                Step::Forget(mark) => self.trail.drain(mark..).for_each(|expr| self.visited[expr.index()] = false),
                Step::Enter(expr, at) => {
                    let node = self.module.exprs[expr];
                    let at = if node.span.is_none() { at } else { node.span };
                    if let ExprKind::Var(var) = node.kind {
                        if !self.in_scope[var.index()] {
                            self.violations.push(Violation::OutOfScope { var, at });
                        }
                        continue;
                    }
                    if std::mem::replace(&mut self.visited[expr.index()], true) {
                        continue;
                    }
                    self.trail.push(expr);
                    self.enter(expr, at, &mut steps, &mut children);
                }
            }
        }
    }

    fn enter(&self, expr: ExprId, at: Span, steps: &mut Vec<Step>, children: &mut Vec<ExprId>) {
        let mark = self.trail.len();
        match self.module.exprs[expr].kind {
            ExprKind::Fn(func) => {
                let func = &self.module.funcs[func];
                steps.push(Step::Forget(mark));
                steps.extend(func.params.iter().map(|&var| Step::Leave(var)));
                steps.push(Step::Enter(func.body, at));
                steps.extend(func.params.iter().rev().map(|&var| Step::Bind(var)));
            }
            ExprKind::Let { var, value, body } => {
                // Only a function literal sees its own name (language 4).
                let recursive = matches!(self.module.exprs[value].kind, ExprKind::Fn(_));
                steps.extend([Step::Forget(mark), Step::Leave(var), Step::Enter(body, at)]);
                let bind = Step::Bind(var);
                let value = Step::Enter(value, at);
                steps.extend(if recursive { [value, bind] } else { [bind, value] });
            }
            ExprKind::Match { scrutinee, clauses, .. } => {
                for clause in self.module.clause_items(clauses).iter().rev() {
                    let vars = self.module.pat_vars(clause.pat);
                    steps.push(Step::Forget(mark));
                    steps.extend(vars.iter().map(|&var| Step::Leave(var)));
                    steps.push(Step::Enter(clause.body, at));
                    steps.extend(vars.iter().map(|&var| Step::Bind(var)));
                }
                steps.push(Step::Enter(scrutinee, at));
            }
            _ => {
                children.clear();
                self.module.children(expr, children);
                steps.extend(children.iter().rev().map(|&child| Step::Enter(child, at)));
            }
        }
    }
}
