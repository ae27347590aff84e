//! The layout of each node: one function per node. Each names every field, so a field added to the tree must be handled here
//! before this compiles.

use super::ops::{BLANK, Comma, HARD, List, Op, Ops, SOFT};
use crate::ast::{
    Ast, Attr, AttrValue, AttrValueKind, BinOp, Clause, Ctor, Def, Dim, DimKind, Expr, ExprId, ExprKind, Func, FuncId,
    List as Nodes, Param, Pat, PatId, PatKind, Root, Stmt, StmtId, StmtKind, Type, TypeId, TypeKind, ValueId,
};
use crate::lexer::lex;
use crate::token::Tok;
use relayc_base::Span;

pub(crate) fn file(ast: &Ast, out: &mut Ops) {
    if let Some(version) = ast.version {
        out.add(&[HARD, Op::Leaf(version)]);
    }
    match ast.root {
        Root::Module => {
            for (i, item) in ast.defs.iter().enumerate() {
                out.add(&[if i == 0 { HARD } else { Op::Between }]);
                def(ast, item, out);
            }
        }
        Root::Expr(value) => out.add(&[HARD, Op::Expr(value)]),
        Root::Error => {}
    }
    if let Some(metadata) = ast.metadata {
        out.add(&[HARD, Op::Leaf(metadata)]);
    }
}

// ---- Definitions ----

fn def(ast: &Ast, def: &Def, out: &mut Ops) {
    match *def {
        Def::Func { span: _, name, func } => {
            out.add(&[Op::Tok(Tok::Def), Op::Space, Op::Leaf(name), Op::Func(func)]);
        }
        Def::Type { span: _, name, params, ctors, is_extern } => {
            if is_extern {
                out.add(&[Op::Tok(Tok::Extern), Op::Space]);
            }
            out.add(&[Op::Tok(Tok::Type), Op::Space, Op::Leaf(name)]);
            type_params(ast, params, out);
            if ctors.is_empty() {
                out.add(&[Op::IfEmpty { open: Tok::LBrace, close: Tok::RBrace }]);
            } else {
                out.add(&[Op::Space]);
                lines(ast.items(ctors), out, |item, out| ctor(ast, item, out));
            }
        }
    }
}

/// Elements in braces, one a line, each with a comma after it.
fn lines<T: Copy>(items: &[T], out: &mut Ops, mut element: impl FnMut(T, &mut Ops)) {
    out.add(&[Op::Tok(Tok::LBrace), Op::Indent]);
    for (i, &item) in items.iter().enumerate() {
        out.add(if i == 0 { &[HARD] } else { &[Op::Comma, HARD] });
        element(item, out);
    }
    out.add(&[Op::Closing { tok: Tok::RBrace, comma: Comma::Always, hard: true }]);
}

fn ctor(ast: &Ast, ctor: Ctor, out: &mut Ops) {
    let Ctor { span: _, name, inputs } = ctor;
    out.add(&[Op::Leaf(name)]);
    if let Some(inputs) = inputs {
        List::new(out, Tok::LParen, Tok::RParen, Comma::IfBroken).all(types(ast, inputs));
    }
}

fn type_params(ast: &Ast, params: Nodes<Span>, out: &mut Ops) {
    if params.is_empty() {
        return out.add(&[Op::IfEmpty { open: Tok::LBracket, close: Tok::RBracket }]);
    }
    let names = ast.items(params).iter().map(|&name| Op::Leaf(name));
    List::new(out, Tok::LBracket, Tok::RBracket, Comma::IfBroken).all(names);
}

pub(crate) fn func(ast: &Ast, id: FuncId, out: &mut Ops) {
    let Func { span: _, type_params: names, params, attrs, ret, body } = ast.funcs[id];
    type_params(ast, names, out);
    let mut list = List::parameters(out);
    ast.items(params).iter().for_each(|&item| param(ast, item, list.next()));
    ast.items(attrs).iter().for_each(|&item| attr(item, list.next()));
    list.end();
    if let Some(ret) = ret {
        out.add(&[Op::Space, Op::Arrow, Op::Space, Op::Type(ret)]);
    }
    out.add(&[Op::Space]);
    out.braces(Op::Expr(body));
}

fn param(ast: &Ast, param: Param, out: &mut Ops) {
    let Param { span: _, name, attrs, ty } = param;
    out.add(&[Op::Leaf(name)]);
    if !attrs.is_empty() {
        out.add(&[Op::Space]);
        let mut list = List::new(out, Tok::LBrace, Tok::RBrace, Comma::IfBroken);
        ast.items(attrs).iter().for_each(|&item| attr(item, list.next()));
        list.end();
    }
    annotation(ty, out);
}

fn annotation(ty: Option<TypeId>, out: &mut Ops) {
    if let Some(ty) = ty {
        out.add(&[Op::Tok(Tok::Colon), Op::Space, Op::Type(ty)]);
    }
}

// ---- Attributes ----

fn attr(attr: Attr, out: &mut Ops) {
    let Attr { span: _, key, value } = attr;
    out.add(&[Op::Leaf(key), Op::Tok(Tok::Assign), Op::Value(value)]);
}

pub(crate) fn value(ast: &Ast, id: ValueId, out: &mut Ops) {
    let AttrValue { span, kind } = ast.values[id];
    match kind {
        AttrValueKind::Str => out.add(&[Op::Leaf(span)]),
        AttrValueKind::List(items) => {
            let items = ast.items(items).iter().map(|&item| Op::Value(item));
            List::new(out, Tok::LBracket, Tok::RBracket, Comma::IfBroken).all(items);
        }
        AttrValueKind::Paren(inside) => out.enclosed(Tok::LParen, Op::Value(inside), Tok::RParen),
        AttrValueKind::Expr(expr) => out.add(&[Op::Size(expr)]),
        AttrValueKind::Error => {}
    }
}

// ---- Expressions ----

pub(crate) fn expr(ast: &Ast, id: ExprId, out: &mut Ops) {
    let Expr { span, kind } = ast.exprs[id];
    match kind {
        ExprKind::Error => {}
        ExprKind::Int
        | ExprKind::Float
        | ExprKind::Bool(_)
        | ExprKind::Local
        | ExprKind::Global
        | ExprKind::Graph
        | ExprKind::Meta
        | ExprKind::Name => out.add(&[Op::Leaf(span)]),
        ExprKind::Tuple(fields) => {
            // `(e)` groups, `(e,)` is a tuple of one.
            let comma = if fields.len() == 1 { Comma::Always } else { Comma::IfBroken };
            List::new(out, Tok::LParen, Tok::RParen, comma).all(exprs(ast, fields));
        }
        ExprKind::Paren(inside) => out.enclosed(Tok::LParen, Op::Expr(inside), Tok::RParen),
        ExprKind::Proj { tuple, index } => proj(ast, tuple, index, out),
        ExprKind::Call { callee, args, attrs } => call(ast, span, callee, args, attrs, out),
        ExprKind::Binary { op, op_span: _, lhs, rhs } => {
            out.add(&[Op::Open]);
            infix(ast, op, lhs, rhs, out);
            out.add(&[Op::Close]);
        }
        ExprKind::Fn(func) => out.add(&[Op::Tok(Tok::Fn), Op::Space, Op::Func(func)]),
        ExprKind::If { cond, then_branch, else_branch } => {
            out.add(&[Op::Tok(Tok::If), Op::Space]);
            out.enclosed(Tok::LParen, Op::Expr(cond), Tok::RParen);
            out.add(&[Op::Space]);
            out.braces(Op::Expr(then_branch));
            out.add(&[Op::Space, Op::Tok(Tok::Else), Op::Space]);
            out.braces(Op::Expr(else_branch));
        }
        ExprKind::Block(inside) => out.braces(Op::Expr(inside)),
        ExprKind::Seq { stmts, value } => {
            ast.items(stmts).iter().for_each(|&item| out.add(&[Op::Stmt(item), HARD]));
            out.add(&[Op::Expr(value)]);
        }
        ExprKind::Match { scrutinee, clauses, total } => match_expr(ast, scrutinee, clauses, total, out),
        ExprKind::RefNew(inside) => {
            out.tok(Tok::Ref);
            out.enclosed(Tok::LParen, Op::Expr(inside), Tok::RParen);
        }
        ExprKind::RefRead(cell) => {
            out.tok(Tok::RefRead);
            out.enclosed(Tok::LParen, Op::Expr(cell), Tok::RParen);
        }
        ExprKind::RefWrite { cell, value } => {
            out.tok(Tok::RefWrite);
            List::new(out, Tok::LParen, Tok::RParen, Comma::Never).all([Op::Expr(cell), Op::Expr(value)]);
        }
    }
}

fn exprs(ast: &Ast, list: Nodes<ExprId>) -> impl Iterator<Item = Op> {
    ast.items(list).iter().map(|&item| Op::Expr(item))
}

fn proj(ast: &Ast, tuple: ExprId, index: Span, out: &mut Ops) {
    out.add(&[Op::Expr(tuple)]);
    // `5.0` would be one number.
    if matches!(ast.exprs[tuple].kind, ExprKind::Int | ExprKind::Float) {
        out.add(&[Op::Space]);
    }
    out.add(&[Op::Tok(Tok::Dot), Op::Leaf(index)]);
}

fn call(ast: &Ast, span: Span, callee: ExprId, args: Nodes<ExprId>, attrs: Nodes<Attr>, out: &mut Ops) {
    out.add(&[Op::Expr(callee), Op::IdleDot]);
    // A meta reference that stands for all attributes is one only right before the parenthesis: there the author's comma, or
    // that there is none, means something.
    let last = ast.items(args).last().map(|&last| ast.exprs[last]).filter(|_| attrs.is_empty());
    let comma = match last.filter(|last| matches!(last.kind, ExprKind::Meta)) {
        Some(last) => {
            let behind = Span { start: last.span.end, ..span };
            let next = lex(span.file, ast.text(behind)).tokens.first().map(|token| token.tok);
            if next == Some(Tok::Comma) { Comma::Always } else { Comma::Never }
        }
        None => Comma::IfBroken,
    };
    let mut list = List::new(out, Tok::LParen, Tok::RParen, comma);
    exprs(ast, args).for_each(|arg| list.next().add(&[arg]));
    ast.items(attrs).iter().for_each(|&item| attr(item, list.next()));
    list.end();
}

/// Makes one group of a chain of operators of one precedence, broken before each operator.
fn infix(ast: &Ast, op: BinOp, lhs: ExprId, rhs: ExprId, out: &mut Ops) {
    let same = matches!(ast.exprs[lhs].kind, ExprKind::Binary { op: left, .. } if left.operator().1 == op.operator().1);
    out.add(&[if same { Op::Operand(lhs) } else { Op::Expr(lhs) }]);
    out.add(&[Op::Indent, BLANK, Op::Tok(sign(op)), Op::Space, Op::Expr(rhs), Op::Dedent]);
}

/// An expression as the left operand of an operator of the same precedence.
pub(crate) fn operand(ast: &Ast, id: ExprId, out: &mut Ops) {
    match ast.exprs[id].kind {
        ExprKind::Binary { op, op_span: _, lhs, rhs } => infix(ast, op, lhs, rhs, out),
        _ => expr(ast, id, out),
    }
}

fn sign(op: BinOp) -> Tok {
    match op {
        BinOp::Mul => Tok::Star,
        BinOp::Div => Tok::Slash,
        BinOp::Add => Tok::Plus,
        BinOp::Sub => Tok::Minus,
        BinOp::Lt => Tok::Lt,
        BinOp::Le => Tok::Le,
        BinOp::Gt => Tok::Gt,
        BinOp::Ge => Tok::Ge,
        BinOp::Eq => Tok::EqEq,
        BinOp::Ne => Tok::NotEq,
    }
}

fn match_expr(ast: &Ast, scrutinee: ExprId, clauses: Nodes<Clause>, total: bool, out: &mut Ops) {
    out.add(&[Op::Tok(if total { Tok::Match } else { Tok::MatchPartial }), Op::Space, Op::Expr(scrutinee)]);
    if clauses.is_empty() {
        return out.add(&[Op::IfEmpty { open: Tok::LBrace, close: Tok::RBrace }]);
    }
    out.add(&[Op::Space]);
    lines(ast.items(clauses), out, |item, out| clause(ast, item, out));
}

fn clause(ast: &Ast, clause: Clause, out: &mut Ops) {
    let Clause { span: _, pattern, body } = clause;
    out.add(&[Op::Pat(pattern), Op::Space, Op::Tok(Tok::FatArrow)]);
    bound(ast, body, out);
}

/// The text after `=` or `=>`: on the same line, unless it has lines of its own.
fn bound(ast: &Ast, value: ExprId, out: &mut Ops) {
    match ast.exprs[value].kind {
        ExprKind::Seq { .. } => out.add(&[Op::Indent, HARD, Op::Expr(value), Op::Dedent]),
        _ => out.add(&[Op::Hang, Op::Expr(value), Op::Unhang]),
    }
}

pub(crate) fn stmt(ast: &Ast, id: StmtId, out: &mut Ops) {
    let Stmt { span: _, kind } = ast.stmts[id];
    match kind {
        StmtKind::Error => {}
        StmtKind::Graph { name, value } => {
            out.add(&[Op::Leaf(name), Op::Space, Op::Tok(Tok::Assign)]);
            bound(ast, value, out);
        }
        StmtKind::Let { name, ty, value } => {
            out.add(&[Op::Tok(Tok::Let), Op::Space, Op::Leaf(name)]);
            annotation(ty, out);
            out.add(&[Op::Space, Op::Tok(Tok::Assign)]);
            bound(ast, value, out);
        }
        StmtKind::FreeVar { name, ty } => {
            out.add(&[Op::Tok(Tok::FreeVar), Op::Space, Op::Leaf(name)]);
            annotation(ty, out);
        }
        StmtKind::Expr(value) => out.add(&[Op::Expr(value)]),
    }
    out.add(&[Op::Semi]);
}

// ---- Patterns ----

pub(crate) fn pat(ast: &Ast, id: PatId, out: &mut Ops) {
    let Pat { span, kind } = ast.pats[id];
    let fields = |list: Nodes<PatId>| ast.items(list).iter().map(|&item| Op::Pat(item));
    match kind {
        PatKind::Error => {}
        PatKind::Wildcard => out.add(&[Op::Leaf(span)]),
        PatKind::Local { name, ty } => {
            out.add(&[Op::Leaf(name)]);
            annotation(ty, out);
        }
        PatKind::Ctor { name, fields: inside } => {
            out.add(&[Op::Leaf(name)]);
            if let Some(inside) = inside {
                List::new(out, Tok::LParen, Tok::RParen, Comma::IfBroken).all(fields(inside));
            }
        }
        // A pattern in parentheses is a tuple of one already, and printed so.
        PatKind::Tuple(inside) => List::new(out, Tok::LParen, Tok::RParen, Comma::IfBroken).all(fields(inside)),
    }
}

// ---- Types ----

/// A size on one line: `2*n + 1`, `min(a, b)/2`. What is no size is an expression.
pub(crate) fn size(ast: &Ast, id: ExprId, out: &mut Ops) {
    match ast.exprs[id].kind {
        ExprKind::Paren(inside) => {
            out.add(&[Op::Tok(Tok::LParen), Op::Size(inside), Op::Tok(Tok::RParen)]);
        }
        ExprKind::Binary { op: op @ (BinOp::Add | BinOp::Sub), op_span: _, lhs, rhs } => {
            out.add(&[Op::Size(lhs), Op::Space, Op::Tok(sign(op)), Op::Space, Op::Size(rhs)]);
        }
        // A slash that touches a name belongs to it.
        ExprKind::Binary { op: BinOp::Div, op_span: _, lhs, rhs } if ends_in_name(ast, lhs) => {
            out.add(&[Op::Size(lhs), Op::Space, Op::Tok(Tok::Slash), Op::Space, Op::Size(rhs)]);
        }
        ExprKind::Binary { op: op @ (BinOp::Mul | BinOp::Div), op_span: _, lhs, rhs } => {
            out.add(&[Op::Size(lhs), Op::Tok(sign(op)), Op::Size(rhs)]);
        }
        // A meta reference as the last argument is laid out with care for its comma.
        ExprKind::Call { callee, args, attrs }
            if attrs.is_empty()
                && ast.items(args).last().is_some_and(|&last| !matches!(ast.exprs[last].kind, ExprKind::Meta)) =>
        {
            out.add(&[Op::Expr(callee)]);
            let args = ast.items(args).iter().map(|&arg| Op::Size(arg));
            List::new(out, Tok::LParen, Tok::RParen, Comma::IfBroken).all(args);
        }
        _ => expr(ast, id, out),
    }
}

/// Whether the last token of a size is a name.
fn ends_in_name(ast: &Ast, mut id: ExprId) -> bool {
    while let ExprKind::Binary { rhs, .. } = ast.exprs[id].kind {
        id = rhs;
    }
    matches!(ast.exprs[id].kind, ExprKind::Name)
}

fn types(ast: &Ast, list: Nodes<TypeId>) -> impl Iterator<Item = Op> {
    ast.items(list).iter().map(|&item| Op::Type(item))
}

pub(crate) fn ty(ast: &Ast, id: TypeId, out: &mut Ops) {
    let Type { span, kind } = ast.types[id];
    match kind {
        TypeKind::Error => {}
        TypeKind::Infer | TypeKind::Meta => out.add(&[Op::Leaf(span)]),
        TypeKind::Tensor { shape, dtype } => {
            out.add(&[Op::Tok(Tok::Tensor), Op::Opening(Tok::LBracket), SOFT]);
            let dims = ast.items(shape).iter().map(|&Dim { span, kind }| match kind {
                DimKind::Size(size) => Op::Size(size),
                DimKind::Int | DimKind::Any | DimKind::Meta | DimKind::Error => Op::Leaf(span),
            });
            List::new(out, Tok::LParen, Tok::RParen, Comma::IfBroken).all(dims);
            out.add(&[Op::Comma, BLANK, Op::Leaf(dtype)]);
            out.add(&[Op::Closing { tok: Tok::RBracket, comma: Comma::Never, hard: false }]);
        }
        TypeKind::Tuple(fields) => {
            // `(T)` is a tuple of one, but does not look like one.
            let comma = if fields.len() == 1 { Comma::Always } else { Comma::IfBroken };
            List::new(out, Tok::LParen, Tok::RParen, comma).all(types(ast, fields));
        }
        TypeKind::Fn { type_params: names, params, ret } => {
            out.add(&[Op::Tok(Tok::Fn), Op::Space]);
            type_params(ast, names, out);
            List::new(out, Tok::LParen, Tok::RParen, Comma::IfBroken).all(types(ast, params));
            out.add(&[Op::Space, Op::Arrow, Op::Space, Op::Type(ret)]);
        }
        TypeKind::Name { name, args } => {
            out.add(&[Op::Leaf(name)]);
            if let Some(args) = args {
                List::new(out, Tok::LBracket, Tok::RBracket, Comma::IfBroken).all(types(ast, args));
            }
        }
        TypeKind::Ref(inside) => {
            out.tok(Tok::Ref);
            out.enclosed(Tok::LParen, Op::Type(inside), Tok::RParen);
        }
    }
}
