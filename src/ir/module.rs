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
    /// The type of each expression, once inference has run.
    pub expr_tys: IndexVec<ExprId, Option<Ty>>,
    operands: Vec<Operand>,
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

/// A list of operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operands {
    start: u32,
    len: u32,
}

impl Operands {
    pub fn len(self) -> usize {
        self.len as usize
    }

    pub fn is_empty(self) -> bool {
        self.len == 0
    }
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
        index: u32,
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
}

impl Module {
    pub fn new() -> Module {
        Module {
            root: Root::Globals,
            types: Types::new(),
            globals: IndexVec::new(),
            funcs: IndexVec::new(),
            exprs: IndexVec::new(),
            vars: IndexVec::new(),
            consts: IndexVec::new(),
            const_notes: FxHashMap::default(),
            var_devices: FxHashMap::default(),
            objects: IndexVec::new(),
            attrs: IndexVec::new(),
            expr_tys: IndexVec::new(),
            operands: vec![],
        }
    }

    pub fn expr(&mut self, span: Span, kind: ExprKind) -> ExprId {
        self.exprs.push(Expr { span, kind })
    }

    pub fn operands(&mut self, items: &[Operand]) -> Operands {
        let start = u32::try_from(self.operands.len()).expect("fewer than 2^32 operands");
        self.operands.extend_from_slice(items);
        Operands { start, len: items.len() as u32 }
    }

    pub fn items(&self, list: Operands) -> &[Operand] {
        &self.operands[list.start as usize..(list.start + list.len) as usize]
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
