//! Arithmetic, element by element: of two tensors that broadcast, of one, and of any number.

use super::super::build::Val;
use super::super::cx::{Cx, Result, Results};
use super::super::errors::Refusal;
use super::{Converter, op};
use crate::types::DType;

/// A call of a Relay operator on two operands.
fn two(cx: &mut Cx, relay: &str) -> Results {
    let (a, b) = (cx.input(0)?, cx.input(1)?);
    Ok(vec![cx.binary(relay, a, b)?])
}

/// A call of a Relay operator on one operand.
fn one(cx: &mut Cx, relay: &str) -> Results {
    let x = cx.input(0)?;
    Ok(vec![cx.unary(relay, x)?])
}

/// Operands of any number, put together by a Relay operator of two.
fn chain(cx: &mut Cx, relay: &str) -> Result {
    let operands = cx.all_inputs()?;
    let (&first, rest) = operands.split_first().ok_or_else(|| Refusal::wrong("it has no operand"))?;
    rest.iter().try_fold(first, |so_far, &operand| cx.binary(relay, so_far, operand))
}

/// The exponent may be of another dtype than the base, whose dtype the result has; powers of integers are computed in floats.
fn pow(cx: &mut Cx) -> Results {
    let (base, exponent) = (cx.input(0)?, cx.input(1)?);
    let dtype = cx.dtype(base)?;
    let exponent_dtype = cx.dtype(exponent)?;
    let wide = match (dtype.is_float(), exponent_dtype.is_float()) {
        (true, _) => dtype,
        (false, true) => exponent_dtype,
        (false, false) => DType::F64,
    };
    let (base, exponent) = (cx.cast(base, wide)?, cx.cast(exponent, wide)?);
    let power = cx.binary("power", base, exponent)?;
    Ok(vec![cx.cast(power, dtype)?])
}

fn reciprocal(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let dtype = cx.dtype(x)?;
    let one = cx.scalar(dtype, 1.0)?;
    Ok(vec![cx.binary("divide", one, x)?])
}

/// Halves are rounded to even numbers.
fn round(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    Ok(vec![cx.round_even(x)?])
}

fn mean(cx: &mut Cx) -> Results {
    let sum = chain(cx, "add")?;
    let dtype = cx.dtype(sum)?;
    let n = cx.scalar(dtype, f64::from(u32::try_from(cx.inputs.len()).unwrap_or(u32::MAX)))?;
    Ok(vec![cx.binary("divide", sum, n)?])
}

/// Unsigned numbers stay what they are.
fn abs(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let dtype = cx.dtype(x)?;
    match dtype.is_float() || [DType::I8, DType::I16, DType::I32, DType::I64].contains(&dtype) {
        true => Ok(vec![cx.unary("abs", x)?]),
        false => Ok(vec![x]),
    }
}

fn all(cx: &mut Cx, relay: &str) -> Results {
    chain(cx, relay).map(|value: Val| vec![value])
}

pub const FAMILY: &[Converter] = &[
    op("Abs", &[6, 13], abs),
    op("Acos", &[7, 22], |cx| one(cx, "acos")),
    op("Acosh", &[9, 22], |cx| one(cx, "acosh")),
    op("Add", &[7, 13, 14], |cx| two(cx, "add")),
    op("Asin", &[7, 22], |cx| one(cx, "asin")),
    op("Asinh", &[9, 22], |cx| one(cx, "asinh")),
    op("Atan", &[7, 22], |cx| one(cx, "atan")),
    op("Atanh", &[9, 22], |cx| one(cx, "atanh")),
    op("Ceil", &[6, 13], |cx| one(cx, "ceil")),
    op("Cos", &[7, 22], |cx| one(cx, "cos")),
    op("Cosh", &[9, 22], |cx| one(cx, "cosh")),
    op("Div", &[7, 13, 14], |cx| two(cx, "divide")),
    op("Erf", &[9, 13], |cx| one(cx, "erf")),
    op("Exp", &[6, 13], |cx| one(cx, "exp")),
    op("Floor", &[6, 13], |cx| one(cx, "floor")),
    op("Log", &[6, 13], |cx| one(cx, "log")),
    op("Max", &[6, 8, 12, 13], |cx| all(cx, "maximum")),
    op("Mean", &[6, 8, 13], mean),
    op("Min", &[6, 8, 12, 13], |cx| all(cx, "minimum")),
    op("Mul", &[7, 13, 14], |cx| two(cx, "multiply")),
    op("Neg", &[6, 13], |cx| one(cx, "negative")),
    op("Pow", &[7, 12, 13, 15], pow),
    op("Reciprocal", &[6, 13], reciprocal),
    op("Round", &[11, 22], round),
    op("Sign", &[9, 13], |cx| one(cx, "sign")),
    op("Sin", &[7, 22], |cx| one(cx, "sin")),
    op("Sinh", &[9, 22], |cx| one(cx, "sinh")),
    op("Sqrt", &[6, 13], |cx| one(cx, "sqrt")),
    op("Sub", &[7, 13, 14], |cx| two(cx, "subtract")),
    op("Sum", &[6, 8, 13], |cx| all(cx, "add")),
    op("Tan", &[7, 22], |cx| one(cx, "tan")),
];
