//! Converts pooling over windows and over all elements.

use super::super::build::Val;
use super::super::cx::{Cx, Result, Results};
use super::super::errors::Refusal;
use super::building_blocks::axes_from;
use super::counted::{max_positions, same_padding};
use super::window::{Window, n_spatial, window};
use super::{Converter, op};
use relayc_ir::AttrValue;
use relayc_ir::types::dims_of;

/// A pool in Relay's terms.
struct Pool {
    window: Window,
    /// The operator for its number of axes.
    relay: &'static str,
    /// Whether the last windows may extend past the end.
    ceil: bool,
    /// Whether the padding at the end is wider than the node states.
    wider: bool,
}

impl Pool {
    fn attrs(&self) -> Vec<(&'static str, AttrValue)> {
        let mut attrs = self.window.attrs().to_vec();
        attrs.push(("pool_size", AttrValue::ints(&self.window.kernel)));
        attrs.push(("ceil_mode", AttrValue::Bool(self.ceil)));
        attrs
    }

    /// The pool of a tensor with the shape of the node's first operand.
    fn over(&self, cx: &mut Cx, x: Val, fill: f64, attrs: &[(&str, AttrValue)]) -> Result {
        let padded = same_padding::padded(cx, x, &self.window, fill)?;
        let out = cx.call(self.relay, &[padded], &[&self.attrs(), attrs].concat())?;
        same_padding::results(cx, out, x, &self.window)
    }
}

/// Reads the attributes of a pool. With `explicit`, padding covers all windows, so none extends past the end.
fn pool(cx: &mut Cx, relay: [&'static str; 3], explicit: bool) -> Result<Pool> {
    let x = cx.input(0)?;
    let shape = cx.shape(x)?;
    let n = n_spatial(shape.len())?;
    let kernel = cx.ints("kernel_shape")?.ok_or_else(|| Refusal::wrong("`kernel_shape` is missing"))?;
    if kernel.len() != n {
        return Err(Refusal::wrong(format!("`kernel_shape` has {} numbers, expected {n}", kernel.len())));
    }
    let mut window = window(cx, &shape, kernel)?;
    let (mut ceil, mut wider) = (cx.flag("ceil_mode", false)?, false);
    // There are as many windows as begin in the data, so none extends past the end.
    ceil &= window.same.is_none();
    if ceil && (explicit || (0..n).any(|axis| window.may_begin_behind(axis))) {
        let dims = dims_of(shape.get(2..).unwrap_or_default());
        let dims = dims.ok_or_else(|| Refusal::unsupported("`ceil_mode` over dimensions that are not known before running"))?;
        let (before, after) = window.pads.split_at(n);
        let ends: Vec<i64> = (0..n).zip(dims).map(|(axis, dim)| window.end_padding(axis, dim)).collect();
        (ceil, wider) = (false, ends.iter().zip(after).any(|(end, after)| end > after));
        window.pads = [before, &ends].concat();
    }
    Ok(Pool { window, relay: relay.get(n.saturating_sub(1)).copied().unwrap_or_default(), ceil, wider })
}

const MAX: [&str; 3] = ["nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d"];
const AVERAGE: [&str; 3] = ["nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d"];

fn max_pool(cx: &mut Cx) -> Results {
    let by_columns = cx.flag("storage_order", false)?;
    let pool = pool(cx, MAX, false)?;
    let x = cx.input(0)?;
    let fill = max_positions::least(cx.dtype(x)?);
    let largest = pool.over(cx, x, fill, &[])?;
    match cx.wants(1) {
        true if pool.window.same.is_some() => Err(Refusal::unsupported("positions where padding depends on sizes of a run")),
        true => Ok(vec![largest, max_positions::positions(cx, x, largest, &pool.window, by_columns)?]),
        false => Ok(vec![largest]),
    }
}

fn average_pool(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    Ok(vec![averages(cx, x)?])
}

/// The means over the windows of the node's attributes, of a tensor with the shape of its first operand.
pub(super) fn averages(cx: &mut Cx, x: Val) -> Result {
    let (pool, include_pad) = (pool(cx, AVERAGE, false)?, cx.flag("count_include_pad", false)?);
    if pool.wider && include_pad {
        return Err(Refusal::unsupported("padding that counts, where `ceil_mode` leaves windows out and others reach over it"));
    }
    let counts = [("count_include_pad", AttrValue::Bool(include_pad))];
    let means = pool.over(cx, x, 0.0, &counts)?;
    if include_pad || pool.window.same.is_none() {
        return Ok(means);
    }
    // Of each window, the share that is data.
    let ones = cx.unary("ones_like", x)?;
    let shares = pool.over(cx, ones, 0.0, &counts)?;
    cx.binary("divide", means, shares)
}

/// The norm of each window: the mean of the powers, counting padding, times the number of elements.
fn lp_pool(cx: &mut Cx) -> Results {
    let pool = pool(cx, AVERAGE, true)?;
    let x = cx.input(0)?;
    let (p, dtype) = (cx.int("p", 2)?, cx.dtype(x)?);
    let p = f64::from(i32::try_from(p).map_err(|_| Refusal::wrong("an exponent above 2^31"))?);
    let n = pool.window.kernel.iter().fold(1i64, |n, &dim| n.saturating_mul(dim));
    let n = f64::from(i32::try_from(n).map_err(|_| Refusal::wrong("a window of more than 2^31 elements"))?);
    let (power, root, n) = (cx.scalar(dtype, p)?, cx.scalar(dtype, 1.0 / p)?, cx.scalar(dtype, n)?);
    let powers = cx.unary("abs", x)?;
    let powers = cx.binary("power", powers, power)?;
    let means = pool.over(cx, powers, 0.0, &[("count_include_pad", AttrValue::Bool(true))])?;
    let sums = cx.binary("multiply", means, n)?;
    Ok(vec![cx.binary("power", sums, root)?])
}

/// The axes after batch and channels; there must be at least one.
pub(super) fn spatial_axes(rank: usize) -> Result<Vec<i64>> {
    match rank {
        0..=2 => Err(Refusal::wrong(format!("an operand of rank {rank}, which has no spatial axes"))),
        _ => Ok(axes_from(2, rank)),
    }
}

/// Pools over all spatial axes, to one element.
fn global(cx: &mut Cx, relay_2d: &str, relay: &str) -> Results {
    let x = cx.input(0)?;
    let rank = cx.rank(x)?;
    if rank == 4 {
        return Ok(vec![cx.unary(relay_2d, x)?]);
    }
    let axes = spatial_axes(rank)?;
    Ok(vec![cx.call(relay, &[x], &[("axis", AttrValue::ints(&axes)), ("keepdims", AttrValue::Bool(true))])?])
}

fn global_lp_pool(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let (rank, dtype, p) = (cx.rank(x)?, cx.dtype(x)?, cx.int("p", 2)?);
    let p = f64::from(i32::try_from(p).map_err(|_| Refusal::wrong("an exponent above 2^31"))?);
    let (power, root) = (cx.scalar(dtype, p)?, cx.scalar(dtype, 1.0 / p)?);
    let axes = spatial_axes(rank)?;
    let powers = cx.unary("abs", x)?;
    let powers = cx.binary("power", powers, power)?;
    let sums = cx.call("sum", &[powers], &[("axis", AttrValue::ints(&axes)), ("keepdims", AttrValue::Bool(true))])?;
    Ok(vec![cx.binary("power", sums, root)?])
}

const AXES: &str = "more than three spatial axes";

pub(crate) const FAMILY: &[Converter] = &[
    op("AveragePool", &[7, 10, 11, 19, 22], average_pool).but(AXES),
    op("GlobalAveragePool", &[1, 22], |cx| global(cx, "nn.global_avg_pool2d", "mean")),
    op("GlobalLpPool", &[2, 22], global_lp_pool),
    op("GlobalMaxPool", &[1, 22], |cx| global(cx, "nn.global_max_pool2d", "max")),
    op("LpPool", &[2, 11, 18, 22], lp_pool).but(AXES),
    op("MaxPool", &[1, 8, 10, 11, 12, 22], max_pool)
        .but("more than three spatial axes; positions, with SAME over unknown dimensions"),
];
