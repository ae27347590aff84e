//! Exports regions of interest and the suppression of boxes to ONNX. One of its two operators on regions takes the image indices as
//! a separate input.

use super::{ALL_CLASS_NON_MAX_SUPPRESSION, AllClassNmsAttrs, ROI_ALIGN, ROI_POOL, RoiAlignAttrs, RoiPoolAttrs};
use crate::prelude::*;

pub(crate) const ONNX: &[(&str, Onnx)] = &[
    (ROI_ALIGN.name, Onnx::Nodes(roi_align_onnx)),
    (ROI_POOL.name, Onnx::Nodes(roi_pool_onnx)),
    (ALL_CLASS_NON_MAX_SUPPRESSION.name, Onnx::Nodes(all_class_onnx)),
];

/// The height and width of the result.
fn size(cx: &OnnxCx, layout: &str, size: Option<Vec<Dim>>) -> Result<[i64; 2], String> {
    if layout != "NCHW" {
        return Err(format!("the layout {layout}"));
    }
    DTypeClass::Ieee.require(cx.out_dtype())?;
    if cx.dtype(cx.tensor(1)) != cx.out_dtype() {
        return Err("regions of another dtype than the pictures".into());
    }
    match size.unwrap_or_default()[..] {
        [height, width] => height.value().zip(width.value()).map(|(height, width)| [height, width]),
        _ => None,
    }
    .ok_or_else(|| "a result whose size is not known before running".into())
}

/// The largest of points is that of interpolated ones here, of weighted neighbours in ONNX.
fn roi_align_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let attrs = RoiAlignAttrs::read(cx.attrs);
    let [height, width] = size(cx, &attrs.layout.0, attrs.pooled_size.0)?;
    if attrs.mode.0 != "avg" {
        return Err(format!("the mode `{}`", attrs.mode.0));
    }
    let (data, rois) = (cx.tensor(0), cx.tensor(1));
    let [first, second, last, axes] =
        [("first", 0), ("second", 1), ("last", 5), ("axes", 1)].map(|(what, at)| cx.ints(what, &[at]));
    let boxes = cx.node("Slice", &[rois, second, last, axes]).one();
    let pictures = cx.node("Slice", &[rois, first, second, axes]).one();
    let pictures = cx.node("Squeeze", &[pictures, axes]).one();
    let pictures = cx.cast(pictures, cx.out_dtype(), DType::I64)?;
    let node = cx.node("RoiAlign", &[data, boxes, pictures]).int("output_height", height).int("output_width", width);
    let node = node.int("sampling_ratio", attrs.sample_ratio.max(0)).float("spatial_scale", attrs.spatial_scale);
    Ok(node.str("mode", "avg").str("coordinate_transformation_mode", "output_half_pixel").one().into())
}

fn roi_pool_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let attrs = RoiPoolAttrs::read(cx.attrs);
    let size = size(cx, &attrs.layout.0, attrs.pooled_size.0)?;
    let (data, rois) = (cx.tensor(0), cx.tensor(1));
    let node = cx.node("MaxRoiPool", &[data, rois]).ints("pooled_shape", &size);
    Ok(node.float("spatial_scale", attrs.spatial_scale).one().into())
}

/// ONNX gives the rows of the boxes alone, where here zeros follow.
fn all_class_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let format = AllClassNmsAttrs::read(cx.attrs).output_format;
    if format.0 != "onnx" {
        return Err(format!("the output format {:?}", format.0));
    }
    let operands: Vec<ValueId> = (0..5).map(|arg| cx.tensor(arg)).collect();
    let [boxes, scores, limit, overlap, score] = operands[..] else { unreachable!("five operands") };
    if [boxes, scores, overlap, score].iter().any(|&value| cx.dtype(value) != DType::F32) {
        return Err("operands of another dtype than `float32`, where ONNX takes that only".into());
    }
    if !cx.known(score).and_then(Tensor::to_vec::<f32>).is_some_and(|known| known.iter().all(|&least| least >= 0.0)) {
        let why = "a `score_threshold` that is no constant from 0 on: ONNX suppresses boxes whose score is not positive, Relay does not";
        return Err(why.into());
    }
    let limit = limit_onnx(cx, limit)?;
    let (limit, overlap) = overlap_onnx(cx, limit, overlap)?;
    let found = cx.node("NonMaxSuppression", &[boxes, scores, limit, overlap, score]).one();
    let shape = cx.node("Shape", &[found]).one();
    let (first, second, before) = (cx.ints("first", &[0]), cx.ints("second", &[1]), cx.ints("before", &[0, 0]));
    let rows = cx.node("Slice", &[shape, first, second]).one();
    // There is a row for each score.
    let all = cx.node("Size", &[scores]).one();
    let left = cx.node("Sub", &[all, rows]).one();
    let widths = cx.node("Concat", &[before, left, first]).int("axis", 0).one();
    let padded = cx.node("Pad", &[found, widths]).str("mode", "constant").one();
    Ok(Results(vec![padded, rows]))
}

/// The limit and the threshold: ONNX drops boxes that overlap by more than it, Relay those that overlap by as much, and all boxes
/// where it is not positive.
fn overlap_onnx(cx: &mut OnnxCx, limit: ValueId, overlap: ValueId) -> Result<(ValueId, ValueId), String> {
    if let Some(&[known]) = cx.known(overlap).and_then(Tensor::to_vec::<f32>).as_deref() {
        let limit = if known > 0.0 { limit } else { cx.ints("none", &[0]) };
        return Ok((limit, cx.constant("overlap", Tensor::scalar(known.max(0.0).next_down().max(0.0)))));
    }
    // The product of a float and the one before 1 is the float before it.
    let (zero, before) = (cx.scalar("zero", DType::F32, 0.0)?, cx.scalar("before", DType::F32, 1f32.next_down().into())?);
    let none = cx.ints("none", &[0]);
    let is_positive = cx.node("Greater", &[overlap, zero]).one();
    let limit = cx.node("Where", &[is_positive, limit, none]).one();
    Ok((limit, cx.node("Mul", &[overlap, before]).one()))
}

/// A number that is not positive allows any number of boxes here, and none in ONNX.
fn limit_onnx(cx: &mut OnnxCx, limit: ValueId) -> Result<ValueId, String> {
    let dtype = cx.dtype(limit);
    if let Some(limit) = cx.known(limit).map(|limit| limit.to_ints()[0]) {
        let limit = i64::try_from(limit).ok().filter(|&limit| limit > 0).unwrap_or(i64::MAX);
        return Ok(cx.ints("limit", &[limit]));
    }
    let limit = cx.cast(limit, dtype, DType::I64)?;
    let (zero, most) = (cx.ints("zero", &[0]), cx.ints("most", &[i64::MAX]));
    let limits = cx.node("Greater", &[limit, zero]).one();
    Ok(cx.node("Where", &[limits, limit, most]).one())
}
