//! Normalisation at inference: batch normalisation by given statistics, local response normalisation, dropout.

use super::gather_lowering::is_float;
use super::lower::stored;
use crate::prelude::*;
use relayc_ir::kernel::{Clip, ReduceDim, Reduction, Stage};
use relayc_ir::tensor::{Acc, Array, Real};

attrs! {
    "relay.attrs.BatchNormAttrs" =>
    pub struct BatchNormAttrs {
        /// The axis of the channels; -1 is the last one.
        pub axis: i64 = 1;
        /// Added to the variance.
        pub epsilon: f64 = 1e-5;
        /// Whether to add `beta`.
        pub center: bool = true;
        /// Whether to multiply by `gamma`.
        pub scale: bool = true;
    }

    "relay.attrs.LRNAttrs" =>
    pub(crate) struct LrnAttrs {
        /// The number of neighbours to sum: `size / 2` before the element, then itself and those after it.
        pub(crate) size: i64 = 5;
        /// The axis of the neighbours.
        pub(crate) axis: i64 = 1;
        /// The constant term.
        pub(crate) bias: f64 = 2.0;
        /// The factor of the sum.
        pub(crate) alpha: f64 = 0.0001;
        /// The exponent.
        pub(crate) beta: f64 = 0.75;
    }

    "relay.attrs.DropoutAttrs" =>
    pub(crate) struct DropoutAttrs {
        /// The fraction of elements dropped in training.
        pub(crate) rate: f64 = 0.5;
    }
}

pub const BATCH_NORM: OpDef = OpDef {
    name: "nn.batch_norm",
    doc: "`out = (data - moving_mean) / sqrt(moving_var + epsilon) * gamma + beta`, each channel of `axis` with its own four \
          numbers; without `scale` no `gamma`, without `center` no `beta`. The result is the tuple of it, `moving_mean` and \
          `moving_var` (`src/relay/op/nn/nn.cc`, `python/tvm/topi/nn/batch_norm.py`).",
    args: &[
        Arg::tensor("data"),
        Arg::tensor("gamma"),
        Arg::tensor("beta"),
        Arg::tensor("moving_mean"),
        Arg::tensor("moving_var"),
    ],
    attrs: Some(BatchNormAttrs::SCHEMA),
    rules: &[
        "C1: dtype(data) is a float",
        "C2: -1 <= axis < rank(data)",
        "C3: gamma, beta, moving_mean and moving_var have the shape (data[axis],)",
        "C4: their dtype is dtype(data)",
    ],
    rel: batch_norm_rel,
    eval: batch_norm_eval,
    fuse: Some(Fuse::OutEWiseFusable),
    decomposed: true,
    ..OpDef::BASE
};

fn batch_norm_rel(cx: &mut RelCx) -> RelResult {
    let attrs = BatchNormAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    cx.require("C2", attrs.axis >= -1, || Fault::attr("axis", format!("expected at least -1, found {}", attrs.axis)))?;
    let axis = cx.axis("C2", "axis", attrs.axis, data.rank())?;
    for (arg, operand) in BATCH_NORM.args.iter().enumerate().skip(1) {
        channel_arg(cx, ("C3", "C4"), &data, axis, (arg, operand.name))?;
    }
    let channels = Shape::from_slice(&[data.dim(axis)]);
    cx.set_out_tuple(vec![(data.dims(), data.dtype), (channels.clone(), data.dtype), (channels, data.dtype)])?;
    rel::require_float(cx, "C1", &data)
}

/// Requires an operand with one number for each channel (the first rule), of the dtype of `data` (the second).
pub(crate) fn channel_arg(
    cx: &mut RelCx,
    rules: (&'static str, &'static str),
    data: &TensorTy,
    axis: usize,
    (arg, name): (usize, &str),
) -> RelResult {
    let channels: SDim = data.dim(axis);
    let Some(found) = cx.known_tensor(arg)? else {
        return cx.set_arg(rules.0, arg, Shape::from_slice(&[channels]), data.dtype);
    };
    cx.require(rules.0, found.rank() == 1, || Fault::rank(1, &found))?;
    cx.require(rules.0, found.shape[0].compatible(channels.dim), || {
        Fault::shape(format!("expected {} channels, found {}", channels.dim, found.shape[0]))
            .at(found.axis(0), "")
            .at(data.axis(axis), "")
            .equation(format!("{name}[0] == data[{axis}]"), format!("{} == {}", found.shape[0], channels.dim))
    })?;
    rel::require_same_dtype(cx, rules.1, data, &found)
}

fn batch_norm_eval(cx: &EvalCx) -> EvalResult {
    let attrs = BatchNormAttrs::read(cx.attrs);
    let data = cx.tensor(0);
    let axis = attrs.axis.rem_euclid(data.rank() as i64) as usize;
    let [gamma, beta, mean, var] = [1, 2, 3, 4].map(|arg| cx.tensor(arg).to_f64s());
    let normal = |channel: usize, x: f64| {
        let x = (x - mean[channel]) / (var[channel] + attrs.epsilon).sqrt();
        let x = if attrs.scale { x * gamma[channel] } else { x };
        if attrs.center { x + beta[channel] } else { x }
    };
    let out = match data.to_acc() {
        Acc::F32(array) => each_channel(array, axis, &normal),
        Acc::F64(array) => each_channel(array, axis, &normal),
        Acc::I64(_) => return Err(not_a_float()),
    };
    Ok(Outputs::Tuple(vec![out.into_tensor(data.dtype()), cx.tensor(3).clone(), cx.tensor(4).clone()]))
}

fn not_a_float() -> Trap {
    Trap::new(codes::E0506, "the operator needs floats")
}

/// Every element by `f(index on the axis, element)`, computed in f64 and rounded once.
fn each_channel<T: Real>(mut array: Array<T>, axis: usize, f: &dyn Fn(usize, f64) -> f64) -> Acc {
    let (channels, inner) = (array.shape()[axis], array.shape()[axis + 1..].iter().product::<usize>());
    // An array without elements has no parts, of whatever length.
    for (at, part) in array.elements_mut().chunks_mut(inner.max(1)).enumerate() {
        part.iter_mut().for_each(|x| *x = T::from_f64(f(at % channels, x.to_f64())));
    }
    T::acc(array)
}

pub(crate) const LRN: OpDef = OpDef {
    name: "nn.lrn",
    doc: "`out = data / (bias + alpha / size * sum(data^2))^beta`, the sum over the `size` neighbours along `axis` that begin \
          `size / 2` before the element, as far as they lie inside. With an odd `size` the element is in the middle. An even \
          `size` omits the last neighbour of the next odd one; TVM types and prints it but does not compile it. Shape and dtype \
          are those of `data` (`src/relay/op/nn/nn.cc`, `include/tvm/topi/nn/local_response_norm.h`).",
    args: &[Arg::tensor("data")],
    attrs: Some(LrnAttrs::SCHEMA),
    rules: &["C1: dtype(data) is a float", "C2: -rank(data) <= axis < rank(data)", "C3: size is at least 1"],
    rel: lrn_rel,
    eval: lrn_eval,
    lower: Some(Lower::Nest(lrn_nest)),
    caution: Some(lrn_caution),
    ..OpDef::BASE
};

fn lrn_rel(cx: &mut RelCx) -> RelResult {
    let attrs = LrnAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    cx.axis("C2", "axis", attrs.axis, data.rank())?;
    cx.require("C3", attrs.size >= 1, || Fault::attr("size", format!("expected at least 1, found {}", attrs.size)))?;
    cx.set_out(data.dims(), data.dtype)?;
    rel::require_float(cx, "C1", &data)
}

fn lrn_caution(attrs: &[AttrValue]) -> Option<Caution> {
    let size = LrnAttrs::read(attrs).size;
    (size % 2 == 0).then(|| Caution {
        attr: "size",
        message: format!("a window of {size} has no middle"),
        note: "one neighbour more is summed before the element than behind it; TVM v0.14.0 does not compile this",
    })
}

impl LrnAttrs {
    /// The numbers of neighbours before and after an element.
    fn sides(&self) -> (i64, i64) {
        (self.size / 2, (self.size - 1) / 2)
    }
}

fn lrn_eval(cx: &EvalCx) -> EvalResult {
    let attrs = LrnAttrs::read(cx.attrs);
    let data = cx.tensor(0);
    let axis = attrs.axis.rem_euclid(data.rank() as i64) as usize;
    let out = match data.to_acc() {
        Acc::F32(array) => each_neighbourhood(array, axis, &attrs),
        Acc::F64(array) => each_neighbourhood(array, axis, &attrs),
        Acc::I64(_) => return Err(not_a_float()),
    };
    Ok(out.into_tensor(data.dtype()).into())
}

/// A window clipped to the data.
fn lrn_nest(call: &Call) -> Option<Template> {
    is_float(call, 0)?;
    let (attrs, shape) = (LrnAttrs::read(call.attrs), &call.arg(0).shape);
    let axis = call.axis(attrs.axis, shape.len())?;
    let n = i64::try_from(shape[axis]).ok().filter(|&n| n > 0)?;
    let (before, after) = attrs.sides();
    let (before, after) = (before.min(n - 1), after.min(n - 1));
    let clip = Clip { dim: axis, stride: 1, dilation: 1, before, size: n };
    let reduce = vec![ReduceDim { extent: (before + 1 + after) as u64, clip: Some(clip) }];
    let own: Vec<AxisMap> = (0..shape.len()).map(AxisMap::of).collect();
    let mut near = own.clone();
    near[axis] = AxisMap { offset: -before, terms: vec![(axis, 1), (shape.len(), 1)] };
    let reads = vec![Read::of(Source::Arg(0), near), Read::of(Source::Arg(0), own.clone())];
    let mut body = Body::new();
    let x = body.read(0);
    let square = body.bin(BinaryOp::Mul, x, x);
    let squares = Stage { each: true, body, reductions: vec![(square, Reduction::Sum)], stores: vec![] };
    let mut body = Body::new();
    let (x, sum) = (body.read(1), body.folded(0));
    let (factor, bias) = (body.f32((attrs.alpha / attrs.size as f64) as f32), body.f32(attrs.bias as f32));
    let base = body.fma(sum, factor, bias);
    let exponent = body.f32(attrs.beta as f32);
    let divisor = body.bin(BinaryOp::Pow, base, exponent);
    let val = body.bin(BinaryOp::Div, x, divisor);
    let last = stored(body, val);
    Some(Template { dims: shape.clone(), reduce, reads, stages: vec![squares, last], outs: vec![own], ..Template::default() })
}

fn each_neighbourhood<T: Real>(mut array: Array<T>, axis: usize, attrs: &LrnAttrs) -> Acc {
    let (first, last) = attrs.sides();
    let (first, last) = (first as usize, last as usize);
    array.each_lane(axis, &mut |lane| {
        let before = lane.to_vec();
        for (i, out) in lane.iter_mut().enumerate() {
            let near = &before[i.saturating_sub(first)..before.len().min(i.saturating_add(last).saturating_add(1))];
            let squares = near.iter().fold(T::ZERO, |sum, &x| sum.add(x.mul(x))).to_f64();
            let divisor = (attrs.bias + attrs.alpha * squares / attrs.size as f64).powf(attrs.beta);
            *out = T::from_f64(before[i].to_f64() / divisor);
        }
    });
    T::acc(array)
}

pub const DROPOUT: OpDef = OpDef {
    name: "nn.dropout",
    work: Work::None,
    doc: "At inference nothing is dropped: the result is the tuple of `data` and a mask of ones, both of the shape and dtype of \
          `data` (`src/relay/op/nn/nn.cc`).",
    args: &[Arg::tensor("data")],
    attrs: Some(DropoutAttrs::SCHEMA),
    rules: &["C1: 0 <= rate <= 1"],
    rel: dropout_rel,
    eval: dropout_eval,
    ..OpDef::BASE
};

fn dropout_rel(cx: &mut RelCx) -> RelResult {
    let rate = DropoutAttrs::read(cx.attrs).rate;
    cx.require("C1", (0.0..=1.0).contains(&rate), || Fault::attr("rate", format!("expected 0 to 1, found {rate}")))?;
    let data = cx.tensor(0)?;
    cx.set_out_tuple(vec![(data.dims(), data.dtype), (data.dims(), data.dtype)])
}

fn dropout_eval(cx: &EvalCx) -> EvalResult {
    let data = cx.tensor(0).clone();
    let mask = Tensor::full(data.dtype(), data.shape(), 1.0).expect("the dtype of a tensor");
    Ok(Outputs::Tuple(vec![data, mask]))
}

pub(crate) const ONNX: &[(&str, Onnx)] = &[
    (BATCH_NORM.name, Onnx::Nodes(batch_norm_onnx)),
    (LRN.name, Onnx::Nodes(lrn_onnx)),
    (DROPOUT.name, Onnx::Nodes(dropout_onnx)),
];

/// The permutation that moves an axis to place 1, where ONNX expects channels, and its inverse.
pub(super) fn channels_first_onnx(axis: usize, rank: usize) -> (Vec<usize>, Vec<usize>) {
    let mut there: Vec<usize> = (0..rank).filter(|&at| at != axis).collect();
    there.insert(1, axis);
    let back = (0..rank).map(|at| there.iter().position(|&from| from == at).unwrap_or(at)).collect();
    (there, back)
}

/// An operand with a number for each channel; if the attributes leave it out, one number for all channels.
pub(super) fn channels_onnx(cx: &mut OnnxCx, arg: usize, given: bool, otherwise: f64) -> Result<ValueId, String> {
    let operand = cx.tensor(arg);
    if given {
        return Ok(operand);
    }
    let n = cx.dim(operand, 0)? as usize;
    let all = Tensor::full(cx.dtype(operand), &[n], otherwise).ok_or("a dtype that no tensor can hold")?;
    Ok(cx.constant("same", all))
}

fn batch_norm_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let attrs = BatchNormAttrs::read(cx.attrs);
    let (data, mean, var) = (cx.tensor(0), cx.tensor(3), cx.tensor(4));
    let rank = cx.rank(data);
    if rank < 2 {
        return Err("normalisation of a vector".into());
    }
    let (there, back) = channels_first_onnx(attrs.axis.rem_euclid(rank as i64) as usize, rank);
    let (gamma, beta) = (channels_onnx(cx, 1, attrs.scale, 1.0)?, channels_onnx(cx, 2, attrs.center, 0.0)?);
    let data = cx.transposed(data, &there);
    let node = cx.node("BatchNormalization", &[data, gamma, beta, mean, var]);
    let out = node.float("epsilon", attrs.epsilon).one();
    Ok(Results(vec![cx.transposed(out, &back), mean, var]))
}

fn lrn_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (attrs, data) = (LrnAttrs::read(cx.attrs), cx.tensor(0));
    if attrs.size % 2 == 0 {
        return Err(format!("a window of {}, of which ONNX sums more behind the element than before it", attrs.size));
    }
    let rank = cx.rank(data);
    if rank < 3 {
        return Err(format!("rank {rank}, where ONNX takes 3 or more"));
    }
    let (there, back) = channels_first_onnx(attrs.axis.rem_euclid(rank as i64) as usize, rank);
    let data = cx.transposed(data, &there);
    let node = cx.node("LRN", &[data]).int("size", attrs.size).float("alpha", attrs.alpha);
    let out = node.float("beta", attrs.beta).float("bias", attrs.bias).one();
    Ok(cx.transposed(out, &back).into())
}

/// The data unchanged, and a mask, which is rarely used.
fn dropout_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let data = cx.tensor(0);
    let (one, shape) = (cx.scalar("one", cx.out_dtype(), 1.0)?, cx.map("Shape"));
    let mask = cx.node("Expand", &[one, shape]).one();
    Ok(Results(vec![data, mask]))
}

pub(crate) const FAMILY: &[OpDef] = &[BATCH_NORM, LRN, DROPOUT];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{call, extremes};

    #[test]
    fn batch_norm_relation() {
        let args = ["(2, ?, 4) float16", "_", "(?) float16", "_", "(3) float16"];
        let inferred = call(&BATCH_NORM).int("axis", -1).infer(&["(2, ?, 4) float16", "_", "_", "_", "(4) float16"]);
        let inferred = inferred.expect("it holds");
        assert_eq!(inferred.args[3], "Tensor[(4), float16]");
        assert_eq!(inferred.out, "(Tensor[(2, ?, 4), float16], Tensor[(4), float16], Tensor[(4), float16])");
        let fault = call(&BATCH_NORM).int("axis", 0).fault(&args);
        assert_eq!((fault.rule, fault.equation), ("C3", Some(("moving_var[0] == data[0]".into(), "3 == 2".into()))));
        assert_eq!(call(&BATCH_NORM).fault(&["(2, 3) float32", "(3, 1) float32", "_", "_", "_"]).rule, "C3");
        assert_eq!(call(&BATCH_NORM).fault(&["(2, 3) float32", "(3) float64", "_", "_", "_"]).rule, "C4");
        assert_eq!(call(&BATCH_NORM).fault(&["(2, 3) int32", "_", "_", "_", "_"]).rule, "C1");
        assert_eq!(call(&BATCH_NORM).int("axis", -2).fault(&args).rule, "C2");
        extremes(|| call(&BATCH_NORM), &args);
    }

    #[test]
    fn batch_norm_values() {
        let row = |a: f32, b: f32| Tensor::from_vec(&[2], vec![a, b]);
        let data = Tensor::from_vec(&[1, 2, 2], vec![1f32, 3.0, 2.0, 4.0]);
        let [gamma, beta, mean, var] = [row(10.0, 2.0), row(0.5, 0.0), row(1.0, 2.0), row(4.0, 1.0)];
        let args = [&data, &gamma, &beta, &mean, &var];
        let norm = || call(&BATCH_NORM).attr("epsilon", AttrValue::float(0.0));
        let out = norm().eval(&args).expect("it runs");
        assert_eq!(out[0].to_f64s(), [0.5, 10.5, 0.0, 4.0]);
        assert_eq!(out[2].to_f64s(), [4.0, 1.0]);
        let plain = norm().attr("scale", AttrValue::Bool(false)).attr("center", AttrValue::Bool(false));
        assert_eq!(plain.values(&args), [0.0, 1.0, 0.0, 2.0]);
    }

    #[test]
    fn lrn() {
        let lrn = || call(&LRN).int("size", 3);
        assert_eq!(lrn().out(&["(1, ?) float32"]), "Tensor[(1, ?), float32]");
        assert_eq!(lrn().fault(&["(1, 2) int8"]).rule, "C1");
        assert_eq!(lrn().int("axis", 2).fault(&["(1, 2) float32"]).rule, "C2");
        assert_eq!(lrn().int("size", 0).fault(&["(1, 2) float32"]).rule, "C3");
        extremes(lrn, &["(1, 2) float32"]);
        let simple = lrn().attr("bias", AttrValue::float(1.0)).attr("alpha", AttrValue::float(3.0));
        let simple = simple.attr("beta", AttrValue::float(1.0));
        let data = Tensor::from_vec(&[1, 3], vec![1f32, 2.0, 3.0]);
        assert_eq!(simple.values(&[&data]), [1.0 / 6.0, 2.0 / 15.0, 3.0 / 14.0].map(|x: f64| f64::from(x as f32)));
        let even = simple.attr("alpha", AttrValue::float(2.0)).int("size", 2);
        assert_eq!(even.values(&[&data]), [1.0 / 2.0, 2.0 / 6.0, 3.0 / 14.0].map(|x: f64| f64::from(x as f32)));
        let huge = lrn().int("size", i64::MAX).values(&[&Tensor::from_vec(&[1, 1], vec![0f32])]);
        assert_eq!(huge, [0.0]);
    }

    #[test]
    fn dropout() {
        let out = call(&DROPOUT).out(&["(2, ?) float32"]);
        assert_eq!(out, "(Tensor[(2, ?), float32], Tensor[(2, ?), float32])");
        assert_eq!(call(&DROPOUT).attr("rate", AttrValue::float(f64::NAN)).fault(&["_"]).rule, "C1");
        extremes(|| call(&DROPOUT), &["(2) float32"]);
        let out = call(&DROPOUT).eval(&[&Tensor::from_vec(&[2], vec![5f32, 6.0])]).expect("it runs");
        assert_eq!((out[0].to_f64s(), out[1].to_f64s()), (vec![5.0, 6.0], vec![1.0, 1.0]));
    }
}
