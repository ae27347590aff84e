//! The types that a model declares for its values.

use super::super::proto::TypeProto;
use super::tensors::dtype_of;
use relayc_ir::types::{DType, Dim, MAX_RANK};

/// The dimensions and the dtype that a type declares; no dimensions where it does not say how many. Errors: why Relay has no
/// such type.
pub(crate) fn declared(ty: Option<&TypeProto>) -> Result<(Option<Vec<Dim>>, DType), String> {
    let Some(ty) = ty else { return Err("the model does not say its type".to_owned()) };
    let Some(tensor) = &ty.tensor_type else {
        return Err(match ty {
            TypeProto { sequence_type: Some(_), .. } => "a sequence, which Relay does not have".to_owned(),
            TypeProto { map_type: Some(_), .. } => "a map, which Relay does not have".to_owned(),
            TypeProto { optional_type: Some(_), .. } => "an optional value, which Relay does not have".to_owned(),
            TypeProto { sparse_tensor_type: Some(_), .. } => "a sparse tensor, which Relay does not have".to_owned(),
            _ => "the model does not say its type".to_owned(),
        });
    };
    let dtype = dtype_of(tensor.elem_type.unwrap_or(0))?;
    let Some(shape) = &tensor.shape else { return Ok((None, dtype)) };
    if shape.dim.len() > MAX_RANK {
        return Err(format!("a rank above {MAX_RANK}"));
    }
    let dim = |dim: &super::super::proto::DimensionProto| match dim.dim_value {
        Some(value) if value >= 0 => Dim::known(value),
        _ => Dim::Any,
    };
    Ok((Some(shape.dim.iter().map(dim).collect()), dtype))
}

/// All dimensions of a declared type, if it says them.
pub(crate) fn static_dims(ty: &TypeProto) -> Option<Vec<i64>> {
    let shape = ty.tensor_type.as_ref()?.shape.as_ref()?;
    shape.dim.iter().map(|dim| dim.dim_value.filter(|&value| value >= 0)).collect()
}
