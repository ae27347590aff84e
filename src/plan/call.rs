//! Calls as the declarations of `ops` want them: shapes that are known.

use super::region::NotCompiled;
use crate::ir::Module;
use crate::ops::lower::Tensor;
use crate::types::{Ty, can_be_held, dims_of};

/// The tensors of a type, the fields of a tuple one by one.
pub fn tensors(module: &Module, ty: Ty) -> Result<Vec<Tensor>, NotCompiled> {
    if let Some(fields) = module.types.as_tuple(ty) {
        return fields.iter().map(|&field| tensor(module, field)).collect();
    }
    Ok(vec![tensor(module, ty)?])
}

/// A type that is a tensor's.
pub fn tensor(module: &Module, ty: Ty) -> Result<Tensor, NotCompiled> {
    let (shape, dtype) = module.types.as_tensor(ty).ok_or(NotCompiled::NoTensor)?;
    let dims = dims_of(shape).ok_or(NotCompiled::UnknownShape)?;
    if !can_be_held(&dims) {
        return Err(NotCompiled::TooLarge);
    }
    let shape = dims.into_iter().map(u64::try_from).collect::<Result<Vec<_>, _>>().map_err(|_| NotCompiled::UnknownShape)?;
    Ok(Tensor { shape, dtype })
}
