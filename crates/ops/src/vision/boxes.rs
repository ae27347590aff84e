//! Boxes of the single shot detector: computes priors, and applies predictions to them.

use super::{MultiBoxPriorAttrs, MultiBoxTransformLocAttrs, require_shape};
use crate::gather_lowering::{counted, read};
use crate::lower::{converted, lane, tabled};
use crate::prelude::*;
use relayc_ir::kernel::{Anchors, Boxes, Routine};
use relayc_ir::tensor::{Acc, Float};

pub(super) fn multibox_prior_rel(cx: &mut RelCx) -> RelResult {
    let attrs = MultiBoxPriorAttrs::read(cx.attrs);
    let [sizes, ratios] = [("sizes", &attrs.sizes), ("ratios", &attrs.ratios)].map(|(name, values)| (name, values.len()));
    for (name, n) in [sizes, ratios] {
        cx.require("C2", n >= 1, || Fault::attr(name, "expected at least 1 value, found none"))?;
    }
    for (name, n) in [("steps", attrs.steps.len()), ("offsets", attrs.offsets.len())] {
        cx.require("C3", n == 2, || Fault::attr(name, format!("expected 2 values, found {n}")))?;
    }
    let data = cx.tensor(0)?;
    cx.require("C1", data.rank() == 4, || Fault::rank(4, &data))?;
    rel::require_float(cx, "C4", &data)?;
    let each = Dim::known((sizes.1 + ratios.1 - 1) as i64);
    let symbols = &mut cx.types.symbols;
    let positions = symbols.built(SymbolOp::Mul, data.shape[2], data.shape[3]);
    let n_boxes = SDim::new(symbols.built(SymbolOp::Mul, positions, each), DimOrigin::Op);
    cx.set_out(Shape::from_slice(&[SDim::known(1, DimOrigin::Op), n_boxes, SDim::known(4, DimOrigin::Op)]), data.dtype)
}

pub(super) fn multibox_prior_eval(cx: &EvalCx) -> EvalResult {
    let (attrs, shape) = (MultiBoxPriorAttrs::read(cx.attrs), cx.tensor(0).shape());
    let (height, width) = (shape[2], shape[3]);
    let out = match cx.out_dtype() {
        DType::F64 => Tensor::from_vec(cx.out_shape(), priors::<f64>(height, width, &attrs)),
        _ => Tensor::from_vec(cx.out_shape(), priors::<f32>(height, width, &attrs)),
    };
    Ok(out.cast(cx.out_dtype()).expect("the dtype of a tensor").into())
}

fn priors<T: Float>(height: usize, width: usize, attrs: &MultiBoxPriorAttrs) -> Vec<T> {
    let (n, at, half) = (|n: usize| T::at(n as f64), T::at, T::at(0.5));
    let step = |i: usize, size: usize| if attrs.steps[i] > 0.0 { at(attrs.steps[i]) } else { T::ONE / n(size) };
    let root = |ratio: f64| T::at(at(ratio).to_f64().sqrt());
    // Half the width and height of each box of a position.
    let wide = |size: f64| at(size) * n(height) / n(width);
    let of_sizes = attrs.sizes.iter().map(|&size| (wide(size) * half, at(size) * half));
    let first = attrs.sizes[0];
    let of_ratios = attrs.ratios[1..].iter().map(|&ratio| (wide(first) * root(ratio) * half, at(first) / root(ratio) * half));
    let halves: Vec<(T, T)> = of_sizes.chain(of_ratios).collect();
    let mut out = Vec::with_capacity(height * width * halves.len() * 4);
    for (i, j) in (0..height).flat_map(|i| (0..width).map(move |j| (i, j))) {
        let y = (n(i) + at(attrs.offsets[0])) * step(0, height);
        let x = (n(j) + at(attrs.offsets[1])) * step(1, width);
        out.extend(halves.iter().flat_map(|&(w, h)| [x - w, y - h, x + w, y + h]));
    }
    if attrs.clip {
        out.iter_mut().for_each(|x| *x = x.most(T::ZERO).least(T::ONE));
    }
    out
}

/// The boxes depend on shapes and attributes alone.
pub(super) fn multibox_prior_nest(call: &Call) -> Option<Template> {
    let (shape, out) = (&call.arg(0).shape, call.out());
    (out.dtype != DType::F64).then_some(())?;
    tabled(out.shape.iter().product())?;
    let priors = priors::<f32>(shape[2] as usize, shape[3] as usize, &MultiBoxPriorAttrs::read(call.attrs));
    let mut template = Template { dims: out.shape.clone(), ..Template::default() };
    let mut body = Body::new();
    let dims: Vec<(usize, u64)> = out.shape.iter().copied().enumerate().collect();
    let val = read(&mut template, &mut body, Read::table(Table::floats(priors), counted(&dims)));
    let val = converted(&mut body, val, ScalarType::F32, lane(out.dtype)?);
    template.finish(body, val)
}

pub(super) fn multibox_transform_loc_rel(cx: &mut RelCx) -> RelResult {
    let attrs = MultiBoxTransformLocAttrs::read(cx.attrs);
    let n = attrs.variances.len();
    cx.require("C3", n == 4, || Fault::attr("variances", format!("expected 4 values, found {n}")))?;
    let (cls, loc, anchor) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    require_shape(cx, "C1", &cls, &[Dim::Any; 3], "(pictures, classes, anchors)")?;
    let anchors = cls.shape[2];
    let numbers = cx.types.symbols.arith(SymbolOp::Mul, anchors, Dim::known(4));
    require_shape(cx, "C1", &loc, &[cls.shape[0], numbers], &format!("({}, {numbers}), 4 for each anchor", cls.shape[0]))?;
    require_shape(cx, "C1", &anchor, &[Dim::known(1), anchors, Dim::known(4)], &format!("(1, {anchors}, 4)"))?;
    let some = anchor.shape[1].value() != Some(0);
    cx.require("C2", some, || Fault::shape("expected at least 1 anchor, found none").at(anchor.axis(1), ""))?;
    rel::require_float(cx, "C4", &cls)?;
    rel::require_same_dtype(cx, "C4", &cls, &loc)?;
    rel::require_same_dtype(cx, "C4", &cls, &anchor)?;
    let rows = Shape::from_slice(&[cls.dim(0), anchor.dim(1), SDim::known(6, DimOrigin::Op)]);
    let counts = Shape::from_slice(&[cls.dim(0)]);
    cx.set_out_tuple(vec![(rows, cls.dtype), (counts, DType::I32)])
}

pub(super) fn multibox_transform_loc_eval(cx: &EvalCx) -> EvalResult {
    let attrs = MultiBoxTransformLocAttrs::read(cx.attrs);
    let rows = match cx.tensor(0).to_acc() {
        Acc::F64(_) => transformed::<f64>(cx, &attrs),
        _ => transformed::<f32>(cx, &attrs),
    };
    Ok(Outputs::Tuple(rows.into()))
}

/// `None` for float64, whose powers of e may differ in the last place.
pub(super) fn multibox_transform_loc_routine(call: &Call) -> Option<Routine> {
    let attrs = MultiBoxTransformLocAttrs::read(call.attrs);
    let &[images, classes, anchors] = call.arg(0).shape.as_slice() else { return None };
    let dtype = call.arg(0).dtype;
    (lane(dtype)? != ScalarType::F64).then_some(())?;
    Some(Routine::Boxes(Boxes::Anchors(Anchors {
        images,
        classes,
        anchors,
        dtype,
        is_cut: attrs.clip,
        has_background: attrs.keep_background,
        threshold_bits: attrs.threshold.to_bits(),
        variance_bits: [0, 1, 2, 3].map(|at| attrs.variances[at].to_bits()),
    })))
}

fn transformed<T: Float>(cx: &EvalCx, attrs: &MultiBoxTransformLocAttrs) -> [Tensor; 2] {
    let [probabilities, predictions, anchors] = [0, 1, 2].map(|arg| T::elements(&cx.tensor(arg).to_acc()));
    let &[n, n_classes, n_anchors] = cx.tensor(0).shape() else { unreachable!("the relation required rank 3") };
    let (mut out, mut counts) = (Vec::with_capacity(n * n_anchors * 6), Vec::with_capacity(n));
    for picture in 0..n {
        let start = out.len();
        for anchor in 0..n_anchors {
            let probability = |class: usize| probabilities[(picture * n_classes + class) * n_anchors + anchor];
            // The most probable class, the first of several; NaN is none.
            let (mut best, mut score) = (0, -T::ONE);
            for class in usize::from(!attrs.keep_background)..n_classes {
                if probability(class) > score {
                    (best, score) = (class, probability(class));
                }
            }
            if score < T::at(attrs.threshold) {
                best = 0;
            }
            if attrs.keep_background || best > 0 {
                let class = if attrs.keep_background { best } else { best - 1 };
                let prediction = &predictions[(picture * n_anchors + anchor) * 4..][..4];
                out.extend([T::at(class as f64), score]);
                out.extend(moved(&anchors[anchor * 4..][..4], prediction, attrs));
            }
        }
        counts.push(((out.len() - start) / 6) as i32);
        out.resize(start + n_anchors * 6, -T::ONE);
    }
    let rows = Tensor::from_vec(&[n, n_anchors, 6], out).cast(cx.tensor(0).dtype()).expect("the dtype of a tensor");
    [rows, Tensor::from_vec(&[n], counts)]
}

/// An anchor, moved by shares of its size and scaled by powers of e.
fn moved<T: Float>(anchor: &[T], prediction: &[T], attrs: &MultiBoxTransformLocAttrs) -> [T; 4] {
    let two = T::at(2.0);
    let change = |i: usize| prediction[i] * T::at(attrs.variances[i]);
    let axis = |i: usize| {
        let (low, high) = (anchor[i], anchor[i + 2]);
        let middle = change(i) * (high - low) + (low + high) / two;
        let half = T::at(change(i + 2).to_f64().exp()) * (high - low) / two;
        [middle - half, middle + half]
    };
    let ([left, right], [top, bottom]) = (axis(0), axis(1));
    let cut = |x: T| if attrs.clip { x.least(T::ONE).most(T::ZERO) } else { x };
    [left, top, right, bottom].map(cut)
}

#[cfg(test)]
mod tests {
    use super::super::{MULTIBOX_PRIOR, MULTIBOX_TRANSFORM_LOC};
    use super::*;
    use crate::trial::{call, extremes};

    #[test]
    fn shapes() {
        assert_eq!(call(&MULTIBOX_PRIOR).out(&["(?, 3, 4, 5i64) float32"]), "Tensor[(1, 20i64, 4), float32]");
        assert_eq!(call(&MULTIBOX_PRIOR).out(&["(1, 3, ?, 5) float16"]), "Tensor[(1, Mul(?, 5), 4), float16]");
        let args = ["(2, 3, 5) float32", "(?, 20) float32", "(1, ?, 4) float32"];
        let out = "(Tensor[(2, ?, 6), float32], Tensor[(2), int32])";
        assert_eq!(call(&MULTIBOX_TRANSFORM_LOC).out(&args), out);
        extremes(|| call(&MULTIBOX_PRIOR), &["(1, 3, 4, 5) float32"]);
        extremes(|| call(&MULTIBOX_TRANSFORM_LOC), &args);
    }

    #[test]
    fn no_picture_and_no_class() {
        let of = |shape: &[usize]| Tensor::full(DType::F32, shape, f64::NAN).expect("a tensor's dtype");
        let eval = |n, classes| call(&MULTIBOX_TRANSFORM_LOC).eval(&[&of(&[n, classes, 2]), &of(&[n, 8]), &of(&[1, 2, 4])]);
        assert_eq!(eval(0, 2).expect("it runs")[1].len(), 0);
        assert_eq!(eval(1, 0).expect("it runs")[1].to_vec::<i32>(), Some(vec![0]));
        assert_eq!(eval(1, 3).expect("it runs")[0].to_vec::<f32>(), Some(vec![-1.0; 12]));
        assert!(call(&MULTIBOX_PRIOR).values(&[&of(&[1, 1, 0, 3])]).is_empty());
    }
}
