//! Exports resizing to ONNX: for floats, and for other dtypes if no element is interpolated.

use super::{DYN_RESIZE2D, RESIZE1D, RESIZE2D, RESIZE3D, Resize, Sampling};
use crate::prelude::*;
use relayc_ir::types::dims_of;

pub(crate) const ONNX: &[(&str, Onnx)] = &[
    (RESIZE1D.name, Onnx::Sized(|cx| resize_onnx(cx, "NCW"))),
    (RESIZE2D.name, Onnx::Sized(|cx| resize_onnx(cx, "NCHW"))),
    (RESIZE3D.name, Onnx::Sized(|cx| resize_onnx(cx, "NCDHW"))),
    (DYN_RESIZE2D.name, Onnx::Sized(dyn_resize2d_onnx)),
];

fn resize_onnx(cx: &mut OnnxCx, letters: &'static str) -> OnnxResult {
    let resize = Resize::of(letters, cx.attrs);
    resized_onnx(cx, (&resize.layout, letters), &resize.sampling, resize.roi.as_deref())
}

fn dyn_resize2d_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let Resize { layout, sampling, .. } = Resize::of("NCHW", cx.attrs);
    if sampling.ends {
        return Err("a region of the data that is an operand".into());
    }
    let size = cx.tensor(1);
    let size = cx.cast(size, cx.dtype(size), DType::I64)?;
    resized_to_onnx(cx, (&layout, "NCHW"), &sampling, None, Some(size))
}

/// Resizes operand 0 to the result's shape. `letters` are all axes, the resized ones last.
pub(crate) fn resized_onnx(cx: &mut OnnxCx, axes: (&str, &str), sampling: &Sampling, roi: Option<&[f64]>) -> OnnxResult {
    resized_to_onnx(cx, axes, sampling, roi, None)
}

/// As [`resized_onnx`], to sizes of the resized axes that are a vector of int64.
fn resized_to_onnx(
    cx: &mut OnnxCx,
    (layout, letters): (&str, &str),
    sampling: &Sampling,
    roi: Option<&[f64]>,
    size: Option<ValueId>,
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
    // The other axes keep their sizes, whatever they are.
    let sizes = match size {
        None if dims_of(&to[..2]).is_some() => cx.dims("sizes", &to)?,
        _ => {
            let [batch, channels] = [0, 1].map(|axis| cx.length(data, axis));
            let size = size.map_or_else(|| cx.dims("sizes", &to[2..]), Ok)?;
            cx.node("Concat", &[batch, channels, size]).int("axis", 0).one()
        }
    };
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
