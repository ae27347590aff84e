//! Reads sizes: dimensions and integers of attributes that are computed from named sizes (language 3.1 and 2.1).
//!
//! A slash that touches a name belongs to its token (language 1.2), so `h/2` is one name to the parser. It is split here. Works with
//! an explicit stack.

use super::{Meaning, Resolver, errors};
use relayc_base::Span;
use relayc_ir::attrs::AttrValue;
use relayc_ir::types::{Dim, SymbolOp};
use relayc_syntax::ast::{self, Ast, BinOp, DimKind, ExprId, ExprKind, TypeKind};
use relayc_syntax::literal;
use rustc_hash::FxHashSet;

/// What is left to do; the next step is on top, the values are on a stack of their own.
enum Step {
    Enter(ExprId),
    Int(Span),
    /// A part of a name between its slashes: a name or a number.
    Part(Span),
    Apply {
        op: SymbolOp,
        /// The whole operation, and its right side.
        span: Span,
        rhs: Span,
    },
}

/// An operand of a product: its factor, and what it is divided by.
type Parts = (Step, Vec<(Step, Span)>);

impl<'a> Resolver<'a> {
    /// The value of a size. `Err`: an error that has been reported.
    pub(super) fn size(&mut self, root: ExprId) -> Result<Dim, ()> {
        let mut steps = vec![Step::Enter(root)];
        let mut values: Vec<Dim> = vec![];
        while let Some(step) = steps.pop() {
            match step {
                // A bad number has been reported by the lexer.
                Step::Int(span) => values.push(number(self.ast.text(span)).ok_or(())?),
                Step::Part(span) => values.push(self.size_part(span)?),
                Step::Apply { op, span, rhs } => {
                    let (Some(b), Some(a)) = (values.pop(), values.pop()) else { return Err(()) };
                    values.push(self.size_of_two(op, a, b, span, rhs)?);
                }
                Step::Enter(id) => self.enter_size(id, &mut steps)?,
            }
        }
        values.pop().ok_or(())
    }

    /// Pushes the steps of a node.
    fn enter_size(&mut self, id: ExprId, steps: &mut Vec<Step>) -> Result<(), ()> {
        let ast = self.ast;
        let ast::Expr { span, kind } = ast.exprs[id];
        let mut order = vec![];
        match kind {
            ExprKind::Int => order.push(Step::Int(span)),
            ExprKind::Paren(inside) => order.push(Step::Enter(inside)),
            ExprKind::Binary { op, op_span: _, lhs, rhs } => {
                let op = match op {
                    BinOp::Add => SymbolOp::Add,
                    BinOp::Sub => SymbolOp::Sub,
                    BinOp::Mul => SymbolOp::Mul,
                    BinOp::Div => SymbolOp::FloorDiv,
                    _ => return self.no_size(id),
                };
                let right = ast.exprs[rhs].span;
                order.push(Step::Enter(lhs));
                // `a*h/2` is `(a*h)/2`.
                match split(ast, rhs).filter(|_| matches!(op, SymbolOp::Mul | SymbolOp::FloorDiv)) {
                    Some((first, divisors)) => {
                        order.extend([first, Step::Apply { op, span, rhs: right }]);
                        push_divisors(span, divisors, &mut order);
                    }
                    None => order.extend([Step::Enter(rhs), Step::Apply { op, span, rhs: right }]),
                }
            }
            _ => match split(ast, id) {
                Some((first, divisors)) => {
                    order.push(first);
                    push_divisors(span, divisors, &mut order);
                }
                None => match kind {
                    ExprKind::Name => order.push(Step::Part(span)),
                    ExprKind::Call { callee, args, attrs } if attrs.is_empty() => {
                        let name = ast.exprs[callee].span;
                        let op = match ast.text(name) {
                            "min" => SymbolOp::Min,
                            "max" => SymbolOp::Max,
                            other => {
                                self.diagnostics.push(errors::no_size_function(other, name));
                                return Err(());
                            }
                        };
                        let &[a, b] = ast.items(args) else {
                            self.diagnostics.push(errors::size_arguments(ast.text(name), args.len(), span));
                            return Err(());
                        };
                        order.extend([Step::Enter(a), Step::Enter(b), Step::Apply { op, span, rhs: ast.exprs[b].span }]);
                    }
                    _ => return self.no_size(id),
                },
            },
        }
        steps.extend(order.into_iter().rev());
        Ok(())
    }

    /// What a syntax error has left is silent.
    fn no_size(&mut self, id: ExprId) -> Result<(), ()> {
        let ast::Expr { span, kind } = self.ast.exprs[id];
        if !matches!(kind, ExprKind::Error) {
            self.diagnostics.push(errors::no_size(self.ast.text(span), span));
        }
        Err(())
    }

    fn size_part(&mut self, span: Span) -> Result<Dim, ()> {
        let text = self.ast.text(span);
        if let Some(number) = number(text) {
            return Ok(number);
        }
        if !is_name(text) {
            self.diagnostics.push(errors::no_size(text, span));
            return Err(());
        }
        let id = self.module.types.symbols.named(text);
        self.mention(span, Meaning::Size(id));
        Ok(self.module.types.symbols.dim(id))
    }

    fn size_of_two(&mut self, op: SymbolOp, a: Dim, b: Dim, span: Span, rhs: Span) -> Result<Dim, ()> {
        if op == SymbolOp::FloorDiv && b.value() == Some(0) {
            self.diagnostics.push(errors::size_divided_by_zero(rhs));
            return Err(());
        }
        match self.module.types.symbols.arith(op, a, b) {
            Dim::Any => {
                self.diagnostics.push(errors::size_overflows(self.ast.text(span), span));
                Err(())
            }
            size => Ok(size),
        }
    }

    /// The names of the sizes in the types of the file, sorted.
    pub(super) fn size_names(&self) -> &[&'a str] {
        self.size_names.get_or_init(|| {
            let ast = self.ast;
            let mut found = FxHashSet::default();
            for ty in ast.types.iter() {
                let TypeKind::Tensor { shape, .. } = ty.kind else { continue };
                for dim in ast.items(shape) {
                    if let DimKind::Size(size) = dim.kind {
                        found.extend(names_in(ast, size));
                    }
                }
            }
            let mut names: Vec<&str> = found.into_iter().collect();
            names.sort_unstable();
            names
        })
    }

    /// An expression as the value of an attribute that holds integers. `None` if it is none, or names a size that no type of the
    /// file has: then it may be meant otherwise. `Err`: an error that has been reported.
    pub(super) fn size_value(&mut self, expr: ExprId) -> Option<Result<AttrValue, ()>> {
        let known = self.size_names();
        let is_known = |name: &&str| known.binary_search(name).is_ok();
        if !is_arithmetic(self.ast, expr) || !names_in(self.ast, expr).iter().all(is_known) {
            return None;
        }
        Some(self.size(expr).map(|size| match size {
            Dim::Known { value, wide } => AttrValue::Int { value, bits: if wide { 64 } else { 32 } },
            Dim::Any => AttrValue::Any,
            Dim::Symbol(symbol) => AttrValue::Symbol(symbol),
        }))
    }
}

fn number(text: &str) -> Option<Dim> {
    let (value, width) = literal::parse_int(text).ok()?;
    Some(Dim::number(value, width == literal::IntWidth::I64))
}

/// The parts of a name with slashes; a call may be what its last part is divided by, as in `h/(w + 1)`. `None` for anything else.
fn split(ast: &Ast, id: ExprId) -> Option<Parts> {
    let ast::Expr { span, kind } = ast.exprs[id];
    let (name, last) = match kind {
        ExprKind::Name => (span, None),
        ExprKind::Call { callee, args, attrs } if attrs.is_empty() && matches!(ast.exprs[callee].kind, ExprKind::Name) => {
            match ast.items(args) {
                &[arg] if ast.text(ast.exprs[callee].span).ends_with('/') => (ast.exprs[callee].span, Some(arg)),
                _ => return None,
            }
        }
        _ => return None,
    };
    let text = ast.text(name);
    if !text.contains('/') {
        return None;
    }
    let mut at = name.start;
    let mut parts = vec![];
    for part in text.split('/') {
        let end = at + part.len() as u32;
        let place = Span { start: at, end, ..name };
        parts.push((Step::Part(place), place));
        at = end + 1;
    }
    if let Some(last) = last {
        parts.pop();
        parts.push((Step::Enter(last), ast.exprs[last].span));
    }
    let mut parts = parts.into_iter();
    Some((parts.next()?.0, parts.collect()))
}

fn push_divisors(span: Span, divisors: Vec<(Step, Span)>, order: &mut Vec<Step>) {
    for (divisor, rhs) in divisors {
        order.extend([divisor, Step::Apply { op: SymbolOp::FloorDiv, span: Span { end: rhs.end, ..span }, rhs }]);
    }
}

/// Whether an expression is one of integers, names, `+`, `-`, `*`, `/`, `min` and `max`, by its form.
fn is_arithmetic(ast: &Ast, root: ExprId) -> bool {
    let mut stack = vec![root];
    while let Some(id) = stack.pop() {
        match ast.exprs[id].kind {
            ExprKind::Int | ExprKind::Name => {}
            ExprKind::Paren(inside) => stack.push(inside),
            ExprKind::Binary { op: BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div, lhs, rhs, .. } => stack.extend([lhs, rhs]),
            ExprKind::Call { callee, args, attrs } if attrs.is_empty() => {
                let name = ast.text(ast.exprs[callee].span);
                if !matches!(name, "min" | "max") && !name.ends_with('/') {
                    return false;
                }
                stack.extend(ast.items(args));
            }
            _ => return false,
        }
    }
    true
}

/// The names in a size.
fn names_in(ast: &Ast, root: ExprId) -> Vec<&str> {
    let mut found = vec![];
    let mut stack = vec![root];
    while let Some(id) = stack.pop() {
        let ast::Expr { span, kind } = ast.exprs[id];
        match kind {
            ExprKind::Name => found.extend(ast.text(span).split('/').filter(|part| is_name(part))),
            ExprKind::Paren(inside) => stack.push(inside),
            ExprKind::Binary { lhs, rhs, .. } => stack.extend([lhs, rhs]),
            ExprKind::Call { callee, args, .. } => {
                let name = ast.text(ast.exprs[callee].span);
                found.extend(name.split('/').filter(|part| name.contains('/') && is_name(part)));
                stack.extend(ast.items(args));
            }
            _ => {}
        }
    }
    found
}

fn is_name(text: &str) -> bool {
    let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    plain && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}
