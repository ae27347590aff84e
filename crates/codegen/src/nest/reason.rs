//! Reasons: why a nest is walked one way and not another, with the costs that decided.

use super::normalize::NormalizedNest;
use super::shape::{LaneDim, Shape};
use relayc_ir::kernel::{Alternative, Reason, Rejection};

/// The extents, in the order of the axes' numbers: `4x16`, `4x16 over 128`.
fn extents(n: &NormalizedNest) -> String {
    let join = |dims: Vec<String>| if dims.is_empty() { "1".to_owned() } else { dims.join("x") };
    let kept = join(n.dims.iter().map(u64::to_string).collect());
    let reduced: Vec<String> = n.reduce.iter().map(|dim| dim.extent.to_string()).collect();
    if reduced.is_empty() { kept } else { format!("{kept} over {}", join(reduced)) }
}

fn lanes_over(lane: LaneDim) -> String {
    match lane {
        LaneDim::Single => "one lane".into(),
        LaneDim::Kept(at) => format!("lanes over axis {at}"),
        LaneDim::Reduced(at) => format!("lanes over reduced axis {at}"),
    }
}

/// The reason for a shape, given the estimated time of the whole.
pub(crate) fn of(shape: &Shape, n: &NormalizedNest, ns: f64) -> Reason {
    let walk = match shape.walk {
        Some(_) if shape.walks_lanes() => format!(", {} vectors a step", shape.unroll),
        Some(walk) => format!(", {} steps of axis {walk} a tile", shape.unroll),
        None => String::new(),
    };
    let crossed = if shape.crossing.is_empty() { "" } else { ", transposed in registers" };
    let paid = shape.prices.iter().find(|(lane, _)| *lane == shape.lane);
    let why = match (paid, shape.prices.len()) {
        (None, _) => "no dimension can hold lanes".to_owned(),
        (Some(_), 1) => "the only dimension that can hold lanes".to_owned(),
        (Some((_, price)), _) => format!("the least price of an element, {price:.1}"),
    };
    let others = shape.prices.iter().filter(|(lane, _)| *lane != shape.lane);
    Reason {
        name: format!("nest {}, {}{walk}{crossed}", extents(n), lanes_over(shape.lane)),
        why,
        ns: Some(ns),
        alternatives: others
            .map(|&(lane, price)| Alternative { name: lanes_over(lane), rejection: Rejection::Price(price) })
            .collect(),
    }
}
