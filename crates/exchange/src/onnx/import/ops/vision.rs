//! Converts image regions and boxes: `GridSample`, `RoiAlign`, `MaxRoiPool`, `NonMaxSuppression`.

use super::super::formula::{call2, select};
use super::building_blocks::*;
use super::neighbours::{Between, Rows, last_position};
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
        ("align_corners", AttrValue::Bool(cx.flag("align_corners", false)?)),
    ];
    one(cx.call("image.grid_sample", &[x, grid], &attrs)?)
}

/// Averages points in the bins of each box, or takes the largest of them.
///
/// Relay's operator enforces a minimum box side of one element, as ONNX does only for `output_half_pixel`. Half-pixel boxes
/// that may be smaller are interpolated by plain calls. So is `max`, where ONNX takes the largest of the four weighted neighbours of
/// each point, and Relay that of the interpolated points.
fn roi_align(cx: &mut Cx) -> Results {
    let (x, boxes, pictures) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    let largest = match &*cx.text("mode", "avg")? {
        "avg" => false,
        "max" => true,
        other => return Err(refuse(format!("the mode `{other}`"))),
    };
    let bins = [cx.int("output_height", 1)?, cx.int("output_width", 1)?];
    let (scale, of_bin) = (cx.float("spatial_scale", 1.0)?, cx.int("sampling_ratio", 0)?);
    let default = if cx.version < 16 { "output_half_pixel" } else { "half_pixel" };
    let half_pixel = match &*cx.text("coordinate_transformation_mode", default)? {
        "output_half_pixel" => false,
        "half_pixel" => true,
        other => return Err(refuse(format!("the coordinates `{other}`"))),
    };
    let points = Points { bins, scale, of_bin, half_pixel, largest };
    let is_whole = !half_pixel || has_whole_sides(cx, boxes, scale);
    if of_bin > 0 && (largest || !is_whole) {
        return interpolated(cx, x, boxes, pictures, &points);
    }
    if largest {
        return Err(refuse("the mode `max` without a `sampling_ratio`"));
    }
    if !is_whole {
        return Err(refuse("`half_pixel` without a `sampling_ratio`, of boxes that are small or that only a run knows"));
    }
    // The middle of the first element is at 0.5.
    let boxes = if half_pixel { cx.b.formula(boxes, boxes - 0.5 / scale)? } else { boxes };
    aligned(cx, x, boxes, pictures, &points)
}

/// The sampling points of `RoiAlign`.
struct Points {
    /// Height and width of the result.
    bins: [i64; 2],
    /// Factor for the coordinates of boxes.
    scale: f64,
    /// Number of points of a bin along each axis; if not positive, the bin's size in elements, rounded up.
    of_bin: i64,
    /// Whether the middle of the first element is at 0.5, and boxes may be smaller than an element.
    half_pixel: bool,
    /// Whether the largest neighbour of a bin's points counts, not the mean of the points.
    largest: bool,
}

/// One call of Relay's operator.
fn aligned(cx: &mut Cx, x: Val, boxes: Val, pictures: Val, points: &Points) -> Results {
    let dtype = cx.dtype(boxes)?;
    let pictures = cx.cast(pictures, dtype)?;
    let pictures = cx.reshape(pictures, &[-1, 1])?;
    let rows = cx.concatenate(&[pictures, boxes], 1)?;
    let attrs = [
        ("pooled_size", ints(&points.bins)),
        ("spatial_scale", AttrValue::float(points.scale)),
        ("sample_ratio", AttrValue::int(points.of_bin)),
        ("mode", AttrValue::str("avg")),
    ];
    one(cx.call("vision.roi_align", &[x, rows], &attrs)?)
}

/// Whether boxes are known, and each of their sides has at least one element.
fn has_whole_sides(cx: &Cx, boxes: Val, scale: f64) -> bool {
    let whole =
        |of: &[f64]| matches!(of, [left, top, right, bottom] if [right - left, bottom - top].iter().all(|n| n * scale >= 1.0));
    cx.known(boxes).is_some_and(|boxes| boxes.to_f64s().chunks(4).all(whole))
}

/// Weighs the four neighbours of each point, and averages the points of each bin, or takes its largest neighbour.
fn interpolated(cx: &mut Cx, x: Val, boxes: Val, pictures: Val, points: &Points) -> Results {
    let &Points { bins: [height, width], of_bin, largest, .. } = points;
    let (of_point, of_points) = if largest { ("maximum", "max") } else { ("add", "mean") };
    let (channels, dtype) = (cx.size(x, 1)?, cx.dtype(boxes)?);
    let rows = Rows::of(cx, x, 1)?;
    let lasts = [last_position(cx, x, 2, dtype)?, last_position(cx, x, 3, dtype)?];
    let (ys, xs) = (between(cx, boxes, 1, height, lasts[0], points)?, between(cx, boxes, 0, width, lasts[1], points)?);
    let pictures = cx.cast(pictures, DType::I64)?;
    let starts = cx.binary("multiply", pictures, rows.of_picture)?;
    let starts = cx.reshape(starts, &[-1, 1, 1])?;
    let (ys, xs) = (ys.expanded(cx, 2)?, xs.expanded(cx, 1)?);
    let sum = rows.weighed(cx, starts, &ys, &xs, of_point)?;
    let binned = cx.reshape(sum, &[-1, height, of_bin, width, of_bin, channels])?;
    let reduced = cx.reduce(of_points, binned, &[2, 4], false)?;
    one(cx.transpose(reduced, &[0, 3, 1, 2])?)
}

/// Places of the boxes' points along an axis with a `last` position: 0 for columns, 1 for rows.
fn between(cx: &mut Cx, boxes: Val, axis: usize, bins: i64, last: Val, points: &Points) -> Result<Between> {
    let dtype = cx.dtype(boxes)?;
    let side = |cx: &mut Cx, column: usize| -> Result {
        let column = i64::try_from(column).unwrap_or(i64::MAX);
        let side = cx.slice(boxes, 1, column, column.saturating_add(1))?;
        cx.b.formula(side, side * points.scale)
    };
    let (start, end) = (side(cx, axis)?, side(cx, axis.saturating_add(2))?);
    // The middles of equal parts of the box, of which each bin has `of_bin`.
    let n = bins.saturating_mul(points.of_bin);
    let parts = f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    let middles = cx.put_numbers(&[n], dtype, |i| (f64::from(u32::try_from(i).unwrap_or(u32::MAX)) + 0.5) / parts)?;
    let at = if points.half_pixel {
        cx.b.formula(start, (start - 0.5) + (end - start) * middles)?
    } else {
        cx.b.formula(start, start + call2("maximum", end - start, 1.0) * middles)?
    };
    // Nothing is read further outside than one element; the border goes on up to there.
    let (above, within) = (call2("greater_equal", at, -1.0), call2("less_equal", at - 1.0, last));
    let inside = cx.b.formula(at, call2("logical_and", above, within))?;
    let at = cx.b.formula(at, call2("minimum", call2("maximum", at, 0.0), last))?;
    let low = cx.unary("floor", at)?;
    let high = cx.b.formula(low, call2("minimum", low + 1.0, last))?;
    let rest = cx.binary("subtract", at, low)?;
    let weights = [cx.b.formula(rest, select(inside, 1.0 - rest, 0.0))?, cx.b.formula(rest, select(inside, rest, 0.0))?];
    Ok(Between { low: cx.cast(low, DType::I64)?, high: cx.cast(high, DType::I64)?, weights })
}

fn max_roi_pool(cx: &mut Cx) -> Results {
    let (x, rois) = (cx.input(0)?, cx.input(1)?);
    let size = cx.small_ints("pooled_shape")?.unwrap_or_default();
    let attrs = [("pooled_size", ints(&size)), ("spatial_scale", AttrValue::float(cx.float("spatial_scale", 1.0)?))];
    one(cx.call("vision.roi_pool", &[x, rois], &attrs)?)
}

fn non_max_suppression(cx: &mut Cx) -> Results {
    let (mut boxes, mut scores) = (cx.input(0)?, cx.input(1)?);
    if cx.flag("center_point_box", false)? {
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
    let overlap = or(cx, 3, 0.0)?;
    let (limit, overlap) = (cx.scalar_of(limit)?, cx.scalar_of(overlap)?);
    let mut score = cx.opt(4).map(|score| cx.scalar_of(score)).transpose()?;
    if score
        .and_then(|score| cx.known(score))
        .and_then(Tensor::to_vec::<f32>)
        .is_none_or(|known| known.iter().any(|&least| least < 0.0))
    {
        scores = by_rank(cx, scores, score)?;
        score = None;
    }
    let score = match score {
        Some(score) => score,
        None => cx.put(Tensor::scalar(0f32))?,
    };
    let overlap = just_above(cx, overlap)?;
    let attrs = [("output_format", AttrValue::str("onnx"))];
    let results = cx.call_many("vision.all_class_non_max_suppression", &[boxes, scores, limit, overlap, score], &attrs, 2)?;
    // As many rows as there are boxes left, none where none may be.
    let zero = cx.put(Tensor::scalar(0i64))?;
    let none = cx.binary("less_equal", limit, zero)?;
    let n = cx.cast(results[1], DType::I64)?;
    let n = cx.select(none, zero, n)?;
    cx.head(results[0], n).and_then(one)
}

/// Positive scores in the same order, for those above a threshold; 0 for the others.
///
/// Relay's operator leaves boxes alone whose score is not positive, and drops them from -1 on; the order of scores is all that
/// ONNX's depends on.
fn by_rank(cx: &mut Cx, scores: Val, threshold: Option<Val>) -> Result {
    let indices = |cx: &mut Cx, x: Val, ascending: bool| {
        let attrs = [("is_ascend", AttrValue::Bool(ascending)), ("dtype", AttrValue::DType(Some(DType::I32)))];
        cx.call("argsort", &[x], &attrs)
    };
    let order = indices(cx, scores, false)?;
    let rank = indices(cx, order, true)?;
    let rank = cx.cast(rank, DType::F32)?;
    let positive = cx.b.formula(scores, 1.0 / (1.0 + rank))?;
    let chosen = match threshold {
        Some(threshold) => cx.binary("greater", scores, threshold)?,
        // All numbers.
        None => cx.binary("equal", scores, scores)?,
    };
    cx.b.formula(positive, select(chosen, positive, 0.0))
}

/// The next larger float32 of a threshold from 0 on: ONNX drops boxes that overlap by more, Relay those that overlap by as much.
fn just_above(cx: &mut Cx, threshold: Val) -> Result {
    if let Some(&[known]) = cx.known(threshold).and_then(Tensor::to_vec::<f32>).as_deref() {
        return cx.put(Tensor::scalar((known + 0.0).next_up()));
    }
    let positive = cx.b.formula(threshold, threshold + 0.0)?;
    let to =
        |cx: &mut Cx, value: Val, dtype: DType| cx.call("reinterpret", &[value], &[("dtype", AttrValue::DType(Some(dtype)))]);
    let bits = to(cx, positive, DType::I32)?;
    let next = cx.b.formula(bits, bits + 1.0)?;
    to(cx, next, DType::F32)
}

/// Converts boxes with a centre and a size to boxes with two corners. One of negative size covers nothing, where one with its corners
/// exchanged covers as much as any other.
fn corners(cx: &mut Cx, boxes: Val) -> Result {
    let parts = cx.split(boxes, 4, 2)?;
    let half = |cx: &mut Cx, size: Val| cx.b.formula(size, call2("maximum", size, 0.0) / 2.0);
    let (width, height) = (half(cx, parts[2])?, half(cx, parts[3])?);
    let (left, top) = (cx.binary("subtract", parts[0], width)?, cx.binary("subtract", parts[1], height)?);
    let (right, bottom) = (cx.binary("add", parts[0], width)?, cx.binary("add", parts[1], height)?);
    cx.concatenate(&[top, left, bottom, right], 2)
}

pub(crate) const FAMILY: &[Converter] = &[
    op("GridSample", &[16, 20, 22], grid_sample).but("cubic interpolation on three axes"),
    op("RoiAlign", &[10, 16, 22], roi_align)
        .but("without a `sampling_ratio`: the mode `max`, and `half_pixel` of boxes that are small or that only a run knows"),
    op("MaxRoiPool", &[1, 22], max_roi_pool),
    op("NonMaxSuppression", &[10, 11], non_max_suppression),
];
