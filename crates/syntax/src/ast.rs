//! The syntax tree, as written: nothing resolved, nothing checked, every parenthesis kept.
//!
//! Nodes live in flat arenas and refer to each other by index; lists are ranges of a shared pool. Dropping or walking a tree a
//! million levels deep therefore needs no stack. A name is a [`Span`]; [`Ast::text`] reads its text from the source. Every span
//! covers the whole construct and is exact (unlike TVM's, language 1.11).

use super::dialect::OldForm;
use relayc_base::index_type;
use relayc_base::{IndexVec, Span};
use std::marker::PhantomData;

index_type! {
    pub struct ExprId;
}
index_type! {
    /// A statement of a sequence.
    pub struct StmtId;
}
index_type! {
    /// A function: the part that `def` and `fn` share.
    pub struct FuncId;
}
index_type! {
    pub struct TypeId;
}
index_type! {
    pub struct PatId;
}
index_type! {
    pub struct ValueId;
}

/// A list of `T`, a range of the pool of its kind.
pub struct List<T> {
    start: u32,
    len: u32,
    of: PhantomData<fn() -> T>,
}

impl<T> List<T> {
    pub fn len(self) -> usize {
        self.len as usize
    }

    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The list in a pool that grew by so much before it, with overflow.
    pub(crate) fn moved(self, by: u32) -> List<T> {
        List { start: self.start.wrapping_add(by), ..self }
    }

    fn range(self) -> std::ops::Range<usize> {
        self.start as usize..(self.start + self.len) as usize
    }
}

impl<T> Clone for List<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for List<T> {}

impl<T> std::fmt::Debug for List<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.range())
    }
}

#[derive(Clone, Debug)]
pub enum Root {
    /// Definitions, in text order; the usual case.
    Module,
    /// One expression without a module: `free_var` lines and a value, or a bare `fn`.
    Expr(ExprId),
    /// Unreadable text.
    Error,
}

#[derive(Clone, Debug)]
pub struct Ast {
    pub source: std::sync::Arc<str>,
    pub root: Root,
    /// The `#[version = …]` section, if there is one.
    pub(crate) version: Option<Span>,
    /// The JSON text after `#[metadata]`, if there is one.
    pub metadata: Option<Span>,
    /// Forms of older TVMs that the text uses, in text order; the tree has today's forms.
    pub(crate) old_forms: Vec<OldForm>,
    /// The last version of TVM that may have printed the text, as far as its syntax tells: 7 for 0.7.
    pub(crate) age: u8,
    /// Numbers of older texts in today's spelling, by their start.
    pub typed_numbers: rustc_hash::FxHashMap<u32, Box<str>>,
    /// Strings and lists among the arguments of calls, each with the `Error` node in its place.
    pub stray_values: rustc_hash::FxHashMap<ExprId, ValueId>,
    pub defs: Vec<Def>,
    pub exprs: IndexVec<ExprId, Expr>,
    pub stmts: IndexVec<StmtId, Stmt>,
    pub funcs: IndexVec<FuncId, Func>,
    pub types: IndexVec<TypeId, Type>,
    pub pats: IndexVec<PatId, Pat>,
    pub values: IndexVec<ValueId, AttrValue>,
    expr_pool: Vec<ExprId>,
    stmt_pool: Vec<StmtId>,
    type_pool: Vec<TypeId>,
    pat_pool: Vec<PatId>,
    value_pool: Vec<ValueId>,
    name_pool: Vec<Span>,
    param_pool: Vec<Param>,
    attr_pool: Vec<Attr>,
    dim_pool: Vec<Dim>,
    ctor_pool: Vec<Ctor>,
    clause_pool: Vec<Clause>,
}

#[derive(Clone, Debug)]
pub enum Def {
    /// `def @name…`; the span covers the whole definition, `name` the global with its `@`.
    Func { span: Span, name: Span, func: FuncId },
    /// `type Name[A, …] { … }`, `extern type Name`.
    Type { span: Span, name: Span, params: List<Span>, ctors: List<Ctor>, is_extern: bool },
}

impl Def {
    /// The whole definition.
    pub fn span(&self) -> Span {
        match self {
            Def::Func { span, .. } | Def::Type { span, .. } => *span,
        }
    }
}

/// A constructor of a data type. `inputs` is `None` if no parentheses are written.
#[derive(Clone, Copy, Debug)]
pub struct Ctor {
    pub span: Span,
    pub name: Span,
    pub inputs: Option<List<TypeId>>,
}

/// `[A, …](params, attrs) -> ret { body }`.
#[derive(Clone, Debug)]
pub struct Func {
    pub span: Span,
    pub type_params: List<Span>,
    pub params: List<Param>,
    pub attrs: List<Attr>,
    pub ret: Option<TypeId>,
    pub body: ExprId,
}

/// `%name {attrs}: type`; `name` includes the `%`.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    pub span: Span,
    pub name: Span,
    pub attrs: List<Attr>,
    pub ty: Option<TypeId>,
}

/// `key=value`; the key may hold dots.
#[derive(Clone, Copy, Debug)]
pub struct Attr {
    pub span: Span,
    pub key: Span,
    pub value: ValueId,
}

#[derive(Clone, Copy, Debug)]
pub struct AttrValue {
    pub span: Span,
    pub kind: AttrValueKind,
}

#[derive(Clone, Copy, Debug)]
pub enum AttrValueKind {
    /// The text in quotes, quotes included in the span.
    Str,
    List(List<ValueId>),
    /// A parenthesised string or list, `("a")`.
    Paren(ValueId),
    /// Anything that is also an expression: literals, names (`None`, `nullptr`), meta references, atoms.
    Expr(ExprId),
    /// Recovered from a syntax error that has been reported.
    Error,
}

#[derive(Clone, Copy, Debug)]
pub struct Expr {
    pub span: Span,
    pub kind: ExprKind,
}

#[derive(Clone, Copy, Debug)]
pub enum ExprKind {
    /// Recovered from a syntax error that has been reported.
    Error,
    /// A literal; its text is the span's. The lexer has reported a malformed one.
    Int,
    Float,
    Bool(bool),
    /// `%name`, `@name`, `%0`: the text is the span's, sigil included.
    Local,
    Global,
    Graph,
    /// `meta[Key][index]`: the text is the span's.
    Meta,
    /// An operator or constructor, dots included; blanks and comments may stand around the dots.
    Name,
    Tuple(List<ExprId>),
    /// `(e)`.
    Paren(ExprId),
    /// `tuple.index`; `index` is the number's place.
    Proj {
        tuple: ExprId,
        index: Span,
    },
    /// `callee(args, attrs)`; a meta reference that stands for all attributes is an argument here.
    Call {
        callee: ExprId,
        args: List<ExprId>,
        attrs: List<Attr>,
    },
    /// `lhs op rhs`.
    Binary {
        op: BinOp,
        op_span: Span,
        lhs: ExprId,
        rhs: ExprId,
    },
    Fn(FuncId),
    If {
        cond: ExprId,
        then_branch: ExprId,
        else_branch: ExprId,
    },
    /// `{ e }` as a statement: a scope of its own.
    Block(ExprId),
    /// Statements, then the value: `%0 = …; let %x = …; value`.
    Seq {
        stmts: List<StmtId>,
        value: ExprId,
    },
    /// `match scrutinee { clauses }`; `match?` is not total.
    Match {
        scrutinee: ExprId,
        clauses: List<Clause>,
        total: bool,
    },
    RefNew(ExprId),
    RefRead(ExprId),
    RefWrite {
        cell: ExprId,
        value: ExprId,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BinOp {
    Mul,
    Div,
    Add,
    Sub,
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
}

impl BinOp {
    /// The operator that it calls, and its precedence (`src/relay/parser/op_table.h`). All associate to the left.
    pub fn operator(self) -> (&'static str, u8) {
        match self {
            BinOp::Mul => ("multiply", 12),
            BinOp::Div => ("divide", 12),
            BinOp::Add => ("add", 10),
            BinOp::Sub => ("subtract", 10),
            BinOp::Lt => ("less", 8),
            BinOp::Le => ("less_equal", 8),
            BinOp::Gt => ("greater", 8),
            BinOp::Ge => ("greater_equal", 8),
            BinOp::Eq => ("equal", 7),
            BinOp::Ne => ("not_equal", 7),
        }
    }
}

/// A statement before the value of a sequence.
#[derive(Clone, Copy, Debug)]
pub struct Stmt {
    pub span: Span,
    pub kind: StmtKind,
}

#[derive(Clone, Copy, Debug)]
pub enum StmtKind {
    /// Recovered from a syntax error that has been reported.
    Error,
    /// `%0 = value;`; `name` includes the `%`.
    Graph { name: Span, value: ExprId },
    /// `let %x: ty = value;`.
    Let { name: Span, ty: Option<TypeId>, value: ExprId },
    /// `free_var %x: ty;`.
    FreeVar { name: Span, ty: Option<TypeId> },
    /// `e;`: evaluated for its effects.
    Expr(ExprId),
}

#[derive(Clone, Copy, Debug)]
pub struct Clause {
    pub span: Span,
    pub pattern: PatId,
    pub body: ExprId,
}

#[derive(Clone, Copy, Debug)]
pub struct Pat {
    pub span: Span,
    pub kind: PatKind,
}

#[derive(Clone, Copy, Debug)]
pub enum PatKind {
    Error,
    Wildcard,
    Local { name: Span, ty: Option<TypeId> },
    Ctor { name: Span, fields: Option<List<PatId>> },
    Tuple(List<PatId>),
}

#[derive(Clone, Copy, Debug)]
pub struct Type {
    pub span: Span,
    pub kind: TypeKind,
}

#[derive(Clone, Copy, Debug)]
pub enum TypeKind {
    Error,
    /// `_`: the annotation is absent.
    Infer,
    /// `Tensor[(dims), dtype]`; `dtype` is the identifier's place.
    Tensor {
        shape: List<Dim>,
        dtype: Span,
    },
    Tuple(List<TypeId>),
    Fn {
        type_params: List<Span>,
        params: List<TypeId>,
        ret: TypeId,
    },
    /// A scalar dtype, a type variable or a data type, with its arguments if brackets are written.
    Name {
        name: Span,
        args: Option<List<TypeId>>,
    },
    /// `ref(T)`, printed by TVM.
    Ref(TypeId),
    /// `meta[Key][index]`.
    Meta,
}

/// A dimension. The text of an integer literal, of `?` and of a meta reference is the span's.
#[derive(Clone, Copy, Debug)]
pub struct Dim {
    pub span: Span,
    pub kind: DimKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DimKind {
    Int,
    Any,
    Meta,
    /// A size: names, integers, `+`, `-`, `*`, `/`, parentheses and calls.
    Size(ExprId),
    /// Recovered from a syntax error that has been reported.
    Error,
}

/// An element that is stored in a pool of its own.
pub trait Pooled: Copy {
    fn pool(ast: &Ast) -> &Vec<Self>;
    fn pool_mut(ast: &mut Ast) -> &mut Vec<Self>;
}

macro_rules! pooled {
    ($($ty:ty => $pool:ident,)*) => {
        $(impl Pooled for $ty {
            fn pool(ast: &Ast) -> &Vec<Self> { &ast.$pool }
            fn pool_mut(ast: &mut Ast) -> &mut Vec<Self> { &mut ast.$pool }
        })*
    };
}

pooled! {
    ExprId => expr_pool,
    StmtId => stmt_pool,
    TypeId => type_pool,
    PatId => pat_pool,
    ValueId => value_pool,
    Span => name_pool,
    Param => param_pool,
    Attr => attr_pool,
    Dim => dim_pool,
    Ctor => ctor_pool,
    Clause => clause_pool,
}

impl Ast {
    pub(crate) fn new(source: std::sync::Arc<str>) -> Ast {
        Ast {
            source,
            root: Root::Error,
            version: None,
            old_forms: vec![],
            age: crate::version::TODAY,
            typed_numbers: Default::default(),
            stray_values: Default::default(),
            metadata: None,
            defs: vec![],
            exprs: IndexVec::new(),
            stmts: IndexVec::new(),
            funcs: IndexVec::new(),
            types: IndexVec::new(),
            pats: IndexVec::new(),
            values: IndexVec::new(),
            expr_pool: vec![],
            stmt_pool: vec![],
            type_pool: vec![],
            pat_pool: vec![],
            value_pool: vec![],
            name_pool: vec![],
            param_pool: vec![],
            attr_pool: vec![],
            dim_pool: vec![],
            ctor_pool: vec![],
            clause_pool: vec![],
        }
    }

    /// Makes room for as many lists as there are in another tree.
    pub(crate) fn make_room(&mut self, like: &Ast) {
        self.expr_pool.reserve(like.expr_pool.len() + 64);
        self.stmt_pool.reserve(like.stmt_pool.len() + 64);
        self.value_pool.reserve(like.value_pool.len() + 64);
        self.attr_pool.reserve(like.attr_pool.len() + 64);
    }

    pub fn text(&self, span: Span) -> &str {
        self.source.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    pub(crate) fn list<T: Pooled>(&mut self, items: &[T]) -> List<T> {
        let pool = T::pool_mut(self);
        let start = u32::try_from(pool.len()).expect("the source limit keeps pools below 2^32 entries");
        pool.extend_from_slice(items);
        List { start, len: items.len() as u32, of: PhantomData }
    }

    pub fn items<T: Pooled>(&self, list: List<T>) -> &[T] {
        &T::pool(self)[list.range()]
    }

    pub(crate) fn expr(&mut self, span: Span, kind: ExprKind) -> ExprId {
        self.exprs.push(Expr { span, kind })
    }
}
