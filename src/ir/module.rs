//! The arenas of a module, and the methods that build it.

use super::attrs::{AttrValue, OpId};
use super::object::{Object, ObjectId};
use crate::base::{IndexVec, Span};
use crate::index_type;
use crate::tensor::Tensor;
use crate::types::{Ty, Types};
use rustc_hash::FxHashMap;

index_type! {
    /// An expression.
    pub struct ExprId;
}
index_type! {
    /// A local variable. Sameness is identity; the name is a hint.
    pub struct VarId;
}
index_type! {
    /// A function, whether defined by `def` or `fn`.
    pub struct FuncId;
}
index_type! {
    /// A name of the module, `@main`.
    pub struct GlobalId;
}
index_type! {
    /// A constant.
    pub struct ConstId;
}
index_type! {
    /// A data type.
    pub struct AdtId;
}
index_type! {
    /// A constructor of a data type.
    pub struct CtorId;
}
index_type! {
    /// A pattern.
    pub struct PatId;
}
index_type! {
    /// The attributes of one call.
    pub struct AttrsId;
}

/// What the module is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Root {
    Globals,
    /// A bare expression, as `parse_expr` reads it.
    Expr(ExprId),
}

/// A program.
#[derive(Clone, Debug)]
pub struct Module {
    pub root: Root,
    pub types: Types,
    /// In text order.
    pub globals: IndexVec<GlobalId, Global>,
    /// In text order.
    pub adts: IndexVec<AdtId, Adt>,
    pub ctors: IndexVec<CtorId, Ctor>,
    pub pats: IndexVec<PatId, Pat>,
    pub funcs: IndexVec<FuncId, Func>,
    pub exprs: IndexVec<ExprId, Expr>,
    pub vars: IndexVec<VarId, Var>,
    pub consts: IndexVec<ConstId, Tensor>,
    /// What the metadata section that a constant was read from says beside its value.
    pub const_notes: FxHashMap<ConstId, ConstNote>,
    /// The devices that parameters are annotated with.
    pub var_devices: FxHashMap<VarId, ObjectId>,
    /// Objects that are kept as they were read.
    pub objects: IndexVec<ObjectId, Object>,
    pub attrs: IndexVec<AttrsId, Attrs>,
    /// What attributes of a call that is no operator's are called.
    pub attr_names: FxHashMap<AttrsId, AttrNames>,
    /// The type of each expression, once inference has run.
    pub expr_tys: IndexVec<ExprId, Option<Ty>>,
    operands: Vec<Operand>,
    clauses: Vec<Clause>,
    sub_pats: Vec<PatId>,
}

/// A data type, `type Name[A] { … }`; an `extern type` is one without constructors, as TVM prints it.
#[derive(Clone, Debug)]
pub struct Adt {
    pub name: Box<str>,
    /// Type parameters, `TyData::Param` types.
    pub params: Vec<Ty>,
    pub ctors: Vec<CtorId>,
    /// The name where it is defined.
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Ctor {
    pub name: Box<str>,
    pub adt: AdtId,
    pub inputs: Vec<Ty>,
    /// `fn [A](inputs) -> Name[A]`.
    pub ty: Ty,
    /// Where it is defined, with its inputs.
    pub span: Span,
}

#[derive(Clone, Copy, Debug)]
pub struct Pat {
    pub span: Span,
    pub kind: PatKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PatKind {
    /// What could not be resolved and has been reported.
    Error,
    Wildcard,
    Var(VarId),
    Ctor(CtorId, Pats),
    Tuple(Pats),
}

/// A clause of a match.
#[derive(Clone, Copy, Debug)]
pub struct Clause {
    pub pat: PatId,
    pub body: ExprId,
}

#[derive(Clone, Debug)]
pub struct Global {
    pub name: Box<str>,
    pub func: FuncId,
    /// The name where it is defined.
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Func {
    pub span: Span,
    /// Type parameters, `TyData::Param` types.
    pub type_params: Vec<Ty>,
    pub params: Vec<VarId>,
    /// The annotation; inference fills it in.
    pub ret: Option<Ty>,
    /// Where the annotation stands.
    pub ret_span: Span,
    pub body: ExprId,
    /// `Primitive=1` and the like, in the order written.
    pub attrs: Vec<(Box<str>, AttrValue)>,
}

/// The attribute of a function that is one fused group.
pub const PRIMITIVE: &str = "Primitive";

impl Func {
    /// Whether it is one fused group.
    pub fn is_primitive(&self) -> bool {
        self.attrs.iter().any(|(name, value)| &**name == PRIMITIVE && value.as_int().is_some_and(|value| value != 0))
    }
}

#[derive(Clone, Debug)]
pub struct Var {
    pub name: Box<str>,
    /// The annotation; inference fills it in.
    pub ty: Option<Ty>,
    /// The type inference found.
    pub checked_ty: Option<Ty>,
    /// Where it is bound.
    pub span: Span,
}

/// What a metadata section says of a constant beside its value.
#[derive(Clone, Copy, Debug)]
pub struct ConstNote {
    /// The number of its tensor, which several constants may share.
    pub tensor: u32,
    /// `virtual_device_`.
    pub device: Option<ObjectId>,
    /// `_checked_type_`.
    pub checked_ty: Option<Ty>,
}

/// The names of attributes that no operator declares: `attrs_type_key="…"` says what they are (relay-text 2.1).
#[derive(Clone, Debug)]
pub struct AttrNames {
    pub type_key: Box<str>,
    pub names: Box<[Box<str>]>,
}

/// The attributes of a call, complete and in schema order.
#[derive(Clone, Debug)]
pub struct Attrs {
    pub values: Box<[AttrValue]>,
    /// Where each is written, [`Span::NONE`] for a default. Empty where none is written.
    pub spans: Box<[Span]>,
}

impl Attrs {
    /// Where attribute `index` is written, key and value.
    pub fn span(&self, index: usize) -> Span {
        self.spans.get(index).copied().unwrap_or(Span::NONE)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Expr {
    pub span: Span,
    pub kind: ExprKind,
}

/// An expression used by another, and where it is mentioned.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    pub expr: ExprId,
    pub span: Span,
}

macro_rules! list_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $name {
            start: u32,
            len: u32,
        }

        impl $name {
            pub fn len(self) -> usize {
                self.len as usize
            }

            pub fn is_empty(self) -> bool {
                self.len == 0
            }

            /// Stores the items in their pool.
            fn store<T: Copy>(pool: &mut Vec<T>, items: &[T]) -> $name {
                let start = u32::try_from(pool.len()).expect("pools stay below 2^32 entries");
                pool.extend_from_slice(items);
                $name { start, len: items.len() as u32 }
            }

            fn range(self) -> std::ops::Range<usize> {
                self.start as usize..(self.start + self.len) as usize
            }
        }
    };
}

list_type! {
    /// A list of operands.
    Operands
}
list_type! {
    /// The clauses of a match.
    Clauses
}
list_type! {
    /// The patterns inside a pattern.
    Pats
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExprKind {
    /// What could not be resolved and has been reported.
    Error,
    Const(ConstId),
    Var(VarId),
    Global(GlobalId),
    Op(OpId),
    Tuple(Operands),
    Proj {
        tuple: ExprId,
        index: i32,
    },
    Call {
        callee: ExprId,
        args: Operands,
        attrs: Option<AttrsId>,
    },
    Fn(FuncId),
    Let {
        var: VarId,
        value: ExprId,
        body: ExprId,
    },
    If {
        cond: ExprId,
        then_branch: ExprId,
        else_branch: ExprId,
    },
    /// A constructor: what a call applies, or a function value.
    Ctor(CtorId),
    /// `match scrutinee { clauses }`; `match?` is not total.
    Match {
        scrutinee: ExprId,
        clauses: Clauses,
        total: bool,
    },
    RefNew(ExprId),
    RefRead(ExprId),
    RefWrite {
        cell: ExprId,
        value: ExprId,
    },
}

impl Module {
    pub fn new() -> Module {
        Module {
            root: Root::Globals,
            types: Types::new(),
            globals: IndexVec::new(),
            adts: IndexVec::new(),
            ctors: IndexVec::new(),
            pats: IndexVec::new(),
            funcs: IndexVec::new(),
            exprs: IndexVec::new(),
            vars: IndexVec::new(),
            consts: IndexVec::new(),
            const_notes: FxHashMap::default(),
            var_devices: FxHashMap::default(),
            objects: IndexVec::new(),
            attrs: IndexVec::new(),
            attr_names: FxHashMap::default(),
            expr_tys: IndexVec::new(),
            operands: vec![],
            clauses: vec![],
            sub_pats: vec![],
        }
    }

    pub fn expr(&mut self, span: Span, kind: ExprKind) -> ExprId {
        self.exprs.push(Expr { span, kind })
    }

    pub fn operands(&mut self, items: &[Operand]) -> Operands {
        Operands::store(&mut self.operands, items)
    }

    pub fn items(&self, list: Operands) -> &[Operand] {
        &self.operands[list.range()]
    }

    pub fn clauses(&mut self, clauses: &[Clause]) -> Clauses {
        Clauses::store(&mut self.clauses, clauses)
    }

    pub fn clause_items(&self, list: Clauses) -> &[Clause] {
        &self.clauses[list.range()]
    }

    pub fn pats(&mut self, pats: &[PatId]) -> Pats {
        Pats::store(&mut self.sub_pats, pats)
    }

    pub fn sub_pats(&self, list: Pats) -> &[PatId] {
        &self.sub_pats[list.range()]
    }

    pub fn var(&mut self, name: &str, ty: Option<Ty>, span: Span) -> VarId {
        self.vars.push(Var { name: name.into(), ty, checked_ty: None, span })
    }

    pub fn constant(&mut self, value: Tensor, span: Span) -> ExprId {
        let id = self.consts.push(value);
        self.expr(span, ExprKind::Const(id))
    }

    /// The operator an expression calls directly, if it is such a call.
    pub fn called_op(&self, expr: ExprId) -> Option<OpId> {
        match self.exprs[expr].kind {
            ExprKind::Call { callee, .. } => match self.exprs[callee].kind {
                ExprKind::Op(op) => Some(op),
                _ => None,
            },
            _ => None,
        }
    }

    /// The constructor an expression calls directly, if it is such a call.
    pub fn called_ctor(&self, expr: ExprId) -> Option<CtorId> {
        match self.exprs[expr].kind {
            ExprKind::Call { callee, .. } => match self.exprs[callee].kind {
                ExprKind::Ctor(ctor) => Some(ctor),
                _ => None,
            },
            _ => None,
        }
    }

    pub fn find_global(&self, name: &str) -> Option<GlobalId> {
        self.globals.iter_ids().find(|(_, global)| &*global.name == name).map(|(id, _)| id)
    }

    /// The type of an expression; [`Ty::ERROR`] before inference.
    pub fn ty(&self, expr: ExprId) -> Ty {
        self.expr_tys.get(expr).copied().flatten().unwrap_or(Ty::ERROR)
    }
}

impl Default for Module {
    fn default() -> Self {
        Module::new()
    }
}
