//! Arguments and attributes in each other's place, as calls of Python have them: `nn.softmax(%x, -1)`, `nn.relu(data=%x)`.

use super::attrs::{MAX_SHOWN, attr_value, list_len};
use super::{Resolver, errors, signature};
use relayc_base::Span;
use relayc_base::diag::Edit;
use relayc_base::text::shortened;
use relayc_ir::attrs::{AttrSchema, AttrValue, Field, Kind, OpId};
use relayc_syntax::ast::{self, BinOp, ExprKind};
use relayc_syntax::literal;

/// The most arguments that are taken for attributes.
const MOST: usize = 16;

fn insert(at: u32, span: Span, text: impl Into<String>) -> Edit {
    Edit { span: Span { start: at, end: at, ..span }, text: text.into() }
}

fn is_list(field: &Field) -> bool {
    matches!(field.kind, Kind::Ints | Kind::IntsOrNone | Kind::OptInts)
}

impl Resolver<'_> {
    /// Reports arguments of an operator that are attributes, or attributes that are arguments; false if there are none.
    pub(super) fn misplaced(&mut self, op: OpId, callee: Span, args: &[ast::ExprId], attrs: ast::List<ast::Attr>) -> bool {
        let Some(params) = self.ops.args(op) else { return false };
        let attrs = self.ast.items(attrs);
        if self.compared(op, args) || self.glued(op, args) || self.in_sequence(op, callee, params.len(), args) {
            return true;
        }
        if args.len() > params.len() {
            let attributes = self.positional(op, callee, params.len(), args, attrs);
            return attributes.or_else(|| self.of_more(op, callee, params.len(), args.len())).is_some();
        }
        let is_param = |attr: &ast::Attr| params.iter().any(|param| param.name == self.ast.text(attr.key));
        attrs.iter().any(is_param) && self.keywords(op, args.len(), attrs).is_some()
    }

    /// `nn.dense(%x, %w, units==4)`: an attribute with the sign of a comparison.
    fn compared(&mut self, op: OpId, args: &[ast::ExprId]) -> bool {
        let Some(schema) = self.ops.schema(op) else { return false };
        let mut found = false;
        for &arg in args {
            let ExprKind::Binary { op: BinOp::Eq, op_span, lhs, rhs } = self.ast.exprs[arg].kind else { continue };
            let ast::Expr { span, kind } = self.ast.exprs[lhs];
            let key = self.ast.text(span);
            if !matches!(kind, ExprKind::Name) || schema.position(key).is_none() {
                continue;
            }
            // It has been taken for an operator.
            self.diagnostics.retain(|report| report.span() != span);
            let value = shortened(self.ast.text(self.ast.exprs[rhs].span), MAX_SHOWN);
            self.diagnostics.push(errors::compared_attr(key, &value, op_span));
            found = true;
        }
        found
    }

    /// `nn.dense(%x, %w, units4)`: an attribute without its `=`.
    fn glued(&mut self, op: OpId, args: &[ast::ExprId]) -> bool {
        let Some(schema) = self.ops.schema(op) else { return false };
        let mut found = false;
        for &arg in args {
            let ast::Expr { span, kind } = self.ast.exprs[arg];
            let text = self.ast.text(span);
            let key = text.trim_end_matches(|c: char| c.is_ascii_digit());
            if !matches!(kind, ExprKind::Name) || key.len() == text.len() || schema.position(key).is_none() {
                continue;
            }
            // It has been taken for an operator.
            self.diagnostics.retain(|report| report.span() != span);
            self.diagnostics.push(errors::glued_attr(key, &shortened(&text[key.len()..], MAX_SHOWN), span));
            found = true;
        }
        found
    }

    /// `nn.dense(%x; %w, units=4)`: what stands before a `;` is no argument.
    fn in_sequence(&mut self, op: OpId, callee: Span, n_params: usize, args: &[ast::ExprId]) -> bool {
        let n_found = args.len();
        if n_found >= n_params {
            return false;
        }
        for &arg in args {
            let ast::Expr { span, kind: ExprKind::Seq { stmts, value } } = self.ast.exprs[arg] else { continue };
            let [stmt] = self.ast.items(stmts) else { continue };
            let ast::StmtKind::Expr(first) = self.ast.stmts[*stmt].kind else { continue };
            let (before, behind) = (self.ast.exprs[first].span, self.ast.exprs[value].span);
            let gap = Span { start: before.end, end: behind.start, ..span };
            if self.ast.text(gap).trim() == ";" && n_found + 1 == n_params {
                let at = gap.start + self.ast.text(gap).find(';').unwrap_or(0) as u32;
                let place = Span { start: at, end: at + 1, ..span };
                self.diagnostics.push(errors::semicolon_argument(self.ops.name(op), (n_params, n_found), callee, place));
                return true;
            }
        }
        false
    }

    /// `nn.softmax(%x, -1)`: the attributes in the order of TVM's functions of Python.
    fn positional(&mut self, op: OpId, callee: Span, n_params: usize, args: &[ast::ExprId], attrs: &[ast::Attr]) -> Option<()> {
        let schema = self.ops.schema(op)?;
        let extra = &args[n_params..];
        let is_written = |field: &Field| attrs.iter().any(|attr| self.ast.text(attr.key) == field.name);
        let names = self.ops.positional(op);
        let fields: Vec<&Field> = names.iter().filter_map(|name| schema.fields.get(schema.position(name)?)).collect();
        if fields.is_empty() {
            return self.among_operands(op, callee, (n_params, args), schema);
        }
        let ints = extra.iter().all(|&arg| matches!(self.ast.exprs[arg].kind, ExprKind::Int));
        // Several numbers of one list.
        let is_one_list =
            extra.len() > 1 && ints && is_list(fields.first()?) && !fields.get(1).is_some_and(|field| is_list(field));
        let span = |arg: ast::ExprId| self.ast.exprs[arg].span;
        let (mut edits, mut written, mut certain) = (vec![], vec![], true);
        if is_one_list {
            let (first, last) = (span(extra[0]), span(*extra.last()?));
            edits = vec![insert(first.start, first, format!("{}=[", fields[0].name)), insert(last.end, last, "]")];
            written.push(format!("{}=[…]", fields[0].name));
        } else if extra.len() <= MOST {
            for (&arg, field) in extra.iter().zip(&fields) {
                let (mut own, shown, is_certain) = self.as_attr(arg, (self.ops.name(op), schema), field)?;
                certain &= is_certain;
                written.push(shown);
                edits.append(&mut own);
            }
        }
        let taken = if is_one_list { 1 } else { extra.len() };
        if edits.is_empty() || taken > fields.len() || fields[..taken].iter().any(|field| is_written(field)) {
            return None;
        }
        let (all, n) = (span(extra[0]).to(span(*extra.last()?)), (n_params, args.len()));
        // A dtype without quotes has been taken for an operator.
        while self.diagnostics.last().is_some_and(|last| extra.iter().any(|&arg| span(arg) == last.span())) {
            self.diagnostics.pop();
        }
        let report = errors::positional_attrs(self.ops.name(op), n, callee, all, &written.join(", "), edits);
        self.diagnostics.push(if certain { report.certain() } else { report });
        Some(())
    }

    /// `gather(%x, 1, %i)`: where Python takes attributes before or among the operands, which one is meant is not said.
    fn among_operands(
        &mut self,
        op: OpId,
        callee: Span,
        (n_params, args): (usize, &[ast::ExprId]),
        schema: &AttrSchema,
    ) -> Option<()> {
        let is_value = |arg: &ast::ExprId| match self.ast.exprs[*arg].kind {
            ExprKind::Tuple(_) => self.as_list(*arg).is_some(),
            ExprKind::Int | ExprKind::Float | ExprKind::Bool(_) => true,
            _ => self.ast.stray_values.contains_key(arg),
        };
        let first = args.iter().find(|arg| is_value(arg))?;
        let needed = schema.fields.iter().filter(|field| field.default.is_none());
        let names: Vec<String> = needed.chain(schema.fields).take(1).map(|field| format!("{}=…", field.name)).collect();
        let (place, n) = (self.ast.exprs[*first].span, (n_params, args.len()));
        self.diagnostics.push(errors::attr_among_operands(self.ops.name(op), n, callee, place, &names.concat()));
        Some(())
    }

    /// `max(%x, %y)`: another operator, which other frameworks call so, takes as many arguments.
    fn of_more(&mut self, op: OpId, callee: Span, n_params: usize, n_args: usize) -> Option<()> {
        let name = self.ops.name(op);
        let other = self.ops.elsewhere(name).filter(|other| *other != name)?;
        let fits = self.ops.args(self.ops.find(other)?).is_some_and(|args| args.len() == n_args);
        let report = fits.then(|| errors::other_operator(name, other, (n_params, n_args), callee))?;
        self.diagnostics.push(report);
        Some(())
    }

    /// The edits that make an attribute of an argument, how it looks then, and whether nothing else can be meant.
    fn as_attr(
        &mut self,
        arg: ast::ExprId,
        (op, schema): (&str, &AttrSchema),
        field: &Field,
    ) -> Option<(Vec<Edit>, String, bool)> {
        let span = self.ast.exprs[arg].span;
        let text = shortened(self.ast.text(span), MAX_SHOWN);
        let key = insert(span.start, span, format!("{}=", field.name));
        if let Some(&value) = self.ast.stray_values.get(&arg) {
            let raw = self.raw_value(value, 0, field.kind.holds_sizes()).ok()?;
            return attr_value(field.kind, &raw).map(|_| (vec![key], format!("{}={text}", field.name), true));
        }
        let raw = match self.ast.exprs[arg].kind {
            ExprKind::Int => AttrValue::int(literal::parse_int(self.ast.text(span)).ok()?.0),
            ExprKind::Float => AttrValue::float(literal::parse_float(self.ast.text(span)).ok()?.0),
            ExprKind::Bool(value) => AttrValue::Bool(value),
            ExprKind::Name if field.kind == Kind::DType && relayc_ir::types::DType::parse(&text).is_some() => {
                let edits = vec![insert(span.start, span, format!("{}=\"", field.name)), insert(span.end, span, "\"")];
                return Some((edits, format!("{}=\"{text}\"", field.name), true));
            }
            ExprKind::Name if text == "None" => AttrValue::None,
            ExprKind::Tuple(_) if is_list(field) || matches!(field.kind, Kind::IntLists | Kind::Object) => {
                let mut edits = self.as_list(arg)?;
                // The first edit writes the bracket.
                edits[0].text.insert_str(0, &format!("{}=", field.name));
                let shown = text.replace('(', "[").replace(')', "]");
                return Some((edits, format!("{}={shown}", field.name), true));
            }
            _ => return None,
        };
        if attr_value(field.kind, &raw).is_some() && !(matches!(raw, AttrValue::Bool(_)) && field.kind != Kind::Bool) {
            return Some((vec![key], format!("{}={text}", field.name), true));
        }
        let n = list_len(op, schema, field);
        (matches!(raw, AttrValue::Int { .. }) && is_list(field)).then(|| {
            let more = format!(", {text}").repeat(n - 1);
            let edits = vec![insert(span.start, span, format!("{}=[", field.name)), insert(span.end, span, format!("{more}]"))];
            (edits, format!("{}=[{text}{more}]", field.name), n == 1)
        })
    }

    /// The edits that make a list of a tuple of literals.
    pub(super) fn as_list(&self, tuple: ast::ExprId) -> Option<Vec<Edit>> {
        let (mut edits, mut stack) = (vec![], vec![tuple]);
        while let Some(expr) = stack.pop() {
            let ast::Expr { span, kind } = self.ast.exprs[expr];
            match kind {
                ExprKind::Tuple(items) => {
                    edits.push(Edit { span: Span { end: span.start + 1, ..span }, text: "[".to_owned() });
                    // Of `(1,)` without the comma.
                    let last = self.ast.items(items).last().map_or(span.start + 1, |&item| self.ast.exprs[item].span.end);
                    let rest = Span { start: last, ..span };
                    let start = if self.ast.text(rest).trim() == ",)" { last } else { span.end - 1 };
                    edits.push(Edit { span: Span { start, ..span }, text: "]".to_owned() });
                    stack.extend(self.ast.items(items).iter().rev());
                }
                ExprKind::Paren(inner) => stack.push(inner),
                ExprKind::Int | ExprKind::Float | ExprKind::Bool(_) => {}
                _ => return None,
            }
        }
        Some(edits)
    }

    /// `nn.relu(data=%x)`.
    fn keywords(&mut self, op: OpId, n_args: usize, attrs: &[ast::Attr]) -> Option<()> {
        let (params, schema) = (self.ops.args(op)?, self.ops.schema(op).or(self.ops.meta_schema(op)));
        let key = |attr: &ast::Attr| super::name_text(self.ast.text(attr.key)).into_owned();
        let param = |attr: &ast::Attr| {
            let key = key(attr);
            let is_attr = schema.is_some_and(|schema| schema.position(&key).is_some());
            params.iter().position(|param| param.name == key).filter(|_| !is_attr)
        };
        let first = *attrs.iter().find(|attr| param(attr).is_some())?;
        let found: Vec<Option<usize>> = attrs.iter().map(param).collect();
        let n = found.iter().flatten().count();
        let in_order = found[..n].iter().zip(n_args..).all(|(found, expected)| *found == Some(expected));
        let value = |attr: &ast::Attr| self.ast.values[attr.value].span;
        let without_key = |attr: &ast::Attr| Edit { span: Span { end: value(attr).start, ..attr.span }, text: String::new() };
        let edits = if in_order && n_args + n == params.len() { attrs[..n].iter().map(without_key).collect() } else { vec![] };
        let name = key(&first);
        let report = errors::keyword_argument(self.ops.name(op), &name, first.key, &signature(Some(params)), edits);
        self.diagnostics.push(report);
        Some(())
    }
}
