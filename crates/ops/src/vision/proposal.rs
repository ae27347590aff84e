//! Proposals of regions: moves anchors at every position by a network's predictions, and keeps the best.

use super::{ProposalAttrs, require_shape};
use crate::prelude::*;
use relayc_ir::tensor::{Acc, Float};

pub(super) fn proposal_rel(cx: &mut RelCx) -> RelResult {
    let attrs = ProposalAttrs::read(cx.attrs);
    let most = attrs.rpn_post_nms_top_n;
    cx.require("C3", most >= 0, || Fault::attr("rpn_post_nms_top_n", format!("expected at least 0, found {most}")))?;
    let (cls, bbox, info) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    let n_anchors = (attrs.scales.len() * attrs.ratios.len()) as i64;
    let [two, four] = [2, 4].map(|n| n * n_anchors);
    let of = |n: Dim, channels: i64, h: Dim, w: Dim| ([n, Dim::known(channels), h, w], format!("({n}, {channels}, {h}, {w})"));
    let (dims, words) = of(Dim::Any, two, Dim::Any, Dim::Any);
    require_shape(cx, "C1", &cls, &dims, &words)?;
    let (dims, words) = of(cls.shape[0], four, cls.shape[2], cls.shape[3]);
    require_shape(cx, "C1", &bbox, &dims, &words)?;
    require_shape(cx, "C2", &info, &[cls.shape[0], Dim::known(3)], &format!("({}, 3)", cls.shape[0]))?;
    rel::require_float(cx, "C4", &cls)?;
    rel::require_same_dtype(cx, "C4", &cls, &bbox)?;
    rel::require_same_dtype(cx, "C4", &cls, &info)?;
    let rows = cx.types.symbols.built(SymbolOp::Mul, cls.shape[0], Dim::known(most));
    let rows = SDim::new(rows, DimOrigin::Attr("rpn_post_nms_top_n"));
    cx.set_out(Shape::from_slice(&[rows, SDim::known(5, DimOrigin::Op)]), cls.dtype)
}

pub(super) fn proposal_eval(cx: &EvalCx) -> EvalResult {
    let attrs = ProposalAttrs::read(cx.attrs);
    let out = match cx.tensor(0).to_acc() {
        Acc::F64(_) => Tensor::from_vec(cx.out_shape(), proposed::<f64>(cx, &attrs)),
        _ => Tensor::from_vec(cx.out_shape(), proposed::<f32>(cx, &attrs)),
    };
    Ok(out.cast(cx.out_dtype()).expect("the dtype of a tensor").into())
}

/// A box with both of its corners inside, and its score.
struct Region<T> {
    corners: [T; 4],
    score: T,
}

fn proposed<T: Float>(cx: &EvalCx, attrs: &ProposalAttrs) -> Vec<T> {
    let [scores, deltas, info] = [0, 1, 2].map(|arg| T::elements(&cx.tensor(arg).to_acc()));
    let &[n, _, height, width] = cx.tensor(0).shape() else { unreachable!("the relation required rank 4") };
    let anchors: Vec<[f64; 4]> = attrs
        .ratios
        .iter()
        .flat_map(|&ratio| attrs.scales.iter().map(move |&scale| anchor(ratio, scale, attrs.feature_stride as f64)))
        .collect();
    let most = attrs.rpn_post_nms_top_n as usize;
    let mut out = Vec::with_capacity(n * most * 5);
    for picture in 0..n {
        let info = &info[picture * 3..][..3];
        let mut regions = Vec::with_capacity(height * width * anchors.len());
        for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
            for (k, anchor) in anchors.iter().enumerate() {
                let at = |channel: usize, of: usize| ((picture * of + channel) * height + y) * width + x;
                let delta = [0, 1, 2, 3].map(|i| deltas[at(4 * k + i, 4 * anchors.len())]);
                let score = scores[at(anchors.len() + k, 2 * anchors.len())];
                regions.push(region(anchor, (y, x), delta, score, info, attrs));
            }
        }
        let kept = suppressed(regions, attrs);
        let rows = kept.iter().cycle().take(if kept.is_empty() { 0 } else { most });
        out.extend(rows.flat_map(|region| [T::at(picture as f64)].into_iter().chain(region.corners)));
        out.resize((picture + 1) * most * 5, T::ZERO);
    }
    out
}

/// A box round a position, of about `scale` times its size and this ratio of height to width: the corners.
fn anchor(ratio: f64, scale: f64, base: f64) -> [f64; 4] {
    let middle = 0.5 * (base - 1.0);
    let width = ((base * base / ratio).floor().sqrt() + 0.5).floor() * scale;
    let height = (width / scale * ratio + 0.5).floor() * scale;
    let (x, y) = (0.5 * (width - 1.0), 0.5 * (height - 1.0));
    [middle - x, middle - y, middle + x, middle + y]
}

/// An anchor at a position, moved and clipped to the image. Outside of it, or too small, it gets the score -1.
fn region<T: Float>(
    anchor: &[f64; 4],
    (y, x): (usize, usize),
    delta: [T; 4],
    score: T,
    info: &[T],
    attrs: &ProposalAttrs,
) -> Region<T> {
    let (half, stride) = (T::at(0.5), T::at(attrs.feature_stride as f64));
    let shift = |i: usize| T::at([x, y][i % 2] as f64) * stride;
    let corner = |i: usize| T::at(anchor[i]) + shift(i);
    let axis = |i: usize| {
        let (low, high) = (corner(i), corner(i + 2));
        if attrs.iou_loss {
            return [low + delta[i], high + delta[i + 2]];
        }
        let size = high - low + T::ONE;
        let middle = delta[i] * size + (low + half * (size - T::ONE));
        let size = T::at(delta[i + 2].to_f64().exp()) * size;
        [middle - half * (size - T::ONE), middle + half * (size - T::ONE)]
    };
    let cut = |x: T, size: T| x.least(size - T::ONE).most(T::ZERO);
    let ([x1, x2], [y1, y2]) = (axis(0), axis(1));
    let (height, width) = (info[0], info[1]);
    let [x1, y1, x2, y2] = [cut(x1, width), cut(y1, height), cut(x2, width), cut(y2, height)];
    let outside = |at: usize, size: T| at as f64 >= (size / stride).to_f64().trunc();
    let score = if outside(y, height) || outside(x, width) { -T::ONE } else { score };
    let least = info[2] * T::at(attrs.rpn_min_size as f64);
    if x2 - x1 + T::ONE < least || y2 - y1 + T::ONE < least {
        let more = least * half;
        return Region { corners: [x1 - more, y1 - more, x2 + more, y2 + more], score: -T::ONE };
    }
    Region { corners: [x1, y1, x2, y2], score }
}

/// The best regions, by falling score, without those that a better one covers.
fn suppressed<T: Float>(mut regions: Vec<Region<T>>, attrs: &ProposalAttrs) -> Vec<Region<T>> {
    let scores: Vec<T> = regions.iter().map(|region| region.score).collect();
    let order = super::nms::descending(&scores);
    let n = usize::try_from(attrs.rpn_pre_nms_top_n).ok().filter(|&n| n > 0).map_or(order.len(), |n| n.min(order.len()));
    let mut kept: Vec<Region<T>> = vec![];
    for &i in &order[..n] {
        if !kept.iter().any(|better| overlap(&better.corners, &regions[i].corners) > T::at(attrs.threshold)) {
            let region = &mut regions[i];
            kept.push(Region { corners: region.corners, score: region.score });
        }
    }
    kept
}

/// The shared part of two boxes whose corners belong to them.
fn overlap<T: Float>(a: &[T; 4], b: &[T; 4]) -> T {
    let shared = |i: usize| (a[i + 2].least(b[i + 2]) - a[i].most(b[i]) + T::ONE).most(T::ZERO);
    let area = |x: &[T; 4]| (x[2] - x[0] + T::ONE) * (x[3] - x[1] + T::ONE);
    let both = shared(0) * shared(1);
    both / (area(a) + area(b) - both)
}

#[cfg(test)]
mod tests {
    use super::super::PROPOSAL;
    use super::*;
    use crate::trial::{Trial, call, extremes};
    use relayc_ir::attrs::AttrValue;
    use relayc_ir::types::DType;

    fn one(most: i64) -> Trial {
        let list = |value| AttrValue::List([AttrValue::Float { value, bits: 32 }].into());
        let trial = call(&PROPOSAL).attr("scales", list(8.0)).attr("ratios", list(1.0));
        trial.int("rpn_post_nms_top_n", most).int("rpn_min_size", 0)
    }

    const ARGS: [&str; 3] = ["(?, 2, 3, 3) float32", "(2, 4, 3, 3) float32", "(2, 3) float32"];

    #[test]
    fn shapes() {
        assert_eq!(one(4).out(&ARGS), "Tensor[(Mul(?, 4), 5), float32]");
        assert_eq!(one(4).out(&["(2, 2, 3, 3) float32", ARGS[1], ARGS[2]]), "Tensor[(8, 5), float32]");
        assert_eq!(one(-1).fault(&ARGS).rule, "C3");
        assert_eq!(call(&PROPOSAL).fault(&ARGS).rule, "C1");
        extremes(|| one(4), &ARGS);
    }

    #[test]
    fn few_and_no_regions() {
        let of = |shape: &[usize], value| Tensor::full(DType::F32, shape, value).expect("a tensor's dtype");
        let run = |h, value| one(2).values(&[&of(&[1, 2, h, 1], 0.5), &of(&[1, 4, h, 1], value), &of(&[1, 3], 16.0)]);
        // The anchor is 128 wide round 7.5, and the picture 16.
        assert_eq!(run(1, 0.0), [0.0, 0.0, 0.0, 15.0, 15.0, 0.0, 0.0, 0.0, 15.0, 15.0]);
        assert_eq!(run(0, 0.0), [0.0; 10]);
        assert_eq!(run(3, f64::NAN).len(), 10);
    }
}
