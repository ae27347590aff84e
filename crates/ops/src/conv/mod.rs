//! Convolutions over one, two or three spatial axes: direct, transposed, their gradient, and deformable ones.
//!
//! The attribute types of one kind differ in their defaults only: [`Conv2dAttrs`] and [`Conv2dTransposeAttrs`] are those of any
//! number of axes.

mod deformable;
mod eval;
mod gradient;
mod onnx;
mod product;
mod rel;
mod transpose;

pub(crate) use onnx::{ONNX, conv_onnx, transpose_onnx};
pub(super) use product::{conv_product, depthwise_nest};

use super::blocks::{self, Blocks, Channels, Ends};
use crate::prelude::*;
use crate::window::{HW, LAYOUT, PADDING_DOC, SPATIAL};
use relayc_ir::attrs::Field;

attrs! {
    ["relay.attrs.Conv1DAttrs", "relay.attrs.Conv2DAttrs", "relay.attrs.Conv3DAttrs"] =>
    pub struct Conv2dAttrs {
        /// The step from one window to the next.
        pub strides: Vec<i64> = &[1; RANK];
        // TVM gives the one axis a value for each side.
        pub padding: Vec<i64> = if RANK == 1 { &[0; 2] } else { &[0; RANK] }, doc PADDING_DOC;
        /// The distance between neighbouring elements of the window.
        pub dilation: Vec<i64> = &[1; RANK];
        /// The number of independent groups of input and output channels.
        pub groups: i64 = 1;
        /// The output channels; `None` takes them from the weight.
        pub channels: Option<i64> = None;
        pub(crate) kernel_size: Option<Vec<i64>> = None, doc KERNEL_DOC;
        /// The axes of `data`.
        pub data_layout: String = LAYOUT[RANK - 1];
        /// The axes of `weight`.
        pub kernel_layout: String = ["OIW", "OIHW", "OIDHW"][RANK - 1];
        /// The axes of the result; empty for those of `data`.
        pub out_layout: String = "";
        /// The dtype of the result; by default that of `data`.
        pub(crate) out_dtype: Option<DType> = None;
    }

    ["relay.attrs.Conv1DTransposeAttrs", "relay.attrs.Conv2DTransposeAttrs", "relay.attrs.Conv3DTransposeAttrs"] =>
    pub struct Conv2dTransposeAttrs {
        /// The output channels; `None` takes them from the weight.
        pub(crate) channels: Option<i64> = None;
        pub(crate) kernel_size: Option<Vec<i64>> = None, doc KERNEL_DOC;
        /// The step from one window to the next, in the result.
        pub(crate) strides: Vec<i64> = &[1; RANK];
        /// The number of additional positions at the end of each axis of the result.
        pub(crate) output_padding: Vec<i64> = &[0; RANK];
        pub(crate) padding: Vec<i64> = &[0; RANK], doc CROP_DOC;
        /// The distance between neighbouring elements of the window.
        pub(crate) dilation: Vec<i64> = &[1; RANK];
        /// The number of independent groups of input and output channels.
        pub groups: i64 = 1;
        /// The axes of `data`.
        pub data_layout: String = LAYOUT[RANK - 1];
        /// The axes of `weight`.
        pub kernel_layout: String = ["IOW", "IOHW", "IODHW"][RANK - 1];
        /// The axes of the result; empty for those of `data`.
        pub out_layout: String = "";
        /// The dtype of the result; by default that of `data`.
        pub(crate) out_dtype: Option<DType> = None;
    }

    "relay.attrs.DeformableConv2DAttrs" =>
    pub(crate) struct DeformableConv2dAttrs {
        /// The step from one window to the next.
        pub(crate) strides: Vec<i64> = &[1, 1];
        /// The padding: for all sides, or (height, width), or (top, left, bottom, right).
        pub(crate) padding: Vec<i64> = &[0, 0];
        /// The distance between neighbouring elements of the window.
        pub(crate) dilation: Vec<i64> = &[1, 1];
        /// The number of groups of channels whose points move together.
        pub(crate) deformable_groups: i64 = 1;
        /// The number of independent groups of input and output channels.
        pub(crate) groups: i64 = 1;
        /// The output channels; `None` takes them from the weight.
        pub(crate) channels: Option<i64> = None;
        /// The window: height, width; `None` takes it from the weight.
        pub(crate) kernel_size: Option<Vec<i64>> = None;
        /// The axes of `data`.
        pub(crate) data_layout: String = "NCHW";
        /// The axes of `weight`.
        pub(crate) kernel_layout: String = "OIHW";
        /// The axes of the result; empty for those of `data`.
        pub(crate) out_layout: String = "";
        /// The dtype of the result; by default that of `data`.
        pub(crate) out_dtype: Option<DType> = None;
    }
}

/// The documentation of `kernel_size`, by the number of spatial axes less one.
const KERNEL_DOC: [&str; 3] = [
    "The window: width; `None` takes it from the weight.",
    "The window: height, width; `None` takes it from the weight.",
    "The window: depth, height, width; `None` takes it from the weight.",
];

/// The documentation of `padding` of a transposed convolution, likewise.
const CROP_DOC: [&str; 3] = [
    "The positions to crop: from both sides, or (left, right).",
    "The positions to crop: from all sides, or (height, width), or (top, left, bottom, right).",
    "The positions to crop: from all sides, or (depth, height, width), or all values before, then all after.",
];

const OPERANDS: &[Arg] = &[Arg::tensor("data"), Arg::tensor("weight")];

/// Multiplies windows of the data by the weight, over `RANK` spatial axes.
const fn conv<const RANK: usize>(name: &'static str, doc: &'static str) -> OpDef {
    OpDef {
        name,
        doc,
        args: OPERANDS,
        attrs: Some(Conv2dAttrs::schema::<RANK>()),
        rules: &[
            "C1: data_layout and out_layout are permutations of N, C and the spatial axes, blocks allowed",
            "C2: kernel_layout is a permutation of O, I and the spatial axes, and G if groups > 1, blocks allowed",
            "C3: data and weight have the axes of their layouts, blocks their size, and G the size groups",
            "C4: strides, dilation and kernel_size have a value for each spatial axis, each >= 1",
            "C5: padding has 1 value, or 1 or 2 for each spatial axis, each >= 0",
            "C6: groups >= 1",
            "C7: data.C == weight.I * groups, or weight.I == channels / groups where data.C == weight.O == groups",
            "C8: weight.O == channels, channels >= 0",
            "C9: channels % groups == 0",
            "C10: the spatial axes of weight == kernel_size",
            "C11: (in + padding - ((kernel - 1) * dilation + 1)) / strides + 1 >= 1 for each spatial axis, unless in is 0",
            "C12: blocks divide the dimensions of the weight and of the result",
        ],
        rel: |cx| rel::conv_rel(cx, SPATIAL[RANK - 1]),
        blocks: Some(Blocks::Product(conv_blocks)),
        eval: |cx| eval::conv_eval(cx, SPATIAL[RANK - 1]),
        lower: Some(Lower::Windows(
            |call| product::conv_product(call, SPATIAL[RANK - 1]),
            |call| product::depthwise_nest(call, SPATIAL[RANK - 1]),
        )),
        fuse: Some(Fuse::OutEWiseFusable),
        macs: Some(|shapes| macs(shapes, &Conv2dAttrs::read(shapes.attrs), SPATIAL[RANK - 1], 1)),
        ..OpDef::BASE
    }
}

pub const CONV2D: OpDef = conv::<2>(
    "nn.conv2d",
    "In the layouts NCHW and OIHW: `out[n, o, y, x] = sum over i, h, w of data[n, g * I + i, y * strides[0] + h * dilation[0] \
     - top, x * strides[1] + w * dilation[1] - left] * weight[o, i, h, w]`, where `g` is the group of `o` and padding is 0. \
     The axes `H` and `W` of the result have `floor((in + padding - ((kernel - 1) * dilation + 1)) / strides) + 1` elements. \
     Operands are converted to the result's dtype first. A depthwise weight may have several outputs for each channel on \
     its axis `I`; a weight with an axis `G` has the outputs of one group on `O` (`src/relay/op/nn/convolution.cc`).",
);

pub const CONV1D: OpDef = conv::<1>(
    "nn.conv1d",
    "As `nn.conv2d`, along the one axis `W`: `out[n, o, x] = sum over i, w of data[n, g * I + i, x * strides[0] + w * \
     dilation[0] - left] * weight[o, i, w]` (`src/relay/op/nn/convolution.cc`).",
);

pub const CONV3D: OpDef =
    conv::<3>("nn.conv3d", "As `nn.conv2d`, along the axes `D`, `H` and `W` (`src/relay/op/nn/convolution.cc`).");

/// Blocks of channels, which groups must not cut unless all channels are one; a depthwise convolution has the blocks of its data.
fn conv_blocks(schema: &AttrSchema, attrs: &[AttrValue], Ends { data, out }: Ends) -> Option<Vec<AttrValue>> {
    let Conv2dAttrs { groups, kernel_layout, .. } = Conv2dAttrs::read(attrs);
    let cut = |channels: Channels, block: i64| block != channels.count && channels.count / groups % block != 0;
    let whole = |channels: Channels| channels.block.is_some_and(|block| !cut(channels, block));
    let depthwise = groups == data.count && data == out;
    if !["OIHW", "OHWI"].contains(&kernel_layout.as_str()) || !(groups == 1 || depthwise || (whole(data) && whole(out))) {
        return None;
    }
    in_blocks(schema, attrs, Ends { data, out })
}

/// Blocks of channels, which groups must not cut.
fn transpose_blocks(schema: &AttrSchema, attrs: &[AttrValue], Ends { data, out }: Ends) -> Option<Vec<AttrValue>> {
    let (_, Conv2dAttrs { groups, kernel_layout, .. }) = read_transpose(attrs);
    let whole = |channels: Channels| channels.block.is_some_and(|block| channels.count / groups % block == 0);
    let plain = ["IOHW", "OIHW"].contains(&kernel_layout.as_str());
    (plain && (groups == 1 || (whole(data) && whole(out)))).then_some(())?;
    in_blocks(schema, attrs, Ends { data, out })
}

/// The attributes with the layouts of blocks, if they name plain ones.
fn in_blocks(schema: &AttrSchema, attrs: &[AttrValue], Ends { data, out }: Ends) -> Option<Vec<AttrValue>> {
    let (data_layout, out_layout) = (schema.position("data_layout")?, schema.position("out_layout")?);
    if !blocks::is_plain(&attrs[data_layout]) || !(blocks::is_plain(&attrs[out_layout]) || blocks::is_empty(&attrs[out_layout])) {
        return None;
    }
    let mut attrs = attrs.to_vec();
    attrs[data_layout] = AttrValue::str(&data.layout());
    attrs[out_layout] = AttrValue::str(&out.layout());
    Some(attrs)
}

pub(crate) const CONTRIB_DEPTHWISE_CONV2D_NCHWC: OpDef = OpDef {
    name: "nn.contrib_depthwise_conv2d_NCHWc",
    doc: "`nn.conv2d` of one input channel for each group, in blocks of channels (`src/relay/op/nn/convolution.cc`).",
    internal: true,
    ..CONV2D
};

/// The gradient of a convolution with respect to its data: spreads each element over a window, over `RANK` spatial axes.
const fn conv_transpose<const RANK: usize>(name: &'static str, doc: &'static str) -> OpDef {
    OpDef {
        name,
        doc,
        args: OPERANDS,
        attrs: Some(Conv2dTransposeAttrs::schema::<RANK>()),
        rules: &[
            "C1: data_layout and out_layout are permutations of N, C and the spatial axes, blocks allowed",
            "C2: kernel_layout is a permutation of O, I and the spatial axes, and G if groups > 1, blocks allowed",
            "C3: data and weight have the axes of their layouts, blocks their size, and G the size groups",
            "C4: strides, dilation and kernel_size have a value for each spatial axis, each >= 1",
            "C5: padding has 1 value, or 1 or 2 for each spatial axis, output_padding 1 or more for each (the rest is ignored), all >= 0",
            "C6: groups >= 1",
            "C7: data.C == weight.I, data.C % groups == 0",
            "C8: channels == weight.O * groups, channels >= 0",
            "C9: channels % groups == 0",
            "C10: the spatial axes of weight == kernel_size",
            "C11: (in - 1) * strides + (kernel - 1) * dilation + 1 - padding + output_padding >= 0 for each spatial axis, unless in is 0",
            "C12: blocks divide the dimensions of the weight and of the result",
        ],
        rel: |cx| transpose::transpose_rel(cx, SPATIAL[RANK - 1]),
        eval: |cx| transpose::transpose_eval(cx, SPATIAL[RANK - 1]),
        lower: Some(Lower::Product(|call| product::transpose_product(call, SPATIAL[RANK - 1]))),
        caution: Some(|attrs| transpose_caution(attrs, RANK)),
        fuse: Some(Fuse::OutEWiseFusable),
        blocks: if RANK == 2 { Some(Blocks::Product(transpose_blocks)) } else { None },
        macs: Some(|shapes| macs(shapes, &read_transpose(shapes.attrs).1, SPATIAL[RANK - 1], 1)),
        ..OpDef::BASE
    }
}

pub const CONV2D_TRANSPOSE: OpDef = conv_transpose::<2>(
    "nn.conv2d_transpose",
    "In the layouts NCHW and IOHW: each `data[n, i, y, x] * weight[i, o, h, w]` is added to `out[n, g * O + o, y * strides[0] \
     + h * dilation[0] - top, x * strides[1] + w * dilation[1] - left]` where that exists; `g` is the group of `i`. The axes \
     `H` and `W` of the result have `(in - 1) * strides + (kernel - 1) * dilation + 1 - padding + output_padding` elements, \
     none where `in` is 0. Operands are converted to the result's dtype first. Without `channels`, the type has those of \
     one group, as in TVM; such a call in groups does not run (`src/relay/op/nn/convolution.cc`).",
);

pub const CONV1D_TRANSPOSE: OpDef = conv_transpose::<1>(
    "nn.conv1d_transpose",
    "As `nn.conv2d_transpose`, along the one axis `W` (`src/relay/op/nn/convolution.cc`).",
);

pub const CONV3D_TRANSPOSE: OpDef = conv_transpose::<3>(
    "nn.conv3d_transpose",
    "As `nn.conv2d_transpose`, along the axes `D`, `H` and `W` (`src/relay/op/nn/convolution.cc`).",
);

pub(crate) const CONV2D_BACKWARD_WEIGHT: OpDef = OpDef {
    name: "nn.conv2d_backward_weight",
    doc: "In the layouts NCHW, NCHW and OIHW: `out[o, i, h, w] = sum over n, y, x of grad[n, o, y, x] * data[n, g * I + i, y * \
          strides[0] + h * dilation[0] - top, x * strides[1] + w * dilation[1] - left]`, where `g` is the group of `o` and padding is \
          0. The layouts are those of `grad` (`data_layout`), of `data` (`kernel_layout`) and of the result (`out_layout`). \
          Operands are converted to the result's dtype first (`src/relay/op/nn/convolution.cc`).",
    args: &[Arg::tensor("grad"), Arg::tensor("data")],
    rules: &[
        "C1: data_layout and kernel_layout are permutations of N, C, H and W, blocks allowed",
        "C2: out_layout is a permutation of O, I, H and W, blocks allowed",
        "C3: grad and data have the axes of their layouts, and blocks their size",
        "C4: kernel_size is given; strides, dilation and kernel_size have 2 values, each >= 1",
        "C5: padding has 1, 2 or 4 values, each >= 0",
        "C6: groups >= 1",
        "C7: groups divides grad.C and data.C",
        "C8: channels == grad.C, where it is given",
        "C9: grad.N == data.N",
        "C10: (in + padding - ((kernel - 1) * dilation + 1)) / strides + 1 == grad for H and W",
        "C11: blocks divide the dimensions of the result",
    ],
    rel: gradient::backward_weight_rel,
    eval: gradient::backward_weight_eval,
    macs: Some(gradient::backward_weight_macs),
    blocks: None,
    lower: None,
    ..CONV2D
};

pub(crate) const DEFORMABLE_CONV2D: OpDef = OpDef {
    name: "nn.deformable_conv2d",
    doc: "As `nn.conv2d`, but each point `(h, w)` of each window is moved: down by `offset[n, 2 * ((d * KH + h) * KW + w), y, x]` and \
          right by the channel of `offset` after that, where `d` is the deformable group of the input channel and KH and KW are \
          the window's size. Between elements it is interpolated linearly; elements outside are 0, and so is a point left of or \
          above the first element, or a whole step behind the last (`src/relay/op/nn/convolution.cc`, arXiv 1703.06211).",
    args: &[Arg::tensor("data"), Arg::tensor("offset"), Arg::tensor("weight")],
    attrs: Some(DeformableConv2dAttrs::SCHEMA),
    rules: &[
        "C1: data_layout, of data and offset, and out_layout are permutations of N, C, H and W, blocks allowed",
        "C2: kernel_layout is a permutation of O, I, H and W, blocks allowed",
        "C3: data, offset and weight have the axes of their layouts, and blocks their size",
        "C4: strides, dilation and kernel_size have 2 values, each >= 1",
        "C5: padding has 1, 2 or 4 values, each >= 0",
        "C6: groups >= 1, deformable_groups >= 1",
        "C7: data.C == weight.I * groups",
        "C8: weight.O == channels, channels >= 0",
        "C9: channels % groups == 0",
        "C10: the spatial axes of weight == kernel_size",
        "C11: (in + padding - ((kernel - 1) * dilation + 1)) / strides + 1 >= 1 for H and W, unless in is 0",
        "C12: blocks divide the dimensions of the weight, of offset and of the result",
        "C13: offset has the batch of data, the spatial axes of the result and 2 * kernel * deformable_groups channels",
        "C14: data.C % deformable_groups == 0",
        "C15: dtype(data) is float, and that of offset is the same",
    ],
    rel: deformable::deformable_rel,
    eval: deformable::deformable_eval,
    lower: Some(Lower::Nest(deformable::deformable_nest)),
    fuse: Some(Fuse::OutEWiseFusable),
    macs: Some(|shapes| macs(shapes, &read_deformable(shapes.attrs).1, HW, 2)),
    ..OpDef::BASE
};

/// The attributes of a transposed convolution: those of a convolution, and `output_padding`.
fn read_transpose(values: &[AttrValue]) -> (Vec<i64>, Conv2dAttrs) {
    (Conv2dTransposeAttrs::read(values).output_padding, Conv2dAttrs::read_of(Conv2dTransposeAttrs::schema::<2>(), values))
}

fn transpose_caution(attrs: &[AttrValue], axes: usize) -> Option<Caution> {
    let values = read_transpose(attrs).0.len();
    (values > axes).then(|| Caution {
        attr: "output_padding",
        message: format!("{values} values for {}", count_axes(axes)),
        note: "as in TVM, the values behind those of the axes are not read",
    })
}

/// `1 axis`, `2 axes`.
fn count_axes(n: usize) -> String {
    if n == 1 { "1 axis".into() } else { format!("{n} axes") }
}

/// The attributes of a deformable convolution: those of a convolution, and `deformable_groups`.
fn read_deformable(values: &[AttrValue]) -> (i64, Conv2dAttrs) {
    (DeformableConv2dAttrs::read(values).deformable_groups, Conv2dAttrs::read_of(DeformableConv2dAttrs::SCHEMA, values))
}

impl Conv2dAttrs {
    /// Reads the values of another attribute type, which has all of these fields.
    pub(crate) fn read_of(schema: &AttrSchema, values: &[AttrValue]) -> Conv2dAttrs {
        let value = |field: &Field| values[schema.position(field.name).expect("a field of a convolution")].clone();
        Conv2dAttrs::read(&Conv2dAttrs::schema::<2>().fields.iter().map(value).collect::<Vec<_>>())
    }
}

/// For each element of the result, a window over the input channels of a group (`src/relay/analysis/mac_count.cc`, which
/// counts a transposed convolution so too). `weight` is the operand that has the window.
fn macs(shapes: &Shapes, attrs: &Conv2dAttrs, spatial: &str, weight: usize) -> u128 {
    let layout = |text: &str| Layout::parse(text).expect("the relation has read it");
    let kernel = layout(&attrs.kernel_layout);
    let window: u128 = spatial.chars().map(|letter| kernel.size(letter, &shapes.args[weight])).product();
    let inputs = layout(&attrs.data_layout).size('C', &shapes.args[0]);
    Shapes::elements(shapes.out) * window * inputs / attrs.groups.max(1) as u128
}

pub(crate) const FAMILY: &[OpDef] = &[
    CONV1D,
    CONV2D,
    CONV3D,
    CONTRIB_DEPTHWISE_CONV2D_NCHWC,
    CONV1D_TRANSPOSE,
    CONV2D_TRANSPOSE,
    CONV3D_TRANSPOSE,
    CONV2D_BACKWARD_WEIGHT,
    DEFORMABLE_CONV2D,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Reading all attribute types of a kind as one of them relies on this.
    #[test]
    fn attribute_types_of_a_kind_have_the_same_fields() {
        let fields = |def: &OpDef| -> Vec<_> {
            def.attrs.expect("convolutions have attributes").fields.iter().map(|field| (field.name, field.kind)).collect()
        };
        for of_two in
            [[CONV1D, CONV2D], [CONV3D, CONV2D], [CONV1D_TRANSPOSE, CONV2D_TRANSPOSE], [CONV3D_TRANSPOSE, CONV2D_TRANSPOSE]]
        {
            assert_eq!(fields(&of_two[0]), fields(&of_two[1]), "{}", of_two[0].name);
        }
    }

    #[test]
    fn products_are_counted_as_in_tvm() {
        let attrs = |def: &OpDef| -> Vec<AttrValue> {
            let fields = def.attrs.expect("convolutions have attributes").fields;
            fields.iter().map(|field| field.default.map_or(AttrValue::None, |default| default())).collect()
        };
        let count = |def: &OpDef, args: &[Vec<i64>], out: &[i64]| {
            def.macs.expect("it is counted")(&Shapes { attrs: &attrs(def), args, out })
        };
        let (data, weight) = (vec![1, 64, 56, 56], vec![64, 64, 3, 3]);
        assert_eq!(count(&CONV2D, &[data, weight], &[1, 64, 54, 54]), 64 * 54 * 54 * 64 * 9);
        let (data, weight) = (vec![1, 1024, 4, 4], vec![1024, 512, 4, 4]);
        assert_eq!(count(&CONV2D_TRANSPOSE, &[data, weight], &[1, 512, 8, 8]), 512 * 64 * 1024 * 16);
        assert_eq!(count(&CONV1D, &[vec![2, 3, 9], vec![5, 3, 4]], &[2, 5, 6]), 2 * 5 * 6 * 3 * 4);
    }
}
