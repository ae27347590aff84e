//! Creates tensors from a shape and a value, and tensors that describe a shape.

use super::attrs::{ConstExpr, OptDims};
use super::cast::cast;
use super::lower::constant;
use crate::prelude::*;
use relayc_ir::types::{can_be_held, checked_elements};

attrs! {
    "relay.attrs.InitOpAttrs" =>
    pub(crate) struct InitOpAttrs {
        /// The shape of the result.
        pub(crate) shape: OptDims;
        /// The dtype of the result.
        pub(crate) dtype: Option<DType> = None;
    }

    "relay.attrs.ArangeAttrs" =>
    pub(crate) struct ArangeAttrs {
        /// The first operand, repeated.
        pub(crate) start: ConstExpr;
        /// The second operand, repeated.
        pub(crate) stop: ConstExpr;
        /// The third operand, repeated.
        pub(crate) step: ConstExpr;
        /// The dtype of the result and of the operands.
        pub(crate) dtype: Option<DType>;
    }

    "relay.attrs.ShapeOfAttrs" =>
    pub(crate) struct ShapeOfAttrs {
        /// The dtype of the result.
        pub(crate) dtype: Option<DType> = None;
    }
}

/// Requires `shape` to be given (`C1`), of numbers that are not negative and of named sizes, and returns it as dimensions that come
/// from the attribute.
pub(crate) fn require_shape(cx: &RelCx, rule: &'static str, shape: &OptDims) -> RelResult<Shape> {
    cx.require(rule, shape.0.is_some(), || Fault::attr("shape", "expected a shape, found none"))?;
    let dims: Shape = shape.0.iter().flatten().map(|&dim| SDim::new(dim, DimOrigin::Attr("shape"))).collect();
    for dim in &dims {
        cx.require(rule, dim.dim.is_named() || dim.value().is_some_and(|dim| dim >= 0), || {
            Fault::attr("shape", format!("expected dimensions of at least 0, found {}", dim.dim))
        })?;
    }
    Ok(dims)
}

const SHAPE_RULE: &str = "C1: shape is a list of numbers, none negative";

pub const ZEROS: OpDef = OpDef {
    name: "zeros",
    work: Work::None,
    doc: "A tensor of shape `shape` and dtype `dtype` with 0 everywhere (`src/relay/op/tensor/transform.cc`).",
    attrs: Some(InitOpAttrs::SCHEMA),
    rules: &[SHAPE_RULE, "C2: dtype is the dtype of a tensor"],
    rel: init_rel,
    eval: |cx| filled(cx, 0.0),
    lower: Some(Lower::Scalar(|s| same(s, 0.0))),
    fuse: Some(Fuse::ElemWise),
    ..OpDef::BASE
};

pub const ONES: OpDef = OpDef {
    name: "ones",
    work: Work::None,
    doc: "A tensor of shape `shape` and dtype `dtype` with 1 everywhere (`src/relay/op/tensor/transform.cc`).",
    eval: |cx| filled(cx, 1.0),
    lower: Some(Lower::Scalar(|s| same(s, 1.0))),
    ..ZEROS
};

fn init_rel(cx: &mut RelCx) -> RelResult {
    let attrs = InitOpAttrs::read(cx.attrs);
    let shape = require_shape(cx, "C1", &attrs.shape)?;
    let dtype = rel::require_tensor_dtype(cx, "C2", "dtype", attrs.dtype)?;
    cx.set_out(shape, dtype)
}

fn filled(cx: &EvalCx, value: f64) -> EvalResult {
    let tensor = Tensor::full(cx.out_dtype(), cx.out_shape(), value);
    Ok(tensor.ok_or_else(|| Trap::no_tensor(cx.out_dtype()))?.into())
}

fn same(s: &mut Scalar, value: f64) -> Option<Val> {
    constant(s.body, &Tensor::full(s.call.out().dtype, &[], value)?)
}

pub const ZEROS_LIKE: OpDef = OpDef {
    name: "zeros_like",
    work: Work::None,
    doc: "A tensor of the shape and the dtype of `data` with 0 everywhere (`src/relay/op/tensor/unary.cc`).",
    args: &[Arg::tensor("data")],
    rel: rel::identity,
    eval: |cx| filled(cx, 0.0),
    lower: Some(Lower::Scalar(|s| same(s, 0.0))),
    fuse: Some(Fuse::ElemWise),
    ..OpDef::BASE
};

pub const ONES_LIKE: OpDef = OpDef {
    name: "ones_like",
    work: Work::None,
    doc: "A tensor of the shape and the dtype of `data` with 1 everywhere (`src/relay/op/tensor/unary.cc`).",
    eval: |cx| filled(cx, 1.0),
    lower: Some(Lower::Scalar(|s| same(s, 1.0))),
    ..ZEROS_LIKE
};

pub const FULL: OpDef = OpDef {
    name: "full",
    work: Work::None,
    doc: "A tensor of shape `shape` with `fill_value` everywhere, converted to `dtype` if that is given \
          (`src/relay/op/tensor/transform.cc`).",
    args: &[Arg::of("fill_value", "double")],
    attrs: Some(InitOpAttrs::SCHEMA),
    rules: &[SHAPE_RULE, "C2: dtype is the dtype of a tensor, if given", "C3: rank(fill_value) == 0"],
    rel: full_rel,
    eval: |cx| spread(cx, cx.tensor(0)),
    lower: Some(Lower::Scalar(|s| cast(s, 0))),
    fuse: Some(Fuse::ElemWise),
    ..OpDef::BASE
};

fn full_rel(cx: &mut RelCx) -> RelResult {
    let attrs = InitOpAttrs::read(cx.attrs);
    let value = cx.tensor(0)?;
    let shape = require_shape(cx, "C1", &attrs.shape)?;
    let dtype = rel::require_tensor_dtype(cx, "C2", "dtype", attrs.dtype.or(Some(value.dtype)))?;
    cx.require("C3", value.rank() == 0, || Fault::rank(0, &value))?;
    cx.set_out(shape, dtype)
}

pub const FULL_LIKE: OpDef = OpDef {
    name: "full_like",
    work: Work::None,
    doc: "A tensor of the shape and the dtype of `data` with `fill_value` everywhere (`src/relay/op/tensor/transform.cc`).",
    args: &[Arg::tensor("data"), Arg::of("fill_value", "double")],
    rules: &["C1: rank(fill_value) == 0"],
    rel: full_like_rel,
    eval: |cx| spread(cx, cx.tensor(1)),
    lower: Some(Lower::Scalar(|s| cast(s, 1))),
    fuse: Some(Fuse::ElemWise),
    ..OpDef::BASE
};

fn full_like_rel(cx: &mut RelCx) -> RelResult {
    let (data, value) = (cx.tensor(0)?, cx.tensor(1)?);
    cx.require("C1", value.rank() == 0, || Fault::rank(0, &value))?;
    cx.set_out(data.dims(), data.dtype)
}

fn spread(cx: &EvalCx, value: &Tensor) -> EvalResult {
    let spread = value.cast(cx.out_dtype()).and_then(|value| value.broadcast_to(cx.out_shape()));
    Ok(spread.ok_or_else(|| Trap::no_tensor(cx.out_dtype()))?.into())
}

pub const ARANGE: OpDef = OpDef {
    name: "arange",
    doc: "The vector `start, start + step, …` of the `ceil((end - start) / step)` numbers before `end`. The attributes `start`, \
          `stop` and `step` repeat the operands; if all three are constants, the length is known \
          (`src/relay/op/tensor/transform.cc`).",
    args: &[Arg::of("start", "Expr"), Arg::of("end", "Expr"), Arg::of("step", "Expr")],
    attrs: Some(ArangeAttrs::SCHEMA),
    rules: &[
        "C1: dtype is the dtype of a tensor",
        "C2: start, end and step are of dtype `dtype` and rank 0",
        "C3: the attributes start, stop and step are scalars if they are constants, and step is not 0",
        "C4: 1 <= ceil((stop - start) / step) < 2^31",
    ],
    rel: arange_rel,
    eval: arange_eval,
    ..OpDef::BASE
};

fn arange_rel(cx: &mut RelCx) -> RelResult {
    let attrs = ArangeAttrs::read(cx.attrs);
    let dtype = rel::require_tensor_dtype(cx, "C1", "dtype", attrs.dtype)?;
    for arg in 0..3 {
        cx.set_arg("C2", arg, Shape::new(), dtype)?;
    }
    let scalar = |name, constant: ConstExpr| -> RelResult<Option<f64>> {
        let Some(tensor) = constant.0 else { return Ok(None) };
        cx.require("C3", tensor.len() == 1, || Fault::attr(name, format!("expected a scalar, found rank {}", tensor.rank())))?;
        Ok(tensor.to_f64s().first().copied())
    };
    let (start, stop, step) = (scalar("start", attrs.start)?, scalar("stop", attrs.stop)?, scalar("step", attrs.step)?);
    let (Some(start), Some(stop), Some(step)) = (start, stop, step) else {
        return cx.set_out(Shape::from_slice(&[SDim::new(Dim::Any, DimOrigin::Op)]), dtype);
    };
    cx.require("C3", step != 0.0, || Fault::attr("step", "expected a step, found 0"))?;
    let n = arange_len(start, stop, step);
    cx.require("C4", (1.0..2f64.powi(31)).contains(&n), || {
        Fault::attr("stop", format!("the result would have {n} elements"))
            .equation("1 <= ceil((stop - start) / step) < 2^31", format!("ceil(({stop} - {start}) / {step}) == {n}"))
    })?;
    cx.set_out(Shape::from_slice(&[SDim::known(n as i64, DimOrigin::Rule("C4"))]), dtype)
}

fn arange_len(start: f64, stop: f64, step: f64) -> f64 {
    ((stop - start) / step).ceil()
}

fn arange_eval(cx: &EvalCx) -> EvalResult {
    let [start, stop, step] = [0, 1, 2].map(|arg| cx.tensor(arg));
    let scalar = |tensor: &Tensor| tensor.to_f64s()[0];
    let n = match cx.out.first() {
        Some(out) => out.shape[0],
        None if scalar(step) == 0.0 => return Err(Trap::new(codes::E0502, "a step of 0 never comes to the end")),
        // Saturates; NaN is no element.
        None => arange_len(scalar(start), scalar(stop), scalar(step)) as usize,
    };
    let dtype = start.dtype();
    cx.check_size(&[n], dtype)?;
    let at = Tensor::from_fn(&[n], |i| i as i64).cast(dtype).expect("the dtype of a tensor");
    let steps = at.zip(step, |i, step| i * step, |i, step| i * step);
    let numbers = steps.and_then(|steps| steps.zip(start, |x, start| start + x, |x, start| start + x));
    Ok(numbers.expect("a scalar broadcasts to any shape").into())
}

pub(crate) const NDARRAY_SIZE: OpDef = OpDef {
    name: "ndarray_size",
    doc: "The number of elements of `data`, as a scalar of dtype `dtype` (`src/relay/op/tensor/unary.cc`).",
    args: &[Arg::tensor("data")],
    attrs: Some(&AttrSchema { type_key: "relay.attrs.NdarraySizeAttrs", ..*ShapeOfAttrs::SCHEMA }),
    rules: &["C1: dtype is the dtype of a tensor"],
    rel: ndarray_size_rel,
    eval: |cx| counts(cx, &[cx.tensor(0).len()]),
    fixed: Some(ndarray_size_fixed),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

fn ndarray_size_rel(cx: &mut RelCx) -> RelResult {
    let attrs = ShapeOfAttrs::read(cx.attrs);
    cx.tensor(0)?;
    let dtype = rel::require_tensor_dtype(cx, "C1", "dtype", attrs.dtype)?;
    cx.set_out(Shape::new(), dtype)
}

pub const SHAPE_OF: OpDef = OpDef {
    name: "shape_of",
    doc: "The dimensions of `data`, as a vector of dtype `dtype`; of a scalar, a scalar (`src/relay/op/tensor/unary.cc`).",
    args: &[Arg::tensor("data")],
    attrs: Some(ShapeOfAttrs::SCHEMA),
    rules: &["C1: dtype is the dtype of a tensor"],
    rel: shape_of_rel,
    eval: |cx| counts(cx, cx.tensor(0).shape()),
    fixed: Some(shape_of_fixed),
    ..OpDef::BASE
};

pub(super) fn shape_of_rel(cx: &mut RelCx) -> RelResult {
    let attrs = ShapeOfAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    let dtype = rel::require_tensor_dtype(cx, "C1", "dtype", attrs.dtype)?;
    let rank = (data.rank() > 0).then(|| SDim::known(data.rank() as i64, DimOrigin::Op));
    cx.set_out(rank.into_iter().collect::<Shape>(), dtype)
}

fn ndarray_size_fixed(known: &KnownFacts) -> Option<Fixed> {
    let size = known.shapes[0].as_ref()?.iter().product::<i64>();
    let size = Tensor::scalar(size).cast(ShapeOfAttrs::read(known.attrs).dtype?);
    size.map(Fixed::Value)
}

fn shape_of_fixed(known: &KnownFacts) -> Option<Fixed> {
    let shape = known.shapes[0].clone().filter(|shape| !shape.is_empty())?;
    let shape = Tensor::from_vec(&[shape.len()], shape).cast(ShapeOfAttrs::read(known.attrs).dtype?);
    shape.map(Fixed::Value)
}

/// Counts as a tensor of the result's shape and dtype; a scalar has no dimensions to tell, and is 0.
fn counts(cx: &EvalCx, counts: &[usize]) -> EvalResult {
    let counts = Tensor::from_fn(cx.out_shape(), |i| counts.get(i).map_or(0, |&count| count as i64));
    let trap = || Trap::no_tensor(cx.out_dtype());
    Ok(counts.cast(cx.out_dtype()).ok_or_else(trap)?.into())
}

pub(crate) const ONNX: &[(&str, Onnx)] = &[
    (ZEROS.name, Onnx::Sized(|cx| filled_onnx(cx, 0.0))),
    (ONES.name, Onnx::Sized(|cx| filled_onnx(cx, 1.0))),
    (ZEROS_LIKE.name, Onnx::Nodes(|cx| filled_onnx(cx, 0.0))),
    (ONES_LIKE.name, Onnx::Nodes(|cx| filled_onnx(cx, 1.0))),
    (FULL.name, Onnx::Sized(|cx| spread_onnx(cx, 0))),
    (FULL_LIKE.name, Onnx::Nodes(|cx| spread_onnx(cx, 1))),
    (ARANGE.name, Onnx::Nodes(arange_onnx)),
    (NDARRAY_SIZE.name, Onnx::Nodes(|cx| count_onnx(cx, "Size"))),
    (SHAPE_OF.name, Onnx::Nodes(shape_of_onnx)),
];

/// A tensor of more elements is made when running.
const CONSTANT_ONNX: u64 = 4096;

fn filled_onnx(cx: &mut OnnxCx, value: f64) -> OnnxResult {
    let dtype = cx.out_dtype();
    let Ok(shape) = cx.out_shape() else {
        let (value, dims) = (cx.scalar("value", dtype, value)?, cx.out[0].0.clone());
        return Ok(cx.expanded_to(value, &dims)?.into());
    };
    if can_be_held(&shape) && checked_elements(&shape).is_some_and(|n| n <= CONSTANT_ONNX) {
        let sizes: Vec<usize> = shape.iter().map(|&dim| dim as usize).collect();
        let tensor = Tensor::full(dtype, &sizes, value).ok_or_else(|| format!("`{dtype}`, which no tensor can hold"))?;
        return Ok(cx.constant("value", tensor).into());
    }
    let value = cx.scalar("value", dtype, value)?;
    Ok(cx.expanded(value, &shape).into())
}

fn spread_onnx(cx: &mut OnnxCx, arg: usize) -> OnnxResult {
    let (value, dims) = (cx.operand_as_out(arg)?, cx.out[0].0.clone());
    Ok(cx.expanded_to(value, &dims)?.into())
}

/// Range has few dtypes.
fn arange_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let dtype = cx.out_dtype();
    let known = [DType::F32, DType::F64, DType::I16, DType::I32, DType::I64];
    if !known.contains(&dtype) {
        return Err(format!("numbers of `{dtype}`, where ONNX takes float32, float64, int16, int32 and int64 only"));
    }
    let operands = [0, 1, 2].map(|arg| cx.tensor(arg));
    if let Ok(&[n]) = cx.out_shape().as_deref() {
        // Attributes say it here, and need not be what the operands are.
        let number = |operand: ValueId| cx.known(operand).and_then(|number| number.to_f64s().first().copied());
        let [start, stop, step] = operands.map(number);
        let said = start.zip(stop).zip(step).map(|((start, stop), step)| arange_len(start, stop, step));
        if said != Some(n as f64) {
            return Err("a length that its operands do not say".into());
        }
    }
    Ok(cx.node("Range", &operands).one().into())
}

fn count_onnx(cx: &mut OnnxCx, kind: &'static str) -> OnnxResult {
    let count: ValueId = cx.map(kind);
    Ok(cx.cast(count, DType::I64, cx.out_dtype())?.into())
}

pub(super) fn shape_of_onnx(cx: &mut OnnxCx) -> OnnxResult {
    // Of a scalar it is the scalar 0.
    if cx.rank(cx.tensor(0)) == 0 { filled_onnx(cx, 0.0) } else { count_onnx(cx, "Shape") }
}

pub(crate) const FAMILY: &[OpDef] = &[ZEROS, ONES, ZEROS_LIKE, ONES_LIKE, FULL, FULL_LIKE, ARANGE, NDARRAY_SIZE, SHAPE_OF];

#[cfg(test)]
mod tests {
    use super::super::testing::{eval, hostile, rel, t};
    use relayc_ir::attrs::AttrValue;
    use relayc_ir::tensor::Tensor;
    use relayc_ir::types::DType;

    #[test]
    fn shapes_and_dtypes() {
        let attrs = |shape, dtype| [("shape", shape), ("dtype", AttrValue::DType(dtype))];
        let shape = || AttrValue::ints(&[2, 3]);
        assert_eq!(rel("zeros", &[], &attrs(shape(), Some(DType::I8))), "Tensor[(2, 3), int8]");
        assert_eq!(rel("zeros", &[], &attrs(AttrValue::ints(&[]), Some(DType::I8))), "int8");
        assert_eq!(rel("zeros", &[], &attrs(AttrValue::ints(&[-1]), Some(DType::I8))), "E0404 C1");
        assert_eq!(rel("zeros", &[], &attrs(AttrValue::None, Some(DType::I8))), "E0404 C1");
        assert_eq!(rel("zeros", &[], &attrs(shape(), None)), "E0404 C2");
        assert_eq!(rel("full", &[t(&[], DType::F16)], &attrs(shape(), None)), "Tensor[(2, 3), float16]");
        assert_eq!(rel("full", &[t(&[1], DType::F16)], &attrs(shape(), None)), "E0303 C3");
        assert_eq!(rel("zeros", &[], &attrs(AttrValue::ints(&[1 << 21, 1 << 21]), Some(DType::I8))), "E0803");
        hostile("zeros", &[], &[("dtype", AttrValue::DType(Some(DType::I8)))], &[], &["shape"]);
    }

    #[test]
    fn values_everywhere() {
        let attrs = [("shape", AttrValue::ints(&[2])), ("dtype", AttrValue::DType(Some(DType::U8)))];
        assert_eq!(eval("ones", &[], &attrs).expect("no trap").to_vec::<u8>(), Some(vec![1, 1]));
        assert_eq!(eval("full", &[Tensor::scalar(-1i32)], &attrs).expect("no trap").to_vec::<u8>(), Some(vec![255, 255]));
        let x = Tensor::from_vec(&[2], vec![0.5f32, 1.5]);
        assert_eq!(eval("full_like", &[x, Tensor::scalar(3i64)], &[]).expect("no trap").to_vec::<f32>(), Some(vec![3.0; 2]));
    }

    #[test]
    fn lengths_as_values() {
        let attrs = [("dtype", AttrValue::DType(Some(DType::I64)))];
        let x = Tensor::from_vec(&[2, 3], vec![0u8; 6]);
        assert_eq!(eval("shape_of", std::slice::from_ref(&x), &attrs).expect("no trap").to_vec::<i64>(), Some(vec![2, 3]));
        assert_eq!(eval("ndarray_size", &[x], &attrs).expect("no trap").to_vec::<i64>(), Some(vec![6]));
        assert_eq!(rel("shape_of", &[t(&[], DType::I8)], &attrs), "int64");
        assert_eq!(rel("shape_of", &[t(&[2], DType::I8)], &[]), "E0404 C1");
    }
}
