//! Converts deformable convolutions to the product of the weight and samples of the picture.
//!
//! Relay's own operator (`python/tvm/topi/nn/deformable_conv2d.py`) has no mask, takes other samples beside the border, and takes each
//! again for every output channel.

use super::super::neighbours::{Between, Rows, last_position};
use super::building_blocks::*;
use super::conv_transpose::{biased, shape};
use super::moving::positions_below;
use super::window::Window;
use super::{Converter, op};
use crate::onnx::import::formula::{Formula, call2, select};
use relayc_ir::types::Dim;

/// Points have the axes `(batch, rows, columns, places in the window, groups of offsets)`.
fn deform_conv(cx: &mut Cx) -> Results {
    let (x, weight, offset) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    let shape = shape(cx, x, weight)?;
    let (&[filters, of_part, ..], 2) = (&shape.weight[..], shape.n) else {
        return Err(refuse(format!("{} spatial axes, where a point has two coordinates", shape.n)));
    };
    let (groups, parts, channels) = (cx.int("offset_group", 1)?, cx.int("group", 1)?, cx.size(x, 1)?);
    let divides = |n: i64, whole: i64| n > 0 && whole % n == 0;
    if !divides(groups, channels) || !divides(parts, filters) || of_part.saturating_mul(parts) != channels {
        let message =
            format!("{channels} channels by {groups} groups of offsets, {filters} filters of {of_part} by {parts} groups");
        return Err(Refusal::wrong(message));
    }
    let window = shape.window;
    let places = product(&window.kernel);
    let batch_and_size = match cx.shape(offset)?[..] {
        [batch, _, height, width] => [batch, height, width],
        _ => return Err(Refusal::wrong("offsets that have not four axes")),
    };
    if batch_and_size.iter().any(|dim| dim.value().is_none() && !dim.is_named()) {
        return Err(refuse("offsets of a shape that only a run knows"));
    }
    let [batch, height, width] = batch_and_size;
    let offset = cx.reshape_behind(offset, 1, &[-4, groups, places.saturating_mul(2), -2])?;
    let offset = cx.reshape_behind(offset, 2, &[-4, places, 2, -2])?;
    let mut ys = neighbours(cx, x, offset, &window, 0, height)?;
    let xs = neighbours(cx, x, offset, &window, 1, width)?;
    if let Some(mask) = cx.opt(4) {
        let mask = cx.reshape_behind(mask, 1, &[-4, groups, places, -2])?;
        let mask = cx.transpose(mask, &[0, 3, 4, 2, 1])?;
        for weight in &mut ys.weights {
            *weight = cx.binary("multiply", *weight, mask)?;
        }
    }
    let rows = Rows::of(cx, x, groups)?;
    let starts = up_to(cx, batch, DType::I64)?;
    let starts = cx.binary("multiply", starts, rows.of_picture)?;
    let starts = cx.reshape(starts, &[-1, 1, 1, 1, 1])?;
    let of_group = up_to(cx, Dim::known(groups), DType::I64)?;
    let starts = cx.binary("add", starts, of_group)?;
    let samples = rows.weighed(cx, starts, &ys, &xs, "add")?;

    let depth = places.saturating_mul(of_part);
    let weight = cx.transpose(weight, &[0, 2, 3, 1])?;
    let out = if parts == 1 {
        let (samples, weight) = (cx.reshape(samples, &[-1, depth])?, cx.reshape(weight, &[filters, depth])?);
        cx.call("nn.dense", &[samples, weight], &[("units", AttrValue::int(filters))])?
    } else {
        let samples = cx.reshape(samples, &[-1, places, parts, of_part])?;
        let samples = cx.transpose(samples, &[2, 0, 1, 3])?;
        let samples = cx.reshape(samples, &[parts, -1, depth])?;
        let weight = cx.reshape(weight, &[parts, -1, depth])?;
        let out = cx.call("nn.batch_matmul", &[samples, weight], &[("transpose_b", AttrValue::Bool(true))])?;
        cx.transpose(out, &[1, 0, 2])?
    };
    let out = cx.reshape_to_dims(out, &[batch, height, width, Dim::known(filters)])?;
    let out = cx.transpose(out, &[0, 3, 1, 2])?;
    biased(cx, out, 3)
}

/// The numbers below a size.
fn up_to(cx: &mut Cx, n: Dim, dtype: DType) -> Result {
    match n.value() {
        Some(n) => cx.put_numbers(&[n], dtype, |i| i as f64),
        None => positions_below(cx, n, dtype),
    }
}

/// The rows (axis 0) or columns (axis 1) of the picture beside the points, of which the result has `length`; those outside are 0.
fn neighbours(cx: &mut Cx, x: Val, offset: Val, window: &Window, axis: usize, length: Dim) -> Result<Between> {
    let (dtype, coordinate) = (cx.dtype(offset)?, axis as i64);
    let moved = cx.slice(offset, 3, coordinate, coordinate + 1)?;
    let moved = cx.squeeze(moved, &[3])?;
    let moved = cx.transpose(moved, &[0, 3, 4, 2, 1])?;
    // Where the window's places are without their offsets: `(length, 1, places, 1)` for rows, `(length, places, 1)` for columns.
    let (_, stride, before, _) = window.along(axis);
    let place = |at: usize| unravel(at as i64, &window.kernel)[axis] * window.dilations[axis] - before;
    let place = cx.put_numbers(&[product(&window.kernel), 1], dtype, |at| place(at) as f64)?;
    let first = up_to(cx, length, dtype)?;
    let first = cx.b.formula(first, first * stride as f64)?;
    let first = cx.expand_dims(first, 1, 3 - axis)?;
    let at = cx.b.formula(moved, moved + (first + place))?;

    let last = last_position(cx, x, axis + 2, dtype)?;
    let low = cx.unary("floor", at)?;
    let high = cx.b.formula(low, low + 1.0)?;
    let rest = cx.binary("subtract", at, low)?;
    let mut side = |side: Val, weight: Formula| -> Result<(Val, Val)> {
        let inside = call2("logical_and", call2("greater_equal", side, 0.0), call2("less_equal", side, last));
        let inside = cx.b.formula(side, inside)?;
        let weight = cx.b.formula(rest, select(inside, weight, 0.0))?;
        let side = cx.b.formula(side, call2("minimum", call2("maximum", side, 0.0), last))?;
        Ok((cx.cast(side, DType::I64)?, weight))
    };
    let ((low, of_low), (high, of_high)) = (side(low, 1.0 - rest)?, side(high, rest.into())?);
    Ok(Between { low, high, weights: [of_low, of_high] })
}

pub(crate) const FAMILY: &[Converter] = &[op("DeformConv", &[19, 22], deform_conv)
    .but("other than two spatial axes; a weight of unknown shape; offsets of a shape that only a run knows")];
