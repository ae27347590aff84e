//! Converts calls to the form that declarations in `ops` expect: with known shapes.

use super::not_compiled::NotCompiled;
use relayc_ir::Module;
use relayc_ir::types::{Ty, can_be_held, dims_of};
use relayc_ops::lower::Tensor;

/// The tensors of a type, with the fields of a tuple in order.
pub(crate) fn tensors(module: &Module, ty: Ty) -> Result<Vec<Tensor>, NotCompiled> {
    if let Some(fields) = module.types.as_tuple(ty) {
        return fields.iter().map(|&field| tensor(module, field)).collect();
    }
    Ok(vec![tensor(module, ty)?])
}

/// The tensor that a type describes.
pub(crate) fn tensor(module: &Module, ty: Ty) -> Result<Tensor, NotCompiled> {
    let (shape, dtype) = module.types.as_tensor(ty).ok_or(NotCompiled::NoTensor)?;
    let dims = dims_of(shape).ok_or(NotCompiled::UnknownShape)?;
    if !can_be_held(&dims) {
        return Err(NotCompiled::TooLarge);
    }
    let shape = dims.into_iter().map(u64::try_from).collect::<Result<Vec<_>, _>>().map_err(|_| NotCompiled::UnknownShape)?;
    Ok(Tensor { shape, dtype })
}
