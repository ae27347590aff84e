//! The type relations of quantized operators.
//!
//! Scales are float32 and zero points int32: one number, or one for each position of an axis.

use super::{BroadcastAttrs, DensePackAttrs, LeakyReluAttrs, QuantizeAttrs, RequantizeAttrs, SimulatedAxisAttrs, SoftmaxAttrs};
use crate::conv::{CONV2D, CONV2D_TRANSPOSE, Conv2dAttrs, Conv2dTransposeAttrs};
use crate::dense::{DENSE, DenseAttrs};
use crate::join::CONCATENATE;
use crate::matmul::{BATCH_MATMUL, BatchMatmulAttrs};
use crate::pool::AVG_POOL2D;
use crate::prelude::*;
use relayc_base::text::join_words;

/// The dtypes of quantized tensors.
const QUANTIZED: &[DType] = &[DType::I8, DType::U8, DType::I16, DType::U16, DType::I32];

const BYTES: &[DType] = &[DType::I8, DType::U8];

fn or_words(dtypes: &[DType]) -> String {
    let words: Vec<String> = dtypes.iter().map(|dtype| format!("`{dtype}`")).collect();
    join_words(&words, "or")
}

/// The rule that an operand is of one of some dtypes.
fn require_dtype(cx: &RelCx, rule: &'static str, tensor: &TensorTy, allowed: &[DType]) -> RelResult {
    cx.require(rule, allowed.contains(&tensor.dtype), || {
        let message = format!("expected {}, found `{}`", or_words(allowed), tensor.dtype);
        let fault = Fault::dtype(message).at(tensor.place(), "");
        if let [only] = allowed { fault.cast(tensor, *only) } else { fault }
    })
}

/// The rule that `out_dtype` is one of some dtypes.
fn require_out_dtype(cx: &RelCx, rule: &'static str, dtype: Option<DType>, allowed: &[DType]) -> RelResult<DType> {
    let known = dtype.filter(|dtype| allowed.contains(dtype));
    cx.require(rule, known.is_some(), || {
        let found = dtype.map_or("none".to_owned(), |dtype| format!("`{dtype}`"));
        Fault::attr("out_dtype", format!("expected {}, found {found}", or_words(allowed)))
    })?;
    Ok(known.unwrap_or(DType::I32))
}

/// The rule that a tensor is one number of a dtype.
fn require_scalar(cx: &RelCx, rule: &'static str, tensor: &TensorTy, dtype: DType) -> RelResult {
    require_dtype(cx, rule, tensor, &[dtype])?;
    cx.require(rule, tensor.rank() == 0, || Fault::rank(0, tensor))
}

/// The rule that some operands are float32 scalars, scales, and others int32 scalars, zero points.
fn require_scalars(cx: &mut RelCx, rule: &'static str, scales: &[usize], zero_points: &[usize]) -> RelResult {
    for arg in 0..cx.n_args() {
        let dtype = match (scales.contains(&arg), zero_points.contains(&arg)) {
            (true, _) => DType::F32,
            (_, true) => DType::I32,
            _ => continue,
        };
        let tensor = cx.tensor(arg)?;
        require_scalar(cx, rule, &tensor, dtype)?;
    }
    Ok(())
}

/// The rule that an operand is one number of a dtype, or a vector of a number for each of some positions.
fn require_numbers(cx: &mut RelCx, rule: &'static str, arg: usize, dtype: DType, positions: SDim) -> RelResult {
    let tensor = cx.tensor(arg)?;
    require_dtype(cx, rule, &tensor, &[dtype])?;
    if tensor.rank() == 0 {
        return Ok(());
    }
    cx.require(rule, tensor.rank() == 1, || Fault::rank("0 or 1", &tensor))?;
    cx.require(rule, tensor.shape[0].compatible(positions.dim), || {
        Fault::shape(format!("expected {} numbers, found {}", positions.dim, tensor.shape[0]))
            .at(tensor.axis(0), "")
            .at(positions.place(), "")
    })?;
    cx.set_arg(rule, arg, Shape::from_slice(&[positions]), dtype)
}

/// The positions of the axis that scales and zero points run along. A scalar has one position, on axis 0.
fn positions(cx: &RelCx, rule: &'static str, attr: &'static str, axis: i64, data: &TensorTy) -> RelResult<SDim> {
    let axis = if data.rank() == 0 && axis < 0 { 0 } else { axis };
    let axis = cx.axis(rule, attr, axis, data.rank().max(1))?;
    Ok(if data.rank() == 0 { SDim::known(1, DimOrigin::Op) } else { data.dim(axis) })
}

pub(super) fn quantize_rel(cx: &mut RelCx) -> RelResult {
    let attrs = QuantizeAttrs::read(cx.attrs);
    let dtype = require_out_dtype(cx, "C2", attrs.out_dtype, QUANTIZED)?;
    let data = cx.tensor(0)?;
    require_dtype(cx, "C1", &data, &[DType::F32])?;
    let positions = positions(cx, "C3", "axis", attrs.axis, &data)?;
    require_numbers(cx, "C4", 1, DType::F32, positions)?;
    require_numbers(cx, "C4", 2, DType::I32, positions)?;
    cx.set_out(data.dims(), dtype)
}

pub(super) fn dequantize_rel(cx: &mut RelCx) -> RelResult {
    let attrs = QuantizeAttrs::read(cx.attrs);
    let dtype = require_out_dtype(cx, "C2", attrs.out_dtype, &[DType::F16, DType::F32])?;
    let data = cx.tensor(0)?;
    require_dtype(cx, "C1", &data, QUANTIZED)?;
    let one = |tensor: &TensorTy| tensor.shape.iter().all(|dim| dim.value() == Some(1));
    let positions = match one(&cx.tensor(1)?) && one(&cx.tensor(2)?) {
        true => SDim::known(1, DimOrigin::Op),
        false => positions(cx, "C3", "axis", attrs.axis, &data)?,
    };
    require_numbers(cx, "C4", 1, DType::F32, positions)?;
    require_numbers(cx, "C4", 2, DType::I32, positions)?;
    cx.set_out(data.dims(), dtype)
}

pub(super) fn requantize_rel(cx: &mut RelCx) -> RelResult {
    let attrs = RequantizeAttrs::read(cx.attrs);
    let dtype = require_out_dtype(cx, "C2", attrs.out_dtype, &[DType::I8, DType::U8, DType::I16, DType::I32])?;
    let words: [(&'static str, &str, &[&str]); 2] = [
        ("rounding", &attrs.rounding, &["UPWARD", "TONEAREST", "None"]),
        ("compute_dtype", &attrs.compute_dtype, &["int64", "float32", "float64", "None"]),
    ];
    for (name, found, allowed) in words {
        cx.require("C3", allowed.contains(&found), || {
            let words: Vec<String> = allowed.iter().map(|word| format!("{word:?}")).collect();
            Fault::attr(name, format!("expected {}, found {found:?}", join_words(&words, "or")))
        })?;
    }
    let data = cx.tensor(0)?;
    require_dtype(cx, "C1", &data, &[DType::I8, DType::U8, DType::I16, DType::I32, DType::I64])?;
    let positions = positions(cx, "C4", "axis", attrs.axis, &data)?;
    require_numbers(cx, "C5", 1, DType::F32, positions)?;
    require_numbers(cx, "C5", 2, DType::I32, positions)?;
    require_scalars(cx, "C6", &[3], &[4])?;
    cx.set_out(data.dims(), dtype)
}

/// The relation on data, the number of a dtype, scale and zero point.
pub(super) fn simulated_quantize_rel(cx: &mut RelCx) -> RelResult {
    simulated_rel(cx, SimulatedAxisAttrs::read(cx.attrs).axis)
}

pub(super) fn simulated_dequantize_rel(cx: &mut RelCx) -> RelResult {
    simulated_rel(cx, QuantizeAttrs::read(cx.attrs).axis)
}

fn simulated_rel(cx: &mut RelCx, axis: i64) -> RelResult {
    let (data, code) = (cx.tensor(0)?, cx.tensor(1)?);
    positions(cx, "C4", "axis", axis, &data)?;
    rel::require_float(cx, "C1", &data)?;
    cx.require("C2", code.rank() == 0, || Fault::rank(0, &code))?;
    for arg in [2, 3] {
        let numbers = cx.tensor(arg)?;
        cx.require("C3", numbers.rank() <= 1, || Fault::rank("0 or 1", &numbers))?;
    }
    cx.set_out(data.dims(), data.dtype)
}

/// The positions of an axis of one of a pair; the axis says nothing where there are not several.
fn pair_positions(cx: &RelCx, attr: &'static str, axis: i64, data: &TensorTy) -> RelResult<SDim> {
    positions(cx, "C4", attr, if data.rank() <= 1 { 0 } else { axis }, data)
}

pub(super) fn pair_rel(cx: &mut RelCx) -> RelResult {
    let attrs = BroadcastAttrs::read(cx.attrs);
    let (lhs, rhs) = (cx.tensor(0)?, cx.tensor(1)?);
    require_dtype(cx, "C3", &lhs, QUANTIZED)?;
    let (lhs, rhs) =
        (pair_positions(cx, "lhs_axis", attrs.lhs_axis, &lhs)?, pair_positions(cx, "rhs_axis", attrs.rhs_axis, &rhs)?);
    for (arg, dtype, positions) in [(2, DType::F32, lhs), (3, DType::I32, lhs), (4, DType::F32, rhs), (5, DType::I32, rhs)] {
        require_numbers(cx, "C5", arg, dtype, positions)?;
    }
    require_scalars(cx, "C6", &[6], &[7])?;
    rel::broadcast(cx)
}

/// The distance of an axis from the end, which aligned shapes share; the last axis has 1.
pub(super) fn from_end(axis: i64, rank: usize) -> i64 {
    match rank as i64 {
        0 | 1 => 1,
        _ if axis < 0 => -axis,
        rank => rank - axis,
    }
}

pub(super) fn mul_rel(cx: &mut RelCx) -> RelResult {
    let attrs = BroadcastAttrs::read(cx.attrs);
    pair_rel(cx)?;
    let (lhs, rhs) = (cx.tensor(0)?, cx.tensor(1)?);
    let vectors = cx.tensor(2)?.rank() > 0 && cx.tensor(4)?.rank() > 0;
    let (l, r) = (from_end(attrs.lhs_axis, lhs.rank()), from_end(attrs.rhs_axis, rhs.rank()));
    cx.require("C7", !vectors || l == r, || {
        Fault::attr("rhs_axis", format!("expected the axis -{l} of the result, found -{r}"))
            .at(Place::attr("lhs_axis"), "")
            .equation("lhs_axis - rank(lhs) == rhs_axis - rank(rhs)", format!("-{l} == -{r}"))
    })
}

pub(super) fn concatenate_rel(cx: &mut RelCx) -> RelResult {
    let (data, scales, zero_points) = (cx.tuple(0)?, cx.tuple(1)?, cx.tuple(2)?);
    for tensor in data.tensors(cx) {
        require_dtype(cx, "C6", &tensor, QUANTIZED)?;
    }
    for (arg, numbers, dtype) in [(1, scales, DType::F32), (2, zero_points, DType::I32)] {
        cx.require("C7", numbers.len() == data.len(), || {
            Fault::shape(format!("expected {} scalars, found {}", data.len(), numbers.len()))
                .at(Place::arg(arg), "")
                .at(Place::arg(0), "")
        })?;
        for number in numbers.tensors(cx) {
            require_scalar(cx, "C7", &number, dtype)?;
        }
    }
    require_scalars(cx, "C8", &[3], &[4])?;
    (CONCATENATE.rel)(cx)
}

pub(super) fn dense_rel(cx: &mut RelCx) -> RelResult {
    let attrs = DenseAttrs::read(cx.attrs);
    require_out_dtype(cx, "C7", attrs.out_dtype, &[DType::I32, DType::I64])?;
    let (data, weight) = (cx.tensor(0)?, cx.tensor(1)?);
    require_dtype(cx, "C6", &data, &[DType::I8, DType::U8, DType::I16, DType::U16])?;
    require_dtype(cx, "C6", &weight, BYTES)?;
    require_scalars(cx, "C8", &[4], &[2])?;
    (DENSE.rel)(cx)?;
    require_numbers(cx, "C9", 3, DType::I32, weight.dim(0))?;
    require_numbers(cx, "C9", 5, DType::F32, weight.dim(0))
}

pub(super) fn batch_matmul_rel(cx: &mut RelCx) -> RelResult {
    let attrs = BatchMatmulAttrs::read(cx.attrs);
    require_out_dtype(cx, "C5", attrs.out_dtype, &[DType::I32])?;
    for arg in [0, 1] {
        let tensor = cx.tensor(arg)?;
        require_dtype(cx, "C4", &tensor, BYTES)?;
    }
    require_scalars(cx, "C6", &[4, 5], &[2, 3])?;
    (BATCH_MATMUL.rel)(cx)
}

pub(super) fn conv2d_rel(cx: &mut RelCx) -> RelResult {
    let attrs = Conv2dAttrs::read(cx.attrs);
    require_out_dtype(cx, "C14", attrs.out_dtype, &[DType::I16, DType::I32, DType::I64])?;
    for arg in [0, 1] {
        let tensor = cx.tensor(arg)?;
        require_dtype(cx, "C13", &tensor, &[DType::I8, DType::U8, DType::I16])?;
    }
    require_scalars(cx, "C15", &[4], &[2])?;
    (CONV2D.rel)(cx)?;
    let outputs = output_channels(cx, attrs.channels, &attrs.kernel_layout)?;
    require_numbers(cx, "C16", 3, DType::I32, outputs)?;
    require_numbers(cx, "C16", 5, DType::F32, outputs)
}

/// The output channels of a convolution whose other rules hold.
fn output_channels(cx: &mut RelCx, channels: Option<i64>, kernel_layout: &str) -> RelResult<SDim> {
    let weight = cx.tensor(1)?;
    let axis = Layout::parse(kernel_layout).ok().and_then(|layout| Some((layout.axis('O')?, layout.block('O'))));
    Ok(match (channels, axis) {
        (Some(channels), _) => SDim::known(channels, DimOrigin::Attr("channels")),
        (None, Some((axis, 1))) => weight.dim(axis),
        _ => SDim::new(Dim::Any, DimOrigin::Op),
    })
}

pub(super) fn conv2d_transpose_rel(cx: &mut RelCx) -> RelResult {
    let attrs = Conv2dTransposeAttrs::read(cx.attrs);
    require_out_dtype(cx, "C14", attrs.out_dtype, &[DType::I16, DType::I32, DType::I64])?;
    let (data, weight) = (cx.tensor(0)?, cx.tensor(1)?);
    require_dtype(cx, "C13", &data, &[DType::I8, DType::U8, DType::I16, DType::U16])?;
    require_dtype(cx, "C13", &weight, BYTES)?;
    require_numbers(cx, "C15", 2, DType::I32, SDim::known(1, DimOrigin::Op))?;
    require_numbers(cx, "C15", 4, DType::F32, SDim::known(1, DimOrigin::Op))?;
    (CONV2D_TRANSPOSE.rel)(cx)?;
    let outputs = output_channels(cx, None, &attrs.kernel_layout)?;
    require_numbers(cx, "C16", 3, DType::I32, outputs)?;
    let layout = Layout::parse(&attrs.kernel_layout).ok();
    let inputs =
        layout.filter(|layout| layout.block('I') == 1).and_then(|layout| layout.axis('I')).map(|axis| weight.shape[axis]);
    let scales = match inputs {
        _ if attrs.groups == 1 => outputs,
        Some(inputs) => SDim::new(cx.types.symbols.arith(SymbolOp::Mul, inputs, outputs.dim), DimOrigin::Rule("C16")),
        None => SDim::new(Dim::Any, DimOrigin::Op),
    };
    require_numbers(cx, "C16", 5, DType::F32, scales)
}

/// Data of a byte each, then scale, zero point, output scale and output zero point.
fn require_unary(cx: &mut RelCx, dtypes: (&'static str, &[DType]), scalars: &'static str) -> RelResult<TensorTy> {
    let data = cx.tensor(0)?;
    require_dtype(cx, dtypes.0, &data, dtypes.1)?;
    require_scalars(cx, scalars, &[1, 3], &[2, 4])?;
    Ok(data)
}

pub(super) fn avg_pool2d_rel(cx: &mut RelCx) -> RelResult {
    require_unary(cx, ("C6", BYTES), "C7")?;
    (AVG_POOL2D.rel)(cx)
}

pub(super) fn softmax_rel(cx: &mut RelCx) -> RelResult {
    let attrs = SoftmaxAttrs::read(cx.attrs);
    let data = require_unary(cx, ("C1", &[DType::I8]), "C2")?;
    cx.axis("C3", "axis", attrs.axis, data.rank())?;
    cx.set_out(data.dims(), data.dtype)
}

pub(super) fn leaky_relu_rel(cx: &mut RelCx) -> RelResult {
    let attrs = LeakyReluAttrs::read(cx.attrs);
    cx.require("C3", attrs.alpha >= 0.0, || Fault::attr("alpha", format!("expected at least 0, found {}", attrs.alpha)))?;
    unary_rel(cx)
}

pub(super) fn unary_rel(cx: &mut RelCx) -> RelResult {
    let data = require_unary(cx, ("C1", BYTES), "C2")?;
    cx.set_out(data.dims(), data.dtype)
}

pub(super) fn contrib_dense_pack_rel(cx: &mut RelCx) -> RelResult {
    let attrs = DensePackAttrs::read(cx.attrs);
    let (data, weight) = (cx.tensor(0)?, cx.tensor(1)?);
    cx.require("C1", data.rank() == 2, || Fault::rank(2, &data))?;
    cx.require("C2", weight.rank() == 4, || Fault::rank(4, &weight))?;
    let dtype = rel::require_tensor_dtype(cx, "C3", "out_dtype", attrs.out_dtype)?;
    let (blocks, block) = (weight.shape[0], weight.shape[2]);
    let fits = blocks.value().zip(block.value()).is_none_or(|(a, b)| a.checked_mul(b).is_some());
    cx.require("C4", fits, || Fault::new(codes::E0803, "the product of the dimensions is too large").at(weight.place(), ""))?;
    let units = cx.types.symbols.built(SymbolOp::Mul, blocks, block);
    cx.set_out(Shape::from_slice(&[data.dim(0), SDim::new(units, DimOrigin::Rule("C4"))]), dtype)
}

pub(super) fn annotation_simulated_quantize_rel(cx: &mut RelCx) -> RelResult {
    let data = cx.tensor(0)?;
    cx.require("C1", data.rank() >= 1, || Fault::rank("1 or more", &data))?;
    for arg in 1..4 {
        cx.set_arg("C2", arg, Shape::new(), DType::F32)?;
    }
    cx.set_out(data.dims(), data.dtype)
}

#[cfg(test)]
mod tests {
    use super::super::*;
    use crate::trial::{Trial, call, extremes};
    use relayc_ir::attrs::AttrValue;

    const ONE: [&str; 4] = ["() float32", "() int32", "() float32", "() int32"];

    fn with(data: &str, scale: &str, zero: &str) -> Vec<String> {
        [data, scale, zero, ONE[2], ONE[3]].map(str::to_owned).into()
    }

    fn out(trial: &Trial, args: &[String]) -> String {
        trial.out(&args.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn rule(trial: &Trial, args: &[String]) -> &'static str {
        trial.fault(&args.iter().map(String::as_str).collect::<Vec<_>>()).rule
    }

    fn to(dtype: DType) -> AttrValue {
        AttrValue::DType(Some(dtype))
    }

    #[test]
    fn numbers_along_an_axis() {
        let requantize = |axis| call(&REQUANTIZE).attr("out_dtype", to(DType::I8)).int("axis", axis);
        let args = |data, scale| with(data, scale, "() int32");
        assert_eq!(out(&requantize(-1), &args("(2, 3i64) int32", "(3) float32")), "Tensor[(2, 3i64), int8]");
        assert_eq!(out(&requantize(0), &args("(2, 3) int64", "(?) float32")), "Tensor[(2, 3), int8]");
        assert_eq!(out(&requantize(-7), &args("() int32", "(1) float32")), "int8");
        assert_eq!(rule(&requantize(0), &args("(2, 3) int32", "(3) float32")), "C5");
        assert_eq!(rule(&requantize(2), &args("(2, 3) int32", "() float32")), "C4");
        assert_eq!(rule(&requantize(0), &args("(2, 3) uint16", "() float32")), "C1");
        assert_eq!(rule(&requantize(0).text("rounding", "up"), &args("(2) int8", "() float32")), "C3");
        let all = ["(2, 3) int32", "(3) float32", "() int32", "() float32", "() int32"];
        extremes(|| requantize(-1), &all);
        extremes(|| call(&QUANTIZE).attr("out_dtype", to(DType::I8)), &["(2, 3) float32", "(3) float32", "() int32"]);
        extremes(|| call(&DEQUANTIZE).attr("out_dtype", to(DType::F16)), &["(2, 3) int8", "(3) float32", "() int32"]);
    }

    #[test]
    fn single_numbers_need_no_axis_to_dequantize() {
        let dequantize = |axis| call(&DEQUANTIZE).attr("out_dtype", to(DType::F32)).int("axis", axis);
        assert_eq!(dequantize(9).out(&["(2, 3) int8", "(1) float32", "(1) int32"]), "Tensor[(2, 3), float32]");
        assert_eq!(dequantize(9).fault(&["(2, 3) int8", "(2) float32", "() int32"]).rule, "C3");
        assert_eq!(dequantize(1).fault(&["(2, 3) int8", "(3) float32", "(1) int32"]).rule, "C4");
    }

    #[test]
    fn pairs() {
        let args = |lhs, rhs, scale| [lhs, rhs, scale, "() int32", "() float32", "() int32", "() float32", "() int32"];
        let of = |axis| call(&MUL).int("lhs_axis", axis);
        let mut two_vectors = args("(2, 3, 1) int8", "(2, 1, 4) int8", "(3) float32");
        two_vectors[4] = "(4) float32";
        assert_eq!(of(1).out(&args("(2, 3, 1) int8", "(4) int8", "(3) float32")), "Tensor[(2, 3, 4), int8]");
        assert_eq!(of(1).fault(&two_vectors).rule, "C7");
        assert_eq!(of(3).fault(&args("(2, 3, 1) int8", "(4) int8", "() float32")).rule, "C4");
        assert_eq!(of(1).fault(&args("(2, 3) int8", "(4) int8", "() float32")).rule, "C2");
        assert_eq!(of(1).fault(&args("(2, 3) int64", "(3) int64", "() float32")).rule, "C3");
        extremes(|| of(-1), &args("(2, 3) int8", "(3) int8", "(3) float32"));
    }
}
