//! The parts of a syntax tree as one kind of thing: their places, their parts, and the path from the root to a place.
//!
//! Promises that the parts of a node lie inside of it, in text order, and that nothing recurses. Absent: what names mean.

use super::ast::{
    Ast, Attr, AttrValueKind, Clause, Ctor, Def, Dim, DimKind, ExprId, ExprKind, FuncId, List, Param, PatId, PatKind, Root,
    StmtId, StmtKind, TypeId, TypeKind, ValueId,
};
use relayc_base::Span;

/// A part of a tree.
#[derive(Clone, Copy, Debug)]
pub enum Node {
    /// A definition, by its place in [`Ast::defs`].
    Def(usize),
    Func(FuncId),
    Param(Param),
    Ctor(Ctor),
    Type(TypeId),
    Dim(Dim),
    Expr(ExprId),
    Stmt(StmtId),
    Clause(Clause),
    Pat(PatId),
    Attr(Attr),
    Value(ValueId),
    /// A name that binds: of a function, a type, a type parameter.
    Name(Span),
}

impl Node {
    pub fn span(self, ast: &Ast) -> Span {
        match self {
            Node::Def(def) => ast.defs[def].span(),
            Node::Func(func) => ast.funcs[func].span,
            Node::Param(param) => param.span,
            Node::Ctor(ctor) => ctor.span,
            Node::Type(ty) => ast.types[ty].span,
            Node::Dim(dim) => dim.span,
            Node::Expr(expr) => ast.exprs[expr].span,
            Node::Stmt(stmt) => ast.stmts[stmt].span,
            Node::Clause(clause) => clause.span,
            Node::Pat(pat) => ast.pats[pat].span,
            Node::Attr(attr) => attr.span,
            Node::Value(value) => ast.values[value].span,
            Node::Name(span) => span,
        }
    }

    /// Appends its parts.
    pub fn children(self, ast: &Ast, out: &mut Vec<Node>) {
        match self {
            Node::Def(def) => match &ast.defs[def] {
                Def::Func { name, func, .. } => out.extend([Node::Name(*name), Node::Func(*func)]),
                Def::Type { name, params, ctors, .. } => {
                    out.push(Node::Name(*name));
                    all(ast, *params, Node::Name, out);
                    all(ast, *ctors, Node::Ctor, out);
                }
            },
            Node::Func(func) => {
                let func = &ast.funcs[func];
                all(ast, func.type_params, Node::Name, out);
                all(ast, func.params, Node::Param, out);
                all(ast, func.attrs, Node::Attr, out);
                out.extend(func.ret.map(Node::Type));
                out.push(Node::Expr(func.body));
            }
            Node::Param(param) => {
                out.push(Node::Name(param.name));
                all(ast, param.attrs, Node::Attr, out);
                out.extend(param.ty.map(Node::Type));
            }
            Node::Ctor(ctor) => {
                out.push(Node::Name(ctor.name));
                if let Some(inputs) = ctor.inputs {
                    all(ast, inputs, Node::Type, out);
                }
            }
            Node::Type(ty) => match ast.types[ty].kind {
                TypeKind::Error | TypeKind::Infer | TypeKind::Meta => {}
                TypeKind::Tensor { shape, .. } => all(ast, shape, Node::Dim, out),
                TypeKind::Tuple(fields) => all(ast, fields, Node::Type, out),
                TypeKind::Fn { type_params, params, ret } => {
                    all(ast, type_params, Node::Name, out);
                    all(ast, params, Node::Type, out);
                    out.push(Node::Type(ret));
                }
                TypeKind::Name { args, .. } => {
                    if let Some(args) = args {
                        all(ast, args, Node::Type, out);
                    }
                }
                TypeKind::Ref(of) => out.push(Node::Type(of)),
            },
            Node::Dim(dim) => {
                if let DimKind::Size(size) = dim.kind {
                    out.push(Node::Expr(size));
                }
            }
            Node::Expr(expr) => expr_children(ast, expr, out),
            Node::Stmt(stmt) => match ast.stmts[stmt].kind {
                StmtKind::Error => {}
                StmtKind::Graph { name, value } => out.extend([Node::Name(name), Node::Expr(value)]),
                StmtKind::Let { name, ty, value } => {
                    out.push(Node::Name(name));
                    out.extend(ty.map(Node::Type));
                    out.push(Node::Expr(value));
                }
                StmtKind::FreeVar { name, ty } => {
                    out.push(Node::Name(name));
                    out.extend(ty.map(Node::Type));
                }
                StmtKind::Expr(value) => out.push(Node::Expr(value)),
            },
            Node::Clause(clause) => out.extend([Node::Pat(clause.pattern), Node::Expr(clause.body)]),
            Node::Pat(pat) => match ast.pats[pat].kind {
                PatKind::Error | PatKind::Wildcard => {}
                PatKind::Local { name, ty } => {
                    out.push(Node::Name(name));
                    out.extend(ty.map(Node::Type));
                }
                PatKind::Ctor { fields, .. } => {
                    if let Some(fields) = fields {
                        all(ast, fields, Node::Pat, out);
                    }
                }
                PatKind::Tuple(fields) => all(ast, fields, Node::Pat, out),
            },
            Node::Attr(attr) => out.push(Node::Value(attr.value)),
            Node::Value(value) => match ast.values[value].kind {
                AttrValueKind::Str | AttrValueKind::Error => {}
                AttrValueKind::List(items) => all(ast, items, Node::Value, out),
                AttrValueKind::Paren(inner) => out.push(Node::Value(inner)),
                AttrValueKind::Expr(expr) => out.push(Node::Expr(expr)),
            },
            Node::Name(_) => {}
        }
    }
}

fn expr_children(ast: &Ast, expr: ExprId, out: &mut Vec<Node>) {
    match ast.exprs[expr].kind {
        ExprKind::Error
        | ExprKind::Int
        | ExprKind::Float
        | ExprKind::Bool(_)
        | ExprKind::Local
        | ExprKind::Global
        | ExprKind::Graph
        | ExprKind::Meta
        | ExprKind::Name => {}
        ExprKind::Tuple(fields) => all(ast, fields, Node::Expr, out),
        ExprKind::Paren(inner) | ExprKind::Block(inner) | ExprKind::RefNew(inner) | ExprKind::RefRead(inner) => {
            out.push(Node::Expr(inner));
        }
        ExprKind::Proj { tuple, .. } => out.push(Node::Expr(tuple)),
        ExprKind::Call { callee, args, attrs } => {
            out.push(Node::Expr(callee));
            all(ast, args, Node::Expr, out);
            all(ast, attrs, Node::Attr, out);
        }
        ExprKind::Binary { lhs, rhs, .. } => out.extend([Node::Expr(lhs), Node::Expr(rhs)]),
        ExprKind::Fn(func) => out.push(Node::Func(func)),
        ExprKind::If { cond, then_branch, else_branch } => {
            out.extend([cond, then_branch, else_branch].map(Node::Expr));
        }
        ExprKind::Seq { stmts, value } => {
            all(ast, stmts, Node::Stmt, out);
            out.push(Node::Expr(value));
        }
        ExprKind::Match { scrutinee, clauses, .. } => {
            out.push(Node::Expr(scrutinee));
            all(ast, clauses, Node::Clause, out);
        }
        ExprKind::RefWrite { cell, value } => out.extend([Node::Expr(cell), Node::Expr(value)]),
    }
}

fn all<T: super::ast::Pooled>(ast: &Ast, list: List<T>, node: fn(T) -> Node, out: &mut Vec<Node>) {
    out.extend(ast.items(list).iter().map(|&item| node(item)));
}

impl Ast {
    /// The outermost nodes: definitions, or the expression that is the program.
    pub fn roots(&self) -> Vec<Node> {
        match self.root {
            Root::Module => (0..self.defs.len()).map(Node::Def).collect(),
            Root::Expr(expr) => vec![Node::Expr(expr)],
            Root::Error => vec![],
        }
    }

    /// The nodes around a place, the outermost first; a place at the end of a node is in it.
    pub fn path(&self, offset: u32) -> Vec<Node> {
        let mut path = vec![];
        let mut level = self.roots();
        // Of two that touch at the place the later one is meant: what follows begins there.
        while let Some(node) = level.iter().rev().copied().find(|node| {
            let span = node.span(self);
            span.start <= offset && offset <= span.end
        }) {
            path.push(node);
            level.clear();
            node.children(self, &mut level);
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use relayc_base::FileId;

    fn tree(text: &str) -> Ast {
        super::super::parse(FileId(0), text.into()).0
    }

    #[test]
    fn a_path_leads_to_the_innermost_node() {
        let ast = tree("def @f(%x: Tensor[(2, 3), float32]) { let %y = nn.relu(%x); if (True) { %y } else { add(%y, 1f) } }");
        let at = ast.source.find("1f").expect("it is there") as u32;
        let path: Vec<&str> = ast.path(at).iter().map(|node| ast.text(node.span(&ast))).collect();
        assert_eq!(path.last(), Some(&"1f"));
        assert_eq!(path[path.len() - 2], "add(%y, 1f)");
        let dim = ast.source.find("3)").expect("it is there") as u32;
        assert!(matches!(ast.path(dim).last(), Some(Node::Dim(_))));
    }

    #[test]
    fn children_lie_inside_and_in_order() {
        let ast = tree(
            "type L[A] { N, C(A, L[A]) }\ndef @f[T](%x: L[T], %y, k=1) -> int32 { %0 = (%y, %y).0; match (%x) { N => 1, C(%a, _) => ref_read(ref(%0)) } }",
        );
        let mut stack = ast.roots();
        let mut n = 0;
        while let Some(node) = stack.pop() {
            n += 1;
            let (span, mut parts) = (node.span(&ast), vec![]);
            node.children(&ast, &mut parts);
            let mut at = span.start;
            for part in &parts {
                let inner = part.span(&ast);
                assert!(at <= inner.start && inner.end <= span.end, "{part:?} in {node:?}");
                at = inner.end;
            }
            stack.extend(parts);
        }
        assert!(n > 30, "{n}");
    }
}
