//! Converts elementwise arithmetic: binary with broadcasting, unary, and variadic.

use super::super::build::Val;
use super::super::cx::{Cx, Result, Results};
use super::super::errors::Refusal;
use super::building_blocks::{binary, unary};
use super::{Converter, op};
use relayc_ir::types::DType;

/// Combines any number of operands by a binary Relay operator.
fn chain(cx: &mut Cx, relay: &str) -> Result {
    let operands = cx.all_inputs()?;
    let (&first, rest) = operands.split_first().ok_or_else(|| Refusal::wrong("it has no operand"))?;
    rest.iter().try_fold(first, |so_far, &operand| cx.binary(relay, so_far, operand))
}

/// The exponent may have another dtype than the base, whose dtype the result has. Integers with a known exponent are
/// multiplied; other integer powers are computed in float64.
fn pow(cx: &mut Cx) -> Results {
    let (base, exponent) = (cx.input(0)?, cx.input(1)?);
    let dtype = cx.dtype(base)?;
    if dtype.is_float() {
        let exponent = cx.cast(exponent, dtype)?;
        return Ok(vec![cx.binary("power", base, exponent)?]);
    }
    if let Some(times) = small_exponent(cx, base, exponent)? {
        return Ok(vec![multiplied(cx, base, times)?]);
    }
    let (base, exponent) = (cx.cast(base, DType::F64)?, cx.cast(exponent, DType::F64)?);
    let power = cx.binary("power", base, exponent)?;
    Ok(vec![cx.cast(power, dtype)?])
}

/// The exponent, if it is a known number of at most [`MAX_EXPONENT`] that does not change the base's shape.
fn small_exponent(cx: &Cx, base: Val, exponent: Val) -> Result<Option<u32>> {
    if cx.rank(exponent)? > cx.rank(base)? {
        return Ok(None);
    }
    Ok(match cx.known(exponent).map(|known| known.to_f64s()).as_deref() {
        Some(&[times]) => (0..=MAX_EXPONENT).find(|&n| f64::from(n) == times),
        _ => None,
    })
}

/// Maximum exponent: no 64-bit integer other than -1, 0 and 1 has a greater power.
const MAX_EXPONENT: u32 = 63;

/// `x` to the power of `times`, by repeated squaring.
fn multiplied(cx: &mut Cx, x: Val, times: u32) -> Result {
    let mut product = None;
    for bit in (0..u32::BITS.saturating_sub(times.leading_zeros())).rev() {
        let square = product.map(|product| cx.binary("multiply", product, product)).transpose()?;
        product = match (square, times.checked_shr(bit).unwrap_or(0) % 2 == 1) {
            (Some(square), true) => Some(cx.binary("multiply", square, x)?),
            (None, true) => Some(x),
            (square, false) => square,
        };
    }
    match product {
        Some(product) => Ok(product),
        None => cx.unary("ones_like", x),
    }
}

fn reciprocal(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let dtype = cx.dtype(x)?;
    let one = cx.scalar(dtype, 1.0)?;
    Ok(vec![cx.binary("divide", one, x)?])
}

/// Rounds halves to even.
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

/// Unsigned numbers stay unchanged.
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

pub(crate) const FAMILY: &[Converter] = &[
    op("Abs", &[6, 13], abs),
    op("Acos", &[7, 22], |cx| unary(cx, "acos")),
    op("Acosh", &[9, 22], |cx| unary(cx, "acosh")),
    op("Add", &[7, 13, 14], |cx| binary(cx, "add")),
    op("Asin", &[7, 22], |cx| unary(cx, "asin")),
    op("Asinh", &[9, 22], |cx| unary(cx, "asinh")),
    op("Atan", &[7, 22], |cx| unary(cx, "atan")),
    op("Atanh", &[9, 22], |cx| unary(cx, "atanh")),
    op("Ceil", &[6, 13], |cx| unary(cx, "ceil")),
    op("Cos", &[7, 22], |cx| unary(cx, "cos")),
    op("Cosh", &[9, 22], |cx| unary(cx, "cosh")),
    op("Div", &[7, 13, 14], |cx| binary(cx, "divide")),
    op("Erf", &[9, 13], |cx| unary(cx, "erf")),
    op("Exp", &[6, 13], |cx| unary(cx, "exp")),
    op("Floor", &[6, 13], |cx| unary(cx, "floor")),
    op("Log", &[6, 13], |cx| unary(cx, "log")),
    op("Max", &[6, 8, 12, 13], |cx| all(cx, "maximum")),
    op("Mean", &[6, 8, 13], mean),
    op("Min", &[6, 8, 12, 13], |cx| all(cx, "minimum")),
    op("Mul", &[7, 13, 14], |cx| binary(cx, "multiply")),
    op("Neg", &[6, 13], |cx| unary(cx, "negative")),
    op("Pow", &[7, 12, 13, 15], pow).but("powers of integers beyond 2^53, where the exponent is none that is known and below 64"),
    op("Reciprocal", &[6, 13], reciprocal),
    op("Round", &[11, 22], round),
    op("Sign", &[9, 13], |cx| unary(cx, "sign")).but("NaN, whose sign is 0"),
    op("Sin", &[7, 22], |cx| unary(cx, "sin")),
    op("Sinh", &[9, 22], |cx| unary(cx, "sinh")),
    op("Sqrt", &[6, 13], |cx| unary(cx, "sqrt")),
    op("Sub", &[7, 13, 14], |cx| binary(cx, "subtract")),
    op("Sum", &[6, 8, 13], |cx| all(cx, "add")),
    op("Tan", &[7, 22], |cx| unary(cx, "tan")),
];
