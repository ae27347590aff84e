//! Convolution.

mod eval;
mod rel;

use super::attrs::attrs;
use super::layout::Layout;
use super::{Fuse, OpDef, Shapes};
use crate::ir::attrs::Arg;
use crate::types::DType;

attrs! {
    "relay.attrs.Conv2DAttrs" =>
    pub struct Conv2dAttrs {
        /// The step from one window to the next.
        pub strides: Vec<i64> = &[1, 1];
        /// For all sides, or (height, width), or (top, left, bottom, right).
        pub padding: Vec<i64> = &[0, 0];
        /// The distance between neighbours in the window.
        pub dilation: Vec<i64> = &[1, 1];
        /// Input and output channels fall into this many parts that know nothing of each other.
        pub groups: i64 = 1;
        /// The output channels; `None` takes them from the weight.
        pub channels: Option<i64> = None;
        /// The window: height, width; `None` takes it from the weight.
        pub kernel_size: Option<Vec<i64>> = None;
        /// The axes of `data`.
        pub data_layout: String = "NCHW";
        /// The axes of `weight`.
        pub kernel_layout: String = "OIHW";
        /// The axes of the result, those of `data` where empty.
        pub out_layout: String = "";
        /// The dtype of the result, that of `data` where none is given.
        pub out_dtype: Option<DType> = None;
    }
}

/// Windows of the data times the weight.
pub const CONV2D: OpDef = OpDef {
    name: "nn.conv2d",
    doc: "In the layouts NCHW and OIHW: `out[n, o, y, x] = sum over i, h, w of data[n, g * I + i, y * strides[0] + h * dilation[0] \
          - top, x * strides[1] + w * dilation[1] - left] * weight[o, i, h, w]`, where `g` is the group of `o` and padding is 0. \
          The axes `H` and `W` of the result have `floor((in + padding - ((kernel - 1) * dilation + 1)) / strides) + 1` elements. \
          Operands are converted to the result's dtype first. A depthwise weight may have several outputs for each channel on \
          its axis `I` (`src/relay/op/nn/convolution.cc`).",
    args: &[Arg::tensor("data"), Arg::tensor("weight")],
    attrs: Some(Conv2dAttrs::SCHEMA),
    rules: &[
        "C1: data_layout and out_layout are permutations of N, C, H and W, blocks allowed",
        "C2: kernel_layout is a permutation of O, I, H and W, blocks allowed",
        "C3: data and weight have the axes of their layouts, and blocks their size",
        "C4: strides, dilation and kernel_size have 2 values, each >= 1",
        "C5: padding has 1, 2 or 4 values, each >= 0",
        "C6: groups >= 1",
        "C7: data.C == weight.I * groups, or weight.I == channels / groups where data.C == weight.O == groups",
        "C8: weight.O == channels, channels >= 0",
        "C9: channels % groups == 0",
        "C10: weight.H and weight.W == kernel_size",
        "C11: (in + padding - ((kernel - 1) * dilation + 1)) / strides + 1 >= 1 for H and W, unless in is 0",
        "C12: blocks divide the dimensions of the weight and of the result",
    ],
    rel: rel::conv2d_rel,
    eval: eval::conv2d_eval,
    fuse: Some(Fuse::OutEWiseFusable),
    fixed: None,
    internal: false,
    idle: false,
    macs: Some(conv2d_macs),
};

/// Each element of the result adds up the products with one output channel's share of the weight.
fn conv2d_macs(shapes: &Shapes) -> u128 {
    let weight = &shapes.args[1];
    let layout = Layout::parse(&Conv2dAttrs::read(shapes.attrs).kernel_layout).expect("the relation has read it");
    let outputs = layout.axis('O').map_or(1, |axis| weight[axis] * layout.block('O'));
    Shapes::elements(shapes.out) * Shapes::elements(weight) / Shapes::elements(&[outputs]).max(1)
}

pub const FAMILY: &[OpDef] = &[CONV2D];
