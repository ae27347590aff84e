//! Logic on bool and on the bits of integers.

use super::eval::{EvalCx, EvalResult};
use super::rel::{self, Fault, RelCx, RelResult};
use super::{Fuse, OpDef};
use crate::ir::attrs::Arg;

const PAIR: &[Arg] = &[Arg::tensor("lhs"), Arg::tensor("rhs")];
const ONE: &[Arg] = &[Arg::tensor("data")];

const IS_BOOL: &str = "C1: dtype(data) is bool";
const NO_FLOAT: &str = "C1: dtype(data) is an integer or bool";
const PAIR_IS_BOOL: &[&str] = &[rel::BROADCAST_RULES[0], rel::BROADCAST_RULES[1], "C3: dtype(lhs) is bool"];
const PAIR_NO_FLOAT: &[&str] = &[rel::BROADCAST_RULES[0], rel::BROADCAST_RULES[1], "C3: dtype(lhs) is an integer or bool"];

/// A connective of two bools.
const fn logical(name: &'static str, doc: &'static str, eval: fn(&EvalCx) -> EvalResult) -> OpDef {
    OpDef { name, doc, args: PAIR, rules: PAIR_IS_BOOL, rel: logical_rel, eval, fuse: Some(Fuse::Broadcast), ..OpDef::BASE }
}

/// An operation on the bits of two operands.
const fn bitwise(name: &'static str, doc: &'static str, eval: fn(&EvalCx) -> EvalResult) -> OpDef {
    OpDef { rules: PAIR_NO_FLOAT, rel: bitwise_rel, ..logical(name, doc, eval) }
}

fn logical_rel(cx: &mut RelCx) -> RelResult {
    require_bool(cx, "C3")?;
    rel::broadcast(cx)
}

fn bitwise_rel(cx: &mut RelCx) -> RelResult {
    require_no_float(cx, "C3")?;
    rel::broadcast(cx)
}

fn require_bool(cx: &mut RelCx, rule: &'static str) -> RelResult {
    let data = cx.tensor(0)?;
    cx.require(rule, data.dtype.is_bool(), || {
        Fault::dtype(format!("expected `bool`, found `{}`", data.dtype))
            .at(data.place(), "")
            .help("cast the operand first: `cast(…, dtype=\"bool\")`")
    })
}

fn require_no_float(cx: &mut RelCx, rule: &'static str) -> RelResult {
    let data = cx.tensor(0)?;
    cx.require(rule, data.dtype.is_int() || data.dtype.is_bool(), || {
        Fault::dtype(format!("expected an integer dtype or `bool`, found `{}`", data.dtype)).at(data.place(), "")
    })
}

/// Evaluations of integer functions; the relation leaves no floats.
fn ints(cx: &EvalCx, f: fn(i128, i128) -> i128) -> EvalResult {
    cx.zip(|x, _| x, f)
}

/// Both.
pub const LOGICAL_AND: OpDef =
    logical("logical_and", "`lhs and rhs` of bools, broadcast (`src/relay/op/tensor/binary.cc`).", |cx| ints(cx, |x, y| x & y));

/// Either.
pub const LOGICAL_OR: OpDef =
    logical("logical_or", "`lhs or rhs` of bools, broadcast (`src/relay/op/tensor/binary.cc`).", |cx| ints(cx, |x, y| x | y));

/// One of both.
pub const LOGICAL_XOR: OpDef = logical(
    "logical_xor",
    "Whether exactly one of `lhs` and `rhs` is true, broadcast (`src/relay/op/tensor/binary.cc`).",
    |cx| ints(cx, |x, y| x ^ y),
);

/// Bits of both.
pub const BITWISE_AND: OpDef =
    bitwise("bitwise_and", "The bits that `lhs` and `rhs` share, broadcast (`src/relay/op/tensor/binary.cc`).", |cx| {
        ints(cx, |x, y| x & y)
    });

/// Bits of either.
pub const BITWISE_OR: OpDef =
    bitwise("bitwise_or", "The bits of `lhs` and of `rhs`, broadcast (`src/relay/op/tensor/binary.cc`).", |cx| {
        ints(cx, |x, y| x | y)
    });

/// Bits of one of both.
pub const BITWISE_XOR: OpDef =
    bitwise("bitwise_xor", "The bits in which `lhs` and `rhs` differ, broadcast (`src/relay/op/tensor/binary.cc`).", |cx| {
        ints(cx, |x, y| x ^ y)
    });

/// Bits moved up.
pub const LEFT_SHIFT: OpDef = bitwise(
    "left_shift",
    "`lhs` with its bits moved up `rhs` places, broadcast; 0 for a negative `rhs` and for one of the width and more \
     (`src/relay/op/tensor/binary.cc`).",
    |cx| ints(cx, |x, y| if (0..64).contains(&y) { x << y } else { 0 }),
);

/// Bits moved down.
pub const RIGHT_SHIFT: OpDef = bitwise(
    "right_shift",
    "`lhs` with its bits moved down `rhs` places, filled with the sign, broadcast; all fill for a negative `rhs` and for one \
     of the width and more (`src/relay/op/tensor/binary.cc`).",
    |cx| ints(cx, |x, y| if (0..64).contains(&y) { x >> y } else { -i128::from(x < 0) }),
);

/// Not.
pub const LOGICAL_NOT: OpDef = OpDef {
    name: "logical_not",
    doc: "Whether each element is false (`src/relay/op/tensor/unary.cc`).",
    args: ONE,
    rules: &[IS_BOOL],
    rel: logical_not_rel,
    eval: |cx| cx.map(|x| x, |x| 1 - x),
    fuse: Some(Fuse::ElemWise),
    ..OpDef::BASE
};

fn logical_not_rel(cx: &mut RelCx) -> RelResult {
    require_bool(cx, "C1")?;
    rel::identity(cx)
}

/// Every bit turned.
pub const BITWISE_NOT: OpDef = OpDef {
    name: "bitwise_not",
    doc: "Every bit turned; on bool it is `not` (`src/relay/op/tensor/unary.cc`).",
    args: ONE,
    rules: &[NO_FLOAT],
    rel: bitwise_not_rel,
    eval: bitwise_not_eval,
    fuse: Some(Fuse::ElemWise),
    ..OpDef::BASE
};

fn bitwise_not_rel(cx: &mut RelCx) -> RelResult {
    require_no_float(cx, "C1")?;
    rel::identity(cx)
}

fn bitwise_not_eval(cx: &EvalCx) -> EvalResult {
    if cx.out_dtype().is_bool() { cx.map(|x| x, |x| 1 - x) } else { cx.map(|x| x, |x| !x) }
}

pub const FAMILY: &[OpDef] = &[
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
    use crate::tensor::{Element, Tensor};
    use crate::types::DType;

    fn of<T: Element>(name: &str, x: &[T], y: &[T]) -> Vec<T> {
        let operands = [Tensor::from_vec(&[x.len()], x.into()), Tensor::from_vec(&[y.len()], y.into())];
        eval(name, &operands, &[]).expect("no trap").to_vec().expect("its dtype")
    }

    #[test]
    fn floats_have_no_logic() {
        assert_eq!(rel("logical_and", &[t(&[2], DType::I8), t(&[2], DType::I8)], &[]), "E0305 C3");
        assert_eq!(rel("bitwise_or", &[t(&[2], DType::F32), t(&[2], DType::F32)], &[]), "E0305 C3");
        assert_eq!(rel("logical_not", &[t(&[2], DType::I8)], &[]), "E0305 C1");
        assert_eq!(rel("bitwise_not", &[t(&[2], DType::F32)], &[]), "E0305 C1");
        assert_eq!(rel("left_shift", &[t(&[2], DType::I8), t(&[3, 1], DType::I8)], &[]), "Tensor[(3, 2), int8]");
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
