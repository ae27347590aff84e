//! Checks attributes of calls against the operator's schema (language 2.1), and reads attributes of functions.

use super::missing::{self, Unwritten};
use super::{Resolver, errors, signature};
use relayc_base::Span;
use relayc_base::diag::Diagnostic;
use relayc_base::text::shortened;
use relayc_ir::attrs::{AttrSchema, AttrValue, Field, Kind, OpId};
use relayc_ir::types::{DType, TyData};
use relayc_ir::{AttrNames, Attrs, AttrsId};
use relayc_syntax::ast::{self, AttrValueKind, ExprKind};
use relayc_syntax::literal;
use rustc_hash::FxHashMap;

/// The key that names the type of a call's attributes.
pub(super) const TYPE_KEY: &str = "attrs_type_key";

/// How much of a value a message shows.
pub(super) const MAX_SHOWN: usize = 40;

/// Lists of attribute values nest no deeper: no kind of attribute has more than two levels.
const MAX_LIST_DEPTH: usize = 8;

/// How many attributes of calls are kept for others that are the same.
const MAX_KNOWN: usize = 256;

/// What attributes written in this way are, with their places from the first of them on.
pub(super) type KnownAttrs<'a> = FxHashMap<(OpId, &'a str), (Box<[AttrValue]>, Box<[Span]>)>;

/// A place so many bytes further on, with overflow.
fn moved(span: Span, by: u32) -> Span {
    Span { start: span.start.wrapping_add(by), end: span.end.wrapping_add(by), ..span }
}

/// Where another attribute of a call can be written, and what stands before it.
pub(super) fn end(ast: &ast::Ast, call: Span) -> (Span, &'static str) {
    let before = ast.text(call).strip_suffix(')').unwrap_or("").trim_end();
    (Span { start: call.end - 1, end: call.end - 1, ..call }, if before.ends_with(['(', ',']) { "" } else { ", " })
}

impl Resolver<'_> {
    /// The complete attributes of a call in schema order, `None` if the operator has none. `Err`: an error that has been
    /// reported.
    ///
    /// `object` is a metadata reference that replaces all of them.
    pub(super) fn call_attrs(
        &mut self,
        op: OpId,
        op_span: Span,
        attrs: ast::List<ast::Attr>,
        object: Option<Span>,
        call: Span,
    ) -> Result<Option<AttrsId>, ()> {
        let written = self.ast.items(attrs);
        let name = self.ops.name(op);
        let first = written.first().map(|attr| attr.span);
        // A reference that no entry stands behind may have been meant as an argument.
        if let Some(object) = object.filter(|object| self.is_dangling(*object)) {
            self.meta_expr(object);
            self.pop();
            return Err(());
        }
        let Some(schema) = self.ops.schema(op).or(self.ops.meta_schema(op)) else {
            let Some(first) = first.or(object) else { return Ok(None) };
            self.diagnostics.push(errors::no_attrs(name, first, &signature(self.ops.args(op))));
            return Err(());
        };
        match (object, first) {
            (Some(object), Some(first)) => {
                self.diagnostics.push(errors::attrs_twice(first, object));
                return Err(());
            }
            (Some(object), None) => return self.meta_attrs(op, schema, object).map(Some),
            (None, _) if schema.declared || self.says_type(written, schema) => {}
            (None, first) => {
                let report = match first {
                    Some(first) => errors::undeclared_attrs(name, schema.type_key, first),
                    None => errors::missing_object(name, schema.type_key, call),
                };
                self.diagnostics.push(report);
                return Err(());
            }
        }
        self.written_attrs((op, op_span), schema, written, call).map(Some)
    }

    /// Whether `attrs_type_key` among the attributes names their type.
    fn says_type(&self, written: &[ast::Attr], schema: &AttrSchema) -> bool {
        let says = |attr: &ast::Attr| {
            let value = literal::unescape_string(self.ast.text(self.ast.values[attr.value].span));
            self.ast.text(attr.key) == TYPE_KEY && value == schema.type_key
        };
        written.iter().any(says)
    }

    /// The attributes written at a call, with defaults for the others.
    fn written_attrs(
        &mut self,
        (op, op_span): (OpId, Span),
        schema: &'static AttrSchema,
        written: &[ast::Attr],
        call: Span,
    ) -> Result<AttrsId, ()> {
        let name = self.ops.name(op);
        // A network writes the same attributes again and again.
        let place = written.first().zip(written.last()).map(|(first, last)| first.span.to(last.span));
        let start = place.map_or(0, |place| place.start);
        let text = place.map_or("", |place| self.ast.text(place));
        if let Some((values, spans)) = self.known_attrs.get(&(op, text)) {
            let spans = spans.iter().map(|span| if span.is_none() { *span } else { moved(*span, start) }).collect();
            return Ok(self.module.attrs.push(Attrs { values: values.clone(), spans }));
        }
        let n_reports = self.diagnostics.len();
        let mut values: Vec<Option<AttrValue>> = vec![None; schema.fields.len()];
        let mut spans = vec![Span::NONE; schema.fields.len()];
        let mut failed = false;
        for attr in written {
            let key = super::name_text(self.ast.text(attr.key));
            if key == TYPE_KEY {
                continue;
            }
            let Some(index) = schema.position(&key) else {
                self.unknown_attr(name, &key, attr, schema);
                failed = true;
                continue;
            };
            let field = &schema.fields[index];
            if !spans[index].is_none() {
                self.diagnostics.push(errors::duplicate_attr(&key, attr.span, spans[index]));
            }
            spans[index] = attr.span;
            match self.field_value(name, schema, field, attr.value) {
                Ok(value) => values[index] = Some(value),
                Err(()) => failed = true,
            }
        }
        for (field, value) in schema.fields.iter().zip(&mut values) {
            if value.is_none() {
                *value = field.default.map(|default| default());
            }
        }
        // A misspelt attribute is not also missing.
        let wrong = self.diagnostics[n_reports..].iter().filter(|report| report.is_error());
        let meant = wrong.flat_map(|report| &report.helps).flat_map(|help| &help.edits);
        let meant: Vec<String> = meant.map(|edit| edit.text.clone()).collect();
        failed |= !meant.is_empty();
        let lacking: Vec<&Field> = schema
            .fields
            .iter()
            .zip(&values)
            .zip(&spans)
            .filter(|((f, v), s)| v.is_none() && s.is_none() && !meant.iter().any(|name| name == f.name))
            .map(|((f, _), _)| f)
            .collect();
        if !lacking.is_empty() {
            // `None` says that an operand tells it, which only the form for open shapes has.
            let dynamic = self.ops.find(&format!("dyn.{name}")).and_then(|op| self.ops.args(op)).unwrap_or_default();
            let none = |field: &Field| attr_value(field.kind, &AttrValue::None);
            let given = schema.fields.iter().zip(&values).map(|(field, value)| value.clone().or_else(|| none(field)));
            let given: Option<Vec<AttrValue>> = given.collect();
            let rejects = |field: &str| given.as_ref().is_some_and(|given| self.ops.rejects(op, given, field));
            let own = self.ops.args(op).unwrap_or_default();
            let unwritten = |field: &str| match dynamic.iter().any(|arg| arg.name == field) || rejects(field) {
                _ if own.iter().any(|arg| arg.name == field) => Unwritten::Argument,
                true => Unwritten::Nothing,
                false => Unwritten::None,
            };
            let first = self.ast.text(Span { start: op_span.end, ..call }).trim_start_matches(['(', ' ']);
            let number = first.split([',', ')']).next().unwrap_or_default().trim();
            let dtype = if number.parse::<i64>().is_ok() { "int32" } else { "float32" };
            let report = missing::missing_attrs(name, &lacking, (&unwritten, dtype), op_span, end(self.ast, call));
            self.diagnostics.push(report);
        }
        let values: Option<Box<[AttrValue]>> = values.into_iter().collect();
        match values {
            Some(values) if !failed => {
                let spans: Box<[Span]> = if written.is_empty() { Box::default() } else { spans.into() };
                let is_whole = n_reports == self.diagnostics.len() && self.ast.typed_numbers.is_empty();
                if is_whole && self.known_attrs.len() < MAX_KNOWN && values.iter().all(is_plain) {
                    let back = |span: &Span| if span.is_none() { *span } else { moved(*span, start.wrapping_neg()) };
                    self.known_attrs.insert((op, text), (values.clone(), spans.iter().map(back).collect()));
                }
                Ok(self.module.attrs.push(Attrs { values, spans }))
            }
            _ => Err(()),
        }
    }

    /// The attributes of a call whose callee is not an operator. `attrs_type_key` among them names their type; they are kept as
    /// written, in the order of that type if an operator has it.
    pub(super) fn keyed_attrs(&mut self, attrs: ast::List<ast::Attr>, object: Option<Span>) -> Option<AttrsId> {
        let ast = self.ast;
        let written = ast.items(attrs);
        let key = written.iter().rev().find(|attr| ast.text(attr.key) == TYPE_KEY);
        let key = key.filter(|attr| matches!(ast.values[attr.value].kind, AttrValueKind::Str));
        let Some(key) = key else {
            let first = written.first().map(|attr| attr.span).or(object)?;
            let all = written.last().map_or(first, |last| first.to(last.span));
            self.diagnostics.push(errors::attrs_of_function(first, self.with_separator(all)));
            return None;
        };
        let type_key = literal::unescape_string(ast.text(ast.values[key.value].span));
        let schema = self.attrs_type(&type_key);
        let mut entries: Vec<(usize, Box<str>, AttrValue, Span)> = Vec::new();
        for attr in written.iter().filter(|attr| ast.text(attr.key) != TYPE_KEY) {
            let name = super::name_text(ast.text(attr.key));
            let (order, value) = match schema {
                None => (0, self.raw_value(attr.value, 0, false)),
                Some(schema) => match schema.position(&name) {
                    Some(index) => (index, self.field_value(&type_key, schema, &schema.fields[index], attr.value)),
                    None => {
                        self.unknown_attr(&type_key, &name, attr, schema);
                        continue;
                    }
                },
            };
            let Ok(value) = value else { continue };
            let is_default = schema.and_then(|schema| schema.fields[order].default).is_some_and(|default| default().same(&value));
            entries.retain(|(_, other, ..)| **other != *name);
            if !is_default {
                entries.push((order, name.into(), value, attr.span));
            }
        }
        entries.sort_by_key(|(order, ..)| *order);
        let names = entries.iter().map(|(_, name, ..)| name.clone()).collect();
        let spans = entries.iter().map(|(.., span)| *span).collect();
        let values = entries.into_iter().map(|(_, _, value, _)| value).collect();
        let id = self.module.attrs.push(Attrs { values, spans });
        self.module.attr_names.insert(id, AttrNames { type_key: (&*type_key).into(), names });
        Some(id)
    }

    fn unknown_attr(&mut self, of: &str, name: &str, attr: &ast::Attr, schema: &AttrSchema) {
        let near = self.ops.attr_elsewhere(name).filter(|near| schema.position(near).is_some());
        let whole = self.with_separator(attr.span);
        self.diagnostics.push(errors::unknown_attr(of, name, attr.key, schema, near, whole));
    }

    /// The attribute type of an operator with this type key.
    pub(super) fn attrs_type(&self, type_key: &str) -> Option<&'static AttrSchema> {
        let types = self.meta.attrs_types.get_or_init(|| {
            let ops = self.ops.names().iter().filter_map(|name| self.ops.find(name));
            let schemas = ops.filter_map(|op| self.ops.schema(op).or(self.ops.meta_schema(op)));
            schemas.map(|schema| (schema.type_key, schema)).collect()
        });
        types.get(type_key).copied()
    }

    /// The value of an attribute, converted to the kind of its field.
    fn field_value(&mut self, op: &str, schema: &AttrSchema, field: &Field, value: ast::ValueId) -> Result<AttrValue, ()> {
        let span = self.ast.values[value].span;
        let text = self.ast.text(span);
        if self.is_word(value) && matches!(field.kind, Kind::Int | Kind::Bool | Kind::OptBool | Kind::Float | Kind::OptFloat) {
            self.diagnostics.push(errors::attr_word(op, field, text, span));
            return Err(());
        }
        let raw = self.raw_value(value, 0, field.kind.holds_sizes())?;
        let value = checked((op, schema), field, &raw, text, span).map_err(|report| self.diagnostics.push(report))?;
        if let AttrValue::DType(Some(dtype)) = value {
            self.diagnostics.extend(errors::unstorable_dtype(dtype, text.trim_matches('"'), span, true));
        }
        Ok(value)
    }

    /// Whether a value is a bare name that means nothing.
    fn is_word(&self, value: ast::ValueId) -> bool {
        let AttrValueKind::Expr(expr) = self.ast.values[value].kind else { return false };
        let ast::Expr { span, kind } = self.ast.exprs[expr];
        let text = self.ast.text(span);
        let has_meaning = matches!(text, "None" | "nullptr" | "true" | "false" | "none" | "null" | "nil");
        matches!(kind, ExprKind::Name) && !has_meaning
    }

    /// The value as written, whatever field it is for; `sizes` if it may hold sizes.
    pub(super) fn raw_value(&mut self, value: ast::ValueId, depth: usize, sizes: bool) -> Result<AttrValue, ()> {
        let ast = self.ast;
        let ast::AttrValue { span, kind } = ast.values[value];
        if depth > MAX_LIST_DEPTH {
            self.diagnostics.push(errors::list_depth(span));
            return Err(());
        }
        match kind {
            // A string without an end has been reported by the lexer, and nobody knows what it should say.
            AttrValueKind::Str if !ast.text(span).ends_with('"') || ast.text(span).len() < 2 => Err(()),
            AttrValueKind::Str => Ok(AttrValue::str(&literal::unescape_string(ast.text(span)))),
            AttrValueKind::List(items) => {
                let items: Result<Vec<AttrValue>, ()> =
                    ast.items(items).iter().map(|&item| self.raw_value(item, depth + 1, sizes)).collect();
                Ok(AttrValue::List(items?.into()))
            }
            AttrValueKind::Paren(inner) => self.raw_value(inner, depth + 1, sizes),
            AttrValueKind::Error => Err(()),
            AttrValueKind::Expr(expr) => self.expr_value(expr, span, sizes),
        }
    }

    fn expr_value(&mut self, mut expr: ast::ExprId, span: Span, sizes: bool) -> Result<AttrValue, ()> {
        while let ExprKind::Paren(inner) = self.ast.exprs[expr].kind {
            expr = inner;
        }
        let text = self.ast.text(self.ast.exprs[expr].span);
        match self.ast.exprs[expr].kind {
            ExprKind::Int => {
                literal::parse_int(text).map(|(value, width)| AttrValue::Int { value, bits: width.bits() }).map_err(|_| ())
            }
            ExprKind::Float => literal::parse_float_attr(text)
                .map(|(value, width)| AttrValue::Float { value, bits: width.bits() })
                .map_err(|_| ()),
            ExprKind::Bool(value) => Ok(AttrValue::Bool(value)),
            ExprKind::Meta => self.meta_attr(self.ast.exprs[expr].span),
            ExprKind::Name if matches!(text, "None" | "nullptr") => Ok(AttrValue::None),
            ExprKind::Error => Err(()),
            ExprKind::Tuple(_) if let Some(edits) = self.as_list(expr) => {
                self.diagnostics.push(errors::tuple_for_list(&shortened(text, MAX_SHOWN), span, edits));
                Err(())
            }
            ExprKind::Local
                if let Some((variable, field)) = text.rsplit_once('.')
                    && self.scopes.find(variable).is_some() =>
            {
                let value = self.declared(variable, field);
                self.diagnostics.push(errors::attr_of_variable(text, span, value));
                Err(())
            }
            _ => {
                if let Some(size) = sizes.then(|| self.size_value(expr)).flatten() {
                    return size;
                }
                let n_names = if sizes { self.size_names().len() } else { 0 };
                let search = self.near.spend(n_names);
                let names = if sizes { self.size_names() } else { &[] };
                let near = search.then(|| relayc_base::text::nearest(text, names.iter().copied())).flatten();
                let report = errors::attr_not_a_size(text, span, sizes, names, near);
                self.diagnostics.push(report);
                Err(())
            }
        }
    }

    /// What the declared type of a variable says of a field as Python calls it.
    fn declared(&self, variable: &str, field: &str) -> Option<String> {
        let TyData::Tensor { shape, dtype } = self.module.types.data(self.module.vars[self.scopes.find(variable)?].ty?) else {
            return None;
        };
        match field {
            "shape" => {
                let dims: Option<Vec<String>> = shape.iter().map(|dim| dim.value().map(|value| value.to_string())).collect();
                dims.map(|dims| format!("[{}]", dims.join(", ")))
            }
            "dtype" => Some(format!("\"{dtype}\"")),
            "ndim" => Some(shape.len().to_string()),
            _ => None,
        }
    }

    /// The attributes of a function: kept as written, booleans as 0 and 1 (language 2.4).
    pub(super) fn func_attrs(&mut self, attrs: ast::List<ast::Attr>) -> Vec<(Box<str>, AttrValue)> {
        let mut out: Vec<(Box<str>, AttrValue)> = Vec::new();
        for attr in self.ast.items(attrs) {
            let key = super::name_text(self.ast.text(attr.key));
            let Ok(value) = self.raw_value(attr.value, 0, false) else { continue };
            let value = without_bools(value);
            match out.iter_mut().find(|(name, _)| **name == *key) {
                Some(entry) => entry.1 = value,
                None => out.push((key.into(), value)),
            }
        }
        out
    }
}

/// Whether a value is all that there is to it: not a name for something else. Lists nest no deeper than [`MAX_LIST_DEPTH`].
pub(crate) fn is_plain(value: &AttrValue) -> bool {
    match value {
        AttrValue::List(items) => items.iter().all(is_plain),
        AttrValue::Symbol(_) | AttrValue::Object(_) | AttrValue::Const(..) | AttrValue::Expr(_) => false,
        _ => true,
    }
}

/// A value with integers for its booleans. Lists nest no deeper than [`MAX_LIST_DEPTH`].
fn without_bools(value: AttrValue) -> AttrValue {
    match value {
        AttrValue::Bool(value) => AttrValue::int(i64::from(value)),
        AttrValue::List(items) => AttrValue::List(items.iter().cloned().map(without_bools).collect()),
        other => other,
    }
}

/// A value converted for a field of an operator's attributes; `text` is its written form.
pub(super) fn checked(
    (op, schema): (&str, &AttrSchema),
    field: &Field,
    raw: &AttrValue,
    text: &str,
    span: Span,
) -> Result<AttrValue, Diagnostic> {
    let Some(converted) = attr_value(field.kind, raw) else {
        return Err(match (raw, field.kind) {
            (AttrValue::Str(dtype), Kind::DType) => errors::unknown_dtype(dtype, span, true),
            _ => errors::attr_kind(op, field, text, raw, span, list_len(op, schema, field)),
        });
    };
    let number = match &converted {
        AttrValue::Float { value, .. } => Some(*value),
        other => other.as_int().map(|value| value as f64),
    };
    match (field.min, number) {
        (Some(min), Some(number)) if number < min => Err(errors::attr_below(op, field, text, min, span)),
        _ => Ok(converted),
    }
}

/// The usual length of an operator's lists: that of this field's default, or of the first list's, or the number of axes in the
/// operator's name: 2 for `image.resize2d`.
pub(super) fn list_len(op: &str, schema: &AttrSchema, field: &Field) -> usize {
    let fields = std::iter::once(field).chain(schema.fields);
    let lens = fields.filter_map(|field| Some(field.default?().as_list()?.len()));
    let in_name = || op.match_indices('d').find_map(|(at, _)| op[..at].chars().last()?.to_digit(10));
    lens.into_iter().find(|&len| len > 0).or_else(|| in_name().map(|n| n as usize)).unwrap_or(1)
}

/// A written value as a field of this kind; `None` where it cannot be one.
pub fn attr_value(kind: Kind, raw: &AttrValue) -> Option<AttrValue> {
    let list = |of: fn(&AttrValue) -> Option<AttrValue>| {
        let items = raw.as_list()?;
        // Most lists are what they are to become, and some have millions of items.
        if items.iter().all(|item| of(item).as_ref() == Some(item)) {
            return Some(raw.clone());
        }
        let items: Option<Vec<AttrValue>> = items.iter().map(of).collect();
        items.map(|items| AttrValue::List(items.into()))
    };
    match kind {
        Kind::Int => raw.as_int().map(AttrValue::int),
        Kind::Bool => raw.as_int().map(|value| AttrValue::Bool(value != 0)),
        Kind::IndexExpr | Kind::OptInt => index(raw).or_else(|| (*raw == AttrValue::None).then_some(AttrValue::None)),
        Kind::Ints => list(index),
        Kind::IntsOrNone | Kind::OptInts if *raw == AttrValue::None => Some(AttrValue::None),
        Kind::IntsOrNone | Kind::OptInts => list(index),
        Kind::IntLists => {
            let items: Option<Vec<AttrValue>> = raw.as_list()?.iter().map(|item| attr_value(Kind::Ints, item)).collect();
            items.map(|items| AttrValue::List(items.into()))
        }
        Kind::Float => number(raw),
        Kind::Floats | Kind::OptFloat if *raw == AttrValue::None => Some(AttrValue::None),
        Kind::Floats => list(float),
        Kind::Numbers => list(|item| index(item).or_else(|| float(item))),
        Kind::OptFloat => float(raw),
        Kind::Str | Kind::StdStr => matches!(raw, AttrValue::Str(_)).then(|| raw.clone()),
        Kind::DType => match raw {
            AttrValue::Str(text) if text.is_empty() || **text == *"void" => Some(AttrValue::DType(None)),
            AttrValue::Str(text) => DType::parse(text).map(|dtype| AttrValue::DType(Some(dtype))),
            _ => None,
        },
        Kind::OptBool if *raw == AttrValue::None => Some(AttrValue::None),
        Kind::OptBool => attr_value(Kind::Bool, raw),
        Kind::Const => matches!(raw, AttrValue::Const(..) | AttrValue::None).then(|| raw.clone()),
        Kind::Expr => matches!(raw, AttrValue::Const(..) | AttrValue::Expr(_) | AttrValue::None).then(|| raw.clone()),
        Kind::ObjectOf(_) => matches!(raw, AttrValue::Object(_) | AttrValue::None).then(|| raw.clone()),
        Kind::Object => index(raw).or_else(|| list(index)),
    }
}

/// A float as a machine double.
fn number(raw: &AttrValue) -> Option<AttrValue> {
    match raw {
        AttrValue::Float { value, .. } => Some(AttrValue::float(*value)),
        AttrValue::Int { value, .. } => Some(AttrValue::float(*value as f64)),
        _ => None,
    }
}

/// A float as an object, which keeps the width of its literal.
fn float(raw: &AttrValue) -> Option<AttrValue> {
    match raw {
        AttrValue::Float { .. } => Some(raw.clone()),
        AttrValue::Int { value, .. } => Some(AttrValue::Float { value: *value as f64, bits: 32 }),
        _ => None,
    }
}

fn index(raw: &AttrValue) -> Option<AttrValue> {
    match raw {
        AttrValue::Bool(value) => Some(AttrValue::int(i64::from(*value))),
        AttrValue::Int { .. } | AttrValue::Any | AttrValue::Symbol(_) => Some(raw.clone()),
        _ => None,
    }
}
