//! Converts `AffineGrid`: where the elements of an image are in another one.

use super::building_blocks::*;
use super::{Converter, op};

/// The centres of elements between -1 and 1, transformed by a matrix: `(x, y, 1)` or `(x, y, z, 1)` times it.
fn affine_grid(cx: &mut Cx) -> Results {
    let theta = cx.input(0)?;
    let size = cx.given(1, "a size")?;
    let n = size.len().saturating_sub(2);
    if !(2..=3).contains(&n) || size.iter().any(|&dim| dim < 0) {
        return Err(Refusal::wrong(format!("a grid for a picture {size:?}")));
    }
    let (spatial, dtype) = (&size[2..], cx.dtype(theta)?);
    let corners = cx.flag("align_corners", false)?;
    let coordinate = |i: i64, n: i64| match (corners, n) {
        // One corner is in the middle of both.
        (true, 1) => 0.0,
        (true, n) => (2 * i) as f64 / (n - 1) as f64 - 1.0,
        (false, n) => (2 * i + 1) as f64 / n as f64 - 1.0,
    };
    let n_points = product(spatial);
    let points = cx.put_numbers(&[1, n_points, n as i64 + 1], dtype, |at| {
        let (point, column) = (at / (n + 1), at % (n + 1));
        // The last axis is the first coordinate.
        let axis = n.checked_sub(column + 1);
        axis.map_or(1.0, |axis| coordinate(unravel(point as i64, spatial)[axis], spatial[axis]))
    })?;
    let attrs = [("transpose_a", AttrValue::Bool(false)), ("transpose_b", AttrValue::Bool(true))];
    let moved = cx.call("nn.batch_matmul", &[points, theta], &attrs)?;
    let shape: Vec<i64> = [-1].into_iter().chain(spatial.iter().copied()).chain([n as i64]).collect();
    one(cx.reshape(moved, &shape)?)
}

pub(crate) const FAMILY: &[Converter] = &[op("AffineGrid", &[20], affine_grid).but("a size that only a run knows")];
