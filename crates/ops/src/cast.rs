//! Changes the dtype of elements: converts them, or reinterprets their bits.

use super::lower;
use crate::prelude::*;

attrs! {
    "relay.attrs.CastAttrs" =>
    pub(crate) struct CastAttrs {
        /// The dtype of the result.
        pub(crate) dtype: Option<DType>;
    }
}

pub const CAST: OpDef = OpDef {
    attrs: Some(CastAttrs::SCHEMA),
    rules: &["C1: dtype is the dtype of a tensor"],
    rel: cast_rel,
    no_op: true,
    ..OpDef::unary(
        "cast",
        "Each element converted to `dtype`. Floats become integers towards zero, saturating, NaN becoming 0; integers wrap; \
         to bool, all but 0 is true (`src/relay/op/tensor/transform.cc`).",
        cast_eval,
        cast_scalar,
    )
};

fn cast_rel(cx: &mut RelCx) -> RelResult {
    let attrs = CastAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    let dtype = rel::require_tensor_dtype(cx, "C1", "dtype", attrs.dtype)?;
    cx.set_out(data.dims(), dtype)
}

/// Between the lanes that kernels know (reliability 4).
fn cast_scalar(s: &mut Scalar) -> Option<Val> {
    cast(s, 0)
}

/// Converts an operand to the dtype of the result.
pub(super) fn cast(s: &mut Scalar, arg: usize) -> Option<Val> {
    let (from, to, x) = (s.lane(arg)?, lower::lane(s.call.out().dtype)?, s.args[arg]);
    if to == ScalarType::Bool {
        return s.truth(arg);
    }
    Some(match (from, to) {
        _ if from == to => x,
        (ScalarType::F32, ScalarType::I32) => s.body.un(UnaryOp::SaturateToInt, x),
        (ScalarType::I32, ScalarType::F32) => s.body.un(UnaryOp::ToFloat, x),
        (ScalarType::Bool, ScalarType::F32) => s.body.un(UnaryOp::BoolToFloat, x),
        (ScalarType::Bool, ScalarType::I32) => s.body.un(UnaryOp::BoolToInt, x),
        _ => s.body.un(UnaryOp::To(to), x),
    })
}

fn cast_eval(cx: &EvalCx) -> EvalResult {
    cast_to(cx.tensor(0), cx.out_dtype())
}

pub(crate) const CAST_LIKE: OpDef = OpDef {
    args: &[Arg::tensor("data"), Arg::tensor("dtype_like")],
    rel: cast_like_rel,
    ..OpDef::unary(
        "cast_like",
        "Each element of `data` converted to the dtype of `dtype_like`, as `cast` does (`src/relay/op/tensor/transform.cc`).",
        cast_eval,
        cast_scalar,
    )
};

fn cast_like_rel(cx: &mut RelCx) -> RelResult {
    let (data, like) = (cx.tensor(0)?, cx.tensor(1)?);
    cx.set_out(data.dims(), like.dtype)
}

fn cast_to(data: &Tensor, dtype: DType) -> EvalResult {
    let cast = data.cast(dtype);
    Ok(cast.ok_or_else(|| Trap::new(codes::E0506, format!("no tensor can hold `{dtype}` at run time")))?.into())
}

pub(crate) const REINTERPRET: OpDef = OpDef {
    name: "reinterpret",
    doc: "The bits of each element taken for a `dtype` of the same width (`src/relay/op/tensor/transform.cc`).",
    args: DATA,
    attrs: Some(CastAttrs::SCHEMA),
    rules: &["C1: dtype is the dtype of a tensor", "C2: bits(data) == bits(dtype)"],
    rel: reinterpret_rel,
    eval: reinterpret_eval,
    lower: Some(Lower::Reinterpret),
    fuse: Some(Fuse::ElemWise),
    ..OpDef::BASE
};

fn reinterpret_rel(cx: &mut RelCx) -> RelResult {
    let attrs = CastAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    let dtype = rel::require_tensor_dtype(cx, "C1", "dtype", attrs.dtype)?;
    let bits = |dtype: DType| u32::from(dtype.bits) * u32::from(dtype.lanes);
    let (found, wanted) = (bits(data.dtype), bits(dtype));
    cx.require("C2", found == wanted, || {
        Fault::attr("dtype", format!("expected a dtype of {found} bits, found `{dtype}`"))
            .at(data.place(), "")
            .equation("bits(data) == bits(dtype)", format!("{found} == {wanted}"))
    })?;
    cx.set_out(data.dims(), dtype)
}

fn reinterpret_eval(cx: &EvalCx) -> EvalResult {
    let bytes = cx.tensor(0).to_le_bytes();
    let tensor = Tensor::from_le_bytes(cx.out_dtype(), cx.out_shape(), &bytes);
    Ok(tensor.ok_or_else(|| Trap::no_tensor(cx.out_dtype()))?.into())
}

pub(crate) const ONNX: &[(&str, Onnx)] = &[
    (CAST.name, Onnx::Nodes(cast_onnx)),
    (CAST_LIKE.name, Onnx::Nodes(cast_onnx)),
    (REINTERPRET.name, Onnx::Nodes(reinterpret_onnx)),
];

fn cast_onnx(cx: &mut OnnxCx) -> OnnxResult {
    Ok(cx.operand_as_out(0)?.into())
}

/// Integers of one width have the same bits where one wraps to the other.
fn reinterpret_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (from, to) = (cx.dtype(cx.tensor(0)), cx.out_dtype());
    let wraps = |dtype: DType| !dtype.is_float() && !dtype.is_bool();
    if from != to && !(wraps(from) && wraps(to)) {
        return Err(format!("the bits of `{from}` as `{to}`, where ONNX knows integers only"));
    }
    cast_onnx(cx)
}

pub(crate) const FAMILY: &[OpDef] = &[CAST, CAST_LIKE, REINTERPRET];

#[cfg(test)]
mod tests {
    use super::super::testing::{eval, rel, t};
    use super::*;
    use relayc_ir::attrs::AttrValue;

    #[test]
    fn casts() {
        let to = |dtype| vec![("dtype", AttrValue::DType(dtype))];
        let x = Tensor::from_vec(&[4], vec![f32::NAN, -300.5, 300.5, 0.5]);
        let i8 = eval("cast", std::slice::from_ref(&x), &to(Some(DType::I8))).expect("no trap");
        assert_eq!(i8.to_vec::<i8>(), Some(vec![0, -128, 127, 0]));
        let bool = eval("cast", &[x], &to(Some(DType::BOOL))).expect("no trap");
        assert_eq!(bool.to_vec::<bool>(), Some(vec![true; 4]));
        assert_eq!(rel("cast", &[t(&[2], DType::F32)], &to(None)), "E0404 C1");
        assert_eq!(rel("cast", &[t(&[2], DType::F32)], &to(DType::parse("handle"))), "E0404 C1");
        assert_eq!(rel("reinterpret", &[t(&[2], DType::F32)], &to(Some(DType::I64))), "E0404 C2");
        let one = eval("reinterpret", &[Tensor::scalar(1.0f32)], &to(Some(DType::I32))).expect("no trap");
        assert_eq!(one.to_vec::<i32>(), Some(vec![0x3f80_0000]));
    }
}
