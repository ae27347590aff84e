//! Channels in blocks: what operators say of layouts such as `NCHW16c`, for the pass that chooses them.
//!
//! What works element by element, joins tensors or only looks at them otherwise says so by how it becomes kernels
//! ([`Lower`](super::lower::Lower)); here is what has layouts among its attributes. A call is asked in `NCHW` only.

use crate::ir::attrs::{AttrSchema, AttrValue};

/// The channels of a tensor in `NCHW`, and how many of them are to lie next to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Channels {
    pub count: i64,
    /// Absent where they stay as they are.
    pub block: Option<i64>,
}

impl Channels {
    /// `NCHW16c`, or `NCHW`.
    pub fn layout(self) -> String {
        self.block.map_or(PLAIN.to_owned(), |block| format!("{PLAIN}{block}c"))
    }
}

/// The layout without blocks.
pub const PLAIN: &str = "NCHW";

/// How a call works on blocks of channels: the attributes that say so, `None` where it cannot.
#[derive(Clone, Copy)]
pub enum Blocks {
    /// Operand 0 and the result lie in one layout; the other operands stay.
    Same(fn(&AttrSchema, &[AttrValue], Channels) -> Option<Vec<AttrValue>>),
    /// A product with a weight, which stays: operand 0 and the result have layouts of their own.
    Product(fn(&AttrSchema, &[AttrValue], Ends) -> Option<Vec<AttrValue>>),
}

/// The channels that go into a product and those that come out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ends {
    pub data: Channels,
    pub out: Channels,
}

/// For operators whose attribute `layout` is about operand 0 and the result; one that has `out_layout` has the same there.
pub fn named(schema: &AttrSchema, attrs: &[AttrValue], channels: Channels) -> Option<Vec<AttrValue>> {
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
pub fn is_plain(value: &AttrValue) -> bool {
    matches!(value, AttrValue::Str(text) if &**text == PLAIN)
}

/// Whether an attribute names no layout.
pub fn is_empty(value: &AttrValue) -> bool {
    matches!(value, AttrValue::Str(text) if text.is_empty())
}
