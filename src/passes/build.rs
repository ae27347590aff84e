//! What passes ask of calls, and how they make new ones.

use crate::base::Span;
use crate::ir::attrs::OpTable;
use crate::ir::{AttrValue, Attrs, ExprId, ExprKind, Module, Operand, VarId};
use crate::ops::rel::RelCx;
use crate::ops::{OpDef, Table};
use crate::tensor::Tensor;
use crate::types::{Solver, Ty, dims_of};

/// What every pass may know beside the module.
#[derive(Clone, Copy)]
pub struct PassCx<'a> {
    pub ops: &'a Table,
    /// How many floats a vector of the target holds: 8 or 16.
    pub lanes: usize,
    /// The one function that the program is entered by, where there is one.
    pub entry: Option<&'a str>,
}

impl PassCx<'_> {
    /// The operator an expression calls directly.
    pub fn called(&self, module: &Module, expr: ExprId) -> Option<&'static OpDef> {
        module.called_op(expr).map(|op| self.ops.def(op))
    }

    /// Whether an expression is a call of this operator.
    pub fn calls(&self, module: &Module, expr: ExprId, def: &OpDef) -> bool {
        self.called(module, expr).is_some_and(|called| called.name == def.name)
    }

    /// A call of an operator with complete attributes, typed by its relation. The operands must have types.
    pub fn call(&self, module: &mut Module, span: Span, def: &OpDef, args: &[ExprId], attrs: Vec<AttrValue>) -> ExprId {
        let op = self.ops.find(def.name).expect("operators that passes call are in the table");
        let ty = self.call_ty(module, def, args, &attrs);
        let callee = module.expr(span, ExprKind::Op(op));
        let attrs = def.attrs.map(|_| module.attrs.push(Attrs { values: attrs.into(), spans: Box::default() }));
        let operands: Vec<Operand> = args.iter().map(|&expr| Operand { expr, span }).collect();
        let args = module.operands(&operands);
        let call = module.expr(span, ExprKind::Call { callee, args, attrs });
        if let Some(ty) = ty {
            set_ty(module, call, ty);
        }
        call
    }

    /// As [`PassCx::call`], where the relation accepts the operands and knows the type.
    pub fn typed_call(
        &self,
        module: &mut Module,
        span: Span,
        def: &OpDef,
        args: &[ExprId],
        attrs: Vec<AttrValue>,
    ) -> Option<ExprId> {
        self.call_ty(module, def, args, &attrs)?;
        Some(self.call(module, span, def, args, attrs))
    }

    /// The type of a call of an operator, where its relation accepts the operands and knows it.
    pub fn call_ty(&self, module: &mut Module, def: &OpDef, args: &[ExprId], attrs: &[AttrValue]) -> Option<Ty> {
        let args: Vec<Ty> = args.iter().map(|&arg| module.ty(arg)).collect();
        // A hole that inference left open is none of this solver's.
        if args.iter().any(|&ty| module.types.has_hole(ty)) {
            return None;
        }
        let mut solver = Solver::with_written(&module.types);
        let out = solver.fresh(&mut module.types);
        let mut cx = RelCx::new(&mut module.types, &mut solver, attrs, &args, out);
        cx.objects = Some(&module.objects);
        (def.rel)(&mut cx).ok()?;
        let ty = solver.resolve(&mut module.types, out);
        (!module.types.has_hole(ty)).then_some(ty)
    }

    /// A constant, with its type.
    pub fn constant(&self, module: &mut Module, span: Span, value: Tensor) -> ExprId {
        let shape: Vec<i64> = value.shape().iter().map(|&dim| dim as i64).collect();
        let ty = module.types.tensor_of(&shape, value.dtype());
        let expr = module.constant(value, span);
        set_ty(module, expr, ty);
        expr
    }
}

/// Says what type a new expression has, for those that ask before inference runs again.
pub fn set_ty(module: &mut Module, expr: ExprId, ty: Ty) {
    module.expr_tys.grow(module.exprs.len(), None);
    module.expr_tys[expr] = Some(ty);
}

/// The operands of a call or tuple.
pub fn args(module: &Module, expr: ExprId) -> Vec<ExprId> {
    match module.exprs[expr].kind {
        ExprKind::Call { args, .. } | ExprKind::Tuple(args) => module.items(args).iter().map(|arg| arg.expr).collect(),
        _ => vec![],
    }
}

/// The attribute values of a call.
pub fn attrs(module: &Module, expr: ExprId) -> &[AttrValue] {
    match module.exprs[expr].kind {
        ExprKind::Call { attrs: Some(attrs), .. } => &module.attrs[attrs].values,
        _ => &[],
    }
}

/// The value of a constant.
pub fn value_of(module: &Module, expr: ExprId) -> Option<&Tensor> {
    match module.exprs[expr].kind {
        ExprKind::Const(id) => Some(&module.consts[id]),
        _ => None,
    }
}

/// The shape of a tensor all of whose dimensions are known.
pub fn shape(module: &Module, expr: ExprId) -> Option<Vec<i64>> {
    module.types.as_tensor(module.ty(expr)).and_then(|(shape, _)| dims_of(shape))
}

/// An operand by what it is: every mention of a variable is an expression of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ExprKey {
    Var(VarId),
    Other(ExprId),
}

impl ExprKey {
    pub fn of(module: &Module, expr: ExprId) -> ExprKey {
        match module.exprs[expr].kind {
            ExprKind::Var(var) => ExprKey::Var(var),
            _ => ExprKey::Other(expr),
        }
    }
}
