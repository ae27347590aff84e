//! Names the steps of a program: `@main/%3`, by the function and the variable that the text binds the value to.
//!
//! A call, an `if` or a `match` without a variable is named by its place, `@main/7:3` (line and column). A value is identified by
//! its place, which it keeps when passes move it.

use crate::emit;
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::nearest;
use relayc_base::{Sources, Span};
use relayc_ir::{ExprId, ExprKind, Module, OpId, Root};
use rustc_hash::FxHashMap;
use std::mem::Discriminant;

/// A value that a program computes.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// `@main/%3`.
    pub(crate) key: String,
    /// `net.relay:14:8`.
    pub(crate) place: String,
    /// The kind of the original expression: passes may put other expressions in its place.
    what: What,
}

/// The kind of an expression, and the operator that it calls.
type What = (Discriminant<ExprKind>, Option<OpId>);

fn what(module: &Module, expr: ExprId) -> What {
    (std::mem::discriminant(&module.exprs[expr].kind), module.called_op(expr))
}

/// The steps of a program: functions in text order, steps in the order of computation.
#[derive(Debug, Default)]
pub struct Names {
    pub(crate) steps: Vec<Step>,
    by_span: FxHashMap<Span, usize>,
    /// How often each key has been requested.
    keys: FxHashMap<String, usize>,
}

impl Names {
    /// Names the steps of a typed module, as it was read.
    pub(crate) fn of(module: &Module, sources: &Sources) -> Names {
        let mut names = Names::default();
        match module.root {
            Root::Globals => {
                for global in module.globals.iter() {
                    names.add_all(module, sources, &global.name, module.funcs[global.func].body);
                }
            }
            Root::Expr(expr) => names.add_all(module, sources, "main", expr),
        }
        names
    }

    fn add_all(&mut self, module: &Module, sources: &Sources, func: &str, body: ExprId) {
        let order = module.evaluation_order(&[body]);
        let bindings = order.iter().filter_map(|&expr| match module.exprs[expr].kind {
            ExprKind::Let { var, value, .. } => Some((value, &*module.vars[var].name)),
            _ => None,
        });
        let bindings: FxHashMap<ExprId, &str> = bindings.collect();
        for expr in order {
            let span = module.exprs[expr].span;
            let kind = module.exprs[expr].kind;
            if span.is_none() || matches!(kind, ExprKind::Var(_) | ExprKind::Let { .. } | ExprKind::Op(_) | ExprKind::Error) {
                continue;
            }
            let bound = match bindings.get(&expr) {
                Some(name) => Some(format!("%{name}")),
                None => emit::bound_name(sources, span).map(str::to_owned),
            };
            let computes = matches!(kind, ExprKind::Call { .. } | ExprKind::If { .. } | ExprKind::Match { .. });
            let Some(name) = bound.or_else(|| computes.then(|| emit::place(sources, span))) else { continue };
            if self.by_span.contains_key(&span) {
                continue;
            }
            self.by_span.insert(span, self.steps.len());
            let file = sources.file(span.file).map_or("", |file| &file.name);
            let place = format!("{file}:{}", emit::place(sources, span));
            let key = self.unique(func, &name);
            self.steps.push(Step { key, place, what: what(module, expr) });
        }
    }

    /// Makes a key unique: a name bound again in a function gets a stroke and a number.
    fn unique(&mut self, func: &str, name: &str) -> String {
        let key = format!("@{func}/{name}");
        let again = self.keys.entry(key.clone()).or_default();
        *again += 1;
        if *again == 1 { key } else { format!("{key}'{again}") }
    }

    /// The step of an expression of the module, or of one that passes made from it without changing values.
    pub fn of_expr(&self, module: &Module, expr: ExprId) -> Option<usize> {
        let step = self.by_span.get(&module.exprs[expr].span).copied();
        step.filter(|&step| self.steps[step].what == what(module, expr))
    }

    /// The steps named `%3`, `3` or `@main/%3`, in any function. Errors: E0706 for an unknown step.
    pub(crate) fn find(&self, name: &str) -> Result<Vec<usize>, Diagnostic> {
        let local = |key: &str| key.split_once('/').map_or(key, |(_, local)| local).to_owned();
        let named = |key: &str| key == name || local(key) == name || local(key).strip_prefix('%') == Some(name);
        let found: Vec<usize> = self.steps.iter().enumerate().filter(|(_, step)| named(&step.key)).map(|(at, _)| at).collect();
        if !found.is_empty() {
            return Ok(found);
        }
        let diagnostic = Diagnostic::new(codes::E0706, format!("the program binds nothing to `{name}`"));
        let locals: Vec<String> = self.steps.iter().map(|step| local(&step.key)).collect();
        let wanted = if name.starts_with(['%', '@']) { name.to_owned() } else { format!("%{name}") };
        let candidates = locals.iter().map(String::as_str).chain(self.steps.iter().map(|step| step.key.as_str()));
        Err(match nearest(&wanted, candidates) {
            Some(near) => diagnostic.help(format!("there is `{near}`: `--watch {near}`")),
            None if self.steps.is_empty() => diagnostic.help("it computes nothing"),
            None => {
                let some: Vec<String> = self.steps.iter().take(8).map(|step| format!("`{}`", step.key)).collect();
                let more = if self.steps.len() > some.len() { ", …" } else { "" };
                diagnostic.help(format!("there is {}{more}", some.join(", ")))
            }
        })
    }
}
