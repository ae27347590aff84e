//! Comparisons of two operands that broadcast; the result is bool.

use crate::prelude::*;

const fn compare(name: &'static str, doc: &'static str, eval: Eval, lower: LowerScalar) -> OpDef {
    OpDef { rel: rel::broadcast_compare, ..OpDef::binary(name, doc, eval, lower) }
}

pub const EQUAL: OpDef = compare(
    "equal",
    "`lhs == rhs`, broadcast, as bool. NaN equals nothing; -0 equals +0 (`src/relay/op/tensor/binary.cc`).",
    |cx| cx.compare(|x, y| x == y, |x, y| x == y),
    |s| s.compare(Cmp::Eq),
);

pub const NOT_EQUAL: OpDef = compare(
    "not_equal",
    "`lhs != rhs`, broadcast, as bool. NaN differs from everything (`src/relay/op/tensor/binary.cc`).",
    |cx| cx.compare(|x, y| x != y, |x, y| x != y),
    |s| s.compare(Cmp::Ne),
);

pub const LESS: OpDef = compare(
    "less",
    "`lhs < rhs`, broadcast, as bool; false for NaN (`src/relay/op/tensor/binary.cc`).",
    |cx| cx.compare(|x, y| x < y, |x, y| x < y),
    |s| s.compare(Cmp::Lt),
);

pub(crate) const LESS_EQUAL: OpDef = compare(
    "less_equal",
    "`lhs <= rhs`, broadcast, as bool; false for NaN (`src/relay/op/tensor/binary.cc`).",
    |cx| cx.compare(|x, y| x <= y, |x, y| x <= y),
    |s| s.compare(Cmp::Le),
);

pub const GREATER: OpDef = compare(
    "greater",
    "`lhs > rhs`, broadcast, as bool; false for NaN (`src/relay/op/tensor/binary.cc`).",
    |cx| cx.compare(|x, y| x > y, |x, y| x > y),
    |s| s.compare(Cmp::Gt),
);

pub const GREATER_EQUAL: OpDef = compare(
    "greater_equal",
    "`lhs >= rhs`, broadcast, as bool; false for NaN (`src/relay/op/tensor/binary.cc`).",
    |cx| cx.compare(|x, y| x >= y, |x, y| x >= y),
    |s| s.compare(Cmp::Ge),
);

pub(crate) const ONNX: &[(&str, Onnx)] = &[
    (EQUAL.name, Onnx::Node("Equal", DTypeClass::Any)),
    (NOT_EQUAL.name, Onnx::Nodes(not_equal_onnx)),
    (LESS.name, Onnx::Node("Less", DTypeClass::Numbers)),
    (LESS_EQUAL.name, Onnx::Node("LessOrEqual", DTypeClass::Numbers)),
    (GREATER.name, Onnx::Node("Greater", DTypeClass::Numbers)),
    (GREATER_EQUAL.name, Onnx::Node("GreaterOrEqual", DTypeClass::Numbers)),
];

fn not_equal_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (x, y) = (cx.tensor(0), cx.tensor(1));
    let equal = cx.node("Equal", &[x, y]).one();
    Ok(cx.node("Not", &[equal]).one().into())
}

pub(crate) const FAMILY: &[OpDef] = &[EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL];

#[cfg(test)]
mod tests {
    use super::super::testing::{eval, rel, t};
    use relayc_ir::tensor::Tensor;
    use relayc_ir::types::DType;

    #[test]
    fn the_result_is_bool() {
        let f32 = |shape: &[i64]| t(shape, DType::F32);
        assert_eq!(rel("less", &[f32(&[4]), f32(&[2, 1])], &[]), "Tensor[(2, 4), bool]");
        assert_eq!(rel("equal", &[f32(&[4]), t(&[4], DType::F64)], &[]), "E0305 C1");
    }

    #[test]
    fn nan_is_unordered() {
        let x = Tensor::from_vec(&[4], vec![1.0f32, -0.0, f32::NAN, 2.0]);
        let y = Tensor::from_vec(&[4], vec![2.0f32, 0.0, f32::NAN, 1.0]);
        let all = |name| eval(name, &[x.clone(), y.clone()], &[]).expect("no trap").to_vec::<bool>().expect("bool");
        assert_eq!(all("equal"), [false, true, false, false]);
        assert_eq!(all("not_equal"), [true, false, true, true]);
        assert_eq!(all("less"), [true, false, false, false]);
        assert_eq!(all("less_equal"), [true, true, false, false]);
        assert_eq!(all("greater"), [false, false, false, true]);
        assert_eq!(all("greater_equal"), [false, true, false, true]);
    }

    #[test]
    fn large_integers_are_compared_exactly() {
        let x = Tensor::from_vec(&[2], vec![(1i64 << 53) + 1, i64::MIN]);
        let y = Tensor::from_vec(&[2], vec![1i64 << 53, i64::MAX]);
        assert_eq!(eval("greater", &[x, y], &[]).expect("no trap").to_vec::<bool>(), Some(vec![true, false]));
    }
}
