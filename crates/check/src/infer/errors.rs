//! The messages of type errors.

use super::Infer;
use relayc_base::Span;
use relayc_base::diag::{Code, Diagnostic, Edit, codes};
use relayc_base::limits::{Limit, MATCH_STEPS};
use relayc_base::text::{count, join_words};
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{DType, Mismatch, StepKind, Ty, TyData, Types};
use relayc_ir::{AttrValue, CtorId, ExprId, ExprKind, FuncId, Module, Operand, PatId, PatKind, VarId};
use relayc_ops::OpDef;
use relayc_ops::rel::{Fault, FaultHelp, FaultSubject, Place};

/// An expression's own name as a message shows it, if it has one.
fn name_of(module: &Module, expr: ExprId) -> Option<String> {
    match module.exprs[expr].kind {
        ExprKind::Var(var) => Some(format!("`%{}`", module.vars[var].name)),
        ExprKind::Global(global) => Some(format!("`@{}`", module.globals[global].name)),
        ExprKind::Ctor(ctor) => Some(format!("`{}`", module.ctors[ctor].name)),
        _ => None,
    }
}

pub(super) fn operator_arity(module: &Module, call: ExprId, def: &OpDef) -> Diagnostic {
    let ExprKind::Call { args, callee, .. } = module.exprs[call].kind else { unreachable!("only calls have an arity") };
    let names: Vec<&str> = def.args.iter().map(|arg| arg.name).collect();
    let message = format!("`{}` takes {}, found {}", def.name, count(names.len(), "argument"), args.len());
    let mut diagnostic = Diagnostic::new(codes::E0302, message).at(module.exprs[callee].span, "called here");
    // With too many arguments, the first that is too much; with too few, the name of the first that is missing.
    match module.items(args).get(names.len()) {
        Some(extra) => diagnostic = diagnostic.also(extra.span, EXTRA_ARGUMENT),
        None => diagnostic = diagnostic.also(closing(module, call), missing_arguments(names[args.len()..].iter())),
    }
    diagnostic.help(format!("write `{}({})`", def.name, names.join(", ")))
}

/// The label of an argument that a function does not take.
pub(super) const EXTRA_ARGUMENT: &str = "this argument is too much";

/// Tensors side by side where the operator takes a tuple of them.
pub(super) fn tuple_arity(module: &Module, call: ExprId, def: &OpDef) -> Diagnostic {
    let ExprKind::Call { args, callee, .. } = module.exprs[call].kind else { unreachable!("only calls have an arity") };
    let message = format!("`{}` takes 1 argument, a tuple, found {}", def.name, args.len());
    let args = module.items(args);
    let span = args.iter().fold(Span::NONE, |all, arg| all.to(arg.span));
    Diagnostic::new(codes::E0302, message)
        .at(module.exprs[callee].span, "called here")
        .also(span, "these are not in a tuple")
        .fix_all(format!("put them into a tuple: `{}((…))`", def.name), Edit::around(span, "(", ")"))
}

fn missing_arguments(names: impl Iterator<Item = impl std::fmt::Display>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    let (noun, verb) = if names.len() == 1 { ("argument", "is") } else { ("arguments", "are") };
    format!("the {noun} {} {verb} missing", join_words(&names, "and"))
}

/// The parenthesis that ends a call.
fn closing(module: &Module, call: ExprId) -> Span {
    let span = module.exprs[call].span;
    if span.is_none() { span } else { Span { start: span.end.saturating_sub(1).max(span.start), ..span } }
}

/// The function that a value certainly is.
pub(super) fn func_of(module: &Module, value: ExprId) -> Option<FuncId> {
    match module.exprs[value].kind {
        ExprKind::Global(global) => Some(module.globals[global].func),
        ExprKind::Fn(func) => Some(func),
        _ => None,
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
        .help(format!("`match?` is not checked; {}", MATCH_STEPS.help()))
}

pub(super) fn not_a_function(module: &Module, callee: ExprId, ty: Ty) -> Diagnostic {
    let message = format!("expected a function, found `{}`", module.types.text(ty));
    let name = name_of(module, callee).unwrap_or_else(|| "this".to_owned());
    let diagnostic =
        Diagnostic::new(codes::E0309, message).at(module.exprs[callee].span, format!("{name} is called, but is not a function"));
    match module.exprs[callee].kind {
        ExprKind::Var(var) => diagnostic.also(module.vars[var].span, format!("{name} is bound here")),
        _ => diagnostic,
    }
}

pub(super) fn condition(module: &Module, cond: ExprId, found: Ty) -> Diagnostic {
    let text = module.types.text(found);
    let diagnostic = Diagnostic::new(codes::E0301, format!("expected `bool`, found `{text}`"))
        .at(module.exprs[cond].span, format!("the condition is `{text}`"))
        .note("the condition of an `if` is one bool: a tensor of rank 0");
    match module.types.as_tensor(found) {
        Some((shape, dtype)) if dtype.is_bool() && !shape.is_empty() => {
            diagnostic.help("make one bool of them: `all(…)`, `any(…)`, or `reshape(…, newshape=[])` for one element")
        }
        Some(([], _)) => diagnostic.help("compare it: `if (%x > 0f) { … }`"),
        _ => diagnostic,
    }
}

pub(super) fn projection_range(module: &Module, expr: ExprId, index: i32, n: usize) -> Diagnostic {
    let message = match n {
        0 => format!("the tuple has no fields, found `.{index}`"),
        1 => format!("the tuple has the field `.0` alone, found `.{index}`"),
        n => format!("the tuple has the fields `.0` to `.{}`, found `.{index}`", n - 1),
    };
    Diagnostic::new(codes::E0307, message).at(module.exprs[expr].span, "there is no such field")
}

pub(super) fn projection_of(module: &Module, expr: ExprId, ty: Ty) -> Diagnostic {
    let ty = module.types.text(ty);
    Diagnostic::new(codes::E0307, format!("expected a tuple, found `{ty}`"))
        .at(module.exprs[expr].span, "only tuples have fields")
}

pub(super) fn unknown_var(module: &Module, var: VarId, ty: Ty) -> Diagnostic {
    let decl = &module.vars[var];
    let message = format!("cannot infer the type of `%{}`", decl.name);
    let diagnostic = Diagnostic::new(codes::E0306, message).at(decl.span, known_part(module, ty));
    match module.types.data(ty) {
        TyData::Hole(_) => diagnostic.help(format!("annotate it: `%{}: Tensor[(1, 16), float32]`", decl.name)),
        _ => diagnostic,
    }
}

/// The known part of a type that inference left open.
fn known_part(module: &Module, ty: Ty) -> String {
    match module.types.data(ty) {
        TyData::Hole(_) => "nothing says what it is".to_owned(),
        _ => format!("only `{}` is known", module.types.text(ty)),
    }
}

pub(super) fn operator_value(module: &Module, expr: ExprId, name: &str, n_args: usize) -> Diagnostic {
    let params: Vec<String> = (0..n_args).map(|i| format!("%p{i}")).collect();
    let params = params.join(", ");
    Diagnostic::new(codes::E0306, format!("cannot infer the type of the operator `{name}` as a value"))
        .at(module.exprs[expr].span, "not called here")
        .note("an operator has no type of its own: its relation needs the arguments of a call")
        .help(format!("make it a function: `fn ({params}) {{ {name}({params}) }}`"))
}

pub(super) fn unknown_expr(module: &Module, expr: ExprId, ty: Ty) -> Diagnostic {
    let message = "cannot infer the type of this expression";
    Diagnostic::new(codes::E0306, message).at(module.exprs[expr].span, known_part(module, ty))
}

pub(super) fn too_many_steps(place: Span, limit: &Limit) -> Diagnostic {
    Diagnostic::new(codes::E0805, "type inference takes too many steps")
        .at(place, "given up here")
        .note("the types of the program are too large, or functions without types use each other too often")
        .help(format!("declare the types of parameters and results; {}", limit.help()))
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

/// A constant of one number as a literal of another dtype, if there is one of the same value.
pub(super) fn literal(value: &Tensor, dtype: DType) -> Option<String> {
    let suffix = match dtype {
        DType::I16 => "i16",
        DType::I32 => "",
        DType::I64 => "i64",
        DType::F16 => "f16",
        DType::F32 => "f",
        DType::F64 => "f64",
        _ => return None,
    };
    let same = |cast: &Tensor| cast.to_f64s() == value.to_f64s();
    let number = *value.cast(dtype).filter(|cast| value.rank() == 0 && same(cast))?.to_f64s().first()?;
    (number.is_finite() && number.abs() < 1e15).then(|| format!("{number}{suffix}"))
}

/// How two types that do not agree differ, if in a few words.
fn difference(types: &Types, expected: Ty, found: Ty) -> Option<String> {
    let ((s, d), (t, e)) = (types.as_tensor(expected)?, types.as_tensor(found)?);
    if d != e {
        return Some(format!("the dtypes differ: `{d}` and `{e}`"));
    }
    if s.len() != t.len() {
        return Some(format!("the ranks differ: {} and {}", s.len(), t.len()));
    }
    let axis = differing_axis(types, expected, found)?;
    Some(format!("they differ in axis {axis}: {} and {}", types.symbols.text_of(s[axis]), types.symbols.text_of(t[axis])))
}

/// The first axis in which two tensor types of one rank disagree.
fn differing_axis(types: &Types, expected: Ty, found: Ty) -> Option<usize> {
    let ((s, _), (t, _)) = (types.as_tensor(expected)?, types.as_tensor(found)?);
    (s.len() == t.len()).then(|| s.iter().zip(t).position(|(a, b)| !a.compatible(*b)))?
}

/// The layout that a help writes as an attribute, if it may not fit: where a layout is none, that is mended first.
fn layout(code: Code, name: &str, text: &str) -> Option<AttrValue> {
    let text = text.strip_prefix('"')?.strip_suffix('"')?;
    (code != codes::E0404 && name.ends_with("layout")).then(|| AttrValue::str(text))
}

/// A number, or a list of some, that a help writes as an attribute.
fn numbers(text: &str) -> Option<AttrValue> {
    let number = |text: &str| text.trim().parse().ok().map(AttrValue::int);
    match text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(items) => items.split(',').map(number).collect::<Option<Vec<_>>>().map(|items| AttrValue::List(items.into())),
        None => number(text),
    }
}

impl Infer<'_> {
    /// Another number of arguments than a function takes.
    pub(super) fn function_arity(&self, call: ExprId, callee: ExprId, expected: usize) -> Diagnostic {
        let module = &*self.module;
        let ExprKind::Call { args, .. } = module.exprs[call].kind else { unreachable!("only calls have an arity") };
        let name = name_of(module, callee).unwrap_or_else(|| "the function".to_owned());
        let message = format!("{name} takes {}, found {}", count(expected, "argument"), args.len());
        let diagnostic = Diagnostic::new(codes::E0302, message).at(module.exprs[callee].span, "called here");
        let diagnostic = match module.exprs[callee].kind {
            ExprKind::Global(global) => diagnostic.also(module.globals[global].span, "defined here"),
            ExprKind::Var(var) => diagnostic.also(module.vars[var].span, "defined here"),
            ExprKind::Ctor(ctor) => diagnostic.also(module.ctors[ctor].span, "defined here"),
            _ => diagnostic,
        };
        let params = self.called_func(callee).map_or(&[][..], |func| &module.funcs[func].params);
        match (module.items(args).get(expected), params.get(args.len()..)) {
            (Some(extra), _) => diagnostic.also(extra.span, EXTRA_ARGUMENT),
            (None, Some(missing)) if !missing.is_empty() => {
                let names = missing.iter().map(|&var| format!("%{}", module.vars[var].name));
                diagnostic.also(closing(module, call), missing_arguments(names))
            }
            (None, None) if module.items(args).len() < expected => {
                diagnostic.also(closing(module, call), "an argument is missing")
            }
            _ => diagnostic,
        }
    }

    /// Where parameter `index` of a called function is declared.
    pub(super) fn parameter_place(&self, callee: ExprId, index: usize) -> (Span, String) {
        let module = &*self.module;
        if let ExprKind::Ctor(ctor) = module.exprs[callee].kind {
            return (module.ctors[ctor].span, "the constructor is defined here".to_owned());
        }
        match self.parameter(callee, index) {
            Some(var) => (module.vars[var].span, format!("the parameter `%{}` is declared here", module.vars[var].name)),
            None => (module.exprs[callee].span, "by the type of this function".to_owned()),
        }
    }

    /// Two types that disagree: that of `value`, mentioned at its span, and the one that `place` demands. Of a tuple that is written
    /// out, the field that disagrees is the value.
    pub(super) fn mismatch(
        &mut self,
        mut mismatch: Mismatch,
        (mut expected, mut found): (Ty, Ty),
        mut value: Operand,
        place: (Span, String),
    ) -> Diagnostic {
        while let Some(&StepKind::Field(at)) = mismatch.path.first() {
            let ExprKind::Tuple(fields) = self.module.exprs[value.expr].kind else { break };
            let Some(&field) = self.module.items(fields).get(at).filter(|field| !field.span.is_none()) else { break };
            let tys = [expected, found].map(|ty| {
                let ty = self.resolve(ty);
                self.module.types.as_tuple(ty).and_then(|fields| fields.get(at).copied())
            });
            let [Some(inner_expected), Some(inner_found)] = tys else { break };
            (expected, found, value) = (inner_expected, inner_found, field);
            mismatch.path.remove(0);
        }
        let [expected, found, inner_expected, inner_found] =
            [expected, found, mismatch.expected, mismatch.found].map(|ty| self.resolve(ty));
        let text = |ty: Ty| self.module.types.text(ty);
        let mut diagnostic = Diagnostic::new(codes::E0301, format!("expected `{}`, found `{}`", text(expected), text(found)))
            .at(value.span, format!("this is `{}`", text(found)))
            .also(place.0, place.1);
        let difference = difference(&self.module.types, inner_expected, inner_found);
        if mismatch.infinite {
            diagnostic = diagnostic.note("the type would have to contain itself");
        } else if !mismatch.path.is_empty() {
            let path = path_text(&mismatch.path);
            let how = difference.unwrap_or_else(|| format!("`{}` and `{}`", text(inner_expected), text(inner_found)));
            diagnostic = diagnostic.note(format!("in {path}: {how}"));
        } else if let Some(how) = difference {
            diagnostic = diagnostic.note(how);
            // Where the number that is not the expected one was decided.
            let axis = differing_axis(&self.module.types, inner_expected, inner_found);
            if let Some(axis) = axis
                && let Some(origin) = self.origin(value.expr, None, axis)
                && diagnostic.labels.iter().all(|label| label.span != origin.span)
            {
                let types = &self.module.types;
                let dim = types.as_tensor(inner_found).map_or(String::new(), |(shape, _)| types.symbols.text_of(shape[axis]));
                diagnostic = diagnostic.also(origin.span, format!("{dim}: {}", origin.text));
            }
        }
        self.convert(diagnostic, value, expected, found)
    }

    /// Reports a broken rule.
    pub(super) fn report_fault(&mut self, call: ExprId, fault: Fault) {
        let ty = self.ty(call);
        let typed = fault.typed && !self.is_hole(ty);
        // An operand of the same fault has said it; mended there, it is mended here.
        let said = typed && self.arg_exprs(call).iter().any(|operand| self.typed_faults.contains(operand));
        if !said {
            self.report(self.module.exprs[call].span, |infer| Diagnostic { typed, ..infer.explain(call, fault) });
        }
        if typed {
            self.typed_faults.insert(call);
        } else {
            self.give_up(call);
        }
    }

    /// Builds the message for a broken rule of an operator: both places, the origin of the numbers, and suggestions.
    pub(super) fn explain(&mut self, call: ExprId, fault: Fault) -> Diagnostic {
        let Some((def, _)) = self.op_call(call) else { unreachable!("faults come from relations of operators") };
        let mut diagnostic = Diagnostic::new(fault.code, format!("`{}`: {}", def.name, fault.message));
        let tried = fault.clone();
        let mut origins = Vec::new();
        for (i, (place, text)) in fault.places.iter().enumerate() {
            let (span, default_text) = self.place(call, def, *place);
            let unwritten = matches!(place.what, FaultSubject::Attr(name) if self.attr_span(call, name).is_none());
            if i > 0 && unwritten {
                // A default stands nowhere; the equation shows its value.
                continue;
            }
            let text = if text.is_empty() { default_text } else { text.clone() };
            diagnostic = if i == 0 { diagnostic.at(span, text) } else { diagnostic.also(span, text) };
            origins.extend(self.place_origin(call, *place, span));
        }
        if diagnostic.labels.is_empty() {
            diagnostic = diagnostic.at(self.module.exprs[call].span, "");
        }
        origins.extend(tried.places.iter().filter_map(|(place, _)| self.place_declared(call, *place)));
        for (span, text) in origins {
            if diagnostic.labels.iter().all(|label| label.span != span) {
                diagnostic = diagnostic.also(span, text);
            }
        }
        if let Some(rule) = def.rules.iter().find(|rule| rule.starts_with(&format!("{}:", fault.rule))) {
            // A rule that is its own equation is not said twice.
            let said = fault.equation.as_ref().is_some_and(|(equation, _)| rule.ends_with(&format!(": {equation}")));
            let rule = if said { fault.rule } else { rule };
            diagnostic = diagnostic.note(format!("`{}` rule {rule}", def.name));
        }
        if let Some((rule, values)) = fault.equation {
            diagnostic = diagnostic.equation(rule, values);
        }
        let code = fault.code;
        for help in fault.helps {
            diagnostic = match help {
                FaultHelp::Text(text) if fault.takes_field => diagnostic.general_help(text),
                FaultHelp::Text(text) => diagnostic.help(text),
                FaultHelp::Cast { arg, dtype } => self.cast(diagnostic, call, arg, dtype),
                FaultHelp::SetAttr { name, value } => match numbers(&value).or_else(|| layout(code, name, &value)) {
                    Some(numbers) if !self.attr_fits(call, name, numbers.clone()) => diagnostic,
                    _ => self.set_attr(diagnostic, call, name, &value),
                },
                FaultHelp::SetNumber { name, from, to } => match self.with_number(call, name, (from, to)) {
                    Some(value) if !self.attr_fits(call, name, value.clone()) => diagnostic,
                    _ => self.set_number(diagnostic, call, name, (from, to)),
                },
            };
        }
        self.repair(diagnostic, call, &tried)
    }

    /// There is no implicit conversion: an operand is to be cast, a literal to be written with another suffix.
    fn cast(&mut self, mut diagnostic: Diagnostic, call: ExprId, arg: usize, dtype: DType) -> Diagnostic {
        // Of two operands, the literal is the one to be written otherwise, whatever is wider.
        let n_args = self.op_call(call).map_or(0, |(def, _)| def.args.len());
        for other in (0..n_args).filter(|&other| other != arg && n_args == 2) {
            let [Some((literal, span)), Some((beside, _))] = [self.operand(call, other), self.operand(call, arg)] else {
                continue;
            };
            let ty = self.resolved_ty(beside);
            let wanted = self.module.types.as_tensor(ty).map(|(_, dtype)| dtype);
            if let Some(wanted) = wanted.filter(|&wanted| self.is_literal_of(literal, wanted)) {
                diagnostic = self.other_dtype(diagnostic, Operand { expr: literal, span }, wanted);
            }
        }
        match self.operand(call, arg) {
            Some((expr, span)) => self.other_dtype(diagnostic, Operand { expr, span }, dtype),
            None => diagnostic,
        }
    }

    /// An attribute with another number, the first that is `from`.
    fn with_number(&self, call: ExprId, name: &str, (from, to): (i64, i64)) -> Option<AttrValue> {
        let index = self.module.called_op(call).and_then(|op| self.ops.def(op).attrs)?.position(name)?;
        match super::call_attrs(self.module, call).get(index)? {
            AttrValue::List(items) => {
                let at = items.iter().position(|item| item.as_int() == Some(from))?;
                let number = |(i, item): (usize, &AttrValue)| if i == at { AttrValue::int(to) } else { item.clone() };
                Some(AttrValue::List(items.iter().enumerate().map(number).collect()))
            }
            _ => Some(AttrValue::int(to)),
        }
    }

    /// Another number in an attribute that is one, or a list of some.
    fn set_number(&self, diagnostic: Diagnostic, call: ExprId, name: &str, (from, to): (i64, i64)) -> Diagnostic {
        let span = self.attr_span(call, name);
        let text = self.source(span);
        let from = from.to_string();
        let value = text.find('=').map_or(0, |at| at + 1);
        let is_digit = |c: char| c.is_ascii_digit() || c == '-';
        let at = text[value..].match_indices(&from).map(|(at, _)| value + at).find(|&at| {
            let (before, after) = (&text[..at], &text[at + from.len()..]);
            !before.ends_with(is_digit) && !after.starts_with(is_digit)
        });
        let Some(at) = at else { return diagnostic };
        let place = Span { start: span.start + at as u32, end: span.start + (at + from.len()) as u32, ..span };
        let written = format!("{}{to}{}", &text[..at], &text[at + from.len()..]);
        diagnostic.fix(format!("`{written}` makes it fit"), place, to.to_string())
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

    /// The span of a place and its default label: the operand's type.
    fn place(&mut self, call: ExprId, def: &OpDef, place: Place) -> (Span, String) {
        let span = self.module.exprs[call].span;
        match place.what {
            FaultSubject::Call => (span, String::new()),
            FaultSubject::Attr(name) => {
                let written = self.attr_span(call, name);
                match (written.is_none(), self.is_default(call, name)) {
                    (false, _) => (written, String::new()),
                    (true, true) => (span, format!("by the default of `{name}`")),
                    // A pass has written it.
                    (true, false) => (span, format!("by its `{name}`")),
                }
            }
            FaultSubject::Arg { arg, field } => {
                let Some((expr, operand_span)) = self.operand(call, arg) else { return (span, String::new()) };
                let role = def.args.get(arg).map_or("operand", |arg| arg.name);
                let ty = self.operand_ty(expr, field);
                // The field of a tuple that is written out has a place of its own.
                let written = match (self.module.exprs[expr].kind, field) {
                    (ExprKind::Tuple(fields), Some(field)) => self.module.items(fields).get(field).copied(),
                    _ => None,
                };
                let operand_span = written.map_or(operand_span, |field| field.span);
                let named = written.map_or(expr, |field| field.expr);
                let name = match (name_of(self.module, named), field) {
                    (None, None) => format!("`{role}`"),
                    (name, Some(field)) if name.is_none() || written.is_none() => format!("field {field} of `{role}`"),
                    (name, _) => name.unwrap_or_default(),
                };
                let axis = place.axis.map_or(String::new(), |axis| format!(", axis {axis}"));
                (operand_span, format!("{name} is `{}`{axis}", self.module.types.text(ty)))
            }
        }
    }

    /// Whether an attribute has the value that it has where nothing is written.
    fn is_default(&self, call: ExprId, name: &str) -> bool {
        let schema = self.module.called_op(call).and_then(|op| self.ops.def(op).attrs);
        let field = schema.and_then(|schema| Some((schema.position(name)?, schema)));
        field.is_some_and(|(index, schema)| {
            let value = super::call_attrs(self.module, call).get(index);
            schema.fields[index].default.is_some_and(|default| value == Some(&default()))
        })
    }

    fn operand(&self, call: ExprId, arg: usize) -> Option<(ExprId, Span)> {
        let ExprKind::Call { args, .. } = self.module.exprs[call].kind else { return None };
        self.module.items(args).get(arg).map(|operand| (operand.expr, operand.span))
    }

    /// The type of an operand, or of its field.
    fn operand_ty(&mut self, expr: ExprId, field: Option<usize>) -> Ty {
        let ty = self.resolved_ty(expr);
        field.and_then(|field| self.module.types.as_tuple(ty)?.get(field).copied()).unwrap_or(ty)
    }

    /// Where the variable at a place is declared or bound.
    fn place_declared(&self, call: ExprId, place: Place) -> Option<(Span, String)> {
        let (FaultSubject::Arg { arg, .. }, None) = (place.what, place.axis) else { return None };
        let (expr, span) = self.operand(call, arg)?;
        let ExprKind::Var(var) = self.module.exprs[expr].kind else {
            let made = self.module.exprs[expr].span;
            return (made != span && !made.is_none()).then(|| (made, "it is made here".to_owned()));
        };
        let decl = &self.module.vars[var];
        match self.let_values.get(&var) {
            Some(&value) => Some((self.module.exprs[value].span, format!("`%{}` is bound to this", decl.name))),
            None => Some((decl.span, format!("`%{}` is declared here", decl.name))),
        }
        .filter(|(span, _)| !span.is_none())
    }

    /// Whether an operand is a literal, or a name for one, that could be of another dtype.
    fn is_literal_of(&self, expr: ExprId, dtype: DType) -> bool {
        let value = match self.module.exprs[expr].kind {
            ExprKind::Var(var) => self.let_values.get(&var).copied(),
            _ => Some(expr),
        };
        value.is_some_and(|value| match self.module.exprs[value].kind {
            ExprKind::Const(id) => literal(&self.module.consts[id], dtype).is_some(),
            _ => false,
        })
    }

    /// Where the number at a place was decided, if elsewhere.
    fn place_origin(&mut self, call: ExprId, place: Place, span: Span) -> Option<(Span, String)> {
        let (FaultSubject::Arg { arg, field }, Some(axis)) = (place.what, place.axis) else { return None };
        let (expr, _) = self.operand(call, arg)?;
        let ty = self.operand_ty(expr, field);
        let dim = self.module.types.as_tensor(ty)?.0.get(axis).copied()?;
        let dim = self.module.types.symbols.text_of(dim);
        let origin = self.origin(expr, field, axis)?;
        (origin.span != span).then(|| (origin.span, format!("{dim}: {}", origin.text)))
    }
}
