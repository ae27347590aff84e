//! The words of type errors.

use super::Infer;
use crate::base::Span;
use crate::base::text::{count, join_words};
use crate::diag::{Diagnostic, codes};
use crate::ir::{CtorId, ExprId, ExprKind, Module, PatId, PatKind, VarId};
use crate::ops::OpDef;
use crate::ops::rel::{Fault, FaultHelp, Place, What};
use crate::types::{Mismatch, StepKind, Ty};

/// What an expression is called in a message: its name where it has one.
pub(super) fn name_of(module: &Module, expr: ExprId) -> String {
    match module.exprs[expr].kind {
        ExprKind::Var(var) => format!("`%{}`", module.vars[var].name),
        ExprKind::Global(global) => format!("`@{}`", module.globals[global].name),
        ExprKind::Ctor(ctor) => format!("`{}`", module.ctors[ctor].name),
        _ => "this".to_owned(),
    }
}

pub(super) fn operator_arity(module: &Module, call: ExprId, def: &OpDef) -> Diagnostic {
    let ExprKind::Call { args, callee, .. } = module.exprs[call].kind else { unreachable!("only calls have an arity") };
    let names: Vec<&str> = def.args.iter().map(|arg| arg.name).collect();
    let message = format!("`{}` takes {}, found {}", def.name, count(names.len(), "argument"), args.len());
    let mut diagnostic = Diagnostic::new(codes::E0302, message).at(module.exprs[callee].span, "called here");
    // With too many arguments, the first that is too much; with too few, the name of the first that is missing.
    match module.items(args).get(names.len()) {
        Some(extra) => diagnostic = diagnostic.also(extra.span, "this argument is too much"),
        None => diagnostic = diagnostic.note(format!("the argument `{}` is missing", names[args.len()])),
    }
    diagnostic.help(format!("write `{}({})`", def.name, names.join(", ")))
}

pub(super) fn function_arity(module: &Module, call: ExprId, callee: ExprId, expected: usize) -> Diagnostic {
    let ExprKind::Call { args, .. } = module.exprs[call].kind else { unreachable!("only calls have an arity") };
    let name = match name_of(module, callee) {
        name if name == "this" => "the function".to_owned(),
        name => name,
    };
    let message = format!("{name} takes {}, found {}", count(expected, "argument"), args.len());
    let diagnostic = Diagnostic::new(codes::E0302, message).at(module.exprs[call].span, "called here");
    match module.exprs[callee].kind {
        ExprKind::Global(global) => diagnostic.also(module.globals[global].span, "defined here"),
        ExprKind::Var(var) => diagnostic.also(module.vars[var].span, "defined here"),
        ExprKind::Ctor(ctor) => diagnostic.also(module.ctors[ctor].span, "defined here"),
        _ => diagnostic,
    }
}

/// Where parameter `index` of a called function is declared.
pub(super) fn parameter_place(module: &Module, callee: ExprId, index: usize) -> (Span, String) {
    let func = match module.exprs[callee].kind {
        ExprKind::Ctor(ctor) => return (module.ctors[ctor].span, "the constructor is defined here".to_owned()),
        ExprKind::Global(global) => Some(module.globals[global].func),
        ExprKind::Fn(func) => Some(func),
        _ => None,
    };
    match func.and_then(|func| module.funcs[func].params.get(index)) {
        Some(&var) => (module.vars[var].span, format!("the parameter `%{}` is declared here", module.vars[var].name)),
        None => (module.exprs[callee].span, "by the type of this function".to_owned()),
    }
}

pub(super) fn pattern_arity(module: &Module, pat: PatId, ctor: CtorId) -> Diagnostic {
    let ctor = &module.ctors[ctor];
    let n_fields = match module.pats[pat].kind {
        PatKind::Ctor(_, fields) | PatKind::Tuple(fields) => fields.len(),
        PatKind::Error | PatKind::Wildcard | PatKind::Var(_) => 0,
    };
    let message = format!("`{}` has {}, found {n_fields}", ctor.name, count(ctor.inputs.len(), "field"));
    let diagnostic =
        Diagnostic::new(codes::E0302, message).at(module.pats[pat].span, "in this pattern").also(ctor.span, "defined here");
    let fields = vec!["_"; ctor.inputs.len()].join(", ");
    match fields.as_str() {
        "" => diagnostic.help(format!("write `{}`", ctor.name)),
        _ => diagnostic.help(format!("write `{}({fields})`", ctor.name)),
    }
}

/// More missing cases are only counted.
const MAX_CASES: usize = 8;

pub(super) fn unmatched_cases(cases: &[String], span: Span) -> Diagnostic {
    let shown: Vec<String> = cases.iter().take(MAX_CASES).map(|case| format!("`{case}`")).collect();
    let rest = cases.len() - shown.len();
    let more = if rest == 0 { String::new() } else { format!(" and {rest} more") };
    let shown = if rest == 0 { join_words(&shown, "and") } else { shown.join(", ") };
    Diagnostic::new(codes::E0311, format!("no clause matches {shown}{more}"))
        .at(span, "it may be one of these")
        .note("a `match` covers every case; `match?` may fail when it runs")
        .help("add clauses for them, or a last one for all others: `_ => { … }`")
}

pub(super) fn too_many_cases(span: Span) -> Diagnostic {
    Diagnostic::new(codes::E0805, "the cases of this match are too many to check")
        .at(span, "given up here")
        .help("`match?` is not checked")
}

pub(super) fn not_a_function(module: &Module, callee: ExprId, ty: Ty) -> Diagnostic {
    let message = format!("expected a function, found `{}`", module.types.text(ty));
    let name = name_of(module, callee);
    Diagnostic::new(codes::E0309, message).at(module.exprs[callee].span, format!("{name} is called, but is not a function"))
}

pub(super) fn condition(module: &Module, cond: ExprId, found: Ty) -> Diagnostic {
    let found = module.types.text(found);
    Diagnostic::new(codes::E0301, format!("expected `bool`, found `{found}`"))
        .at(module.exprs[cond].span, format!("the condition is `{found}`"))
        .note("the condition of an `if` is a bool of rank 0")
        .help("compare it: `if (equal(…, …)) { … }`")
}

pub(super) fn projection_range(module: &Module, expr: ExprId, index: u32, n: usize) -> Diagnostic {
    let message = format!("expected a field below {n}, found {index}");
    let diagnostic =
        Diagnostic::new(codes::E0307, message).at(module.exprs[expr].span, format!("the tuple has {}", count(n, "field")));
    match n {
        0 => diagnostic,
        n => diagnostic.help(format!("fields are counted from 0: the last is `.{}`", n - 1)),
    }
}

pub(super) fn projection_of(module: &Module, expr: ExprId, ty: Ty) -> Diagnostic {
    let ty = module.types.text(ty);
    Diagnostic::new(codes::E0307, format!("expected a tuple, found `{ty}`"))
        .at(module.exprs[expr].span, "only tuples have fields")
}

pub(super) fn unknown_var(module: &Module, var: VarId, ty: Ty) -> Diagnostic {
    let decl = &module.vars[var];
    let known = module.types.text(ty);
    let known = if known == "_" { "nothing says what it is".to_owned() } else { format!("only `{known}` is known") };
    Diagnostic::new(codes::E0306, format!("cannot infer the type of `%{}`", decl.name))
        .at(decl.span, known)
        .help(format!("annotate it: `%{}: Tensor[(…), float32]`", decl.name))
}

pub(super) fn unknown_expr(module: &Module, expr: ExprId, ty: Ty) -> Diagnostic {
    let known = module.types.text(ty);
    let known = if known == "_" { "nothing says what it is".to_owned() } else { format!("only `{known}` is known") };
    Diagnostic::new(codes::E0306, "cannot infer the type of this expression").at(module.exprs[expr].span, known)
}

pub(super) fn too_many_steps(module: &Module, expr: ExprId) -> Diagnostic {
    Diagnostic::new(codes::E0805, "type inference takes too many steps").at(module.exprs[expr].span, "given up here")
}

/// `field 1`, `parameter 0`: where inside the outer types two types disagree.
fn path_text(path: &[StepKind]) -> String {
    let steps: Vec<String> = path
        .iter()
        .map(|step| match step {
            StepKind::Field(i) => format!("field {i}"),
            StepKind::Param(i) => format!("parameter {i}"),
            StepKind::Ret => "the result".to_owned(),
            StepKind::Arg(i) => format!("type argument {i}"),
            StepKind::Cell => "the cell".to_owned(),
        })
        .collect();
    steps.join(", ")
}

impl Infer<'_> {
    /// Reports two types that disagree, at `span`, with the place that demands the other.
    pub(super) fn report_mismatch(&mut self, mismatch: Mismatch, expected: Ty, found: Ty, span: Span, place: (Span, String)) {
        let mut text = |ty: Ty| {
            let ty = self.solver.resolve(&mut self.module.types, ty);
            self.module.types.text(ty)
        };
        let (whole_expected, whole_found) = (text(expected), text(found));
        let (inner_expected, inner_found) = (text(mismatch.expected), text(mismatch.found));
        let mut diagnostic = Diagnostic::new(codes::E0301, format!("expected `{whole_expected}`, found `{whole_found}`"))
            .at(span, format!("this is `{whole_found}`"))
            .also(place.0, place.1);
        if mismatch.infinite {
            diagnostic = diagnostic.note("the type would have to contain itself");
        } else if !mismatch.path.is_empty() {
            let path = path_text(&mismatch.path);
            diagnostic = diagnostic.note(format!("they disagree in {path}: `{inner_expected}` against `{inner_found}`"));
        }
        self.diagnostics.push(diagnostic);
    }

    /// Puts a broken rule of an operator into words: both places, where the numbers came from, what to write.
    pub(super) fn explain(&mut self, call: ExprId, fault: Fault) -> Diagnostic {
        let Some((def, _)) = self.op_call(call) else { unreachable!("faults come from relations of operators") };
        let mut diagnostic = Diagnostic::new(fault.code, format!("`{}`: {}", def.name, fault.message));
        let mut origins = Vec::new();
        for (i, (place, text)) in fault.places.iter().enumerate() {
            let (span, default_text) = self.place(call, def, *place);
            let text = if text.is_empty() { default_text } else { text.clone() };
            diagnostic = if i == 0 { diagnostic.at(span, text) } else { diagnostic.also(span, text) };
            origins.extend(self.place_origin(call, *place, span));
        }
        if diagnostic.labels.is_empty() {
            diagnostic = diagnostic.at(self.module.exprs[call].span, "");
        }
        for (span, text) in origins {
            if diagnostic.labels.iter().all(|label| label.span != span) {
                diagnostic = diagnostic.also(span, text);
            }
        }
        if let Some((rule, values)) = fault.equation {
            diagnostic = diagnostic.equation(rule, values);
        }
        if let Some(rule) = def.rules.iter().find(|rule| rule.starts_with(&format!("{}:", fault.rule))) {
            diagnostic = diagnostic.note(format!("`{}` rule {rule}", def.name));
        }
        for help in fault.helps {
            diagnostic = match help {
                FaultHelp::Text(text) => diagnostic.help(text),
                FaultHelp::SetAttr { name, value } => self.set_attr(diagnostic, call, name, &value),
            };
        }
        diagnostic
    }

    fn set_attr(&self, diagnostic: Diagnostic, call: ExprId, name: &str, value: &str) -> Diagnostic {
        let written = self.attr_span(call, name);
        let title = format!("`{name}={value}` makes it fit");
        if !written.is_none() {
            return diagnostic.fix(title, written, format!("{name}={value}"));
        }
        // Before the closing parenthesis, which ends the call.
        let span = self.module.exprs[call].span;
        let at = Span { start: span.end.saturating_sub(1), end: span.end.saturating_sub(1), ..span };
        let at = if span.is_none() { span } else { at };
        diagnostic.fix(title, at, format!(", {name}={value}"))
    }

    /// The span of a place and what is to be said there by default: the operand's type.
    fn place(&mut self, call: ExprId, def: &OpDef, place: Place) -> (Span, String) {
        let span = self.module.exprs[call].span;
        match place.what {
            What::Call => (span, String::new()),
            What::Attr(name) => {
                let written = self.attr_span(call, name);
                if written.is_none() { (span, format!("by the default of `{name}`")) } else { (written, String::new()) }
            }
            What::Arg { arg, field } => {
                let Some((expr, operand_span)) = self.operand(call, arg) else { return (span, String::new()) };
                let role = def.args.get(arg).map_or("operand", |arg| arg.name);
                let ty = self.ty(expr);
                let ty = self.solver.resolve(&mut self.module.types, ty);
                let ty = field.and_then(|field| self.module.types.as_tuple(ty)?.get(field).copied()).unwrap_or(ty);
                let name = match (name_of(self.module, expr), field) {
                    (name, _) if name == "this" && field.is_none() => format!("`{role}`"),
                    (name, None) => name,
                    (_, Some(field)) => format!("field {field} of `{role}`"),
                };
                let axis = place.axis.map_or(String::new(), |axis| format!(", axis {axis}"));
                (operand_span, format!("{name} is `{}`{axis}", self.module.types.text(ty)))
            }
        }
    }

    fn operand(&self, call: ExprId, arg: usize) -> Option<(ExprId, Span)> {
        let ExprKind::Call { args, .. } = self.module.exprs[call].kind else { return None };
        self.module.items(args).get(arg).map(|operand| (operand.expr, operand.span))
    }

    /// Where the number at a place was decided, if elsewhere.
    fn place_origin(&mut self, call: ExprId, place: Place, span: Span) -> Option<(Span, String)> {
        let (What::Arg { arg, field }, Some(axis)) = (place.what, place.axis) else { return None };
        let (expr, _) = self.operand(call, arg)?;
        let ty = self.ty(expr);
        let ty = self.solver.resolve(&mut self.module.types, ty);
        let ty = field.and_then(|field| self.module.types.as_tuple(ty)?.get(field).copied()).unwrap_or(ty);
        let dim = self.module.types.as_tensor(ty)?.0.get(axis).copied()?;
        let origin = self.origin(expr, field, axis)?;
        (origin.span != span).then(|| (origin.span, format!("{dim}: {}", origin.text)))
    }
}
