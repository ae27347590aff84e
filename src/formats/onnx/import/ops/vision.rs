//! Regions and boxes of pictures: `GridSample`, `RoiAlign`, `MaxRoiPool`, `NonMaxSuppression`.

use super::words::*;
use super::{Converter, op};

fn grid_sample(cx: &mut Cx) -> Results {
    let (x, grid) = (cx.input(0)?, cx.input(1)?);
    let method = match &*cx.text("mode", "bilinear")? {
        "bilinear" | "linear" => "bilinear",
        "nearest" => "nearest",
        "bicubic" | "cubic" => "bicubic",
        other => return Err(refuse(format!("the mode `{other}`"))),
    };
    let padding = cx.text("padding_mode", "zeros")?;
    let rank = cx.rank(x)?;
    let layout = match rank {
        4 => "NCHW",
        5 => "NCDHW",
        _ => return Err(refuse(format!("an operand of {rank} axes"))),
    };
    // Coordinates are along the last axis, in Relay along the second.
    let last = cx.rank(grid)?.saturating_sub(1);
    let axes: Vec<usize> = [0, last].into_iter().chain(1..last).collect();
    let grid = cx.transpose(grid, &axes)?;
    let attrs = [
        ("method", AttrValue::str(method)),
        ("layout", AttrValue::str(layout)),
        ("padding_mode", AttrValue::str(&padding)),
        ("align_corners", AttrValue::Bool(cx.int("align_corners", 0)? != 0)),
    ];
    one(cx.call("image.grid_sample", &[x, grid], &attrs)?)
}

/// The window of a result: `output_height` and `output_width`.
fn roi_align(cx: &mut Cx) -> Results {
    let (x, rois, pictures) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    let mode = cx.text("mode", "avg")?;
    if mode == "max" {
        // ONNX takes the largest of the four weighted neighbours, Relay the largest of the interpolated points.
        return Err(refuse("the mode `max`, which takes the largest of other numbers than Relay's"));
    }
    let scale = cx.float("spatial_scale", 1.0)?;
    let dtype = cx.dtype(rois)?;
    let mut boxes = rois;
    let default = if cx.version < 16 { "output_half_pixel" } else { "half_pixel" };
    if cx.text("coordinate_transformation_mode", default)? == "half_pixel" {
        // The middle of the first element is at 0.5.
        let half = cx.like(rois, 0.5 / scale)?;
        boxes = cx.binary("subtract", rois, half)?;
    }
    let pictures = cx.cast(pictures, dtype)?;
    let pictures = cx.reshape(pictures, &[-1, 1])?;
    let rows = cx.concatenate(&[pictures, boxes], 1)?;
    let size = ints(&[cx.int("output_height", 1)?, cx.int("output_width", 1)?]);
    let attrs = [
        ("pooled_size", size),
        ("spatial_scale", AttrValue::float(scale)),
        ("sample_ratio", AttrValue::int(cx.int("sampling_ratio", 0)?)),
        ("mode", AttrValue::str(&mode)),
    ];
    one(cx.call("vision.roi_align", &[x, rows], &attrs)?)
}

fn max_roi_pool(cx: &mut Cx) -> Results {
    let (x, rois) = (cx.input(0)?, cx.input(1)?);
    let size = cx.small_ints("pooled_shape")?.unwrap_or_default();
    let attrs = [("pooled_size", ints(&size)), ("spatial_scale", AttrValue::float(cx.float("spatial_scale", 1.0)?))];
    one(cx.call("vision.roi_pool", &[x, rois], &attrs)?)
}

fn non_max_suppression(cx: &mut Cx) -> Results {
    let (mut boxes, scores) = (cx.input(0)?, cx.input(1)?);
    if cx.int("center_point_box", 0)? != 0 {
        boxes = corners(cx, boxes)?;
    }
    let limit = match cx.opt(2) {
        Some(limit) => cx.cast(limit, DType::I64)?,
        None => cx.put(Tensor::scalar(0i64))?,
    };
    let or = |cx: &mut Cx, i: usize, default: f32| match cx.opt(i) {
        Some(value) => Ok(value),
        None => cx.put(Tensor::scalar(default)),
    };
    let (overlap, score) = (or(cx, 3, 0.0)?, or(cx, 4, f32::MIN)?);
    let (limit, overlap, score) = (cx.scalar_of(limit)?, cx.scalar_of(overlap)?, cx.scalar_of(score)?);
    let attrs = [("output_format", AttrValue::str("onnx"))];
    let results = cx.call_many("vision.all_class_non_max_suppression", &[boxes, scores, limit, overlap, score], &attrs, 2)?;
    // As many rows as there are boxes left, none where none may be.
    let zero = cx.put(Tensor::scalar(0i64))?;
    let none = cx.binary("less_equal", limit, zero)?;
    let n = cx.cast(results[1], DType::I64)?;
    let n = cx.select(none, zero, n)?;
    cx.head(results[0], n).and_then(one)
}

/// Boxes of a middle and a size as boxes of two corners.
fn corners(cx: &mut Cx, boxes: Val) -> Result {
    let parts = cx.split(boxes, 4, 2)?;
    let half = |cx: &mut Cx, size: Val| {
        let two = cx.like(size, 2.0)?;
        cx.binary("divide", size, two)
    };
    let (width, height) = (half(cx, parts[2])?, half(cx, parts[3])?);
    let (left, top) = (cx.binary("subtract", parts[0], width)?, cx.binary("subtract", parts[1], height)?);
    let (right, bottom) = (cx.binary("add", parts[0], width)?, cx.binary("add", parts[1], height)?);
    cx.concatenate(&[top, left, bottom, right], 2)
}

pub const FAMILY: &[Converter] = &[
    op("GridSample", &[16, 20, 22], grid_sample)
        .but("cubic interpolation on three axes")
        .but("cubic interpolation on three axes"),
    op("RoiAlign", &[10, 16, 22], roi_align).but("the mode `max`").but("the mode `max`"),
    op("MaxRoiPool", &[1, 22], max_roi_pool),
    op("NonMaxSuppression", &[10, 11], non_max_suppression),
];
