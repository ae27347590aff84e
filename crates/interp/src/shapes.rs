//! Compares the program's types of operands and results with the values.
//!
//! A type may contain `?`, or a number that differs from the value in a way that only a run shows; `?` agrees with every number
//! (language 7.4). So an evaluator gets the program's types only if the values have exactly those. A result that contradicts its
//! type ends the run.

use relayc_base::diag::codes;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{Dim, Ty, Types, dims_of, shape_text};
use relayc_ir::{ExprId, ExprKind, Module};
use relayc_ops::eval::{ArgValue, OutTy, Outputs, Trap};

/// The types the program gives the operands of a call.
pub(crate) fn operand_types(module: &Module, call: ExprId) -> impl Iterator<Item = Ty> {
    let args = match &module.exprs[call].kind {
        ExprKind::Call { args, .. } => module.items(*args),
        _ => &[],
    };
    args.iter().map(|arg| module.ty(arg.expr))
}

/// Whether every operand has exactly the shape that its type says.
pub(crate) fn as_typed(module: &Module, call: ExprId, args: &[ArgValue]) -> bool {
    let types = &module.types;
    operand_types(module, call).zip(args).all(|(ty, arg)| match arg {
        ArgValue::Tensor(tensor) => has_type(types, ty, tensor),
        ArgValue::Tuple(tensors) => {
            let fields = types.as_tuple(ty).unwrap_or_default();
            fields.len() == tensors.len() && fields.iter().zip(tensors).all(|(&ty, tensor)| has_type(types, ty, tensor))
        }
    })
}

fn has_type(types: &Types, ty: Ty, tensor: &Tensor) -> bool {
    types.as_tensor(ty).is_some_and(|(shape, _)| {
        shape.len() == tensor.rank() && shape.iter().zip(tensor.shape()).all(|(dim, &n)| dim.value() == Some(n as i64))
    })
}

/// The types of the values, for a relation. A dimension known to the program keeps the width of its literal, since some
/// relations' dtypes depend on it.
pub(crate) fn actual_types(module: &Module, call: ExprId, args: &[ArgValue], types: &mut Types) -> Vec<Ty> {
    let tensor_ty = |types: &mut Types, ty: Option<Ty>, tensor: &Tensor| {
        let said = ty.and_then(|ty| module.types.as_tensor(ty)).map_or(&[][..], |(shape, _)| shape);
        let dim = |(axis, &n): (usize, &usize)| Dim::number(n as i64, said.get(axis).is_some_and(|dim| dim.is_wide()));
        let shape: Vec<Dim> = tensor.shape().iter().enumerate().map(dim).collect();
        types.tensor(&shape, tensor.dtype())
    };
    let of = |(ty, arg): (Ty, &ArgValue)| match arg {
        ArgValue::Tensor(tensor) => tensor_ty(types, Some(ty), tensor),
        ArgValue::Tuple(tensors) => {
            let said = module.types.as_tuple(ty).unwrap_or_default();
            let fields = tensors.iter().enumerate().map(|(i, tensor)| tensor_ty(types, said.get(i).copied(), tensor));
            let fields: Vec<Ty> = fields.collect();
            types.tuple(&fields)
        }
    };
    operand_types(module, call).zip(args).map(of).collect()
}

/// The tensors of a result type, if every dimension is known.
pub(crate) fn out_types(types: &Types, ty: Ty) -> Option<Vec<OutTy>> {
    let concrete = |&field: &Ty| {
        let (shape, dtype) = types.as_tensor(field)?;
        let shape: Option<Vec<usize>> = dims_of(shape)?.into_iter().map(|dim| usize::try_from(dim).ok()).collect();
        Some(OutTy { shape: shape?, dtype })
    };
    fields(types, &ty).iter().map(concrete).collect()
}

/// The tensors of a result.
fn fields<'a>(types: &'a Types, ty: &'a Ty) -> &'a [Ty] {
    types.as_tuple(*ty).unwrap_or(std::slice::from_ref(ty))
}

/// The contradiction between a result and its type in the program, if there is one.
pub(crate) fn disagree(types: &Types, ty: Ty, outputs: &Outputs) -> Option<Trap> {
    let tensors = match outputs {
        Outputs::One(tensor) => std::slice::from_ref(tensor),
        Outputs::Tuple(tensors) => tensors,
    };
    let contradicts = |ty: Ty, tensor: &Tensor| {
        let (shape, _) = types.as_tensor(ty)?;
        let fits = |(dim, &n): (&Dim, &usize)| dim.value().is_none_or(|dim| dim == n as i64);
        let agrees = shape.len() == tensor.rank() && shape.iter().zip(tensor.shape()).all(fits);
        let found: Vec<Dim> = tensor.shape().iter().map(|&n| Dim::known(n as i64)).collect();
        (!agrees).then(|| format!("expected a result of shape {}, found {}", types.shape_text(shape), shape_text(&found)))
    };
    let message = fields(types, &ty).iter().zip(tensors).find_map(|(&ty, tensor)| contradicts(ty, tensor))?;
    Some(Trap::new(codes::E0308, message))
}
