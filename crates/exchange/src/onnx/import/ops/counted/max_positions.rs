//! Computes the positions of the maxima in pooling windows, which Relay's pools do not return.
//!
//! The elements of all windows are taken side by side, one axis after the other. An argmax finds the first largest of each, and its
//! place in the window is mapped to a position of the tensor. Padding is the least number. All of it is arithmetic of the program,
//! so that sizes may be open.

use super::super::super::formula::call2;
use super::super::attention::positions_before;
use super::building_blocks::*;
use super::window::Window;
use relayc_ir::types::{Dim, SymbolOp};

/// An axis of the windows.
struct Along {
    /// Where windows begin: `(windows, 1)`, int64.
    starts: Val,
    /// The length of the axis, a scalar.
    length: Val,
    kernel: i64,
    dilation: i64,
}

/// Positions in the whole tensor in row-major order, or with the spatial axes reversed.
pub(crate) fn positions(cx: &mut Cx, x: Val, largest: Val, window: &Window, by_columns: bool) -> Result {
    let (shape, out) = (cx.shape(x)?, cx.shape(largest)?);
    let n = window.kernel.len();
    if shape.len() != n + 2 || out.len() != n + 2 || !out.iter().all(|dim| dim.is_sized()) {
        return Err(refuse("the positions of the largest elements of windows whose number only data decides"));
    }
    let sizes = cx.shape_of(x)?;
    let mut axes = vec![];
    for axis in 0..n {
        let (stride, pad) = (window.strides[axis] as f64, window.pads[axis] as f64);
        let windows = positions_before(cx, out[axis + 2])?;
        let starts = cx.b.formula(windows, windows * stride - pad)?;
        let starts = cx.expand_dims(starts, 1, 1)?;
        let length = cx.at(sizes, axis as i64 + 2, 0)?;
        axes.push(Along { starts, length, kernel: window.kernel[axis], dilation: window.dilations[axis] });
    }
    let side = side_by_side(cx, x, &out, &axes)?;
    let n_kernel = product(&window.kernel);
    let windows = cx.reshape_behind(side, n + 2, &[n_kernel])?;
    let best = cx.call("argmax", &[windows], &[("axis", ints(&[-1]))])?;
    let mut rest = cx.cast(best, DType::I64)?;
    let mut coordinates = vec![];
    for (axis, along) in axes.iter().enumerate().rev() {
        let within = cx.b.formula(rest, call2("floor_mod", rest, along.kernel as f64) * along.dilation as f64)?;
        rest = cx.b.formula(rest, call2("floor_divide", rest, along.kernel as f64))?;
        // The windows lie along their axis of the result.
        let starts = cx.reshape_to_dims(along.starts, &[out[axis + 2]])?;
        let starts = cx.expand_dims(starts, 1, n - 1 - axis)?;
        coordinates.push((cx.binary("add", starts, within)?, along.length));
    }
    if !by_columns {
        coordinates.reverse();
    }
    let n_planes = cx.b.size_arith(SymbolOp::Mul, out[0], out[1]);
    let planes = positions_before(cx, n_planes)?;
    let ones = std::iter::repeat_n(Dim::known(1), n);
    let mut flat = cx.reshape_to_dims(planes, &[out[0], out[1]].into_iter().chain(ones).collect::<Vec<Dim>>())?;
    for (at, length) in coordinates {
        flat = cx.b.formula(flat, call2("multiply", flat, length) + at)?;
    }
    Ok(flat)
}

/// The elements of all windows, `(batch, channels, windows…, kernel…)`; padding is the least number.
fn side_by_side(cx: &mut Cx, x: Val, out: &[Dim], axes: &[Along]) -> Result {
    let n = axes.len();
    let mut side = x;
    let mut all_inside: Option<Val> = None;
    let mut apart = out[..2].to_vec();
    for (axis, along) in axes.iter().enumerate() {
        cx.charge(along.kernel)?;
        let offsets: Vec<i64> = (0..along.kernel).map(|at| at.saturating_mul(along.dilation)).collect();
        let offsets = cx.int_list(&offsets);
        let at = cx.binary("add", along.starts, offsets)?;
        let last = cx.b.formula(at, along.length - 1.0)?;
        let within = cx.b.formula(at, call2("minimum", call2("maximum", at, 0.0), last))?;
        let is_inside = cx.binary("equal", at, within)?;
        let flat = cx.reshape(within, &[-1])?;
        side = cx.call("take", &[side, flat], &[("axis", int(axis + 2)), ("mode", AttrValue::str("fast"))])?;
        apart.extend([out[axis + 2], Dim::known(along.kernel)]);
        let is_inside = cx.expand_dims(is_inside, 1, n - 1)?;
        let is_inside = cx.expand_dims(is_inside, n + 1, n - 1 - axis)?;
        all_inside = Some(match all_inside {
            Some(others) => cx.binary("logical_and", others, is_inside)?,
            None => is_inside,
        });
    }
    let apart = cx.reshape_to_dims(side, &apart)?;
    let order: Vec<usize> = [0, 1].into_iter().chain((0..n).map(|i| 2 * i + 2)).chain((0..n).map(|i| 2 * i + 3)).collect();
    let side = cx.transpose(apart, &order)?;
    let Some(inside) = all_inside else { return Ok(side) };
    let least = cx.like(x, least(cx.dtype(x)?))?;
    cx.select(inside, side, least)
}

/// What is in no window the largest but alone.
pub(crate) fn least(dtype: DType) -> f64 {
    match dtype.code {
        _ if dtype.is_float() => f64::NEG_INFINITY,
        DTypeCode::UInt => 0.0,
        _ => -(2f64.powi(i32::from(dtype.bits) - 1)),
    }
}
