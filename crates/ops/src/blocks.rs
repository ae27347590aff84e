//! Channels in blocks: declares how operators support layouts such as `NCHW16c`, for the pass that chooses layouts.
//!
//! This module is for operators with layouts among their attributes. Operators that work element by element, join tensors or view
//! them differently need no declaration: their [`Lower`](super::lower::Lower) tells. The pass asks about calls in `NCHW` only.

use relayc_ir::attrs::{AttrSchema, AttrValue};

/// The channels of a tensor in `NCHW`, and the size of the blocks to form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Channels {
    pub count: i64,
    /// The size of a block; absent if the layout stays.
    pub block: Option<i64>,
}

impl Channels {
    /// The name of the layout: `NCHW16c`, or `NCHW`.
    pub fn layout(self) -> String {
        self.block.map_or(PLAIN.to_owned(), |block| format!("{PLAIN}{block}c"))
    }
}

/// The layout without blocks.
pub const PLAIN: &str = "NCHW";

/// Whether one kernel moves elements from blocks of one size to blocks of another: one of them divides the other, so they have
/// loops in common. Otherwise the way is through the layout without blocks.
pub fn are_near(from: i64, to: i64) -> bool {
    let (from, to) = (from.max(1), to.max(1));
    from % to == 0 || to % from == 0
}

/// How a call works on blocks of channels: computes its attributes, or `None` if it cannot.
#[derive(Clone, Copy)]
pub enum Blocks {
    /// Operand 0 and the result have one layout; the other operands stay.
    Same(fn(&AttrSchema, &[AttrValue], Channels) -> Option<Vec<AttrValue>>),
    /// A product with a weight, which stays: operand 0 and the result have a layout each.
    Product(fn(&AttrSchema, &[AttrValue], Ends) -> Option<Vec<AttrValue>>),
}

/// The input channels and the output channels of a product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ends {
    pub data: Channels,
    pub out: Channels,
}

/// The attributes of operators whose `layout` applies to operand 0 and the result. `out_layout`, if any, must be equal.
pub(crate) fn named(schema: &AttrSchema, attrs: &[AttrValue], channels: Channels) -> Option<Vec<AttrValue>> {
    let layout = schema.position("layout")?;
    let mut attrs = attrs.to_vec();
    if let Some(out) = schema.position("out_layout") {
        if !is_empty(&attrs[out]) && attrs[out] != attrs[layout] {
            return None;
        }
        attrs[out] = AttrValue::str("");
    }
    if !is_plain(&attrs[layout]) {
        return None;
    }
    attrs[layout] = AttrValue::str(&channels.layout());
    Some(attrs)
}

/// Whether an attribute is the layout without blocks.
pub(crate) fn is_plain(value: &AttrValue) -> bool {
    matches!(value, AttrValue::Str(text) if &**text == PLAIN)
}

/// Whether an attribute names no layout.
pub(crate) fn is_empty(value: &AttrValue) -> bool {
    matches!(value, AttrValue::Str(text) if text.is_empty())
}
