//! Exports resizing to ONNX: for floats, and for other dtypes if no element is interpolated.

use super::{RESIZE1D, RESIZE2D, RESIZE3D, Resize, Sampling};
use crate::prelude::*;
use relayc_ir::types::dims_of;

pub(crate) const ONNX: &[(&str, Onnx)] = &[
    (RESIZE1D.name, Onnx::Sized(|cx| resize_onnx(cx, "NCW"))),
    (RESIZE2D.name, Onnx::Sized(|cx| resize_onnx(cx, "NCHW"))),
    (RESIZE3D.name, Onnx::Sized(|cx| resize_onnx(cx, "NCDHW"))),
];

fn resize_onnx(cx: &mut OnnxCx, letters: &'static str) -> OnnxResult {
    let resize = Resize::of(letters, cx.attrs);
    resized_onnx(cx, (&resize.layout, letters), &resize.sampling, resize.roi.as_deref())
}

/// Resizes operand 0 to the result's shape. `letters` are all axes, the resized ones last.
pub(crate) fn resized_onnx(
    cx: &mut OnnxCx,
    (layout, letters): (&str, &str),
    sampling: &Sampling,
    roi: Option<&[f64]>,
) -> OnnxResult {
    let order = Layout::parse(layout).ok().and_then(|read| read.order(letters)).ok_or_else(|| format!("the layout {layout}"))?;
    let back: Vec<usize> = (0..order.len()).map(|at| order.iter().position(|&axis| axis == at).unwrap_or(at)).collect();
    let (data, to) = (cx.tensor(0), &cx.out[0].0);
    let (dtype, from) = (cx.dtype(data), cx.axes(data));
    let [from, to] = [from, to].map(|shape| order.iter().map(|&axis| shape[axis]).collect::<Vec<Dim>>());
    if from.iter().chain(&to).any(|dim| dim.value() == Some(0)) {
        return Err("a picture without elements".into());
    }
    let mode = match sampling.method.as_str() {
        "nearest_neighbor" => "nearest",
        _ if !dtype.is_float() => return Err(format!("`{dtype}` interpolated, where it is rounded otherwise")),
        "linear" => "linear",
        _ => "cubic",
    };
    if sampling.mode == "tf_half_pixel_for_nn" {
        return Err("the coordinates tf_half_pixel_for_nn".into());
    }
    let rounding = rounding(sampling, &from[2..], &to[2..])?;
    let data = cx.transposed(data, &order);
    let sizes = cx.dims("sizes", &to)?;
    let roi = sampling.ends.then(|| {
        let share = |at: usize| roi.and_then(|roi| roi.get(at)).map_or(0.0, |&value| value as f32);
        let n = letters.len() - 2;
        let starts = [0.0, 0.0].into_iter().chain((0..n).map(share));
        let all: Vec<f32> = starts.chain([1.0, 1.0]).chain((n..2 * n).map(share)).collect();
        cx.constant("roi", Tensor::from_vec(&[all.len()], all))
    });
    let node = cx.node_of("Resize", vec![Some(data), roi, None, Some(sizes)]).str("mode", mode);
    let mut node = node.str("coordinate_transformation_mode", &sampling.mode);
    if mode == "nearest" {
        node = node.str("nearest_mode", rounding);
    }
    if mode == "cubic" {
        node = node.float("cubic_coeff_a", sampling.alpha).int("exclude_outside", sampling.exclude.into());
    }
    if sampling.ends {
        node = node.float("extrapolation_value", sampling.extrapolation);
    }
    let out = node.one();
    let out = cx.cast(out, dtype, cx.out_dtype())?;
    Ok(cx.transposed(out, &back).into())
}

/// How a coordinate becomes a position, in ONNX's words.
fn rounding(sampling: &Sampling, from: &[Dim], to: &[Dim]) -> Result<&'static str, String> {
    let rounding = match (sampling.rounding.as_str(), sampling.mode.as_str()) {
        ("", "align_corners") | ("round" | "round_prefer_ceil", _) => "round_prefer_ceil",
        ("", _) | ("floor", _) => "floor",
        ("round_prefer_floor", _) => "round_prefer_floor",
        _ => "ceil",
    };
    // Where TVM divides positions as integers, that is rounding down.
    if !sampling.whole_ratios || sampling.mode != "asymmetric" || rounding == "floor" {
        return Ok(rounding);
    }
    let (from, to) = dims_of(from).zip(dims_of(to)).ok_or("positions that are rounded by sizes that only a run knows")?;
    let whole = |(&from, &to): (&i64, &i64)| from > 0 && to % from == 0;
    let n_whole = from.iter().zip(&to).filter(|pair| whole(*pair)).count();
    match n_whole {
        0 => Ok(rounding),
        n if n == from.len() => Ok("floor"),
        _ => Err("positions that are rounded down along one axis and not along another".into()),
    }
}
