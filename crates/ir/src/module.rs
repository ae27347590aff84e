//! The arenas of a module, and the methods that build it.

use super::attrs::{AttrValue, OpId};
use super::ids::{AdtId, AttrsId, ConstId, CtorId, ExprId, FuncId, GlobalId, PatId, VarId};
use super::object::{Object, ObjectId};
use crate::tensor::Tensor;
use crate::types::{Ty, Types};
use relayc_base::{IndexVec, Span};
use rustc_hash::{FxHashMap, FxHashSet};

/// What the module is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Root {
    Globals,
    /// A bare expression, as `parse_expr` reads it.
    Expr(ExprId),
}

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
    /// The facts of the metadata section about a constant, besides its value.
    pub const_notes: FxHashMap<ConstId, ConstNote>,
    /// The devices that parameters are annotated with.
    pub var_devices: FxHashMap<VarId, ObjectId>,
    /// Objects that are kept as read.
    pub objects: IndexVec<ObjectId, Object>,
    pub attrs: IndexVec<AttrsId, Attrs>,
    /// The names of attributes of a call whose callee is not an operator.
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
    /// The name in the definition.
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Ctor {
    pub name: Box<str>,
    pub adt: AdtId,
    pub inputs: Vec<Ty>,
    /// `fn [A](inputs) -> Name[A]`.
    pub ty: Ty,
    /// The place of the definition, with its inputs.
    pub span: Span,
}

#[derive(Clone, Copy, Debug)]
pub struct Pat {
    pub span: Span,
    pub kind: PatKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PatKind {
    /// An unresolved construct that has been reported.
    Error,
    Wildcard,
    Var(VarId),
    Ctor(CtorId, Pats),
    Tuple(Pats),
}

#[derive(Clone, Copy, Debug)]
pub struct Clause {
    pub pat: PatId,
    pub body: ExprId,
}

#[derive(Clone, Debug)]
pub struct Global {
    pub name: Box<str>,
    pub func: FuncId,
    /// The name in the definition.
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Func {
    pub span: Span,
    /// Type parameters, `TyData::Param` types.
    pub type_params: Vec<Ty>,
    pub params: Vec<VarId>,
    /// The annotation, completed by inference.
    pub ret: Option<Ty>,
    /// The place of the annotation.
    pub ret_span: Span,
    pub body: ExprId,
    /// `Primitive=1` and the like, in the order written.
    pub attrs: Vec<(Box<str>, AttrValue)>,
}

/// The attribute that marks a function as one fused group.
pub const PRIMITIVE: &str = "Primitive";

/// The attribute of a function that names the compiler it is for.
pub const COMPILER: &str = "Compiler";

/// The attribute that names the tensors of a function's result, as importers of TVM call it.
pub const OUTPUT_NAMES: &str = "output_tensor_names";

/// Whether these can be the names of a result's tensors: distinct, and what a file and a C string can hold.
pub fn are_output_names(names: &[&str]) -> bool {
    let mut known = FxHashSet::default();
    !names.is_empty() && names.iter().all(|name| !name.is_empty() && !name.chars().any(char::is_control) && known.insert(*name))
}

impl Func {
    /// The names of the result's tensors, where an attribute says them.
    pub fn output_names(&self) -> Option<Vec<&str>> {
        let (_, value) = self.attrs.iter().find(|(name, _)| &**name == OUTPUT_NAMES)?;
        let AttrValue::List(names) = value else { return None };
        let mut all = vec![];
        for name in names.iter() {
            let AttrValue::Str(name) = name else { return None };
            all.push(&**name);
        }
        Some(all).filter(|all| are_output_names(all))
    }

    /// Whether it is one fused group.
    pub fn is_primitive(&self) -> bool {
        self.attrs.iter().any(|(name, value)| &**name == PRIMITIVE && value.as_int().is_some_and(|value| value != 0))
    }

    /// Whether TVM hands it to another compiler; its passes leave such functions alone.
    pub fn is_for_a_compiler(&self) -> bool {
        self.attrs.iter().any(|(name, _)| &**name == COMPILER)
    }
}

#[derive(Clone, Debug)]
pub struct Var {
    pub name: Box<str>,
    /// The annotation, completed by inference.
    pub ty: Option<Ty>,
    /// The type inference found.
    pub checked_ty: Option<Ty>,
    /// The place of the binder.
    pub span: Span,
}

/// The facts of a metadata section about a constant, besides its value.
#[derive(Clone, Copy, Debug)]
pub struct ConstNote {
    /// The number of its tensor, which several constants may share.
    pub tensor: u32,
    /// `virtual_device_`.
    pub device: Option<ObjectId>,
    /// `_checked_type_`.
    pub checked_ty: Option<ObjectId>,
}

/// The names of attributes that no operator declares; `attrs_type_key="…"` gives their type (language 2.1).
#[derive(Clone, Debug)]
pub struct AttrNames {
    pub type_key: Box<str>,
    pub names: Box<[Box<str>]>,
}

/// The attributes of a call, complete and in schema order.
#[derive(Clone, Debug)]
pub struct Attrs {
    pub values: Box<[AttrValue]>,
    /// The place of each attribute, [`Span::NONE`] for a default. Empty if none is written.
    pub spans: Box<[Span]>,
}

impl Attrs {
    /// The place of attribute `index`, key and value.
    pub fn span(&self, index: usize) -> Span {
        self.spans.get(index).copied().unwrap_or(Span::NONE)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Expr {
    pub span: Span,
    pub kind: ExprKind,
}

/// An expression that another one uses, and the place of the mention.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    pub expr: ExprId,
    pub span: Span,
}

macro_rules! list_type {
    ($name:ident) => {
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

list_type!(Operands);
list_type!(Clauses);
list_type!(Pats);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExprKind {
    /// An unresolved construct that has been reported.
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
    /// A constructor: a callee, or a function value.
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

    /// The attribute values of a call; none for another expression.
    pub fn call_attrs(&self, expr: ExprId) -> &[AttrValue] {
        match self.exprs[expr].kind {
            ExprKind::Call { attrs: Some(attrs), .. } => &self.attrs[attrs].values,
            _ => &[],
        }
    }

    /// The operator that an expression calls directly, if any.
    pub fn called_op(&self, expr: ExprId) -> Option<OpId> {
        match self.exprs[expr].kind {
            ExprKind::Call { callee, .. } => match self.exprs[callee].kind {
                ExprKind::Op(op) => Some(op),
                _ => None,
            },
            _ => None,
        }
    }

    /// The constructor that an expression calls directly, if any.
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

    /// `let %name: ty = expr; %name`, with types.
    pub fn annotated(&mut self, name: &str, expr: ExprId, ty: Ty) -> ExprId {
        let span = self.exprs[expr].span;
        let var = self.var(name, Some(ty), span);
        self.vars[var].checked_ty = Some(ty);
        let body = self.expr(span, ExprKind::Var(var));
        let binding = self.expr(span, ExprKind::Let { var, value: expr, body });
        self.expr_tys.grow(self.exprs.len(), None);
        self.expr_tys[body] = Some(ty);
        self.expr_tys[binding] = Some(ty);
        binding
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
