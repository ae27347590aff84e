//! Scales and zero points of the elements of a tensor, and the ranges of quantized dtypes.

use crate::prelude::*;

/// Which of some numbers belongs to an element: one for all, or one for each position of an axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    n: usize,
    /// How many elements a position has side by side.
    inner: usize,
}

impl Numbers {
    /// Those of `n` numbers along an axis of a shape, counted from the end where negative.
    pub(crate) fn along(n: usize, shape: &[usize], axis: i64) -> Result<Numbers, Trap> {
        if n == 1 {
            return Ok(Numbers { n, inner: 1 });
        }
        let at = if axis < 0 { axis + shape.len() as i64 } else { axis };
        match usize::try_from(at).ok().filter(|&at| shape.get(at) == Some(&n)) {
            Some(at) => Ok(Numbers { n, inner: shape[at + 1..].iter().product() }),
            None => Err(Trap::new(codes::E0506, format!("{n} scales or zero points for axis {axis} of the shape {shape:?}"))),
        }
    }

    /// The number of element `i` in row-major order.
    pub(crate) fn at(self, i: usize) -> usize {
        i / self.inner % self.n
    }
}

/// The least and the greatest number of a quantized dtype.
pub(super) fn range(dtype: DType) -> (i32, i32) {
    match dtype {
        DType::I8 => (i8::MIN.into(), i8::MAX.into()),
        DType::U8 => (0, u8::MAX.into()),
        DType::I16 => (i16::MIN.into(), i16::MAX.into()),
        DType::U16 => (0, u16::MAX.into()),
        _ => (i32::MIN, i32::MAX),
    }
}

/// An int32 tensor limited to the range of a dtype and converted to it.
pub(super) fn limited(tensor: Tensor, dtype: DType) -> Tensor {
    if dtype == DType::I32 {
        return tensor;
    }
    let (least, greatest) = range(dtype);
    let limited = tensor.map(|x| x, |x| x.clamp(least.into(), greatest.into()));
    limited.cast(dtype).expect("a quantized dtype")
}
