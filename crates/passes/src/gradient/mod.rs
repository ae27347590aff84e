//! Reverse-mode differentiation. The rules of the operators are declared in `relayc-ops` (`gradient`).
//!
//! Both passes give a function `(x, …) -> y` the result `(y, (dx, …))`, where `dx` is the gradient of the sum of `y`'s elements with respect
//! to `x`. A gradient is the sum of what every use of a value contributes, so a pass sums over uses, in the reverse order of evaluation: a
//! value's gradient is complete before the operands of its call get theirs.

pub(super) mod first_order;
pub(super) mod higher_order;

use super::build::typed;
use super::let_list::LetList;
use super::{PassCx, Stop};
use relayc_base::Span;
use relayc_ir::types::{Dim, Ty, TyData};
use relayc_ir::{AttrValue, ExprId, ExprKind, FuncId, Module, OpId};
use relayc_ops::call::{call, project, tuple};
use relayc_ops::declarations::{ONES, ONES_LIKE, ZEROS, ZEROS_LIKE};
use relayc_ops::{GradCx, OpDef};

/// The gradients of the operands of a call. The calls that compute them are bound in `list`.
fn of_operands(
    module: &mut Module,
    cx: &PassCx,
    op: OpId,
    (out, args, attrs): (ExprId, &[ExprId], &[AttrValue]),
    grad: ExprId,
    list: &mut LetList,
) -> Result<Vec<ExprId>, Stop> {
    let def = cx.ops.def(op);
    let Some(rule) = cx.ops.gradient(op) else { return Err(format!("`{}` has no gradient", def.name).into()) };
    let span = module.exprs[out].span;
    if is_empty(module, out) || args.iter().all(|&arg| is_empty(module, arg)) {
        let zeros: Result<Vec<ExprId>, Stop> = args.iter().map(|&arg| filled_like(module, arg, WITH_ZEROS)).collect();
        return Ok(zeros?.into_iter().map(|zeros| list.push(module, zeros)).collect());
    }
    let mut is_typed = true;
    let bind = &mut |module: &mut Module, value: ExprId| {
        is_typed &= module.ty(value) != Ty::ERROR;
        list.push(module, value)
    };
    let grads = rule(&mut GradCx { module, span, args, attrs, schema: def.attrs, out, grad, bind });
    let grads = grads.filter(|grads| is_typed && grads.len() == args.len());
    let why = || Stop::from(format!("`{}` has no gradient for these attributes and types", def.name));
    let mut of_type = |(&arg, grad): (&ExprId, ExprId)| with_type_of(module, cx, arg, grad, list).ok_or_else(why);
    args.iter().zip(grads.ok_or_else(why)?).map(&mut of_type).collect()
}

/// Whether a value has no elements.
fn is_empty(module: &Module, value: ExprId) -> bool {
    let ty = module.ty(value);
    let is_empty = |ty: Ty| module.types.as_tensor(ty).is_some_and(|(shape, _)| shape.iter().any(|dim| dim.value() == Some(0)));
    module.types.as_tuple(ty).map_or(is_empty(ty), |fields| fields.iter().all(|&field| is_empty(field)))
}

/// A gradient in the dtype of its operand: a call may have given a wider one. `None` if it has another shape.
fn with_type_of(module: &mut Module, cx: &PassCx, operand: ExprId, grad: ExprId, list: &mut LetList) -> Option<ExprId> {
    let (wanted, found) = (module.ty(operand), module.ty(grad));
    let Some((shape, dtype)) = module.types.as_tensor(wanted) else {
        let (wanted, found) = (module.types.as_tuple(wanted)?, module.types.as_tuple(found)?);
        let is_alike = |(&wanted, &found): (&Ty, &Ty)| {
            let (wanted, found) = (module.types.as_tensor(wanted), module.types.as_tensor(found));
            wanted.zip(found).is_some_and(|(wanted, found)| wanted.1 == found.1 && are_compatible(wanted.0, found.0))
        };
        return (wanted.len() == found.len() && wanted.iter().zip(found).all(is_alike)).then_some(grad);
    };
    let (_, from) = module.types.as_tensor(found).filter(|(found, _)| are_compatible(shape, found))?;
    if from == dtype {
        return Some(grad);
    }
    let cast = cx.cast(module, module.exprs[grad].span, grad, dtype)?;
    Some(list.push(module, cast))
}

fn are_compatible(a: &[Dim], b: &[Dim]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.compatible(*b))
}

/// `(value, (gradients))`, the type of a function's result with its gradients.
fn result_ty(module: &mut Module, func: FuncId) -> Option<Ty> {
    let of = &module.funcs[func];
    let params: Option<Vec<Ty>> =
        of.params.iter().map(|&param| module.vars[param].checked_ty.or(module.vars[param].ty)).collect();
    let (params, ret) = (params?, of.ret?);
    let grads = module.types.tuple(&params);
    Some(module.types.tuple(&[ret, grads]))
}

/// The operators that fill a tensor: of a shape, and like another.
type Fill = (&'static OpDef, &'static OpDef);

const WITH_ZEROS: Fill = (&ZEROS, &ZEROS_LIKE);
const WITH_ONES: Fill = (&ONES, &ONES_LIKE);

/// Zeros or ones of a type: like a tensor, and of the shapes of the tensors of a tuple.
fn filled_like(module: &mut Module, value: ExprId, fill: Fill) -> Result<ExprId, Stop> {
    let (span, ty) = (module.exprs[value].span, module.ty(value));
    if module.types.as_tensor(ty).is_some() {
        return Ok(op(module, span, fill.1, &[value]));
    }
    filled(module, span, ty, fill)
}

fn filled(module: &mut Module, span: Span, ty: Ty, fill: Fill) -> Result<ExprId, Stop> {
    if let Some((shape, dtype)) = module.types.as_tensor(ty) {
        let shape: Option<Vec<i64>> = shape.iter().map(|dim| dim.value()).collect();
        let shape = shape.ok_or("a tuple has a tensor of dynamic shape")?;
        let set = [("shape", AttrValue::ints(&shape)), ("dtype", AttrValue::DType(Some(dtype)))];
        let attrs = fill.0.attrs.map_or(vec![], |schema| schema.values(&set));
        return Ok(call(module, span, fill.0, &[], attrs));
    }
    let fields = module.types.as_tuple(ty).map(<[Ty]>::to_vec).ok_or("a value is neither a tensor nor a tuple of tensors")?;
    let fields: Result<Vec<ExprId>, Stop> = fields.into_iter().map(|ty| filled(module, span, ty, fill)).collect();
    Ok(tuple(module, span, &fields?))
}

/// A call of an operator without attributes.
fn op(module: &mut Module, span: Span, def: &'static OpDef, args: &[ExprId]) -> ExprId {
    let attrs = def.attrs.map_or(vec![], |schema| schema.values(&[]));
    call(module, span, def, args, attrs)
}

fn field(module: &mut Module, tuple: ExprId, index: usize) -> ExprId {
    project(module, module.exprs[tuple].span, tuple, index)
}

fn pair(module: &mut Module, first: ExprId, second: ExprId) -> ExprId {
    tuple(module, module.exprs[first].span, &[first, second])
}

fn ref_new(module: &mut Module, value: ExprId) -> ExprId {
    let ty = module.ty(value);
    let ty = module.types.intern(TyData::Ref(ty));
    typed(module, module.exprs[value].span, ExprKind::RefNew(value), ty)
}

fn ref_read(module: &mut Module, cell: ExprId) -> ExprId {
    let ty = match module.types.data(module.ty(cell)) {
        TyData::Ref(ty) => *ty,
        _ => Ty::ERROR,
    };
    typed(module, module.exprs[cell].span, ExprKind::RefRead(cell), ty)
}

fn ref_write(module: &mut Module, cell: ExprId, value: ExprId) -> ExprId {
    let unit = module.types.tuple(&[]);
    typed(module, module.exprs[cell].span, ExprKind::RefWrite { cell, value }, unit)
}
