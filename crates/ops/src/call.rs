//! Calls of operators as expressions of a module, typed by their relations.

use super::rel::RelCx;
use super::{OpDef, Shapes, table};
use relayc_base::Span;
use relayc_ir::attrs::OpTable;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{Solver, Ty, TyData, dims_of};
use relayc_ir::{AttrValue, Attrs, ExprId, ExprKind, Module, Operand};

/// Builds a call of an operator with complete attributes, typed by its relation. The operands must have types.
pub fn call(module: &mut Module, span: Span, def: &OpDef, args: &[ExprId], attrs: Vec<AttrValue>) -> ExprId {
    let op = table().find(def.name).expect("an operator is in the table");
    let ty = call_ty(module, def, args, &attrs);
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

/// The multiply-adds of an expression of a typed module: 0 for what is no call, and for operators whose cost they do not measure. `None`
/// if a shape that matters is known only at run time, or for an error not at all.
pub fn macs(module: &Module, call: ExprId) -> Option<u128> {
    let Some(count) = module.called_op(call).and_then(|op| table().def(op).macs) else { return Some(0) };
    let ExprKind::Call { args, .. } = module.exprs[call].kind else { return Some(0) };
    let shape = |expr: ExprId| match module.types.data(module.ty(expr)) {
        TyData::Tensor { shape, .. } => dims_of(shape),
        TyData::Tuple(_) => Some(vec![]),
        _ => None,
    };
    let args: Vec<Vec<i64>> = module.items(args).iter().map(|arg| shape(arg.expr)).collect::<Option<_>>()?;
    Some(count(&Shapes { attrs: module.call_attrs(call), args: &args, out: &shape(call)? }))
}

/// The type of a call of an operator, if its relation accepts the operands and determines the type.
pub fn call_ty(module: &mut Module, def: &OpDef, args: &[ExprId], attrs: &[AttrValue]) -> Option<Ty> {
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

/// Builds a constant with its type.
pub fn constant(module: &mut Module, span: Span, value: Tensor) -> ExprId {
    let shape: Vec<i64> = value.shape().iter().map(|&dim| dim as i64).collect();
    let ty = module.types.tensor_of(&shape, value.dtype());
    let expr = module.constant(value, span);
    set_ty(module, expr, ty);
    expr
}

/// Builds an expression of a type.
pub fn typed(module: &mut Module, span: Span, kind: ExprKind, ty: Ty) -> ExprId {
    let expr = module.expr(span, kind);
    set_ty(module, expr, ty);
    expr
}

/// Builds a tuple with its type.
pub fn tuple(module: &mut Module, span: Span, fields: &[ExprId]) -> ExprId {
    let tys: Vec<Ty> = fields.iter().map(|&field| module.ty(field)).collect();
    let fields: Vec<Operand> = fields.iter().map(|&expr| Operand { expr, span }).collect();
    let fields = module.operands(&fields);
    let ty = module.types.tuple(&tys);
    typed(module, span, ExprKind::Tuple(fields), ty)
}

/// Builds a projection with its type.
pub fn project(module: &mut Module, span: Span, tuple: ExprId, index: usize) -> ExprId {
    let ty = module.types.as_tuple(module.ty(tuple)).and_then(|fields| fields.get(index).copied()).unwrap_or(Ty::ERROR);
    typed(module, span, ExprKind::Proj { tuple, index: index as i32 }, ty)
}

/// Sets the type of a new expression, for those that read it before inference runs again.
pub fn set_ty(module: &mut Module, expr: ExprId, ty: Ty) {
    module.expr_tys.grow(module.exprs.len(), None);
    module.expr_tys[expr] = Some(ty);
}
