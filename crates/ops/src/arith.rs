//! Arithmetic on two operands that broadcast. Both operands and the result have one dtype; nothing is promoted.
//!
//! Integers wrap. An integer division by zero traps. The maximum and the minimum of two floats are NaN if either is.

use crate::prelude::*;
use relayc_ir::kernel::Instr;
use relayc_ir::tensor::{float_max, float_min};

/// As [`OpDef::binary`], for functions that divide by the second operand.
const fn division(name: &'static str, doc: &'static str, eval: Eval, lower: LowerScalar) -> OpDef {
    OpDef { lower: Some(Lower::Divided(lower)), ..OpDef::binary(name, doc, eval, lower) }
}

pub const ADD: OpDef = OpDef::binary(
    "add",
    "`lhs + rhs`, broadcast. Integers wrap; on bool it is `or` (`src/relay/op/tensor/binary.cc`).",
    |cx| cx.zip(|x, y| x + y, |x, y| x + y),
    |s| s.numbers(BinaryOp::Add),
);

pub const SUBTRACT: OpDef = OpDef::binary(
    "subtract",
    "`lhs - rhs`, broadcast. Integers wrap (`src/relay/op/tensor/binary.cc`).",
    |cx| cx.zip(|x, y| x - y, |x, y| x - y),
    |s| s.numbers(BinaryOp::Sub),
);

pub const MULTIPLY: OpDef = OpDef::binary(
    "multiply",
    "`lhs * rhs`, broadcast. Integers wrap (`src/relay/op/tensor/binary.cc`).",
    // Wrapping, for two unsigned 64-bit numbers leave i128; the low 64 bits are right all the same.
    |cx| cx.zip(|x, y| x * y, i128::wrapping_mul),
    |s| s.numbers(BinaryOp::Mul),
);

pub const DIVIDE: OpDef = division(
    "divide",
    "`lhs / rhs`, broadcast. Integers round towards zero; a zero divisor traps (`src/relay/op/tensor/binary.cc`).",
    |cx| divided(cx, |x, y| x / y, |x, y| x / y),
    |s| s.divided(BinaryOp::Div, BinaryOp::TruncDiv),
);

pub const TRUNC_DIVIDE: OpDef = division(
    "trunc_divide",
    "`lhs / rhs` rounded towards zero, broadcast; a zero divisor of integers traps (`src/relay/op/tensor/binary.cc`).",
    |cx| divided(cx, |x, y| (x / y).trunc(), |x, y| x / y),
    trunc_divide_scalar,
);

/// The sizes divided downwards, which is exact where a rounded quotient would have reached the next whole number.
fn trunc_divide_scalar(s: &mut Scalar) -> Option<Val> {
    if s.is_float().is_none() {
        return s.divided(BinaryOp::Div, BinaryOp::TruncDiv);
    }
    if s.lane(0)? == ScalarType::F64 {
        let quotient = s.floats(BinaryOp::Div)?;
        return Some(s.body.un(UnaryOp::Trunc, quotient));
    }
    let sign_bit = s.like(0, -0.0)?;
    let signs = s.body.bin(BinaryOp::Xor, s.args[0], s.args[1]);
    let sign = s.body.bin(BinaryOp::And, signs, sign_bit);
    let (x, y) = (s.body.un(UnaryOp::Abs, s.args[0]), s.body.un(UnaryOp::Abs, s.args[1]));
    let size = s.body.bin(BinaryOp::FloorDiv, x, y);
    Some(s.body.bin(BinaryOp::Or, size, sign))
}

pub const FLOOR_DIVIDE: OpDef = division(
    "floor_divide",
    "`lhs / rhs` rounded downwards, broadcast; a zero divisor of integers traps (`src/relay/op/tensor/binary.cc`).",
    |cx| divided(cx, |x, y| (x / y).floor(), floor_div),
    |s| s.divided(BinaryOp::FloorDiv, BinaryOp::FloorDiv),
);

fn floor_div(x: i128, y: i128) -> i128 {
    x / y - i128::from(x % y != 0 && (x < 0) != (y < 0))
}

pub const MOD: OpDef = division(
    "mod",
    "The remainder of `lhs / rhs` rounded towards zero; its sign is `lhs`'s. Broadcast; a zero divisor of integers traps \
     (`src/relay/op/tensor/binary.cc`).",
    |cx| divided(cx, |x, y| x % y, |x, y| x % y),
    |s| s.divided(BinaryOp::Mod, BinaryOp::Mod),
);

pub const TRUNC_MOD: OpDef = OpDef { name: "trunc_mod", ..MOD };

pub const FLOOR_MOD: OpDef = division(
    "floor_mod",
    "The remainder of `lhs / rhs` rounded downwards; its sign is `rhs`'s. Broadcast; a zero divisor of integers traps \
     (`src/relay/op/tensor/binary.cc`).",
    |cx| divided(cx, float_floor_mod, |x, y| x - floor_div(x, y) * y),
    |s| s.divided(BinaryOp::FloorMod, BinaryOp::FloorMod),
);

/// `x - ⌊x/y⌋·y` without its rounding, also where the quotient has more places than a number; NaN for an infinite `y`.
fn float_floor_mod(x: f64, y: f64) -> f64 {
    if y.is_infinite() {
        return f64::NAN;
    }
    let rest = x % y;
    rest + if rest != 0.0 && (rest < 0.0) != (y < 0.0) { y } else { 0.0 }
}

pub const POWER: OpDef = OpDef {
    rules: &[rel::BROADCAST_RULES[0], rel::BROADCAST_RULES[1], "C3: dtype(lhs) is a float"],
    rel: power_rel,
    ..OpDef::binary(
        "power",
        "`lhs` to the power of `rhs`, broadcast (`src/relay/op/tensor/binary.cc`).",
        |cx| cx.zip(f64::powf, |x, _| x),
        |s| power(s).or_else(|| s.floats(BinaryOp::Pow)),
    )
};

/// Expands a power with certain constant exponents to a few operations, within the promised accuracy and equal for special
/// numbers. A square root differs from the power in two cases: it is -0 of -0, and NaN of negative infinity.
fn power(s: &mut Scalar) -> Option<Val> {
    let x = s.args[0];
    let Instr::Const(bits, lane) = s.body.instrs[s.args[1].0 as usize] else { return None };
    let exponent = match lane {
        ScalarType::F32 => f32::from_bits(bits as u32),
        ScalarType::F16 => half::f16::from_bits(bits as u16).to_f32(),
        ScalarType::BF16 => half::bf16::from_bits(bits as u16).to_f32(),
        _ => return None,
    };
    Some(match exponent {
        1.0 => x,
        2.0 => s.body.bin(BinaryOp::Mul, x, x),
        3.0 => {
            let square = s.body.bin(BinaryOp::Mul, x, x);
            s.body.bin(BinaryOp::Mul, square, x)
        }
        -1.0 => {
            let one = s.like(0, 1.0)?;
            s.body.bin(BinaryOp::Div, one, x)
        }
        0.5 => {
            let (zero, low, high) = (s.like(0, 0.0)?, s.like(0, f64::NEG_INFINITY)?, s.like(0, f64::INFINITY)?);
            let without_sign = s.body.bin(BinaryOp::Add, x, zero);
            let root = s.body.un(UnaryOp::Sqrt, without_sign);
            let lowest = s.body.cmp(Cmp::Eq, x, low);
            s.body.select(lowest, high, root)
        }
        _ => return None,
    })
}

fn power_rel(cx: &mut RelCx) -> RelResult {
    let lhs = cx.tensor(0)?;
    rel::broadcast(cx)?;
    rel::require_float(cx, "C3", &lhs)
}

pub const MAXIMUM: OpDef = OpDef::binary(
    "maximum",
    "The larger of `lhs` and `rhs`, broadcast. NaN wins, and -0 < +0 (`src/relay/op/tensor/binary.cc`).",
    |cx| cx.zip(float_max, Ord::max),
    |s| s.numbers(BinaryOp::Max),
);

pub const MINIMUM: OpDef = OpDef::binary(
    "minimum",
    "The smaller of `lhs` and `rhs`, broadcast. NaN wins, and -0 < +0 (`src/relay/op/tensor/binary.cc`).",
    |cx| cx.zip(float_min, Ord::min),
    |s| s.numbers(BinaryOp::Min),
);

/// As [`EvalCx::zip`] for functions that divide by the second operand.
fn divided(cx: &EvalCx, float: impl Fn(f64, f64) -> f64, int: impl Fn(i128, i128) -> i128) -> EvalResult {
    let checked = !cx.out_dtype().is_float() && !cx.out_shape().contains(&0);
    if checked && cx.tensor(1).any(|_| false, |divisor| divisor == 0) {
        return Err(Trap::new(codes::E0502, "integer division by zero"));
    }
    cx.zip(float, int)
}

pub(crate) const ONNX: &[(&str, Onnx)] = &[
    (ADD.name, Onnx::Nodes(|cx| number_onnx(cx, "Add", "Or"))),
    (SUBTRACT.name, Onnx::Nodes(|cx| number_onnx(cx, "Sub", "Xor"))),
    (MULTIPLY.name, Onnx::Nodes(|cx| number_onnx(cx, "Mul", "And"))),
    (DIVIDE.name, Onnx::Nodes(|cx| number_onnx(cx, "Div", "And"))),
    (TRUNC_DIVIDE.name, Onnx::Nodes(trunc_divide_onnx)),
    (FLOOR_DIVIDE.name, Onnx::Nodes(floor_divide_onnx)),
    (MOD.name, Onnx::Nodes(mod_onnx)),
    (TRUNC_MOD.name, Onnx::Nodes(mod_onnx)),
    (FLOOR_MOD.name, Onnx::Nodes(floor_mod_onnx)),
    (POWER.name, Onnx::Node("Pow", DTypeClass::Floats)),
    (MAXIMUM.name, Onnx::Nodes(|cx| number_onnx(cx, "Max", "Or"))),
    (MINIMUM.name, Onnx::Nodes(|cx| number_onnx(cx, "Min", "And"))),
];

/// ONNX computes with numbers only. A bool that is computed is whether the number is not 0: of a sum whether one of the bools is
/// true, of a difference whether they differ, of a product whether both are true, and of a quotient, whose divisor is true, too.
fn number_onnx(cx: &mut OnnxCx, of_numbers: &'static str, of_bools: &'static str) -> OnnxResult {
    let kind = if cx.out_dtype().is_bool() { of_bools } else { of_numbers };
    let operands = [cx.tensor(0), cx.tensor(1)];
    Ok(cx.node(kind, &operands).one().into())
}

/// Integers are divided towards zero by ONNX too.
fn trunc_divide_onnx(cx: &mut OnnxCx) -> OnnxResult {
    DTypeClass::Numbers.require(cx.out_dtype())?;
    let (x, y, dtype) = (cx.tensor(0), cx.tensor(1), cx.out_dtype());
    let quotient = cx.node("Div", &[x, y]).one();
    if dtype.is_float() { Ok(truncated_onnx(cx, quotient).into()) } else { Ok(quotient.into()) }
}

/// Rounds a float of the result's dtype towards zero; a zero keeps its sign.
pub(super) fn truncated_onnx(cx: &mut OnnxCx, x: ValueId) -> ValueId {
    let zero = cx.constant("zero", Tensor::full(cx.out_dtype(), &[], 0.0).expect("a float"));
    let (up, down) = (cx.node("Ceil", &[x]).one(), cx.node("Floor", &[x]).one());
    let below = cx.node("Less", &[x, zero]).one();
    cx.node("Where", &[below, up, down]).one()
}

/// Of integers, the quotient towards zero, less one where the remainders of the two roundings differ.
fn floor_divide_onnx(cx: &mut OnnxCx) -> OnnxResult {
    DTypeClass::Numbers.require(cx.out_dtype())?;
    let (x, y, dtype) = (cx.tensor(0), cx.tensor(1), cx.out_dtype());
    let quotient = cx.node("Div", &[x, y]).one();
    if dtype.is_float() {
        return Ok(cx.node("Floor", &[quotient]).one().into());
    }
    let towards_zero = cx.node("Mod", &[x, y]).int("fmod", 1).one();
    let downwards = cx.node("Mod", &[x, y]).one();
    let same = cx.node("Equal", &[towards_zero, downwards]).one();
    let differ = cx.node("Not", &[same]).one();
    let one = cx.cast(differ, DType::BOOL, dtype)?;
    Ok(cx.node("Sub", &[quotient, one]).one().into())
}

fn mod_onnx(cx: &mut OnnxCx) -> OnnxResult {
    DTypeClass::Numbers.require(cx.out_dtype())?;
    let (x, y) = (cx.tensor(0), cx.tensor(1));
    Ok(cx.node("Mod", &[x, y]).int("fmod", 1).one().into())
}

/// `x - floor(x / y) * y`, which of integers is what ONNX does.
fn floor_mod_onnx(cx: &mut OnnxCx) -> OnnxResult {
    DTypeClass::Numbers.require(cx.out_dtype())?;
    let (x, y) = (cx.tensor(0), cx.tensor(1));
    if !cx.out_dtype().is_float() {
        return Ok(cx.node("Mod", &[x, y]).one().into());
    }
    let quotient = cx.node("Div", &[x, y]).one();
    let floor = cx.node("Floor", &[quotient]).one();
    let whole = cx.node("Mul", &[floor, y]).one();
    Ok(cx.node("Sub", &[x, whole]).one().into())
}

pub(crate) const FAMILY: &[OpDef] =
    &[ADD, SUBTRACT, MULTIPLY, DIVIDE, TRUNC_DIVIDE, FLOOR_DIVIDE, MOD, TRUNC_MOD, FLOOR_MOD, POWER, MAXIMUM, MINIMUM];

#[cfg(test)]
mod tests {
    use super::super::testing::{ANY, eval, rel, t};
    use super::*;
    use relayc_ir::tensor::Tensor;
    use relayc_ir::types::DType;

    fn ints(name: &str, x: &[i8], y: &[i8]) -> Vec<i8> {
        let operands = [Tensor::from_vec(&[x.len()], x.into()), Tensor::from_vec(&[y.len()], y.into())];
        eval(name, &operands, &[]).expect("no trap").to_vec().expect("i8")
    }

    fn floats(name: &str, x: &[f32], y: &[f32]) -> Vec<f32> {
        let operands = [Tensor::from_vec(&[x.len()], x.into()), Tensor::from_vec(&[y.len()], y.into())];
        eval(name, &operands, &[]).expect("no trap").to_vec().expect("f32")
    }

    #[test]
    fn operands_broadcast() {
        let f32 = |shape: &[i64]| t(shape, DType::F32);
        assert_eq!(rel("add", &[f32(&[10, 4]), f32(&[5, 10, 1])], &[]), "Tensor[(5, 10, 4), float32]");
        assert_eq!(rel("add", &[f32(&[ANY, 2]), f32(&[1, 2])], &[]), "Tensor[(?, 2), float32]");
        assert_eq!(rel("add", &[f32(&[ANY]), f32(&[3])], &[]), "Tensor[(3), float32]");
        assert_eq!(rel("add", &[f32(&[2]), f32(&[3])], &[]), "E0304 C2");
        assert_eq!(rel("add", &[f32(&[2]), t(&[2], DType::I32)], &[]), "E0305 C1");
    }

    #[test]
    fn integers_wrap() {
        assert_eq!(ints("add", &[127, -128], &[1, -1]), [-128, 127]);
        assert_eq!(ints("multiply", &[127, -128], &[127, -128]), [1, 0]);
        assert_eq!(ints("divide", &[-128, 7, -7], &[-1, 2, 2]), [-128, 3, -3]);
        let big = Tensor::scalar(u64::MAX);
        assert_eq!(eval("multiply", &[big.clone(), big], &[]).expect("no trap").to_vec::<u64>(), Some(vec![1]));
    }

    #[test]
    fn rounding_of_divisions() {
        assert_eq!(ints("floor_divide", &[7, -7, 7, -7, -128], &[2, 2, -2, -2, -1]), [3, -4, -4, 3, -128]);
        assert_eq!(ints("floor_mod", &[7, -7, 7, -7, -128], &[4, 4, -4, -4, -1]), [3, 1, -1, -3, 0]);
        assert_eq!(ints("mod", &[7, -7, 7, -7, -128], &[4, 4, -4, -4, -1]), [3, -3, 3, -3, 0]);
        assert_eq!(floats("floor_divide", &[-7.0], &[2.0]), [-4.0]);
        assert_eq!(floats("mod", &[-7.5], &[2.0]), [-1.5]);
    }

    #[test]
    fn a_zero_divisor_traps_for_integers_only() {
        let zero = |shape: &[usize]| Tensor::full(DType::I32, shape, 0.0).expect("i32");
        for name in ["divide", "trunc_divide", "floor_divide", "mod", "trunc_mod", "floor_mod"] {
            assert_eq!(eval(name, &[zero(&[2]), zero(&[1])], &[]).expect_err("a trap").code, codes::E0502);
            assert!(eval(name, &[zero(&[0]), zero(&[1])], &[]).is_ok(), "nothing is divided");
        }
        assert_eq!(floats("divide", &[1.0, -1.0], &[0.0, 0.0]), [f32::INFINITY, f32::NEG_INFINITY]);
    }

    #[test]
    fn nan_wins_and_zeros_are_ordered() {
        let bits = |xs: Vec<f32>| xs.into_iter().map(f32::to_bits).collect::<Vec<_>>();
        assert!(floats("maximum", &[f32::NAN, 1.0], &[1.0, f32::NAN]).iter().all(|x| x.is_nan()));
        assert!(floats("minimum", &[f32::NAN, 1.0], &[1.0, f32::NAN]).iter().all(|x| x.is_nan()));
        assert_eq!(bits(floats("maximum", &[-0.0, 0.0], &[0.0, -0.0])), bits(vec![0.0, 0.0]));
        assert_eq!(bits(floats("minimum", &[-0.0, 0.0], &[0.0, -0.0])), bits(vec![-0.0, -0.0]));
    }
}
