//! Converts integers of one scale and zero point to another.

use super::RequantizeAttrs;
use super::numbers::{Numbers, limited};
use crate::prelude::*;
use relayc_ir::kernel::FixedPoint;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rounding {
    Upward,
    /// Rounds halves away from zero.
    ToNearest,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Compute {
    Int64,
    Float32,
    Float64,
}

/// The scale and the zero point of a result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Output {
    pub(crate) scale: f32,
    pub(crate) zero_point: i32,
}

/// A quotient of scales, as it is multiplied with.
#[derive(Clone, Copy, Debug)]
enum Factor {
    Fixed(FixedPoint),
    F32(f32),
    F64(f64),
}

/// How one element is requantized.
struct Requantizer {
    factors: Vec<Factor>,
    /// Whether there may be several factors, for which TVM has other steps than for one.
    several: bool,
    rounding: Rounding,
    zero_point: i32,
}

pub(super) fn requantize_eval(cx: &EvalCx) -> EvalResult {
    let attrs = RequantizeAttrs::read(cx.attrs);
    let rounding = if attrs.rounding == "TONEAREST" { Rounding::ToNearest } else { Rounding::Upward };
    let compute = match attrs.compute_dtype.as_str() {
        "float32" => Compute::Float32,
        "float64" => Compute::Float64,
        _ => Compute::Int64,
    };
    let (data, output) = (cx.tensor(0), Output::of(cx, 3));
    let requantizer = Requantizer::new(cx.tensor(1), output, rounding, compute)?;
    Ok(limited(requantizer.all(data, cx.tensor(2), attrs.axis)?, cx.out_dtype()).into())
}

/// Requantizes with the operator's default attributes, to int32 without clamping.
pub(super) fn to_int32(data: &Tensor, scales: &Tensor, zero_points: &Tensor, axis: i64, output: Output) -> Result<Tensor, Trap> {
    Requantizer::new(scales, output, Rounding::Upward, Compute::Int64)?.all(data, zero_points, axis)
}

impl Output {
    /// The scale and zero point of operands `arg` and the next, which are scalars.
    pub(crate) fn of(cx: &EvalCx, arg: usize) -> Output {
        Output { scale: cx.tensor(arg).to_f64s()[0] as f32, zero_point: cx.tensor(arg + 1).to_ints()[0] as i32 }
    }
}

impl Requantizer {
    fn new(scales: &Tensor, output: Output, rounding: Rounding, compute: Compute) -> Result<Requantizer, Trap> {
        if output.scale == 0.0 {
            return Err(Trap::new(codes::E0506, "an output scale of 0"));
        }
        let factor = |scale: f64| {
            let quotient = scale / f64::from(output.scale);
            match compute {
                Compute::Int64 => FixedPoint::of(quotient).map(Factor::Fixed).ok_or_else(|| {
                    Trap::new(codes::E0506, format!("scales of {scale} and {}, whose quotient is not finite", output.scale))
                }),
                Compute::Float32 => Ok(Factor::F32(quotient as f32)),
                Compute::Float64 => Ok(Factor::F64(quotient)),
            }
        };
        let factors: Result<Vec<Factor>, Trap> = scales.to_f64s().into_iter().map(factor).collect();
        Ok(Requantizer { factors: factors?, several: scales.rank() > 0, rounding, zero_point: output.zero_point })
    }

    /// Every element; the factors and the zero points run along an axis.
    fn all(&self, data: &Tensor, zero_points: &Tensor, axis: i64) -> Result<Tensor, Trap> {
        let shape = data.shape();
        let factor = Numbers::along(self.factors.len(), shape, axis)?;
        let zero_point = Numbers::along(zero_points.len(), shape, axis)?;
        let zero_points = zero_points.to_ints();
        let element =
            |(i, x): (usize, i128)| self.element(x as i64, zero_points[zero_point.at(i)] as i32, self.factors[factor.at(i)]);
        Ok(Tensor::from_vec(shape, data.to_ints().into_iter().enumerate().map(element).collect()))
    }

    fn element(&self, x: i64, zero_point: i32, factor: Factor) -> i32 {
        match factor {
            Factor::Fixed(by) => {
                let x = (x as i32).wrapping_sub(zero_point);
                let scaled = match self.rounding {
                    Rounding::Upward if self.several => by.times_of_several(x),
                    Rounding::Upward => by.times(x),
                    Rounding::ToNearest => by.times_to_nearest(x),
                };
                scaled.wrapping_add(self.zero_point)
            }
            // Float to integer saturates.
            Factor::F32(by) => {
                let y = (x as f32 - zero_point as f32) * by + self.zero_point as f32;
                (if self.rounding == Rounding::Upward { (y + 0.5).floor() } else { y.round() }) as i32
            }
            Factor::F64(by) => {
                let y = (x as f64 - f64::from(zero_point)) * by + f64::from(self.zero_point);
                (if self.rounding == Rounding::Upward { (y + 0.5).floor() } else { y.round() }) as i32
            }
        }
    }
}

/// As [`to_int32`], clamped to the range of a dtype and converted to it.
pub(super) fn to_dtype(
    data: &Tensor,
    scales: &Tensor,
    zero_points: &Tensor,
    axis: i64,
    output: Output,
    dtype: DType,
) -> Result<Tensor, Trap> {
    Ok(limited(to_int32(data, scales, zero_points, axis, output)?, dtype))
}

#[cfg(test)]
mod tests {
    use super::super::REQUANTIZE;
    use super::*;
    use crate::trial::{Trial, call};
    use relayc_ir::attrs::AttrValue;

    fn requantize(dtype: DType, rounding: &str, compute: &str) -> Trial {
        let trial = call(&REQUANTIZE).attr("out_dtype", AttrValue::DType(Some(dtype)));
        trial.text("rounding", rounding).text("compute_dtype", compute)
    }

    fn of(trial: &Trial, data: &[i32], scale: f32, zero: i32, out_scale: f32, out_zero: i32) -> Vec<f64> {
        let data = Tensor::from_vec(&[data.len()], data.to_vec());
        let numbers = [Tensor::scalar(scale), Tensor::scalar(zero), Tensor::scalar(out_scale), Tensor::scalar(out_zero)];
        trial.values(&[&data, &numbers[0], &numbers[1], &numbers[2], &numbers[3]])
    }

    #[test]
    fn halves_go_up_or_away_from_zero() {
        for compute in ["None", "int64", "float32", "float64"] {
            let halves = [-5, -3, -1, 1, 3, 5];
            let up = requantize(DType::I8, "UPWARD", compute);
            assert_eq!(of(&up, &halves, 0.5, 0, 1.0, 0), [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0], "{compute}");
            let away = requantize(DType::I8, "TONEAREST", compute);
            assert_eq!(of(&away, &halves, 0.5, 0, 1.0, 0), [-3.0, -2.0, -1.0, 1.0, 2.0, 3.0], "{compute}");
        }
        // The output's zero point is added before floats are rounded, and after integers are.
        assert_eq!(of(&requantize(DType::I8, "TONEAREST", "float32"), &[-1], 0.5, 0, 1.0, 4), [4.0]);
        assert_eq!(of(&requantize(DType::I8, "TONEAREST", "int64"), &[-1], 0.5, 0, 1.0, 4), [3.0]);
    }

    #[test]
    fn results_are_limited() {
        for compute in ["int64", "float32", "float64"] {
            let to = |dtype| requantize(dtype, "None", compute);
            assert_eq!(of(&to(DType::U8), &[-7, 300, 10], 1.0, 0, 1.0, 5), [0.0, 255.0, 15.0], "{compute}");
            assert_eq!(of(&to(DType::I16), &[40_000, -40_000], 1.0, 0, 1.0, 0), [32767.0, -32768.0], "{compute}");
            assert_eq!(of(&to(DType::I8), &[1000], 1e-30, 0, 1e8, 3), [3.0], "{compute}");
        }
    }

    #[test]
    fn scales_that_have_no_quotient_trap() {
        let data = Tensor::scalar(1i32);
        let eval = |scale: f32, out: f32| {
            let numbers = [Tensor::scalar(scale), Tensor::scalar(0i32), Tensor::scalar(out), Tensor::scalar(0i32)];
            requantize(DType::I8, "None", "None").eval(&[&data, &numbers[0], &numbers[1], &numbers[2], &numbers[3]])
        };
        assert_eq!(eval(1.0, 0.0).expect_err("a trap").code, codes::E0506);
        assert_eq!(eval(f32::NAN, 1.0).expect_err("a trap").code, codes::E0506);
        assert!(eval(0.0, 1.0).is_ok());
    }
}
