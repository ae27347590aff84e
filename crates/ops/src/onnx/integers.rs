//! Arithmetic on integers that ONNX has no operator for.

use super::{OnnxCx, ValueId};
use relayc_ir::kernel::FixedPoint;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::DType;

/// How a product with a [`FixedPoint`] is computed and rounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Product {
    /// As [`FixedPoint::times`].
    OfOne,
    /// As [`FixedPoint::times_of_several`].
    OfSeveral,
    /// As [`FixedPoint::times_to_nearest`].
    ToNearest,
}

impl OnnxCx<'_> {
    /// The bits of an integer moved down by less than its width, filled with the sign: `(x - x mod 2^by) / 2^by`, which is exact.
    pub(crate) fn moved_down(&mut self, x: ValueId, dtype: DType, by: &Tensor) -> Result<ValueId, String> {
        let power = |&by: &i128| u32::try_from(by).ok().filter(|&by| by < 63).map_or(0, |by| 1i64 << by);
        let powers = Tensor::from_vec(by.shape(), by.to_ints().iter().map(power).collect::<Vec<i64>>());
        // A power that is no number of the dtype is none of the powers, nor is 0.
        let fits =
            |divisors: &Tensor| divisors.to_ints() == powers.to_ints() && divisors.to_ints().iter().all(|&power| power > 0);
        let divisors = powers.cast(dtype).filter(fits);
        let divisors = divisors.ok_or_else(|| format!("a shift by the width of `{dtype}`"))?;
        let divisor = self.constant("power", divisors);
        let rest = self.node("Mod", &[x, divisor]).one();
        let whole = self.node("Sub", &[x, rest]).one();
        Ok(self.node("Div", &[whole, divisor]).one())
    }

    /// An int32 tensor times fixed-point numbers, which are a tensor of `shape` and broadcast with it.
    pub(crate) fn multiplied(&mut self, x: ValueId, by: &[FixedPoint], shape: &[usize], how: Product) -> Result<ValueId, String> {
        if let (&[one], Product::OfOne) = (by, how)
            && one.multiplier == 1 << 30
        {
            return self.times_power(x, i64::from(one.shift).saturating_sub(1));
        }
        let parts: Vec<[i64; 3]> = by.iter().map(|by| steps(*by)).collect();
        let numbers = |part: usize| Tensor::from_vec(shape, parts.iter().map(|parts| parts[part]).collect::<Vec<i64>>());
        let (multiplier, half, places) = (numbers(0), numbers(1), numbers(2));
        let wide = self.cast(x, DType::I32, DType::I64)?;
        let multiplier = self.constant("multiplier", multiplier);
        let product = self.node("Mul", &[wide, multiplier]).one();
        let half = self.constant("half", half);
        let mut sum = self.node("Add", &[product, half]).one();
        if how == Product::ToNearest {
            let zero = self.scalar("zero", DType::I64, 0.0)?;
            let below = self.node("Less", &[product, zero]).one();
            let below = self.cast(below, DType::BOOL, DType::I64)?;
            sum = self.node("Sub", &[sum, below]).one();
        }
        let result = self.moved_down(sum, DType::I64, &places)?;
        self.cast(result, DType::I64, DType::I32)
    }

    /// An int32 tensor times a power of two, halves rounded up.
    fn times_power(&mut self, x: ValueId, exponent: i64) -> Result<ValueId, String> {
        let number = |power: i64| Tensor::scalar(1i32.wrapping_shl(power as u32));
        match exponent {
            0 => Ok(x),
            left @ 1..32 => {
                let power = self.constant("power", number(left));
                Ok(self.node("Mul", &[x, power]).one())
            }
            right @ -31..0 => {
                let half = self.constant("half", number(-right - 1));
                let sum = self.node("Add", &[x, half]).one();
                let wide = self.cast(sum, DType::I32, DType::I64)?;
                let result = self.moved_down(wide, DType::I64, &Tensor::scalar(-right))?;
                self.cast(result, DType::I64, DType::I32)
            }
            _ => {
                let zero = self.scalar("zero", DType::I32, 0.0)?;
                Ok(self.node("Mul", &[x, zero]).one())
            }
        }
    }
}

/// What to multiply with, what to add, and by how many places to move down: in wrapping int64, the shift to the left is part of the
/// multiplier. Shifts that leave nothing are a product with 0.
fn steps(by: FixedPoint) -> [i64; 3] {
    let shift = i64::from(by.shift);
    let (left, places) = (shift.max(0), (-shift).max(0).saturating_add(31));
    match (u32::try_from(left), places) {
        (Ok(left @ 0..64), 1..63) => [i64::from(by.multiplier).wrapping_shl(left), 1 << (places - 1), places],
        _ => [0, 0, 1],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_those_of_a_product() {
        for number in [0.0, 0.1, 0.7, 1.7, -0.3, 200.0, 1e9, 1e-9, 1e-12, 1e-30, -1.0] {
            let by = FixedPoint::of(number).expect("finite");
            let [multiplier, half, places] = steps(by);
            for x in [i32::MIN, -1000, -1, 0, 1, 7, 1000, i32::MAX] {
                let product = i64::from(x).wrapping_mul(multiplier);
                assert_eq!((product.wrapping_add(half) >> places) as i32, by.times_of_several(x), "{x} * {number}");
            }
        }
    }
}
