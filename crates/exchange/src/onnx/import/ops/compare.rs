//! Converts comparisons and logic on bools.

use super::building_blocks::{binary, unary};
use super::{Converter, op};

pub(crate) const FAMILY: &[Converter] = &[
    op("And", &[7], |cx| binary(cx, "logical_and")),
    op("Equal", &[7, 11, 13, 19], |cx| binary(cx, "equal")).but("strings"),
    op("Greater", &[7, 9, 13], |cx| binary(cx, "greater")),
    op("GreaterOrEqual", &[12, 16], |cx| binary(cx, "greater_equal")),
    op("Less", &[7, 9, 13], |cx| binary(cx, "less")),
    op("LessOrEqual", &[12, 16], |cx| binary(cx, "less_equal")),
    op("Not", &[1], |cx| unary(cx, "logical_not")),
    op("Or", &[7], |cx| binary(cx, "logical_or")),
    op("Xor", &[7], |cx| binary(cx, "logical_xor")),
];
