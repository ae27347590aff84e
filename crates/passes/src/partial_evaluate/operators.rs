//! Operators on known operands, and patterns on known values.

use super::super::PassCx;
use super::super::fold_constants::concrete;
use super::values::{FieldsId, Heap, Known, Value};
use relayc_base::Span;
use relayc_ir::{AttrsId, ExprId, Module, OpId, PatId, PatKind, Pats, VarId};
use relayc_ops::call::{constant, tuple};
use relayc_ops::eval::{ArgValue, EvalCx, OutTy, Outputs};

/// The result of an operator on known operands, if it has at most so many bytes.
pub(super) fn compute(
    cx: &PassCx,
    module: &mut Module,
    heap: &Heap,
    span: Span,
    op: OpId,
    (args, attrs): (&[Value], Option<AttrsId>),
    max_bytes: u64,
) -> Option<Outputs> {
    let def = cx.ops.def(op);
    let attrs = attrs.map_or(vec![], |attrs| module.attrs[attrs].values.to_vec());
    if def.internal || def.random || attrs.iter().any(|value| value.named_size().is_some()) {
        return None;
    }
    let values: Vec<ArgValue> = args.iter().map(|arg| arg_value(heap, arg)).collect::<Option<_>>()?;
    let operands: Vec<ExprId> = values.iter().map(|value| written(module, span, value)).collect();
    let ty = cx.call_ty(module, def, &operands, &attrs)?;
    let out = concrete(&module.types, ty).unwrap_or_default();
    let bytes = |out: &OutTy| out.shape.iter().try_fold(out.dtype.bytes(), |n, &dim| n.checked_mul(dim as u64));
    if out.iter().map(bytes).sum::<Option<u64>>()? > max_bytes {
        return None;
    }
    (def.eval)(&EvalCx { args: &values, attrs: &attrs, out: &out, max_bytes }).ok()
}

/// A value as the operand of an operator, if it is known.
fn arg_value(heap: &Heap, value: &Value) -> Option<ArgValue> {
    let tensor = |value: &Value| match &value.known {
        Some(Known::Tensor(tensor)) => Some(tensor.clone()),
        _ => None,
    };
    match &value.known {
        Some(Known::Tuple(fields)) => heap.fields[*fields].iter().map(tensor).collect::<Option<Vec<_>>>().map(ArgValue::Tuple),
        _ => tensor(value).map(ArgValue::Tensor),
    }
}

/// An operand as constants, for its type.
fn written(module: &mut Module, span: Span, value: &ArgValue) -> ExprId {
    match value {
        ArgValue::Tensor(tensor) => constant(module, span, tensor.clone()),
        ArgValue::Tuple(tensors) => {
            let fields: Vec<ExprId> = tensors.iter().map(|tensor| constant(module, span, tensor.clone())).collect();
            tuple(module, span, &fields)
        }
    }
}

/// Whether a value matches a pattern, and what that binds; `None` if too little is known.
pub(super) fn matches(module: &Module, heap: &Heap, pat: PatId, value: &Value, bound: &mut Vec<(VarId, Value)>) -> Option<bool> {
    let inside = |pats: Pats, fields: FieldsId| module.sub_pats(pats).iter().copied().zip(heap.fields[fields].iter().cloned());
    let mut left = vec![(pat, value.clone())];
    let mut unknown = false;
    while let Some((pat, value)) = left.pop() {
        match module.pats[pat].kind {
            PatKind::Error => unknown = true,
            PatKind::Wildcard => {}
            PatKind::Var(var) => bound.push((var, value)),
            PatKind::Ctor(ctor, pats) => match value.known {
                Some(Known::Data(found, _)) if found != ctor => return Some(false),
                Some(Known::Data(_, fields)) => left.extend(inside(pats, fields)),
                _ => unknown = true,
            },
            PatKind::Tuple(pats) => match value.known {
                Some(Known::Tuple(fields)) => left.extend(inside(pats, fields)),
                _ => unknown = true,
            },
        }
    }
    (!unknown).then_some(true)
}
