//! Normalisation by the data's own mean and variance, or by its norm: layers, groups, instances, l2.

mod nest;

use super::norm::channel_arg;
use super::norm::{channels_first_onnx, channels_onnx};
use crate::prelude::*;
use relayc_ir::tensor::{Acc, Real, Sum, float_max};

attrs! {
    "relay.attrs.LayerNormAttrs" =>
    pub(crate) struct LayerNormAttrs {
        /// The axis to normalise, along which `gamma` and `beta` run; a negative axis counts from the end.
        pub(crate) axis: i64 = -1;
        /// Added to the variance.
        pub(crate) epsilon: f64 = 1e-5;
        /// Whether to add `beta`.
        pub(crate) center: bool = true;
        /// Whether to multiply by `gamma`.
        pub(crate) scale: bool = true;
    }

    "relay.attrs.GroupNormAttrs" =>
    pub(crate) struct GroupNormAttrs {
        /// The number of groups of channels.
        pub(crate) num_groups: i64 = 0;
        /// The axis of the channels; a negative axis counts from the end.
        pub(crate) axis: i64 = 1;
        /// Added to the variance.
        pub(crate) epsilon: f64 = 1e-5;
        /// Whether to add `beta`.
        pub(crate) center: bool = true;
        /// Whether to multiply by `gamma`.
        pub(crate) scale: bool = true;
    }

    "relay.attrs.InstanceNormAttrs" =>
    pub(crate) struct InstanceNormAttrs {
        /// The axis of the channels; a negative axis counts from the end.
        pub(crate) axis: i64 = 1;
        /// Added to the variance.
        pub(crate) epsilon: f64 = 1e-5;
        /// Whether to add `beta`.
        pub(crate) center: bool = true;
        /// Whether to multiply by `gamma`.
        pub(crate) scale: bool = true;
    }

    "relay.attrs.L2NormalizeAttrs" =>
    pub(crate) struct L2NormalizeAttrs {
        /// The least sum of squares to divide by.
        pub(crate) eps: f64;
        /// The axes to sum along; negative axes count from the end. An empty list stands for all axes.
        pub(crate) axis: Option<Vec<i64>>;
    }
}

const OPERANDS: &[Arg] = &[Arg::tensor("data"), Arg::tensor("gamma"), Arg::tensor("beta")];

const FLOAT: &str = "C1: dtype(data) is a float";
const AXIS: &str = "C2: -rank(data) <= axis < rank(data)";
const CHANNELS: &str = "C3: gamma and beta have the shape (data[axis],)";
const DTYPES: &str = "C4: their dtype is dtype(data)";

pub(crate) const LAYER_NORM: OpDef = OpDef {
    name: "nn.layer_norm",
    doc: "`(data - mean) / sqrt(var + epsilon) * gamma + beta` with the mean and the variance along `axis`; without `scale` no \
          `gamma`, without `center` no `beta`. Shape and dtype are those of `data` (`src/relay/op/nn/nn.cc`, \
          `src/relay/transforms/simplify_inference.cc`).",
    args: OPERANDS,
    attrs: Some(LayerNormAttrs::SCHEMA),
    rules: &[FLOAT, AXIS, CHANNELS, DTYPES],
    rel: layer_norm_rel,
    eval: layer_norm_eval,
    lower: Some(Lower::Nest(nest::layer_norm)),
    fuse: None,
    ..OpDef::BASE
};

fn layer_norm_rel(cx: &mut RelCx) -> RelResult {
    let axis = LayerNormAttrs::read(cx.attrs).axis;
    let (data, _) = operands(cx, axis)?;
    cx.set_out(data.dims(), data.dtype)
}

/// The rules `C1` to `C4`, of all three; the data and the axis of its channels.
fn operands(cx: &mut RelCx, axis: i64) -> RelResult<(TensorTy, usize)> {
    let data = cx.tensor(0)?;
    rel::require_float(cx, "C1", &data)?;
    let axis = cx.axis("C2", "axis", axis, data.rank())?;
    for (arg, operand) in OPERANDS.iter().enumerate().skip(1) {
        channel_arg(cx, ("C3", "C4"), &data, axis, (arg, operand.name))?;
    }
    Ok((data, axis))
}

fn layer_norm_eval(cx: &EvalCx) -> EvalResult {
    let LayerNormAttrs { axis, epsilon, center, scale } = LayerNormAttrs::read(cx.attrs);
    let data = cx.tensor(0);
    let axis = axis.rem_euclid(data.rank() as i64) as usize;
    let parts = Parts { shape: data.shape().to_vec(), axes: vec![axis], channel: vec![axis] };
    Ok(normalized(cx, &parts, epsilon, (scale, center)).into())
}

pub(crate) const GROUP_NORM: OpDef = OpDef {
    name: "nn.group_norm",
    doc: "`(data - mean) / sqrt(var + epsilon) * gamma + beta` with the mean and the variance of each of `num_groups` groups of \
          neighbouring channels, along the axes behind `axis` too; each channel with its own `gamma` and `beta`. Shape and \
          dtype are those of `data` (`src/relay/op/nn/nn.cc`, `src/relay/transforms/simplify_inference.cc`).",
    args: OPERANDS,
    attrs: Some(GroupNormAttrs::SCHEMA),
    rules: &[FLOAT, AXIS, CHANNELS, DTYPES, "C5: num_groups is at least 1 and divides data[axis]"],
    rel: group_norm_rel,
    eval: group_norm_eval,
    lower: Some(Lower::Nest(nest::group_norm)),
    fuse: None,
    ..OpDef::BASE
};

fn group_norm_rel(cx: &mut RelCx) -> RelResult {
    let attrs = GroupNormAttrs::read(cx.attrs);
    let (data, axis) = operands(cx, attrs.axis)?;
    let groups = attrs.num_groups;
    cx.require("C5", groups >= 1, || Fault::attr("num_groups", format!("expected at least 1, found {groups}")))?;
    let channels = data.shape[axis];
    cx.require("C5", channels.value().is_none_or(|channels| channels % groups == 0), || {
        Fault::attr("num_groups", format!("cannot cut {channels} channels into {groups} groups"))
            .at(data.axis(axis), "")
            .equation(format!("data[{axis}] % num_groups == 0"), format!("{channels} % {groups} == 0"))
    })?;
    cx.set_out(data.dims(), data.dtype)
}

fn group_norm_eval(cx: &EvalCx) -> EvalResult {
    let GroupNormAttrs { num_groups, axis, epsilon, center, scale } = GroupNormAttrs::read(cx.attrs);
    let data = cx.tensor(0);
    let axis = axis.rem_euclid(data.rank() as i64) as usize;
    // (…, C, …) as (…, group, C / groups, …).
    let mut shape = data.shape().to_vec();
    shape.insert(axis, num_groups as usize);
    shape[axis + 1] /= num_groups as usize;
    let axes = (axis + 1..shape.len()).collect();
    let parts = Parts { shape, axes, channel: vec![axis, axis + 1] };
    Ok(normalized(cx, &parts, epsilon, (scale, center)).into())
}

pub(crate) const INSTANCE_NORM: OpDef = OpDef {
    name: "nn.instance_norm",
    doc: "`(data - mean) / sqrt(var + epsilon) * gamma + beta` with the mean and the variance of each channel of each sample, \
          along all axes but the first and `axis`. Shape and dtype are those of `data` (`src/relay/op/nn/nn.cc`, \
          `src/relay/transforms/simplify_inference.cc`).",
    args: OPERANDS,
    attrs: Some(InstanceNormAttrs::SCHEMA),
    rules: &[FLOAT, AXIS, CHANNELS, DTYPES, "C5: rank(data) >= 3"],
    rel: instance_norm_rel,
    eval: instance_norm_eval,
    lower: Some(Lower::Nest(nest::instance_norm)),
    fuse: None,
    ..OpDef::BASE
};

fn instance_norm_rel(cx: &mut RelCx) -> RelResult {
    let axis = InstanceNormAttrs::read(cx.attrs).axis;
    let data = cx.tensor(0)?;
    cx.require("C5", data.rank() >= 3, || Fault::rank("at least 3", &data))?;
    operands(cx, axis)?;
    cx.set_out(data.dims(), data.dtype)
}

fn instance_norm_eval(cx: &EvalCx) -> EvalResult {
    let InstanceNormAttrs { axis, epsilon, center, scale } = InstanceNormAttrs::read(cx.attrs);
    let data = cx.tensor(0);
    let channel = axis.rem_euclid(data.rank() as i64) as usize;
    let axes = (1..data.rank()).filter(|&axis| axis != channel).collect();
    let parts = Parts { shape: data.shape().to_vec(), axes, channel: vec![channel] };
    Ok(normalized(cx, &parts, epsilon, (scale, center)).into())
}

/// How a tensor falls into the parts that are normalised each for itself.
struct Parts {
    /// The shape under which it does.
    shape: Vec<usize>,
    /// The axes along which the mean is taken; no mean is taken along the others.
    axes: Vec<usize>,
    /// The axes that tell a channel.
    channel: Vec<usize>,
}

impl Parts {
    /// The number of elements of a part.
    fn n(&self) -> usize {
        self.axes.iter().map(|&axis| self.shape[axis]).product()
    }

    /// The part each element is of, in the order in which reducing the axes gives them.
    fn parts(&self) -> Vec<usize> {
        let kept: Vec<usize> = (0..self.shape.len()).filter(|axis| !self.axes.contains(axis)).collect();
        positions(&self.shape, &kept)
    }
}

/// For each element of a shape its row-major position among these axes, which ascend.
fn positions(shape: &[usize], axes: &[usize]) -> Vec<usize> {
    let n: usize = shape.iter().product();
    let mut positions = vec![0; n];
    // `inner` elements in a row have one index on the axis.
    let (mut inner, mut step) = (1, 1);
    for axis in (0..shape.len()).rev() {
        if axes.contains(&axis) {
            positions.iter_mut().enumerate().for_each(|(i, at)| *at += i / inner % shape[axis] * step);
            step *= shape[axis];
        }
        inner *= shape[axis];
    }
    positions
}

/// Operand 0 normalised by parts, each channel with its own slope (if `scale`) and shift (if `center`).
fn normalized(cx: &EvalCx, parts: &Parts, epsilon: f64, (scale, center): (bool, bool)) -> Tensor {
    let (data, gamma, beta) = (cx.tensor(0), cx.tensor(1).to_f64s(), cx.tensor(2).to_f64s());
    let affine = |channel: usize, x: f64| {
        let x = if scale { x * gamma[channel] } else { x };
        if center { x + beta[channel] } else { x }
    };
    let out = match data.dtype() {
        DType::F64 => standardized::<f64>(data, parts, epsilon, affine),
        _ => standardized::<f32>(data, parts, epsilon, affine),
    };
    out.into_tensor(data.dtype())
}

/// Sums are taken in the accumulator, functions in f64, and rounded once.
fn standardized<T: Real>(data: &Tensor, parts: &Parts, epsilon: f64, affine: impl Fn(usize, f64) -> f64) -> Acc {
    let (part, channel) = (parts.parts(), positions(&parts.shape, &parts.channel));
    let mean = |values: Vec<T>| -> Vec<f64> {
        let sums = T::elements(&T::from_elements(&parts.shape, values).fold::<Sum>(&parts.axes));
        sums.into_iter().map(|sum| sum.to_f64() / parts.n() as f64).collect()
    };
    let values = T::elements(&data.to_acc());
    let means = mean(values.clone());
    let centred: Vec<T> = values.into_iter().zip(&part).map(|(x, &part)| T::from_f64(x.to_f64() - means[part])).collect();
    let variances = mean(centred.iter().map(|&x| x.mul(x)).collect());
    let out = centred
        .into_iter()
        .zip(part.into_iter().zip(channel))
        .map(|(x, (part, channel))| T::from_f64(affine(channel, x.to_f64() / (variances[part] + epsilon).sqrt())));
    T::from_elements(data.shape(), out.collect())
}

pub(crate) const L2_NORMALIZE: OpDef = OpDef {
    name: "nn.l2_normalize",
    doc: "`data / sqrt(max(sum(data²), eps))`, the sum along the axes. Shape and dtype are those of `data` \
          (`src/relay/op/nn/nn.cc`, `src/relay/transforms/simplify_inference.cc`).",
    args: &[Arg::tensor("data")],
    attrs: Some(L2NormalizeAttrs::SCHEMA),
    rules: &[FLOAT, "C2: each axis is in -rank(data)…rank(data)-1", "C3: no axis is named twice"],
    rel: l2_normalize_rel,
    eval: l2_normalize_eval,
    lower: Some(Lower::Nest(nest::l2_normalize)),
    fuse: None,
    ..OpDef::BASE
};

fn l2_normalize_rel(cx: &mut RelCx) -> RelResult {
    let attrs = L2NormalizeAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    rel::require_float(cx, "C1", &data)?;
    let mut named = vec![false; data.rank()];
    for axis in attrs.axis.unwrap_or_default() {
        let at = cx.axis("C2", "axis", axis, data.rank())?;
        cx.require("C3", !named[at], || Fault::attr("axis", format!("axis {axis} is named twice")))?;
        named[at] = true;
    }
    cx.set_out(data.dims(), data.dtype)
}

fn l2_normalize_eval(cx: &EvalCx) -> EvalResult {
    let attrs = L2NormalizeAttrs::read(cx.attrs);
    let data = cx.tensor(0);
    let named: Vec<i64> = attrs.axis.unwrap_or_default();
    let is_named = |axis: usize| named.iter().any(|&at| at == axis as i64 || at == axis as i64 - data.rank() as i64);
    let axes = (0..data.rank()).filter(|&axis| named.is_empty() || is_named(axis)).collect();
    let parts = Parts { shape: data.shape().to_vec(), axes, channel: vec![] };
    let out = match data.dtype() {
        DType::F64 => of_length_one::<f64>(data, &parts, attrs.eps),
        _ => of_length_one::<f32>(data, &parts, attrs.eps),
    };
    Ok(out.into_tensor(data.dtype()).into())
}

fn of_length_one<T: Real>(data: &Tensor, parts: &Parts, eps: f64) -> Acc {
    let values = T::elements(&data.to_acc());
    let squares = T::from_elements(&parts.shape, values.iter().map(|&x| x.mul(x)).collect());
    let lengths: Vec<f64> =
        T::elements(&squares.fold::<Sum>(&parts.axes)).into_iter().map(|sum| float_max(sum.to_f64(), eps).sqrt()).collect();
    let out = values.into_iter().zip(parts.parts()).map(|(x, part)| T::from_f64(x.to_f64() / lengths[part]));
    T::from_elements(data.shape(), out.collect())
}

pub(crate) const ONNX: &[(&str, Onnx)] = &[
    (LAYER_NORM.name, Onnx::Nodes(layer_norm_onnx)),
    (GROUP_NORM.name, Onnx::Nodes(group_norm_onnx)),
    (INSTANCE_NORM.name, Onnx::Nodes(instance_norm_onnx)),
    (L2_NORMALIZE.name, Onnx::Nodes(l2_normalize_onnx)),
];

/// ONNX normalises the last axes, and takes the moments of float64 in float32.
fn layer_norm_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let attrs = LayerNormAttrs::read(cx.attrs);
    let data = cx.tensor(0);
    let rank = cx.rank(data);
    let axis = attrs.axis.rem_euclid(rank as i64) as usize;
    if cx.out_dtype() == DType::F64 {
        return Err("float64, of which ONNX takes the mean in float32".into());
    }
    let mut inputs = vec![data, channels_onnx(cx, 1, attrs.scale, 1.0)?];
    if attrs.center {
        inputs.push(cx.tensor(2));
    }
    let mut there: Vec<usize> = (0..rank).filter(|&at| at != axis).collect();
    there.push(axis);
    let back: Vec<usize> = (0..rank).map(|at| there.iter().position(|&from| from == at).unwrap_or(at)).collect();
    inputs[0] = cx.transposed(data, &there);
    let out = cx.node("LayerNormalization", &inputs).int("axis", -1).float("epsilon", attrs.epsilon).one();
    Ok(cx.transposed(out, &back).into())
}

fn instance_norm_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let attrs = InstanceNormAttrs::read(cx.attrs);
    DTypeClass::Ieee.require(cx.out_dtype())?;
    let data = cx.tensor(0);
    let rank = cx.rank(data);
    let axis = attrs.axis.rem_euclid(rank as i64) as usize;
    if axis == 0 {
        return Err("channels on the axis of the samples".into());
    }
    let (there, back) = channels_first_onnx(axis, rank);
    let (gamma, beta) = (channels_onnx(cx, 1, attrs.scale, 1.0)?, channels_onnx(cx, 2, attrs.center, 0.0)?);
    let data = cx.transposed(data, &there);
    let out = cx.node("InstanceNormalization", &[data, gamma, beta]).float("epsilon", attrs.epsilon).one();
    Ok(cx.transposed(out, &back).into())
}

/// Each group as one channel of one instance; then the channels' own slopes and shifts.
fn group_norm_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let attrs = GroupNormAttrs::read(cx.attrs);
    let data = cx.tensor(0);
    let (rank, dtype) = (cx.rank(data), cx.out_dtype());
    DTypeClass::Ieee.require(dtype)?;
    let axis = attrs.axis.rem_euclid(rank as i64) as usize;
    let grouped = match (cx.shape(data), axis) {
        (Ok(shape), _) => {
            let before: i64 = shape[..axis].iter().product();
            let inside = shape[axis] / attrs.num_groups * shape[axis + 1..].iter().product::<i64>();
            [before, attrs.num_groups, inside]
        }
        // The axis before the channels stays, the rest follows.
        (Err(_), 1) => [0, attrs.num_groups, -1],
        (Err(reason), _) => return Err(reason),
    };
    let mut same = |what, value: f64| {
        let all = Tensor::full(dtype, &[attrs.num_groups as usize], value).ok_or("a dtype that no tensor can hold")?;
        Ok::<ValueId, String>(cx.constant(what, all))
    };
    let (ones, zeros) = (same("ones", 1.0)?, same("zeros", 0.0)?);
    let grouped = cx.reshaped(data, &grouped);
    let out = cx.node("InstanceNormalization", &[grouped, ones, zeros]).float("epsilon", attrs.epsilon).one();
    let mut out = match cx.shape(data) {
        Ok(shape) => cx.reshaped(out, &shape),
        Err(_) => {
            let shape = cx.node("Shape", &[data]).one();
            cx.node("Reshape", &[out, shape]).one()
        }
    };
    if attrs.scale {
        let gamma = cx.along(cx.tensor(1), axis, rank)?;
        out = cx.node("Mul", &[out, gamma]).one();
    }
    if attrs.center {
        let beta = cx.along(cx.tensor(2), axis, rank)?;
        out = cx.node("Add", &[out, beta]).one();
    }
    Ok(out.into())
}

fn l2_normalize_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let attrs = L2NormalizeAttrs::read(cx.attrs);
    let data = cx.tensor(0);
    let named = attrs.axis.unwrap_or_default();
    let axes: Vec<i64> = if named.is_empty() { (0..cx.rank(data) as i64).collect() } else { named };
    let squares = cx.node("Mul", &[data, data]).one();
    let (axes, eps) = (cx.ints("axes", &axes), cx.scalar("eps", cx.out_dtype(), attrs.eps)?);
    let sum = cx.node("ReduceSum", &[squares, axes]).int("keepdims", 1).one();
    let sum = cx.node("Max", &[sum, eps]).one();
    let length = cx.node("Sqrt", &[sum]).one();
    Ok(cx.node("Div", &[data, length]).one().into())
}

pub(crate) const FAMILY: &[OpDef] = &[LAYER_NORM, GROUP_NORM, INSTANCE_NORM, L2_NORMALIZE];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{call, extremes};

    #[test]
    fn relations() {
        let inferred = call(&LAYER_NORM).infer(&["(2, ?, 4i64) float16", "_", "_"]).expect("it holds");
        assert_eq!(inferred.args[1], "Tensor[(4i64), float16]");
        assert_eq!(inferred.out, "Tensor[(2, ?, 4i64), float16]");
        assert_eq!(
            call(&GROUP_NORM).int("num_groups", 3).out(&["(2, ?, 4) float32", "_", "(6) float32"]),
            "Tensor[(2, ?, 4), float32]"
        );
        for def in FAMILY {
            let groups = || if def.name == GROUP_NORM.name { call(def).int("num_groups", 1) } else { call(def) };
            extremes(groups, &["(2, 3, 4) float32", "_", "_"][..def.args.len()]);
        }
    }

    #[test]
    fn positions_count_the_axes_given() {
        assert_eq!(positions(&[2, 3], &[1]), [0, 1, 2, 0, 1, 2]);
        assert_eq!(positions(&[2, 1, 2], &[0, 2]), [0, 1, 2, 3]);
        assert_eq!(positions(&[2, 2], &[]), [0; 4]);
    }

    #[test]
    fn long_sums_stay_exact() {
        // 2²⁰ numbers with the mean 1 and the variance 1: added one by one in f32 they would drift.
        let data = Tensor::from_fn(&[1, 1 << 20], |i| if i % 2 == 0 { 0.0f32 } else { 2.0 });
        let ones = Tensor::full(DType::F32, &[1 << 20], 1.0).expect("floats");
        let zeros = Tensor::full(DType::F32, &[1 << 20], 0.0).expect("floats");
        let out = call(&LAYER_NORM).attr("epsilon", relayc_ir::attrs::AttrValue::float(0.0)).values(&[&data, &ones, &zeros]);
        assert!(out.chunks(2).all(|pair| pair == [-1.0, 1.0]));
    }
}
