//! Exports regions of interest to ONNX. One of its two operators takes the image indices as a separate input.

use super::{ROI_ALIGN, ROI_POOL, RoiAlignAttrs, RoiPoolAttrs};
use crate::prelude::*;

pub(crate) const ONNX: &[(&str, Onnx)] =
    &[(ROI_ALIGN.name, Onnx::Nodes(roi_align_onnx)), (ROI_POOL.name, Onnx::Nodes(roi_pool_onnx))];

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
