//! Reasons: why a nest is walked one way and not another, with the costs that decided.

use super::normalize::NormalizedNest;
use super::shape::{Prices, Shape};
use relayc_ir::kernel::{Alternative, Reason, Rejection};

/// The extents, in the order of the axes' numbers: `4x16`, `4x16 over 128`.
fn extents(n: &NormalizedNest) -> String {
    let join = |dims: Vec<String>| if dims.is_empty() { "1".to_owned() } else { dims.join("x") };
    let kept = join(n.dims.iter().map(u64::to_string).collect());
    let reduced: Vec<String> = n.reduce.iter().map(|dim| dim.extent.to_string()).collect();
    if reduced.is_empty() { kept } else { format!("{kept} over {}", join(reduced)) }
}

/// The reason for a shape, given the prices and the estimated time of the whole.
pub(crate) fn of(shape: &Shape, prices: &Prices, n: &NormalizedNest, ns: f64) -> Reason {
    let walk = match shape.walk {
        Some(_) if shape.walks_lanes() => format!(", {} vectors a step", shape.unroll),
        Some(walk) => format!(", {} steps of axis {walk} a tile", shape.unroll),
        None => String::new(),
    };
    let crossed = if shape.crossing.is_empty() { "" } else { ", transposed in registers" };
    let paid = prices.iter().find(|(lane, _)| *lane == shape.lane);
    let least = prices.iter().map(|(_, price)| *price).fold(f64::INFINITY, f64::min);
    let why = match (paid, prices.len()) {
        (None, _) => "no dimension can hold lanes".to_owned(),
        (Some(_), 1) => "the only dimension that can hold lanes".to_owned(),
        (Some((_, price)), _) if *price > least => format!("the price of an element is {price:.1}, the least {least:.1}"),
        (Some((_, price)), _) => format!("the least price of an element, {price:.1}"),
    };
    let others = prices.iter().filter(|(lane, _)| *lane != shape.lane);
    Reason {
        // Without a choice there is nothing to ask for.
        strategy: if prices.is_empty() { String::new() } else { shape.lane.name() },
        name: format!("nest {}, {}{walk}{crossed}", extents(n), shape.lane.name()),
        why,
        ns: Some(ns),
        price: paid.map(|(_, price)| *price),
        alternatives: others
            .map(|&(lane, price)| Alternative { name: lane.name(), rejection: Rejection::Price(price) })
            .collect(),
        ..Reason::default()
    }
}
