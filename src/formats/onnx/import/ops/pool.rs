//! Pooling over windows and over everything.

use super::super::cx::{Cx, Results};
use super::super::errors::Refusal;
use super::max_positions;
use super::window::{Window, n_spatial, window};
use super::{Converter, op};
use crate::ir::AttrValue;

/// The window of a pool, the operator for its number of axes, and its attributes in Relay.
type Pool = (Window, &'static str, Vec<(&'static str, AttrValue)>);

fn pool(cx: &mut Cx, relay: [&'static str; 3]) -> std::result::Result<Pool, Refusal> {
    let x = cx.input(0)?;
    let shape = cx.shape(x)?;
    let n = n_spatial(shape.len())?;
    let kernel = cx.ints("kernel_shape")?.ok_or_else(|| Refusal::wrong("`kernel_shape` is missing"))?;
    if kernel.len() != n {
        return Err(Refusal::wrong(format!("`kernel_shape` has {} numbers, expected {n}", kernel.len())));
    }
    let window = window(cx, &shape, kernel)?;
    let mut attrs = window.attrs().to_vec();
    attrs.push(("pool_size", AttrValue::ints(&window.kernel)));
    attrs.push(("ceil_mode", AttrValue::Bool(cx.flag("ceil_mode", false)?)));
    Ok((window, relay.get(n.saturating_sub(1)).copied().unwrap_or_default(), attrs))
}

const MAX: [&str; 3] = ["nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d"];
const AVERAGE: [&str; 3] = ["nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d"];

fn max_pool(cx: &mut Cx) -> Results {
    let by_columns = cx.int("storage_order", 0)? != 0;
    let (window, relay, attrs) = pool(cx, MAX)?;
    let x = cx.input(0)?;
    let largest = cx.call(relay, &[x], &attrs)?;
    match cx.wants(1) {
        true => Ok(vec![largest, max_positions::positions(cx, x, largest, &window, by_columns)?]),
        false => Ok(vec![largest]),
    }
}

fn average_pool(cx: &mut Cx) -> Results {
    let (_, relay, mut attrs) = pool(cx, AVERAGE)?;
    attrs.push(("count_include_pad", AttrValue::Bool(cx.flag("count_include_pad", false)?)));
    let x = cx.input(0)?;
    Ok(vec![cx.call(relay, &[x], &attrs)?])
}

/// The norm of each window: the mean of the powers with padding counted, times how many there are.
fn lp_pool(cx: &mut Cx) -> Results {
    let (window, relay, mut attrs) = pool(cx, AVERAGE)?;
    if attrs.iter().any(|attr| *attr == ("ceil_mode", AttrValue::Bool(true))) {
        return Err(Refusal::unsupported("windows that reach over the end"));
    }
    attrs.push(("count_include_pad", AttrValue::Bool(true)));
    let x = cx.input(0)?;
    let (p, dtype) = (cx.int("p", 2)?, cx.dtype(x)?);
    let p = f64::from(i32::try_from(p).map_err(|_| Refusal::wrong("an exponent above 2^31"))?);
    let n = window.kernel.iter().fold(1i64, |n, &dim| n.saturating_mul(dim));
    let n = f64::from(i32::try_from(n).map_err(|_| Refusal::wrong("a window of more than 2^31 elements"))?);
    let (power, root, n) = (cx.scalar(dtype, p)?, cx.scalar(dtype, 1.0 / p)?, cx.scalar(dtype, n)?);
    let powers = cx.unary("abs", x)?;
    let powers = cx.binary("power", powers, power)?;
    let means = cx.call(relay, &[powers], &attrs)?;
    let sums = cx.binary("multiply", means, n)?;
    Ok(vec![cx.binary("power", sums, root)?])
}

/// Over all spatial axes, of which one element remains.
fn global(cx: &mut Cx, relay_2d: &str, relay: &str) -> Results {
    let x = cx.input(0)?;
    let rank = cx.rank(x)?;
    if rank == 4 {
        return Ok(vec![cx.unary(relay_2d, x)?]);
    }
    let axes: Vec<i64> = (2..i64::try_from(rank).unwrap_or(0)).collect();
    if axes.is_empty() {
        return Err(Refusal::wrong(format!("an operand of rank {rank}, which has no spatial axes")));
    }
    Ok(vec![cx.call(relay, &[x], &[("axis", AttrValue::ints(&axes)), ("keepdims", AttrValue::Bool(true))])?])
}

fn global_lp_pool(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let (rank, dtype, p) = (cx.rank(x)?, cx.dtype(x)?, cx.int("p", 2)?);
    let p = f64::from(i32::try_from(p).map_err(|_| Refusal::wrong("an exponent above 2^31"))?);
    let (power, root) = (cx.scalar(dtype, p)?, cx.scalar(dtype, 1.0 / p)?);
    let axes: Vec<i64> = (2..i64::try_from(rank).unwrap_or(0)).collect();
    let powers = cx.unary("abs", x)?;
    let powers = cx.binary("power", powers, power)?;
    let sums = cx.call("sum", &[powers], &[("axis", AttrValue::ints(&axes)), ("keepdims", AttrValue::Bool(true))])?;
    Ok(vec![cx.binary("power", sums, root)?])
}

const AXES: &str = "more than three spatial axes";

pub const FAMILY: &[Converter] = &[
    op("AveragePool", &[7, 10, 11, 19, 22], average_pool).but(AXES),
    op("GlobalAveragePool", &[1, 22], |cx| global(cx, "nn.global_avg_pool2d", "mean")),
    op("GlobalLpPool", &[2, 22], global_lp_pool),
    op("GlobalMaxPool", &[1, 22], |cx| global(cx, "nn.global_max_pool2d", "max")),
    op("LpPool", &[2, 11, 18, 22], lp_pool).but("more than three spatial axes; ceil_mode"),
    op("MaxPool", &[1, 8, 10, 11, 12, 22], max_pool).but("more than three spatial axes; the second result, positions"),
];
