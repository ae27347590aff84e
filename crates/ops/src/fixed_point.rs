//! Fixed-point multiplication of integers by a number represented by an integer and a shift ([`FixedPoint`]).

use super::attrs::Dims;
use super::gather_lowering::read;
use crate::onnx::Product;
use crate::prelude::*;
use relayc_ir::kernel::Instr;
use relayc_ir::kernel::{FixedPoint, multiply_shift};

attrs! {
    "relay.attrs.FixedPointMultiplyAttrs" =>
    pub(crate) struct FixedPointMultiplyAttrs {
        /// The multiplier, times 2^31.
        pub(crate) multiplier: i64;
        /// The exponent of the power of two to multiply by.
        pub(crate) shift: i64;
    }

    "relay.attrs.FixedPointMultiplyPerAxisAttrs" =>
    pub(crate) struct FixedPointMultiplyPerAxisAttrs {
        /// Whether to shift elements left first.
        pub(crate) is_lshift_required: bool = false;
        /// Whether a right shift differs from 0; results do not depend on it.
        pub(crate) is_rshift_required: bool = false;
        /// The axes of `data` along which the multipliers run; negative axes count from the end.
        pub(crate) axes: Dims;
    }
}

pub(crate) const FIXED_POINT_MULTIPLY: OpDef = OpDef {
    name: "fixed_point_multiply",
    doc: "`data * multiplier / 2^31 * 2^shift` of int32 elements, halves rounded up: the product is taken in wrapping int64 after \
          a shift to the left and before one to the right, and cut to int32. For `multiplier = 2^30` it is a shift by `shift - 1` \
          in int32 (`src/relay/op/tensor/unary.cc`, `src/target/intrin_rule.cc`).",
    args: &[Arg::tensor("data")],
    attrs: Some(FixedPointMultiplyAttrs::SCHEMA),
    rules: &["C1: dtype(data) is int32", "C2: multiplier and shift are int32 numbers"],
    rel: fixed_point_multiply_rel,
    eval: fixed_point_multiply_eval,
    fuse: Some(Fuse::ElemWise),
    lower: Some(Lower::Scalar(|s| {
        let attrs = FixedPointMultiplyAttrs::read(s.call.attrs);
        let by = FixedPoint { multiplier: attrs.multiplier as i32, shift: attrs.shift as i32 };
        Some(by.lowered(s.body, s.args[0]))
    })),
    ..OpDef::BASE
};

fn fixed_point_multiply_rel(cx: &mut RelCx) -> RelResult {
    let attrs = FixedPointMultiplyAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    require_int32(cx, "C1", &data)?;
    for (name, value) in [("multiplier", attrs.multiplier), ("shift", attrs.shift)] {
        cx.require("C2", i32::try_from(value).is_ok(), || Fault::attr(name, format!("expected an int32 number, found {value}")))?;
    }
    cx.set_out(data.dims(), data.dtype)
}

fn require_int32(cx: &RelCx, rule: &'static str, tensor: &TensorTy) -> RelResult {
    cx.require(rule, tensor.dtype == DType::I32, || {
        Fault::dtype(format!("expected `int32`, found `{}`", tensor.dtype)).at(tensor.place(), "").cast(tensor, DType::I32)
    })
}

fn fixed_point_multiply_eval(cx: &EvalCx) -> EvalResult {
    let attrs = FixedPointMultiplyAttrs::read(cx.attrs);
    let by = FixedPoint { multiplier: attrs.multiplier as i32, shift: attrs.shift as i32 };
    let data = cx.tensor(0);
    let products = int32s(data).into_iter().map(|x| by.times(x)).collect();
    Ok(Tensor::from_vec(data.shape(), products).into())
}

/// The elements of an int32 tensor; elements of other dtypes wrap.
pub(super) fn int32s(tensor: &Tensor) -> Vec<i32> {
    tensor.to_ints().into_iter().map(|x| x as i32).collect()
}

pub(crate) const FIXED_POINT_MULTIPLY_PER_AXIS: OpDef = OpDef {
    name: "fixed_point_multiply_per_axis",
    doc: "`data * fp_multiplier / 2^31 * 2^(left_shift - right_shift)` of int32 elements, where the multiplier and the shifts are \
          those at the element's position on `axes`; `left_shift` counts only with `is_lshift_required`. Rounds and wraps as \
          `fixed_point_multiply` does (`src/relay/op/tensor/transform.cc`, `src/target/intrin_rule.cc`).",
    args: &[Arg::tensor("data"), Arg::tensor("fp_multiplier"), Arg::tensor("left_shift"), Arg::tensor("right_shift")],
    attrs: Some(FixedPointMultiplyPerAxisAttrs::SCHEMA),
    rules: &[
        "C1: all operands are int32",
        "C2: axes is a list, and each is in -rank(data)…rank(data)-1",
        "C3: fp_multiplier, left_shift and right_shift have the dimensions of data at axes",
    ],
    rel: per_axis_rel,
    eval: per_axis_eval,
    lower: Some(Lower::Nest(per_axis_nest)),
    fuse: Some(Fuse::Broadcast),
    ..OpDef::BASE
};

fn axis_numbers(axes: &Dims) -> Option<Vec<i64>> {
    axes.0.as_ref()?.iter().copied().map(Dim::value).collect()
}

fn per_axis_rel(cx: &mut RelCx) -> RelResult {
    let attrs = FixedPointMultiplyPerAxisAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    require_int32(cx, "C1", &data)?;
    let numbers = axis_numbers(&attrs.axes);
    cx.require("C2", numbers.is_some(), || Fault::attr("axes", "expected a list of numbers"))?;
    let axes: RelResult<Vec<usize>> =
        numbers.into_iter().flatten().map(|axis| cx.axis("C2", "axes", axis, data.rank())).collect();
    let axes = axes?;
    for arg in 1..4 {
        let tensor = cx.tensor(arg)?;
        require_int32(cx, "C1", &tensor)?;
        cx.require("C3", tensor.rank() == axes.len(), || Fault::rank(axes.len(), &tensor))?;
        for (at, &axis) in axes.iter().enumerate() {
            let (found, expected) = (tensor.shape[at], data.shape[axis]);
            cx.require("C3", found.compatible(expected), || {
                Fault::shape(format!("expected {expected} numbers, found {found}"))
                    .at(tensor.axis(at), "")
                    .at(data.axis(axis), "")
                    .equation(
                        format!("{}[{at}] == data[{axis}]", FIXED_POINT_MULTIPLY_PER_AXIS.args[arg].name),
                        format!("{found} == {expected}"),
                    )
            })?;
        }
    }
    cx.set_out(data.dims(), data.dtype)
}

fn per_axis_eval(cx: &EvalCx) -> EvalResult {
    let attrs = FixedPointMultiplyPerAxisAttrs::read(cx.attrs);
    let data = cx.tensor(0);
    let axes = axis_numbers(&attrs.axes).expect("the relation required numbers");
    let axes: Vec<usize> = axes.iter().map(|axis| axis.rem_euclid(data.rank() as i64) as usize).collect();
    let shape: Vec<usize> = axes.iter().map(|&axis| data.shape()[axis]).collect();
    let [multipliers, left, right] = [1, 2, 3].map(|arg| cx.tensor(arg));
    if let Some(other) = [multipliers, left, right].into_iter().find(|tensor| tensor.shape() != shape) {
        return Err(Trap::new(codes::E0506, format!("multipliers of shape {:?} for axes of {shape:?}", other.shape())));
    }
    let (multipliers, left, right) = (int32s(multipliers), int32s(left), int32s(right));
    let product = |(i, x): (usize, i32)| {
        let at = axes.iter().fold(0, |at, &axis| {
            let inner: usize = data.shape()[axis + 1..].iter().product();
            at * data.shape()[axis] + i / inner % data.shape()[axis]
        });
        let left = if attrs.is_lshift_required { left[at] } else { 0 };
        // A negative shift is one by very many places.
        let shift = |by: i32| i64::from(by as u32);
        multiply_shift(x, multipliers[at], shift(left), shift(right[at]))
    };
    let products = int32s(data).into_iter().enumerate().map(product).collect();
    Ok(Tensor::from_vec(data.shape(), products).into())
}

fn per_axis_nest(call: &Call) -> Option<Template> {
    let attrs = FixedPointMultiplyPerAxisAttrs::read(call.attrs);
    let data = &call.arg(0).shape;
    let axes = axis_numbers(&attrs.axes)?;
    let axes = axes.into_iter().map(|axis| call.axis(axis, data.len()).map(AxisMap::of)).collect::<Option<Vec<_>>>()?;
    let mut template = Template { dims: data.clone(), ..Template::default() };
    let mut body = Body::new();
    let x = read(&mut template, &mut body, Read::of(Source::Arg(0), (0..data.len()).map(AxisMap::of).collect()));
    let [multiplier, left, right] = [1, 2, 3].map(|arg| read(&mut template, &mut body, Read::of(Source::Arg(arg), axes.clone())));
    let left = if attrs.is_lshift_required { left } else { body.i32(0) };
    let val = lowered_multiply_shift(&mut body, x, multiplier, left, right);
    template.finish(body, val)
}

/// Appends [`multiply_shift`], whose shifts are no negative numbers but those beyond all bits.
fn lowered_multiply_shift(body: &mut Body, x: Val, multiplier: Val, left: Val, right: Val) -> Val {
    let within = |body: &mut Body, by: Val, most: i32| {
        let (zero, most) = (body.i32(0), body.i32(most));
        let (low, high) = (body.cmp(Cmp::Ge, by, zero), body.cmp(Cmp::Le, by, most));
        let is_within = body.bin(BinaryOp::And, low, high);
        (is_within, body.select(is_within, by, zero))
    };
    let wide = |body: &mut Body, val: Val| body.un(UnaryOp::To(ScalarType::I64), val);
    let ((is_up, up), (is_down, down)) = (within(body, left, 63), within(body, right, 32));
    let up = wide(body, up);
    let (x, multiplier) = (wide(body, x), wide(body, multiplier));
    let zero = body.push(Instr::Const(0, ScalarType::I64));
    let shifted = body.bin(BinaryOp::Shl, x, up);
    let shifted = body.select(is_up, shifted, zero);
    let product = body.bin(BinaryOp::Mul, shifted, multiplier);
    let (less, places) = (body.i32(30), body.i32(31));
    let [less, places] = [less, places].map(|more| {
        let by = body.bin(BinaryOp::Add, down, more);
        wide(body, by)
    });
    let one = body.push(Instr::Const(1, ScalarType::I64));
    let half = body.bin(BinaryOp::Shl, one, less);
    let sum = body.bin(BinaryOp::Add, product, half);
    let result = body.bin(BinaryOp::ShrSigned, sum, places);
    let (result, none) = (body.un(UnaryOp::To(ScalarType::I32), result), body.i32(0));
    body.select(is_down, result, none)
}

pub(crate) const ONNX: &[(&str, Onnx)] = &[(FIXED_POINT_MULTIPLY.name, Onnx::Nodes(fixed_point_multiply_onnx))];

fn fixed_point_multiply_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (attrs, data) = (FixedPointMultiplyAttrs::read(cx.attrs), cx.tensor(0));
    let by = FixedPoint { multiplier: attrs.multiplier as i32, shift: attrs.shift as i32 };
    Ok(cx.multiplied(data, &[by], &[], Product::OfOne)?.into())
}

pub(crate) const FAMILY: &[OpDef] = &[FIXED_POINT_MULTIPLY, FIXED_POINT_MULTIPLY_PER_AXIS];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{call, extremes};

    #[test]
    fn relations() {
        let by = || call(&FIXED_POINT_MULTIPLY).int("multiplier", 1).int("shift", 0);
        assert_eq!(by().out(&["(2, ?) int32"]), "Tensor[(2, ?), int32]");
        assert_eq!(by().fault(&["(2) int8"]).rule, "C1");
        assert_eq!(by().int("shift", 1 << 31).fault(&["(2) int32"]).rule, "C2");
        extremes(by, &["(2) int32"]);
        let per_axis = || call(&FIXED_POINT_MULTIPLY_PER_AXIS).ints("axes", &[-1]);
        let args = ["(2, 3) int32", "(3) int32", "(?) int32", "(3) int32"];
        assert_eq!(per_axis().out(&args), "Tensor[(2, 3), int32]");
        assert_eq!(per_axis().ints("axes", &[0]).fault(&args).rule, "C3");
        assert_eq!(per_axis().ints("axes", &[0, 1]).fault(&args).rule, "C3");
        assert_eq!(per_axis().ints("axes", &[2]).fault(&args).rule, "C2");
        extremes(per_axis, &args);
    }
}
