//! Comparisons, and logic of bools.

use super::super::cx::{Cx, Results};
use super::{Converter, op};

fn two(cx: &mut Cx, relay: &str) -> Results {
    let (a, b) = (cx.input(0)?, cx.input(1)?);
    Ok(vec![cx.binary(relay, a, b)?])
}

fn not(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    Ok(vec![cx.unary("logical_not", x)?])
}

pub const FAMILY: &[Converter] = &[
    op("And", &[7], |cx| two(cx, "logical_and")),
    op("Equal", &[7, 11, 13, 19], |cx| two(cx, "equal")).but("strings"),
    op("Greater", &[7, 9, 13], |cx| two(cx, "greater")),
    op("GreaterOrEqual", &[12, 16], |cx| two(cx, "greater_equal")),
    op("Less", &[7, 9, 13], |cx| two(cx, "less")),
    op("LessOrEqual", &[12, 16], |cx| two(cx, "less_equal")),
    op("Not", &[1], not),
    op("Or", &[7], |cx| two(cx, "logical_or")),
    op("Xor", &[7], |cx| two(cx, "logical_xor")),
];
