//! Logical operators on truth values, and bitwise operators on integers.

use crate::prelude::*;

/// The evaluation of an operation on bits. TVM's types do not keep floats out, only its code generation does.
fn bits(cx: &EvalCx, f: impl Fn(i128, i128) -> i128) -> EvalResult {
    require_bits(cx)?;
    cx.zip(|x, _| x, f)
}

fn require_bits(cx: &EvalCx) -> Result<(), Trap> {
    let dtype = cx.out_dtype();
    let trap = || Trap::new(codes::E0506, format!("an operation on bits takes integers or bools, not `{dtype}`"));
    if dtype.is_float() { Err(trap()) } else { Ok(()) }
}

pub const LOGICAL_AND: OpDef = OpDef::binary(
    "logical_and",
    "Whether `lhs` and `rhs` are true, broadcast (`src/relay/op/tensor/binary.cc`).",
    |cx| cx.zip(|x, y| truth(x != 0.0 && y != 0.0), |x, y| i128::from(x != 0 && y != 0)),
    |s| s.bools(BinaryOp::And),
);

fn truth(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

pub const LOGICAL_OR: OpDef = OpDef::binary(
    "logical_or",
    "Whether `lhs` or `rhs` is true, broadcast (`src/relay/op/tensor/binary.cc`).",
    |cx| cx.zip(|x, y| truth(x != 0.0 || y != 0.0), |x, y| i128::from(x != 0 || y != 0)),
    |s| s.bools(BinaryOp::Or),
);

pub(crate) const LOGICAL_XOR: OpDef = OpDef::binary(
    "logical_xor",
    "Whether exactly one of `lhs` and `rhs` is true, broadcast (`src/relay/op/tensor/binary.cc`).",
    |cx| cx.zip(|x, y| truth((x != 0.0) != (y != 0.0)), |x, y| i128::from((x != 0) != (y != 0))),
    |s| s.bools(BinaryOp::Xor),
);

pub const BITWISE_AND: OpDef = OpDef::binary(
    "bitwise_and",
    "The bits that `lhs` and `rhs` share, broadcast (`src/relay/op/tensor/binary.cc`).",
    |cx| bits(cx, |x, y| x & y),
    |s| s.bits(BinaryOp::And),
);

pub const BITWISE_OR: OpDef = OpDef::binary(
    "bitwise_or",
    "The bits of `lhs` and of `rhs`, broadcast (`src/relay/op/tensor/binary.cc`).",
    |cx| bits(cx, |x, y| x | y),
    |s| s.bits(BinaryOp::Or),
);

pub const BITWISE_XOR: OpDef = OpDef::binary(
    "bitwise_xor",
    "The bits in which `lhs` and `rhs` differ, broadcast (`src/relay/op/tensor/binary.cc`).",
    |cx| bits(cx, |x, y| x ^ y),
    |s| s.bits(BinaryOp::Xor),
);

pub const LEFT_SHIFT: OpDef = OpDef::binary(
    "left_shift",
    "`lhs` with its bits moved up `rhs` places, broadcast; 0 for a negative `rhs` and for one of the width and more \
     (`src/relay/op/tensor/binary.cc`).",
    |cx| bits(cx, |x, y| if (0..64).contains(&y) { x << y } else { 0 }),
    |s| s.shifted(true),
);

pub(crate) const RIGHT_SHIFT: OpDef = OpDef::binary(
    "right_shift",
    "`lhs` with its bits moved down `rhs` places, filled with the sign, broadcast; all fill for a negative `rhs` and for one \
     of the width and more (`src/relay/op/tensor/binary.cc`).",
    |cx| bits(cx, |x, y| if (0..64).contains(&y) { x >> y } else { -i128::from(x < 0) }),
    |s| s.shifted(false),
);

pub const LOGICAL_NOT: OpDef = OpDef::unary(
    "logical_not",
    "Whether each element is false (`src/relay/op/tensor/unary.cc`).",
    |cx| cx.map(|x| truth(x == 0.0), |x| i128::from(x == 0)),
    |s| {
        let holds = s.truth(0)?;
        let not = s.body.un(UnaryOp::Not, holds);
        s.as_operand(not)
    },
);

pub(crate) const BITWISE_NOT: OpDef = OpDef::unary(
    "bitwise_not",
    "Every bit inverted; on bool it is `not` (`src/relay/op/tensor/unary.cc`).",
    bitwise_not_eval,
    bitwise_not_scalar,
);

fn bitwise_not_scalar(s: &mut Scalar) -> Option<Val> {
    match s.lane(0)? {
        ScalarType::Bool => Some(s.body.un(UnaryOp::Not, s.args[0])),
        lane => {
            // All ones: -1, or what it wraps to.
            lane.is_int().then_some(())?;
            let (zero, one) = (s.like(0, 0.0)?, s.like(0, 1.0)?);
            let ones = s.body.bin(BinaryOp::Sub, zero, one);
            Some(s.body.bin(BinaryOp::Xor, s.args[0], ones))
        }
    }
}

fn bitwise_not_eval(cx: &EvalCx) -> EvalResult {
    require_bits(cx)?;
    if cx.out_dtype().is_bool() { cx.map(|x| x, |x| 1 - x) } else { cx.map(|x| x, |x| !x) }
}

/// ONNX has no logical operators on numbers, which Relay admits as truth values.
pub(crate) const ONNX: &[(&str, Onnx)] = &[
    (LOGICAL_AND.name, Onnx::Node("And", DTypeClass::Bools)),
    (LOGICAL_OR.name, Onnx::Node("Or", DTypeClass::Bools)),
    (LOGICAL_XOR.name, Onnx::Node("Xor", DTypeClass::Bools)),
    (LOGICAL_NOT.name, Onnx::Node("Not", DTypeClass::Bools)),
    (RIGHT_SHIFT.name, Onnx::Nodes(right_shift_onnx)),
];

/// ONNX shifts unsigned integers only, and says nothing of widths and more.
fn right_shift_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (dtype, x) = (cx.out_dtype(), cx.tensor(0));
    if dtype.is_float() || dtype.is_bool() {
        return Err(format!("the bits of `{dtype}`"));
    }
    let by = cx.known(cx.tensor(1)).cloned().ok_or("a shift that is not known before running")?;
    Ok(cx.moved_down(x, dtype, &by)?.into())
}

pub(crate) const FAMILY: &[OpDef] = &[
    LOGICAL_AND,
    LOGICAL_OR,
    LOGICAL_XOR,
    BITWISE_AND,
    BITWISE_OR,
    BITWISE_XOR,
    LEFT_SHIFT,
    RIGHT_SHIFT,
    LOGICAL_NOT,
    BITWISE_NOT,
];

#[cfg(test)]
mod tests {
    use super::super::testing::{eval, rel, t};
    use relayc_base::diag::codes;
    use relayc_ir::tensor::{Element, Tensor};
    use relayc_ir::types::DType;

    fn of<T: Element>(name: &str, x: &[T], y: &[T]) -> Vec<T> {
        let operands = [Tensor::from_vec(&[x.len()], x.into()), Tensor::from_vec(&[y.len()], y.into())];
        eval(name, &operands, &[]).expect("no trap").to_vec().expect("its dtype")
    }

    #[test]
    fn operands_broadcast() {
        assert_eq!(rel("logical_and", &[t(&[2], DType::BOOL), t(&[2], DType::I8)], &[]), "E0305 C1");
        assert_eq!(rel("left_shift", &[t(&[2], DType::I8), t(&[3, 1], DType::I8)], &[]), "Tensor[(3, 2), int8]");
    }

    #[test]
    fn floats_are_true_or_false_but_have_no_bits() {
        let x = [0.5f32, f32::NAN, -0.0];
        assert_eq!(of("logical_and", &x, &[1.0; 3]), [1.0, 1.0, 0.0]);
        assert_eq!(of("logical_xor", &[2i8, 0], &[4, 4]), [0, 1]);
        let operands = [Tensor::scalar(1.0f32), Tensor::scalar(1.0f32)];
        for (name, n) in [("bitwise_and", 2), ("left_shift", 2), ("bitwise_not", 1)] {
            assert_eq!(eval(name, &operands[..n], &[]).expect_err("a trap").code, codes::E0506);
        }
    }

    #[test]
    fn truth_tables() {
        let (x, y) = ([false, false, true, true], [false, true, false, true]);
        assert_eq!(of("logical_and", &x, &y), [false, false, false, true]);
        assert_eq!(of("logical_or", &x, &y), [false, true, true, true]);
        assert_eq!(of("logical_xor", &x, &y), [false, true, true, false]);
        for name in ["logical_not", "bitwise_not"] {
            let not = eval(name, &[Tensor::from_vec(&[2], vec![false, true])], &[]).expect("no trap");
            assert_eq!(not.to_vec::<bool>(), Some(vec![true, false]));
        }
        assert_eq!(of("bitwise_xor", &[-1i8, 5], &[1, 3]), [-2, 6]);
        let not = eval("bitwise_not", &[Tensor::from_vec(&[2], vec![0u8, 200])], &[]).expect("no trap");
        assert_eq!(not.to_vec::<u8>(), Some(vec![255, 55]));
    }

    #[test]
    fn shifts_by_any_amount() {
        assert_eq!(of("left_shift", &[1i8, 1, 1, 1, -1], &[7, 8, -1, 127, 4]), [-128, 0, 0, 0, -16]);
        assert_eq!(of("right_shift", &[-128i8, -128, -128, 127, 127], &[7, 8, -1, 8, 3]), [-1, -1, -1, 0, 15]);
        assert_eq!(of("right_shift", &[255u8, 255], &[7, 255]), [1, 0]);
        assert_eq!(of("left_shift", &[u64::MAX, 1], &[63, 64]), [1 << 63, 0]);
    }
}
