//! Computes the positions of the maxima in pooling windows, which Relay's pools do not return.
//!
//! The elements of all windows are gathered side by side, at positions computed during the import. An argmax finds the first
//! largest of each, and its place in the window is mapped to a position of the tensor. Padding is the least number, after an
//! element inside the window.

use super::building_blocks::*;
use super::window::Window;

/// Positions in the whole tensor in row-major order, or with the spatial axes reversed.
pub(crate) fn positions(cx: &mut Cx, x: Val, largest: Val, window: &Window, by_columns: bool) -> Result {
    let (shape, out) = (cx.sizes(x)?, cx.sizes(largest)?);
    let (&[batch, channels], spatial) = (&shape[..2], &shape[2..]) else { return Err(refuse("an operand without channels")) };
    let (n_in, n_out, n_kernel) = (product(spatial), product(&out[2..]), product(&window.kernel));
    let (n_all, planes) = (n_out.saturating_mul(n_kernel), batch.saturating_mul(channels));
    // A dimension of 0 makes the product of all 0, and bounds none of the others.
    if n_all.max(planes) > MAX_CONSTANT || n_in.max(product(&shape)) > MAX_NUMBER {
        return Err(refuse(format!(
            "the positions of the largest elements of {n_out} windows of {n_kernel} elements in {planes} planes"
        )));
    }
    // Places, what they are called, and where planes begin.
    cx.charge(2 * n_all + planes)?;
    let mut places = Vec::with_capacity(n_all as usize);
    let mut inside = Vec::with_capacity(n_all as usize);
    for o in 0..n_out {
        for k in 0..n_kernel {
            let place = place(window, spatial, &unravel(o, &out[2..]), &unravel(k, &window.kernel));
            inside.push(place.is_some());
            places.push(place.unwrap_or(0));
        }
    }
    let named: Vec<i64> = places.iter().map(|&place| if by_columns { turned(place, spatial) } else { place }).collect();
    let flat = cx.reshape(x, &[batch, channels, n_in])?;
    let mut side = cx.take(flat, places, 2)?;
    if inside.contains(&false) {
        let inside = cx.put(Tensor::from_vec(&[inside.len()], inside))?;
        let dtype = cx.dtype(x)?;
        let least = if dtype.is_float() { f64::NEG_INFINITY } else { -(2f64.powi(i32::from(dtype.bits) - 1)) };
        let least = cx.like(x, if dtype.code == DTypeCode::UInt { 0.0 } else { least })?;
        side = cx.select(inside, side, least)?;
    }
    let windows = cx.reshape(side, &[batch, channels, n_out, n_kernel])?;
    let best = cx.call("argmax", &[windows], &[("axis", ints(&[3]))])?;
    let best = cx.cast(best, DType::I64)?;
    let starts: Vec<i64> = (0..n_out).map(|o| o * n_kernel).collect();
    let starts = cx.int_list(&starts);
    let at = cx.binary("add", best, starts)?;
    let named = cx.int_list(&named);
    let within = cx.call("take", &[named, at], &[("axis", int(0)), ("mode", AttrValue::str("fast"))])?;
    let bases: Vec<i64> = (0..planes).map(|plane| plane * n_in).collect();
    let bases = cx.put(Tensor::from_vec(&[batch as usize, channels as usize, 1], bases))?;
    let all = cx.binary("add", within, bases)?;
    cx.reshape(all, &out)
}

/// The flat position of a place in a window, unless it is padding.
fn place(window: &Window, spatial: &[i64], at: &[i64], inside: &[i64]) -> Option<i64> {
    let mut flat = 0i64;
    for (axis, &n) in spatial.iter().enumerate() {
        let (stride, dilation, pad) = (window.strides[axis], window.dilations[axis], window.pads[axis]);
        let i = at[axis].saturating_mul(stride).saturating_add(inside[axis].saturating_mul(dilation)).saturating_sub(pad);
        if !(0..n).contains(&i) {
            return None;
        }
        flat = flat * n + i;
    }
    Some(flat)
}

/// A flat position with the first axis fastest.
fn turned(place: i64, spatial: &[i64]) -> i64 {
    unravel(place, spatial).iter().zip(spatial).rev().fold(0, |flat, (&i, &n)| flat * n + i)
}
