//! Operands that hold a shape, axes or positions: vectors of numbers.

use super::rel::{DimOrigin, Fault, RelCx, RelResult, SDim, Shape, TensorTy};
use relayc_ir::types::{DTypeCode, Dim, MAX_RANK};

/// The rule that an operand holds numbers. Floats are cut to integers, as TVM's shape functions do.
pub(crate) fn require_numbers(cx: &RelCx, rule: &'static str, list: &TensorTy) -> RelResult {
    cx.require(rule, !list.dtype.is_bool() && list.dtype.code != DTypeCode::Handle, || {
        Fault::dtype(format!("expected numbers, found `{}`", list.dtype)).at(list.place(), "")
    })
}

/// The rule that an operand is a vector of numbers whose length is known, which is returned.
pub(crate) fn require_list(cx: &RelCx, rule: &'static str, list: &TensorTy) -> RelResult<usize> {
    require_numbers(cx, rule, list)?;
    cx.require(rule, list.rank() == 1, || Fault::rank(1, list))?;
    let length = list.shape[0].value().and_then(|length| usize::try_from(length).ok()).filter(|&length| length <= MAX_RANK);
    cx.require(rule, length.is_some(), || {
        let message = format!("expected a known length of at most {MAX_RANK}, found {}", list.shape[0]);
        Fault::shape(message).at(list.axis(0), "")
    })?;
    Ok(length.unwrap_or(0))
}

/// As many dimensions as only a run knows.
pub(crate) fn unknown(n: usize) -> Shape {
    Shape::from_elem(SDim::new(Dim::Any, DimOrigin::Op), n)
}
