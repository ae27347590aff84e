//! Losses: the distance of predictions from their targets.

use super::attrs::StdString;
use super::gather_lowering::constant;
use super::lower::{Rows, converted, lane, stored, summing};
use crate::prelude::*;
use relayc_ir::kernel::{Reduction, Stage};
use relayc_ir::tensor::{Acc, Real, Sum};

attrs! {
    "relay.attrs.NLLLossAttrs" =>
    pub(crate) struct NllLossAttrs {
        /// `mean`, `sum` or `none`.
        pub(crate) reduction: StdString = "mean";
        /// The target to ignore.
        pub(crate) ignore_index: i64;
    }
}

pub(crate) const CROSS_ENTROPY: OpDef = OpDef {
    name: "nn.cross_entropy",
    doc: "`-sum(log(x) * y) / n` with `n` the number of rows, a scalar of the dtype of `x` (`src/relay/op/nn/nn.cc`, \
          `python/tvm/relay/op/nn/_nn.py`).",
    args: &[Arg::of("x", "1D Tensor"), Arg::of("y", "1D Tensor")],
    rules: &[
        "C1: dtype(x) is a float",
        "C2: rank(x) == 2 and rank(y) == 2",
        "C3: x and y have one shape",
        "C4: dtype(y) == dtype(x)",
    ],
    rel: cross_entropy_rel,
    eval: |cx| cross_entropy_eval(cx, f64::ln),
    lower: Some(Lower::Nest(|call| cross_entropy_nest(call, true))),
    ..OpDef::BASE
};

pub(crate) const CROSS_ENTROPY_WITH_LOGITS: OpDef = OpDef {
    name: "nn.cross_entropy_with_logits",
    doc: "`-sum(x * y) / n` with `n` the number of rows, a scalar of the dtype of `x` (`src/relay/op/nn/nn.cc`, \
          `python/tvm/relay/op/nn/_nn.py`).",
    eval: |cx| cross_entropy_eval(cx, |x| x),
    lower: Some(Lower::Nest(|call| cross_entropy_nest(call, false))),
    ..CROSS_ENTROPY
};

fn cross_entropy_rel(cx: &mut RelCx) -> RelResult {
    let (x, y) = (cx.tensor(0)?, cx.tensor(1)?);
    rel::require_float(cx, "C1", &x)?;
    for tensor in [&x, &y] {
        cx.require("C2", tensor.rank() == 2, || Fault::rank(2, tensor))?;
    }
    for axis in 0..2 {
        let (a, b) = (x.shape[axis], y.shape[axis]);
        cx.require("C3", a.compatible(b), || {
            Fault::shape(format!("expected the shape {}, found {}", x.shape_text(), y.shape_text()))
                .at(y.axis(axis), "")
                .at(x.axis(axis), "")
                .equation(format!("y[{axis}] == x[{axis}]"), format!("{b} == {a}"))
        })?;
    }
    rel::require_same_dtype(cx, "C4", &x, &y)?;
    cx.set_out(Shape::new(), x.dtype)
}

fn cross_entropy_eval(cx: &EvalCx, of_x: fn(f64) -> f64) -> EvalResult {
    let out = match cx.out_dtype() {
        DType::F64 => mean_of_products::<f64>(cx, of_x),
        _ => mean_of_products::<f32>(cx, of_x),
    };
    Ok(out.into_tensor(cx.out_dtype()).into())
}

fn mean_of_products<T: Real>(cx: &EvalCx, of_x: fn(f64) -> f64) -> Acc {
    let (x, y) = (cx.tensor(0), cx.tensor(1));
    let pairs = T::elements(&x.to_acc()).into_iter().zip(T::elements(&y.to_acc()));
    let products = pairs.map(|(x, y)| T::from_f64(of_x(x.to_f64())).mul(y)).collect();
    let sum = total::<T>(products);
    T::from_elements(&[], vec![T::from_f64(-sum.to_f64() / x.shape()[0] as f64)])
}

fn cross_entropy_nest(call: &Call, of_logarithms: bool) -> Option<Template> {
    let x = call.arg(0);
    let from = lane(x.dtype)?;
    let to = summing(from);
    // Floats that are whole numbers.
    (x.shape[0] < 1 << 24 && !(of_logarithms && to == ScalarType::F64)).then_some(())?;
    let rows = Rows::new(&x.shape, &[0, 1]);
    let mut body = Body::new();
    let [x, y] = [0, 1].map(|read| {
        let val = body.read(read);
        converted(&mut body, val, from, to)
    });
    let x = if of_logarithms { body.un(UnaryOp::Log, x) } else { x };
    let product = body.bin(BinaryOp::Mul, x, y);
    let folds = Stage { each: true, body, reductions: vec![(product, Reduction::Sum)], stores: vec![] };
    let mut body = Body::new();
    let sum = body.folded(0);
    let n = constant(&mut body, to, -(call.arg(0).shape[0] as f64))?;
    let mean = body.bin(BinaryOp::Div, sum, n);
    let mean = converted(&mut body, mean, to, from);
    let other = Read::of(Source::Arg(1), rows.index.clone());
    Some(rows.nest(vec![other], vec![folds, stored(body, mean)], vec![]))
}

fn total<T: Real>(values: Vec<T>) -> T {
    T::elements(&T::from_elements(&[values.len()], values).fold::<Sum>(&[0]))[0]
}

/// The negative log likelihood.
pub(crate) const NLL_LOSS: OpDef = OpDef {
    name: "nn.nll_loss",
    doc: "`-predictions[i, t, …] * weights[t]` with `t = targets[i, …]`, or 0 where `t` is `ignore_index`; summed and divided by \
          the sum of the weights taken for `mean`, summed for `sum`. A target that is no class traps \
          (`src/relay/op/nn/nn.cc`, `include/tvm/topi/nn.h`).",
    args: &[Arg::tensor("predictions"), Arg::tensor("targets"), Arg::tensor("weights")],
    attrs: Some(NllLossAttrs::SCHEMA),
    rules: &[
        "C1: dtype(predictions) is a float and that of weights",
        "C2: dtype(targets) is a signed integer",
        "C3: rank(predictions) == rank(targets) + 1, and at least 2; rank(weights) == 1",
        "C4: weights[0] == predictions[1]",
        "C5: targets has the dimensions of predictions but for axis 1",
        "C6: reduction is \"mean\", \"sum\" or \"none\"",
    ],
    rel: nll_loss_rel,
    eval: nll_loss_eval,
    fuse: Some(Fuse::OutEWiseFusable),
    ..OpDef::BASE
};

fn nll_loss_rel(cx: &mut RelCx) -> RelResult {
    let reduction = NllLossAttrs::read(cx.attrs).reduction.0;
    let (predictions, targets, weights) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    rel::require_float(cx, "C1", &predictions)?;
    rel::require_same_dtype(cx, "C1", &predictions, &weights)?;
    cx.require("C2", targets.dtype.code == relayc_ir::types::DTypeCode::Int, || {
        Fault::dtype(format!("expected a signed integer dtype, found `{}`", targets.dtype)).at(targets.place(), "")
    })?;
    cx.require("C3", predictions.rank() >= 2, || Fault::rank("at least 2", &predictions))?;
    cx.require("C3", predictions.rank() == targets.rank() + 1, || {
        Fault::rank(predictions.rank() - 1, &targets).at(predictions.place(), "")
    })?;
    cx.require("C3", weights.rank() == 1, || Fault::rank(1, &weights))?;
    let (classes, found) = (predictions.shape[1], weights.shape[0]);
    cx.require("C4", found.compatible(classes), || {
        Fault::shape(format!("expected a weight for each of {classes} classes, found {found}"))
            .at(weights.axis(0), "")
            .at(predictions.axis(1), "")
            .equation("weights[0] == predictions[1]", format!("{found} == {classes}"))
    })?;
    for axis in 0..targets.rank() {
        let of = if axis == 0 { 0 } else { axis + 1 };
        let (expected, found) = (predictions.shape[of], targets.shape[axis]);
        cx.require("C5", found.compatible(expected), || {
            Fault::shape(format!("expected {expected} targets along axis {axis}, found {found}"))
                .at(targets.axis(axis), "")
                .at(predictions.axis(of), "")
                .equation(format!("targets[{axis}] == predictions[{of}]"), format!("{found} == {expected}"))
        })?;
    }
    cx.require("C6", ["mean", "sum", "none"].contains(&reduction.as_str()), || {
        Fault::attr("reduction", format!("expected \"mean\", \"sum\" or \"none\", found {reduction:?}"))
            .set_attr("reduction", "\"mean\"")
    })?;
    let shape = if reduction == "none" { targets.dims() } else { Shape::new() };
    cx.set_out(shape, predictions.dtype)
}

fn nll_loss_eval(cx: &EvalCx) -> EvalResult {
    let out = match cx.tensor(0).dtype() {
        DType::F64 => nll_loss::<f64>(cx)?,
        _ => nll_loss::<f32>(cx)?,
    };
    Ok(out.into_tensor(cx.out_dtype()).into())
}

fn nll_loss<T: Real>(cx: &EvalCx) -> Result<Acc, Trap> {
    let attrs = NllLossAttrs::read(cx.attrs);
    // predictions are [n, classes, inner], targets [n, inner].
    let (predictions, targets) = (cx.tensor(0), cx.tensor(1));
    let classes = predictions.shape()[1];
    let inner: usize = predictions.shape()[2..].iter().product();
    let class = |target: i128| match usize::try_from(target).ok().filter(|&class| class < classes) {
        _ if target == i128::from(attrs.ignore_index) => Ok(None),
        Some(class) => Ok(Some(class)),
        None => Err(Trap::new(codes::E0501, format!("target {target} is none of {classes} classes"))),
    };
    let chosen: Vec<Option<usize>> = targets.to_ints().into_iter().map(class).collect::<Result<_, Trap>>()?;
    let (predicted, weights) = (T::elements(&predictions.to_acc()), T::elements(&cx.tensor(2).to_acc()));
    let loss = |(i, class): (usize, &Option<usize>)| match class {
        Some(class) => T::from_f64(-predicted[(i / inner * classes + class) * inner + i % inner].to_f64()).mul(weights[*class]),
        None => T::ZERO,
    };
    let losses: Vec<T> = chosen.iter().enumerate().map(loss).collect();
    let weight = |class: &Option<usize>| class.map_or(T::ZERO, |class| weights[class]);
    Ok(match attrs.reduction.0.as_str() {
        "none" => T::from_elements(targets.shape(), losses),
        "sum" => T::from_elements(&[], vec![total(losses)]),
        _ => T::from_elements(&[], vec![total(losses).div(total(chosen.iter().map(weight).collect()))]),
    })
}

pub(crate) const ONNX: &[(&str, Onnx)] = &[(NLL_LOSS.name, Onnx::Nodes(nll_loss_onnx))];

fn nll_loss_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let attrs = NllLossAttrs::read(cx.attrs);
    DTypeClass::Ieee.require(cx.out_dtype())?;
    let (predictions, targets, weights) = (cx.tensor(0), cx.tensor(1), cx.tensor(2));
    let targets = cx.cast(targets, cx.dtype(targets), DType::I64)?;
    let node = cx.node("NegativeLogLikelihoodLoss", &[predictions, targets, weights]);
    Ok(node.str("reduction", &attrs.reduction.0).int("ignore_index", attrs.ignore_index).one().into())
}

pub(crate) const FAMILY: &[OpDef] = &[CROSS_ENTROPY, CROSS_ENTROPY_WITH_LOGITS, NLL_LOSS];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{call, extremes};

    #[test]
    fn relations() {
        let nll = || call(&NLL_LOSS).int("ignore_index", -1);
        assert_eq!(
            nll().text("reduction", "none").out(&["(?, 5, 2) float16", "(3i64, ?) int8", "(?) float16"]),
            "Tensor[(3i64, ?), float16]"
        );
        assert_eq!(nll().out(&["(?, 5, 2) float16", "(3, ?) int8", "(?) float16"]), "float16");
        assert_eq!(nll().text("reduction", "each").fault(&["(3, 5) float32", "(3) int8", "(5) float32"]).rule, "C6");
        extremes(nll, &["(2, 3) float32", "(2) int64", "(3) float32"]);
        extremes(|| call(&CROSS_ENTROPY), &["(2, 3) float32", "(2, 3) float32"]);
    }
}
