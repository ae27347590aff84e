//! Finds suggestions by trial: each one makes the broken rule hold.
//!
//! The relation of a call runs again on types changed in one place: two operands swapped, a field of a tuple taken, a number of a
//! declaration changed, an attribute left out, a similar name. Absent: the wording of messages, see `errors.rs`.

use super::{Infer, call_attrs};
use relayc_base::Span;
use relayc_base::diag::{Diagnostic, Edit, codes};
use relayc_base::text::nearest;
use relayc_ir::types::{DType, Dim, Ty, TyData, Types};
use relayc_ir::{AttrValue, ExprId, ExprKind, Operand, VarId};
use relayc_ops::rel::{Fault, FaultSubject, Place};
use rustc_hash::FxHashSet;

/// Limit of messages with suggestions: nobody reads more, and trying takes time.
pub(super) const MAX_REPAIRED: usize = 50;

/// Limit of suggestions for one message.
pub(super) const MAX_HELPS: usize = 4;

/// Adds one kind of suggestion to the report of a call that breaks a rule, given the types of its operands.
type Step<I> = fn(&mut I, Diagnostic, ExprId, &Fault, &[Ty]) -> Diagnostic;

/// The place of a number to change.
#[derive(Clone, Copy)]
pub(super) enum Site {
    /// An axis of a variable's annotation.
    Var(VarId, usize),
    /// An attribute that is one number.
    Attr(ExprId, &'static str),
}

impl Infer<'_> {
    /// The text under a span; empty where the program was not read from one.
    pub(super) fn source(&self, span: Span) -> &str {
        if span.is_none() { "" } else { self.text.get(span.start as usize..span.end as usize).unwrap_or("") }
    }

    /// Adds suggestions that make the broken rule of a call hold.
    pub(super) fn repair(&mut self, mut diagnostic: Diagnostic, call: ExprId, fault: &Fault) -> Diagnostic {
        let Some((_, args)) = self.op_call(call) else { return diagnostic };
        // An attribute that says what would fit is the mistake itself.
        let said = fault.code == codes::E0404 && !diagnostic.helps.is_empty();
        if self.text.is_empty() || self.errors.n_found() >= MAX_REPAIRED || said {
            return diagnostic;
        }
        let args: Vec<Ty> = args.into_iter().map(|ty| self.resolve(ty)).collect();
        // Trying would give types to what is not known.
        if args.iter().any(|&ty| self.module.types.has_hole(ty)) {
            return diagnostic;
        }
        let n_helps = diagnostic.helps.len();
        let steps: [Step<Self>; 6] =
            [Self::swapped, Self::field, Self::neighbour, Self::without_attr, Self::declared, Self::decided_elsewhere];
        for step in steps {
            if diagnostic.helps.len() < n_helps + MAX_HELPS {
                diagnostic = step(self, diagnostic, call, fault, &args);
            }
        }
        diagnostic
    }

    /// Whether a call's relation holds on these types.
    fn holds(&mut self, call: ExprId, args: &[Ty], attrs: Option<&[AttrValue]>) -> bool {
        let Some((def, _)) = self.op_call(call) else { return false };
        if attrs.is_none() && self.lacks_attrs(call) {
            return false;
        }
        let attrs = attrs.map_or_else(|| call_attrs(self.module, call).to_vec(), <[AttrValue]>::to_vec);
        self.relation_holds(def, &attrs, args)
    }

    /// Whether a call's relation holds on these types whatever numbers their open dimensions are. A dimension that may be any number
    /// fits everywhere until the program runs.
    fn fits(&mut self, call: ExprId, args: &[Ty], attrs: Option<&[AttrValue]>) -> bool {
        if !self.holds(call, args, attrs) {
            return false;
        }
        // Dimensions that are the same stay so; a prime is hardly written anywhere else.
        const PRIMES: [i64; 8] = [97, 101, 103, 107, 109, 113, 127, 131];
        let mut open: Vec<Dim> = vec![];
        let mut number = |dim: Dim| {
            let at = open.iter().position(|&other| other == dim).unwrap_or_else(|| {
                open.push(dim);
                open.len() - 1
            });
            Dim::known(PRIMES[at % PRIMES.len()])
        };
        let mut numbered = vec![];
        for &arg in args {
            numbered.push(self.module.types.rewrite(arg, |types, ty| {
                let (shape, dtype) = types.as_tensor(ty)?;
                let shape: Vec<Dim> = shape.iter().map(|&dim| if dim.value().is_some() { dim } else { number(dim) }).collect();
                Some(types.tensor(&shape, dtype))
            }));
        }
        numbered == args || self.holds(call, &numbered, attrs)
    }

    fn fits_with(&mut self, call: ExprId, args: &[Ty], arg: usize, ty: Ty) -> bool {
        let mut changed = args.to_vec();
        changed[arg] = ty;
        self.fits(call, &changed, None)
    }

    /// Whether a call's relation holds with another value of an attribute; unknown operands are not asked.
    pub(super) fn attr_fits(&mut self, call: ExprId, name: &str, value: AttrValue) -> bool {
        let schema = self.module.called_op(call).and_then(|op| self.ops.def(op).attrs);
        let (Some(index), Some((_, args))) = (schema.and_then(|schema| schema.position(name)), self.op_call(call)) else {
            return false;
        };
        let mut args: Vec<Ty> = args.into_iter().map(|ty| self.resolve(ty)).collect();
        let mut attrs = call_attrs(self.module, call).to_vec();
        let Some(attr) = attrs.get_mut(index) else { return false };
        *attr = value;
        // Trying would give types to what is not known.
        if args.iter().any(|&ty| self.module.types.has_hole(ty)) {
            return true;
        }
        // What this call has decided follows the attribute.
        for (arg, operand) in self.operands(call).into_iter().enumerate() {
            let ExprKind::Var(var) = self.module.exprs[operand.expr].kind else { continue };
            if self.decided_by.get(&var) == Some(&(call, arg)) {
                args[arg] = self.fresh();
            }
        }
        self.fits(call, &args, Some(&attrs))
    }

    pub(super) fn operands(&self, call: ExprId) -> Vec<Operand> {
        let ExprKind::Call { args, .. } = self.module.exprs[call].kind else { return vec![] };
        self.module.items(args).to_vec()
    }

    fn swapped(&mut self, diagnostic: Diagnostic, call: ExprId, _: &Fault, args: &[Ty]) -> Diagnostic {
        let operands = self.operands(call);
        for first in 0..args.len() {
            for second in first + 1..args.len() {
                let mut changed = args.to_vec();
                changed.swap(first, second);
                if args[first] != args[second] && self.fits(call, &changed, None) {
                    return self.swap(diagnostic, operands[first].span, operands[second].span);
                }
            }
        }
        diagnostic
    }

    /// The place of an argument, with its `fn` if it is a function: the place of a function begins with its parameters.
    fn with_fn(&self, place: Span) -> Span {
        let before = self.source(Span { start: 0, end: place.start, ..place }).trim_end();
        let rest = before.strip_suffix("fn").filter(|rest| rest.ends_with(['(', ',', ' ', '\n']));
        let is_fn = self.source(place).starts_with(['(', '[']) && self.source(place).ends_with('}');
        rest.filter(|_| is_fn).map_or(place, |rest| Span { start: rest.len() as u32, ..place })
    }

    /// The help that swaps two pieces of text.
    pub(super) fn swap(&self, diagnostic: Diagnostic, first: Span, second: Span) -> Diagnostic {
        let (first, second) = (self.with_fn(first), self.with_fn(second));
        let (a, b) = (self.source(first).to_owned(), self.source(second).to_owned());
        if a.is_empty() || b.is_empty() {
            return diagnostic;
        }
        let title = match a.len() + b.len() < 60 {
            true => format!("swap the arguments: `{b}` before `{a}`"),
            false => "swap the arguments".to_owned(),
        };
        diagnostic.fix_all(title, vec![Edit { span: first, text: b }, Edit { span: second, text: a }])
    }

    /// Suggests a field of a tuple, or the content of a reference, that fits in its place.
    fn field(&mut self, mut diagnostic: Diagnostic, call: ExprId, _: &Fault, args: &[Ty]) -> Diagnostic {
        let operands = self.operands(call);
        for (arg, &ty) in args.iter().enumerate() {
            if let TyData::Ref(content) = *self.module.types.data(ty)
                && self.fits_with(call, args, arg, content)
            {
                let text = format!("ref_read({})", self.source(operands[arg].span));
                diagnostic = diagnostic.fix(format!("read it: `{text}`"), operands[arg].span, text);
            }
            let Some(fields) = self.module.types.as_tuple(ty).map(<[Ty]>::to_vec) else { continue };
            let fitting: Vec<usize> = (0..fields.len()).filter(|&i| self.fits_with(call, args, arg, fields[i])).collect();
            for &index in fitting.iter().take(3) {
                diagnostic.helps.retain(|help| !help.general);
                diagnostic = self.project_help(diagnostic, operands[arg].span, index);
            }
        }
        diagnostic
    }

    /// The help that adds the fields a pattern of a constructor lacks.
    pub(super) fn more_fields(&self, mut diagnostic: Diagnostic, span: Span, found: usize, expected: usize) -> Diagnostic {
        let text = self.source(span);
        if found >= expected || text.is_empty() {
            return diagnostic;
        }
        let fields = vec!["_"; expected - found].join(", ");
        diagnostic.helps.clear();
        let written = match text.strip_suffix(')') {
            Some(before) if found > 0 => format!("{before}, {fields})"),
            Some(before) => format!("{before}{fields})"),
            None => format!("{text}({fields})"),
        };
        diagnostic.fix(format!("write `{written}`"), span, written)
    }

    /// The help that takes a field of the expression at a place.
    fn project_help(&self, diagnostic: Diagnostic, span: Span, index: usize) -> Diagnostic {
        let text = self.source(span);
        let is_name = text.len() > 1 && text[1..].bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        let projection = if is_name { format!("{text}.{index}") } else { format!("({text}).{index}") };
        let shown = if projection.len() < 50 { projection.clone() } else { format!("(…).{index}") };
        diagnostic.fix(format!("take a field of it: `{shown}`"), span, projection)
    }

    /// Suggests a variable with a similar name that fits.
    fn neighbour(&mut self, diagnostic: Diagnostic, call: ExprId, _: &Fault, args: &[Ty]) -> Diagnostic {
        for (arg, operand) in self.operands(call).into_iter().enumerate() {
            let ExprKind::Var(var) = self.module.exprs[operand.expr].kind else { continue };
            let Some(func) = self.module.funcs.iter().find(|func| func.params.contains(&var)) else { continue };
            let params = func.params.clone();
            let mut near = vec![];
            for other in params.into_iter().filter(|&other| other != var) {
                let name = [&*self.module.vars[other].name];
                let Some(ty) = self.var_tys[other].filter(|_| nearest(&self.module.vars[var].name, name).is_some()) else {
                    continue;
                };
                let ty = self.resolve(ty);
                if !self.module.types.has_hole(ty) && self.fits_with(call, args, arg, ty) {
                    near.push((other, ty));
                }
            }
            if let [(other, ty)] = near[..] {
                let name = format!("%{}", self.module.vars[other].name);
                let title = format!("`{name}` fits: it is `{}`", self.module.types.text(ty));
                return diagnostic.fix(title, operand.span, name);
            }
        }
        diagnostic
    }

    /// Suggests leaving out an attribute whose default fits.
    fn without_attr(&mut self, diagnostic: Diagnostic, call: ExprId, fault: &Fault, args: &[Ty]) -> Diagnostic {
        let Some(schema) = self.module.called_op(call).and_then(|op| self.ops.def(op).attrs) else { return diagnostic };
        let written = call_attrs(self.module, call).to_vec();
        for (index, field) in schema.fields.iter().enumerate() {
            let span = self.attr_span(call, field.name);
            let named = fault.places.iter().any(|(place, _)| place.what == FaultSubject::Attr(field.name));
            let in_rule = fault.equation.as_ref().is_some_and(|(rule, _)| rule.contains(field.name));
            let (false, true, Some(default)) = (span.is_none(), named || in_rule, field.default) else { continue };
            let mut attrs = written.clone();
            attrs[index] = default();
            if let (AttrValue::List(items), AttrValue::List(usual)) = (&written[index], &attrs[index])
                && fault.code == codes::E0404
            {
                // A list of another length than usual says something, unlike no list.
                let Some(first) = items.first().filter(|first| items.iter().all(|item| item == *first)) else {
                    return diagnostic;
                };
                let number = first.as_int().map_or(String::new(), |number| number.to_string());
                let list = format!("{}=[{}]", field.name, vec![&*number; usual.len()].join(", "));
                attrs[index] = AttrValue::List(vec![first.clone(); usual.len()].into());
                return match !number.is_empty() && self.fits(call, args, Some(&attrs)) {
                    true => diagnostic.fix(format!("`{list}` makes it fit"), span, list),
                    false => diagnostic,
                };
            }
            let same = attrs[index] == written[index];
            if !same && self.fits(call, args, Some(&attrs)) {
                let before = self.source(Span { start: 0, end: span.start, ..span }).trim_end();
                let start = before.strip_suffix(',').unwrap_or(before).len() as u32;
                return diagnostic.fix(format!("leave `{}` out", field.name), Span { start, ..span }, "");
            }
        }
        diagnostic
    }

    /// Suggests the type with which an operand should be declared.
    fn declared(&mut self, mut diagnostic: Diagnostic, call: ExprId, fault: &Fault, args: &[Ty]) -> Diagnostic {
        for (arg, operand) in self.operands(call).into_iter().enumerate() {
            let ExprKind::Var(var) = self.module.exprs[operand.expr].kind else { continue };
            if self.others_depend_on(call, arg, var) {
                continue;
            }
            let candidates = self.types_near(args, arg, fault);
            let fitting = candidates.into_iter().find(|&ty| ty != args[arg] && self.fits_with(call, args, arg, ty));
            // What the other operands and the attributes demand.
            let demanded = self.demanded(call, args, arg);
            for ty in demanded.into_iter().chain(fitting).take(1) {
                diagnostic = self.declare(diagnostic, var, ty);
            }
        }
        diagnostic
    }

    /// Whether another operand would have another type too if the variable had one.
    fn others_depend_on(&self, call: ExprId, arg: usize, var: VarId) -> bool {
        self.operands(call).iter().enumerate().any(|(other, operand)| other != arg && self.depends_on(operand.expr, var))
    }

    /// Whether an expression mentions a variable, by what is seen of it in a few steps.
    fn depends_on(&self, expr: ExprId, var: VarId) -> bool {
        const MAX_STEPS: usize = 1000;
        let (mut stack, mut seen) = (vec![expr], FxHashSet::default());
        while let Some(expr) = stack.pop().filter(|_| seen.len() < MAX_STEPS) {
            if !seen.insert(expr) {
                continue;
            }
            match self.module.exprs[expr].kind {
                ExprKind::Var(other) if other == var => return true,
                ExprKind::Var(other) => stack.extend(self.let_values.get(&other)),
                _ => self.module.children(expr, &mut stack),
            }
        }
        false
    }

    /// The type that the relation gives an operand of unknown type.
    fn demanded(&mut self, call: ExprId, args: &[Ty], arg: usize) -> Option<Ty> {
        let hole = self.fresh();
        let mut changed = args.to_vec();
        changed[arg] = hole;
        if !self.holds(call, &changed, None) {
            return None;
        }
        let ty = self.resolve(hole);
        (!self.module.types.has_hole(ty) && ty != args[arg]).then_some(ty)
    }

    /// Types that are one mistake away from an operand's: another dtype, another number, axes in another order, one more.
    fn types_near(&mut self, args: &[Ty], arg: usize, fault: &Fault) -> Vec<Ty> {
        let types = &mut self.module.types;
        let tensors: Vec<(&[Dim], DType)> = args.iter().filter_map(|&ty| types.as_tensor(ty)).collect();
        let Some((shape, dtype)) = types.as_tensor(args[arg]).map(|(shape, dtype)| (shape.to_vec(), dtype)) else {
            return vec![];
        };
        let mut near: Vec<(Vec<Dim>, DType)> = tensors.into_iter().map(|(_, other)| (shape.clone(), other)).collect();
        if let [a, b] = shape[..] {
            near.push((vec![b, a], dtype));
        }
        if let [n, a, b, c] = shape[..] {
            near.extend([(vec![n, c, a, b], dtype), (vec![n, b, c, a], dtype), (vec![b, c, n, a], dtype)]);
        }
        let of_arg = |place: &Place| matches!(place.what, FaultSubject::Arg { arg: at, field: None } if at == arg);
        let named = fault.places.iter().filter(|(place, _)| of_arg(place)).filter_map(|(place, _)| place.axis);
        let axes: Vec<usize> = named.chain(0..shape.len()).collect();
        let numbers = numbers(fault, types, args);
        for axis in axes.into_iter().filter(|&axis| axis < shape.len()) {
            for &number in &numbers {
                let mut changed = shape.clone();
                changed[axis] = Dim::known(number);
                near.push((changed, dtype));
            }
        }
        near.push(([Dim::known(1)].into_iter().chain(shape.iter().copied()).collect(), dtype));
        near.into_iter()
            .filter(|(shape, _)| shape.len() <= relayc_ir::types::MAX_RANK)
            .map(|(s, d)| types.tensor(&s, d))
            .collect()
    }

    /// The help that declares a variable with another type.
    pub(super) fn declare(&self, diagnostic: Diagnostic, var: VarId, ty: Ty) -> Diagnostic {
        self.declare_as(diagnostic, "declare", var, ty)
    }

    pub(super) fn declare_as(&self, diagnostic: Diagnostic, how: &str, var: VarId, ty: Ty) -> Diagnostic {
        let (name, ty) = (&self.module.vars[var].name, self.module.types.text(ty));
        // Alone it is no other choice.
        let how = if diagnostic.helps.is_empty() { how.trim_start_matches("or ") } else { how };
        match self.annotation(var) {
            Some(span) => diagnostic.fix(format!("{how} `%{name}: {ty}`"), span, ty),
            None => diagnostic,
        }
    }

    /// Where the annotation of a variable stands.
    pub(super) fn annotation(&self, var: VarId) -> Option<Span> {
        let span = self.module.vars[var].span;
        let text = self.source(span);
        if let Some((_, annotation)) = text.split_once(':') {
            // A parameter with attributes of its own is left alone.
            let at = span.end - annotation.trim_start().len() as u32;
            return (!text.contains('{')).then_some(Span { start: at, ..span });
        }
        // A let: between its name and its value.
        let value = *self.let_values.get(&var)?;
        let value = self.module.exprs[value].span;
        let between = Span { end: value.start, ..span.end_point() };
        let annotation = self.source(between).trim_end().strip_suffix('=')?.trim_end();
        let start = annotation.strip_prefix(':')?.trim_start();
        let end = span.end + annotation.len() as u32;
        Some(Span { start: end - start.len() as u32, end, ..span })
    }

    /// Suggests changing a number that a declaration or an attribute elsewhere decided.
    fn decided_elsewhere(&mut self, mut diagnostic: Diagnostic, call: ExprId, fault: &Fault, args: &[Ty]) -> Diagnostic {
        for (place, _) in &fault.places {
            let (FaultSubject::Arg { arg, field: None }, Some(axis)) = (place.what, place.axis) else { continue };
            let Some(operand) = self.operands(call).get(arg).copied() else { continue };
            if matches!(self.module.exprs[operand.expr].kind, ExprKind::Var(var) if self.annotation(var).is_some()) {
                continue;
            }
            let Some(site) = self.origin(operand.expr, None, axis).and_then(|origin| origin.site) else { continue };
            if let Site::Var(var, _) = site
                && self.others_depend_on(call, arg, var)
            {
                continue;
            }
            let Some((shape, dtype)) = self.module.types.as_tensor(args[arg]).map(|(s, d)| (s.to_vec(), d)) else { continue };
            for number in numbers(fault, &self.module.types, args) {
                let mut changed = shape.clone();
                changed[axis] = Dim::known(number);
                let ty = self.module.types.tensor(&changed, dtype);
                if ty != args[arg] && self.fits_with(call, args, arg, ty) {
                    diagnostic = self.decide(diagnostic, site, number);
                    break;
                }
            }
        }
        diagnostic
    }

    fn decide(&mut self, diagnostic: Diagnostic, site: Site, number: i64) -> Diagnostic {
        match site {
            Site::Attr(call, name) if !self.attr_fits(call, name, AttrValue::int(number)) => diagnostic,
            Site::Attr(call, name) => {
                let span = self.attr_span(call, name);
                let is_number = self.source(span).split_once('=').is_some_and(|(_, value)| value.trim().parse::<i64>().is_ok());
                let line = self.source(Span { start: 0, end: span.start, ..span }).matches('\n').count() + 1;
                let title = format!("`{name}={number}` in line {line} makes it fit");
                match is_number {
                    true => diagnostic.fix(title, span, format!("{name}={number}")),
                    false => diagnostic,
                }
            }
            Site::Var(var, axis) => {
                let Some(ty) = self.var_tys[var] else { return diagnostic };
                let ty = self.resolve(ty);
                let Some((shape, dtype)) = self.module.types.as_tensor(ty).map(|(s, d)| (s.to_vec(), d)) else {
                    return diagnostic;
                };
                let mut changed = shape;
                let Some(dim) = changed.get_mut(axis) else { return diagnostic };
                *dim = Dim::known(number);
                let ty = self.module.types.tensor(&changed, dtype);
                self.declare(diagnostic, var, ty)
            }
        }
    }

    /// Suggests a conversion between two types, and other places to declare the type.
    pub(super) fn convert(&mut self, mut diagnostic: Diagnostic, value: Operand, expected: Ty, found: Ty) -> Diagnostic {
        let pattern = matches!(self.module.exprs[value.expr].kind, ExprKind::Match { .. })
            && self.module.exprs[value.expr].span != value.span;
        if self.text.is_empty() || self.errors.n_found() >= MAX_REPAIRED || pattern || self.source(value.span).is_empty() {
            return diagnostic;
        }
        let wrap = |diagnostic: Diagnostic, before: &str, after: &str| {
            diagnostic.fix_all(format!("write `{before}…{after}`"), Edit::around(value.span, before, after))
        };
        match (self.module.types.data(expected).clone(), self.module.types.data(found).clone()) {
            (TyData::Tensor { shape: s, dtype: d }, TyData::Tensor { shape: t, dtype: e }) if s == t && d != e => {
                diagnostic = self.other_dtype(diagnostic, value, d);
            }
            (TyData::Tensor { shape: s, dtype: d }, TyData::Tensor { dtype: e, .. })
                if s.is_empty() && d.is_bool() && e.is_bool() =>
            {
                diagnostic = wrap(wrap(diagnostic, "any(", ")"), "all(", ")");
            }
            (_, TyData::Ref(content)) if compatible(&self.module.types, expected, content) => {
                diagnostic = wrap(diagnostic, "ref_read(", ")");
            }
            (_, TyData::Tuple(fields)) => {
                let fitting: Vec<usize> =
                    (0..fields.len()).filter(|&i| compatible(&self.module.types, expected, fields[i])).collect();
                for &index in fitting.iter().take(3) {
                    diagnostic = self.project_help(diagnostic, value.span, index);
                }
            }
            _ => {}
        }
        if let (ExprKind::Var(var), false) = (self.module.exprs[value.expr].kind, self.module.types.has_hole(expected)) {
            diagnostic = self.declare(diagnostic, var, expected);
        }
        diagnostic
    }

    /// Suggests another dtype: a literal with another suffix, else a cast, at the value or where its name is bound.
    pub(super) fn other_dtype(&mut self, mut diagnostic: Diagnostic, value: Operand, dtype: DType) -> Diagnostic {
        let mut places = vec![value];
        if let ExprKind::Var(var) = self.module.exprs[value.expr].kind
            && self.annotation(var).is_none()
            && let Some(&bound) = self.let_values.get(&var)
        {
            places.push(Operand { expr: bound, span: self.module.exprs[bound].span });
        }
        for (i, place) in places.into_iter().enumerate() {
            let there = if i > 0 { " where it is bound" } else { "" };
            let literal = match self.module.exprs[place.expr].kind {
                ExprKind::Const(id) => super::errors::literal(&self.module.consts[id], dtype),
                _ => None,
            };
            diagnostic = match literal {
                Some(literal) => {
                    diagnostic.fix(format!("there is no implicit conversion: write `{literal}`{there}"), place.span, literal)
                }
                None => {
                    let after = format!(", dtype=\"{dtype}\")");
                    let title = format!("there is no implicit conversion: write `cast(…{after}`{there}");
                    diagnostic.fix_all(title, Edit::around(place.span, "cast(", &after))
                }
            };
        }
        diagnostic
    }
}

/// Numbers that may make a rule hold: those of the operands' shapes, and products and quotients of those in its equation.
fn numbers(fault: &Fault, types: &Types, args: &[Ty]) -> Vec<i64> {
    let values = fault.equation.as_ref().map_or("", |(_, values)| values);
    let written: Vec<i64> = values.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect();
    let mut all = written.clone();
    if fault.equation.as_ref().is_some_and(|(rule, _)| rule.contains(" < ")) {
        all.extend(written.iter().filter_map(|&a| a.checked_add(1)));
    }
    for (i, &a) in written.iter().enumerate() {
        for (j, &b) in written.iter().enumerate() {
            all.extend((b > 1 && a % b == 0).then(|| a / b));
            all.extend(a.checked_mul(b).filter(|_| b > 1 && i != j));
        }
    }
    let dims = args.iter().filter_map(|&ty| types.as_tensor(ty)).flat_map(|(shape, _)| shape);
    all.extend(dims.filter_map(|dim| dim.value()));
    let mut seen = rustc_hash::FxHashSet::default();
    all.retain(|&number| seen.insert(number));
    all.truncate(32);
    all
}

/// Whether two types can be unified; holes match anything.
pub(super) fn compatible(types: &Types, a: Ty, b: Ty) -> bool {
    let mut pairs = vec![(a, b)];
    let mut seen: FxHashSet<(Ty, Ty)> = FxHashSet::default();
    while let Some((a, b)) = pairs.pop() {
        if a == b || !seen.insert((a, b)) {
            continue;
        }
        let same = match (types.data(a), types.data(b)) {
            (TyData::Hole(_) | TyData::Error, _) | (_, TyData::Hole(_) | TyData::Error) => continue,
            (TyData::Tensor { shape: s, dtype: d }, TyData::Tensor { shape: t, dtype: e }) => {
                d == e && s.len() == t.len() && s.iter().zip(t).all(|(a, b)| a.compatible(*b))
            }
            (TyData::Adt { name: a, .. }, TyData::Adt { name: b, .. }) => a == b,
            (TyData::Param { id: a, .. }, TyData::Param { id: b, .. }) => a == b,
            (TyData::Tuple(_), TyData::Tuple(_)) | (TyData::Fn { .. }, TyData::Fn { .. }) | (TyData::Ref(_), TyData::Ref(_)) => {
                true
            }
            _ => false,
        };
        let (mut left, mut right) = (vec![], vec![]);
        types.children(a, &mut left);
        types.children(b, &mut right);
        if !same || left.len() != right.len() {
            return false;
        }
        pairs.extend(left.into_iter().zip(right));
    }
    true
}
