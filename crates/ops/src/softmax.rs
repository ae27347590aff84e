//! Softmax and its logarithm.

use super::lower::Rows;
use crate::prelude::*;
use relayc_ir::kernel::{Reduction, Stage, Store};
use relayc_ir::tensor::{Acc, Array, Real};

attrs! {
    "relay.attrs.SoftmaxAttrs" =>
    pub(crate) struct SoftmaxAttrs {
        /// The axis whose elements sum to 1.
        pub(crate) axis: i64 = -1;
    }
}

pub const SOFTMAX: OpDef = OpDef {
    name: "nn.softmax",
    doc: "`exp(x - m) / sum(exp(x - m))` with `m = max(x)`, along `axis`. Shape and dtype are those of `data` \
          (`src/relay/op/nn/nn.cc`).",
    args: &[Arg::tensor("data")],
    attrs: Some(SoftmaxAttrs::SCHEMA),
    rules: &["C1: dtype(data) is a float", "C2: -rank(data) <= axis < rank(data)"],
    rel: softmax_rel,
    eval: |cx| along_axis(cx, |x, sum| x.exp() / sum),
    lines: Some(|attrs| SoftmaxAttrs::read(attrs).axis),
    lower: Some(Lower::Nest(|call| softmax_nest(call, false))),
    fuse: Some(Fuse::OutEWiseFusable),
    ..OpDef::BASE
};

pub const FAST_SOFTMAX: OpDef = OpDef {
    name: "nn.fast_softmax",
    doc: "`nn.softmax`, for which a kernel may take an approximation of `exp`; here it is exact. Shape and dtype are those of \
          `data` (`src/relay/op/nn/nn.cc`).",
    ..SOFTMAX
};

pub(crate) const LOG_SOFTMAX: OpDef = OpDef {
    name: "nn.log_softmax",
    doc: "`x - m - log(sum(exp(x - m)))` with `m = max(x)`, along `axis`. Shape and dtype are those of `data` \
          (`src/relay/op/nn/nn.cc`).",
    eval: |cx| along_axis(cx, |x, sum| x - sum.ln()),
    lower: Some(Lower::Nest(|call| softmax_nest(call, true))),
    ..SOFTMAX
};

fn softmax_rel(cx: &mut RelCx) -> RelResult {
    let attrs = SoftmaxAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    cx.axis("C2", "axis", attrs.axis, data.rank())?;
    cx.set_out(data.dims(), data.dtype)?;
    rel::require_float(cx, "C1", &data)
}

/// The maximum; the exponentials, stored, and their sum; their quotients. The logarithm stores nothing in between.
fn softmax_nest(call: &Call, log: bool) -> Option<Template> {
    let data = call.arg(0);
    (data.dtype == DType::F32).then_some(())?;
    let axis = call.axis(SoftmaxAttrs::read(call.attrs).axis, data.shape.len())?;
    let rows = Rows::new(&data.shape, &[axis]);
    let mut body = Body::new();
    let x = body.read(0);
    let max = Stage { each: true, body, reductions: vec![(x, Reduction::Max)], stores: vec![] };
    let mut body = Body::new();
    let (x, max_of_row) = (body.read(0), body.folded(0));
    let shifted = body.bin(BinaryOp::Sub, x, max_of_row);
    let exp = body.un(UnaryOp::Exp, shifted);
    let stores = if log { vec![] } else { vec![Store { val: exp, write: 0 }] };
    let sum = Stage { each: true, body, reductions: vec![(exp, Reduction::Sum)], stores };
    let mut body = Body::new();
    let val = if log {
        let (x, max_of_row, sum_of_row) = (body.read(0), body.folded(0), body.folded(1));
        let shifted = body.bin(BinaryOp::Sub, x, max_of_row);
        let log = body.un(UnaryOp::Log, sum_of_row);
        body.bin(BinaryOp::Sub, shifted, log)
    } else {
        // One division for a row; the product is within 1 ULP of the quotient.
        let (exp, sum_of_row, one) = (body.read(1), body.folded(1), body.f32(1.0));
        let inverse = body.bin(BinaryOp::Div, one, sum_of_row);
        body.bin(BinaryOp::Mul, exp, inverse)
    };
    let last = Stage { each: true, body, reductions: vec![], stores: vec![Store { val, write: 0 }] };
    let index = rows.index.clone();
    let exps = if log { vec![] } else { vec![Read::of(Source::Out(0), index.clone())] };
    Some(rows.nest(exps, vec![max, sum, last], index))
}

/// Each element by `f(x - max, sum(exp(x - max)))`.
fn along_axis(cx: &EvalCx, f: fn(f64, f64) -> f64) -> EvalResult {
    let data = cx.tensor(0);
    let axis = SoftmaxAttrs::read(cx.attrs).axis;
    let axis = if axis < 0 { axis + data.rank() as i64 } else { axis } as usize;
    let out = match data.to_acc() {
        Acc::F32(array) => each_lane(array, axis, f),
        Acc::F64(array) => each_lane(array, axis, f),
        Acc::I64(_) => return Err(Trap::new(codes::E0506, "the operator needs floats")),
    };
    Ok(out.into_tensor(data.dtype()).into())
}

/// Sums are taken in order in the accumulator; functions in f64, rounded once.
fn each_lane<T: Real>(mut array: Array<T>, axis: usize, f: fn(f64, f64) -> f64) -> Acc {
    array.each_lane(axis, &mut |lane| {
        let Some(max) = lane.iter().copied().reduce(T::max) else { return };
        let max = max.to_f64();
        let exp = |x: &T| T::from_f64((x.to_f64() - max).exp());
        let sum = lane.iter().map(exp).fold(T::ZERO, T::add).to_f64();
        lane.iter_mut().for_each(|x| *x = T::from_f64(f(x.to_f64() - max, sum)));
    });
    T::acc(array)
}

pub(crate) const ONNX: &[(&str, Onnx)] = &[
    (SOFTMAX.name, Onnx::Nodes(|cx| softmax_onnx(cx, "Softmax"))),
    (FAST_SOFTMAX.name, Onnx::Nodes(|cx| softmax_onnx(cx, "Softmax"))),
    (LOG_SOFTMAX.name, Onnx::Nodes(|cx| softmax_onnx(cx, "LogSoftmax"))),
];

fn softmax_onnx(cx: &mut OnnxCx, kind: &'static str) -> OnnxResult {
    let (axis, data) = (SoftmaxAttrs::read(cx.attrs).axis, cx.tensor(0));
    Ok(cx.node(kind, &[data]).int("axis", axis).one().into())
}

pub(crate) const FAMILY: &[OpDef] = &[SOFTMAX, FAST_SOFTMAX, LOG_SOFTMAX];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{call, extremes};
    use relayc_ir::tensor::Tensor;

    #[test]
    fn relation() {
        assert_eq!(call(&SOFTMAX).out(&["(2, ?, 4i64) float16"]), "Tensor[(2, ?, 4i64), float16]");
        assert_eq!(call(&SOFTMAX).int("axis", 2).fault(&["(2, 3) float32"]).rule, "C2");
        assert_eq!(call(&LOG_SOFTMAX).fault(&["(2, 3) int32"]).rule, "C1");
        extremes(|| call(&SOFTMAX), &["(2, 3) float32"]);
    }

    #[test]
    fn values() {
        let x = Tensor::from_vec(&[2, 2], vec![0f32, 1000.0, 0.0, 1000.0]);
        assert_eq!(call(&SOFTMAX).int("axis", 0).values(&[&x]), [0.5, 0.5, 0.5, 0.5]);
        assert_eq!(call(&SOFTMAX).values(&[&x]), [0.0, 1.0, 0.0, 1.0]);
        assert_eq!(call(&LOG_SOFTMAX).values(&[&x]), [-1000.0, 0.0, -1000.0, 0.0]);
        let x = Tensor::from_vec(&[2], vec![f32::NAN, 1.0]);
        assert!(call(&SOFTMAX).values(&[&x]).iter().all(|x| x.is_nan()));
    }
}
