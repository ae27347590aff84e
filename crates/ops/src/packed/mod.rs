//! Operators on operands that a TVM pass has repacked for a machine: checked and printed. Only the convolution in blocks of
//! channels is evaluated.

mod nchwc;
mod rel;

use super::conv::{self, Conv2dAttrs};
use super::dense::require_product_onnx;
use super::qnn::DensePackAttrs;
use crate::prelude::*;
use crate::window::{DHW, HW, LAYOUT, PADDING_DOC, WINDOW_DOC};

attrs! {
    // There is none for one axis.
    ["", "relay.attrs.Conv2DWinogradAttrs", "relay.attrs.Conv3DWinogradAttrs"] =>
    pub(crate) struct WinogradAttrs {
        pub(crate) tile_size: i64, doc TILE_DOC;
        /// The step from one window to the next.
        pub(crate) strides: Vec<i64> = &[1; RANK];
        pub(crate) padding: Vec<i64> = &[0; RANK], doc PADDING_DOC;
        /// The distance between neighbouring elements of the window.
        pub(crate) dilation: Vec<i64> = &[1; RANK];
        /// The number of independent groups of input and output channels.
        pub(crate) groups: i64 = 1;
        /// The output channels.
        pub(crate) channels: Option<i64> = None;
        pub(crate) kernel_size: Option<Vec<i64>> = None, doc WINDOW_DOC;
        /// The axes of `data`.
        pub(crate) data_layout: String = LAYOUT[RANK - 1];
        /// The axes of the weight before it was transformed.
        pub(crate) kernel_layout: String = ["OIW", "OIHW", "OIDHW"][RANK - 1];
        /// The axes of the result; empty for those of `data`.
        pub(crate) out_layout: String = "";
        /// The dtype of the result; by default that of `data`.
        pub(crate) out_dtype: Option<DType> = None;
    }

    "relay.attrs.ConvWinogradWeightTransformAttrs" =>
    pub(crate) struct WinogradTransformAttrs {
        /// The size of a tile of the result along each axis.
        pub(crate) tile_size: i64;
    }

    "relay.attrs.Conv2DWinogradNNPACKWeightTransformAttrs" =>
    pub(crate) struct NnpackTransformAttrs {
        /// NNPACK's number of the algorithm.
        pub(crate) convolution_algorithm: i64;
        /// The dtype of the result; by default that of `weight`.
        pub(crate) out_dtype: Option<DType> = None;
    }

    "relay.attrs.ConvGemmWeightTransformAttrs" =>
    pub(crate) struct GemmTransformAttrs {
        /// The outputs in a tile.
        pub(crate) tile_rows: i64;
        /// The products in a tile.
        pub(crate) tile_cols: i64;
    }

    "relay.attrs.BitPackAttrs" =>
    pub(crate) struct BitPackAttrs {
        /// The number of bits of each element to pack.
        pub(crate) bits: i64 = 1;
        /// The axis whose elements share words.
        pub(crate) pack_axis: i64 = 1;
        /// The position of the axis of the bits; -1 for none.
        pub(crate) bit_axis: i64 = -1;
        /// The dtype of the words.
        pub(crate) pack_type: Option<DType> = None;
        /// A name for generated code.
        pub(crate) name: String = "BitPack";
    }

    "relay.attrs.BinaryConv2DAttrs" =>
    pub(crate) struct BinaryConv2dAttrs {
        /// The step from one window to the next.
        pub(crate) strides: Vec<i64> = &[1, 1];
        /// The padding: for all sides, or (height, width), or (top, left, bottom, right).
        pub(crate) padding: Vec<i64> = &[0, 0];
        /// The window: height, width.
        pub(crate) kernel_size: Vec<i64> = &[3, 3];
        /// The output channels.
        pub(crate) channels: Option<i64> = None;
        /// The bits of an element of `data`.
        pub(crate) activation_bits: i64 = 1;
        /// The bits of an element of `weight`.
        pub(crate) weight_bits: i64 = 1;
        /// The axes of `data` and of the result.
        pub(crate) data_layout: String = "NCHW";
        /// The axes of `weight`.
        pub(crate) kernel_layout: String = "OIHW";
        /// The dtype of the words.
        pub(crate) pack_dtype: Option<DType> = None;
        /// The dtype of the result.
        pub(crate) out_dtype: Option<DType> = None;
        /// Whether a bit of the weight is 0 or 1; otherwise, -1 or 1.
        pub(crate) unipolar: bool = true;
    }

    "relay.attrs.BinaryDenseAttrs" =>
    pub(crate) struct BinaryDenseAttrs {
        /// The outputs.
        pub(crate) units: Option<Dim>;
        /// The bits of an element of `data`.
        pub(crate) data_bits: i64 = 1;
        /// The bits of an element of `weight`.
        pub(crate) weight_bits: i64 = 1;
        /// The dtype of the words.
        pub(crate) pack_dtype: Option<DType> = None;
        /// The dtype of the result; by default that of `data`.
        pub(crate) out_dtype: Option<DType> = None;
        /// Whether a bit of the weight is 0 or 1; otherwise, -1 or 1.
        pub(crate) unipolar: bool = true;
    }

    "relay.attrs.FIFOBufferAttrs" =>
    pub(crate) struct FifoBufferAttrs {
        /// The axis along which elements move.
        pub(crate) axis: i64 = 0;
    }
}

// ---- Convolutions ----

/// The documentation of `tile_size`, by the number of spatial axes less one.
const TILE_DOC: [&str; 3] =
    ["", "The height and width of a tile of the result.", "The depth, height and width of a tile of the result."];

pub(crate) const NCHWC: OpDef = OpDef {
    name: "nn.contrib_conv2d_NCHWc",
    doc: "`nn.conv2d` with `data` and `weight` in blocks of channels. The type relation accepts any shape of `weight`. To run, \
          its shape must be one of `kernel_layout`, or, if that has no blocks, of `OIHWxiyo` or `OIHWxiyozi` with the blocks of \
          `weight` (`src/relay/op/nn/convolution.cc`, `Conv2DWinogradRel`; `python/tvm/topi/x86/conv2d.py`).",
    args: &[Arg::tensor("data"), Arg::tensor("weight")],
    attrs: Some(Conv2dAttrs::schema::<2>()),
    rules: &[
        "C1: data_layout and out_layout are permutations of N, C and the spatial axes, blocks allowed",
        "C2: kernel_layout is a permutation of O, I and the spatial axes, blocks allowed",
        "C3: data has the axes of data_layout, and blocks their size",
        "C4: channels and kernel_size are given; channels >= 0",
        "C5: strides, dilation and kernel_size have a value for each spatial axis, each >= 1",
        "C6: padding has 1 value, or 1 or 2 for each spatial axis, each >= 0",
        "C7: (in + padding - ((kernel - 1) * dilation + 1)) / strides + 1 >= 1 for each spatial axis, unless in is 0",
        "C8: blocks divide the dimensions of the result",
    ],
    rel: |cx| rel::conv_rel(cx, &Conv2dAttrs::read(cx.attrs), HW),
    eval: nchwc::eval,
    lower: Some(Lower::Windows(|call| nchwc::lower(call, conv::conv_product), |call| nchwc::lower(call, conv::depthwise_nest))),
    fuse: Some(Fuse::OutEWiseFusable),
    internal: true,
    ..OpDef::BASE
};

pub(crate) const GEMM: OpDef = OpDef {
    name: "nn.contrib_conv2d_gemm_without_weight_transform",
    doc: "`nn.conv2d` as a product of matrices, with `weight` as `nn.contrib_conv2d_gemm_weight_transform` makes it; any shape \
          of it is accepted (`src/relay/op/nn/convolution.cc`, `Conv2DGemmRel`).",
    eval: OpDef::BASE.eval,
    lower: None,
    ..NCHWC
};

pub(crate) const WINOGRAD2D: OpDef = OpDef {
    name: "nn.contrib_conv2d_winograd_without_weight_transform",
    doc: "`nn.conv2d` by Winograd's algorithm, with `weight` as `nn.contrib_conv2d_winograd_weight_transform` makes it; any \
          shape of it is accepted (`src/relay/op/nn/convolution.cc`, `Conv2DWinogradRel`).",
    attrs: Some(WinogradAttrs::schema::<2>()),
    rel: |cx| rel::conv_rel(cx, &rel::without_tile(cx.attrs), HW),
    ..GEMM
};

pub(crate) const WINOGRAD3D: OpDef = OpDef {
    name: "nn.contrib_conv3d_winograd_without_weight_transform",
    doc: "`nn.conv3d` by Winograd's algorithm, with `weight` as `nn.contrib_conv3d_winograd_weight_transform` makes it; any \
          shape of it is accepted (`src/relay/op/nn/convolution.cc`, `Conv3DWinogradRel`).",
    attrs: Some(WinogradAttrs::schema::<3>()),
    rel: |cx| rel::conv_rel(cx, &rel::without_tile(cx.attrs), DHW),
    ..GEMM
};

// ---- Weights ----

pub(crate) const WINOGRAD2D_WEIGHT: OpDef = OpDef {
    name: "nn.contrib_conv2d_winograd_weight_transform",
    doc: "The weight `(O, I, H, W)` for Winograd's algorithm, `(tile_size + H - 1, tile_size + W - 1, O, I)` \
          (`src/relay/op/nn/convolution.cc`).",
    args: &[Arg::tensor("weight")],
    attrs: Some(WinogradTransformAttrs::SCHEMA),
    rules: &["C1: rank(weight) == 4", "C2: tile_size >= 1, and the dimensions of the result are int64, none negative"],
    rel: rel::winograd2d_weight_rel,
    fuse: Some(Fuse::OutEWiseFusable),
    internal: true,
    ..OpDef::BASE
};

pub(crate) const WINOGRAD3D_WEIGHT: OpDef = OpDef {
    name: "nn.contrib_conv3d_winograd_weight_transform",
    doc: "The weight `(O, I, D, H, W)` for Winograd's algorithm: each of the last axes grows by `tile_size - 1` and comes first, \
          as in `(D, H, W, O, I)`; an axis `D` of less than 3 or more than 7 stays as it is and comes after `W` \
          (`src/relay/op/nn/convolution.cc`).",
    rules: &["C1: rank(weight) == 5", "C2: tile_size >= 1, and the dimensions of the result are int64, none negative"],
    rel: rel::winograd3d_weight_rel,
    ..WINOGRAD2D_WEIGHT
};

pub(crate) const NNPACK_WEIGHT: OpDef = OpDef {
    name: "nn.contrib_conv2d_winograd_nnpack_weight_transform",
    doc: "The weight `(O, I, H, W)` for NNPACK's algorithms on tiles, `(O, I, 8, 8)` (`src/relay/op/nn/convolution.cc`).",
    attrs: Some(NnpackTransformAttrs::SCHEMA),
    rules: &["C1: rank(weight) == 4"],
    rel: rel::nnpack_weight_rel,
    fuse: Some(Fuse::Opaque),
    ..WINOGRAD2D_WEIGHT
};

pub(crate) const GEMM_WEIGHT: OpDef = OpDef {
    name: "nn.contrib_conv2d_gemm_weight_transform",
    doc: "The weight `(H, W, I, O)` as a matrix of `O` rows and `K = H * W * I` columns, in tiles. With `O` padded to a multiple of \
          `tile_rows` and `K` to one of `4 * tile_cols`, it is `(O / tile_rows, K / tile_cols, tile_rows, tile_cols)` \
          (`src/relay/op/nn/convolution.cc`).",
    args: &[Arg::tensor("weights")],
    attrs: Some(GemmTransformAttrs::SCHEMA),
    rules: &["C1: rank(weights) == 4", "C2: tile_rows and tile_cols >= 1, and the dimensions of the result are int64"],
    rel: rel::gemm_weight_rel,
    ..WINOGRAD2D_WEIGHT
};

pub(crate) const DENSE_PACK: OpDef = OpDef {
    name: "nn.contrib_dense_pack",
    doc: "`nn.dense` with `data` of `(B, K)` and a weight of `(N, K, n)`, or with one more axis; the result is `(B, N * n)` \
          (`src/relay/op/nn/nn.cc`).",
    args: &[Arg::of("data", "2D Tensor"), Arg::of("weight", "3D Tensor")],
    attrs: Some(&AttrSchema { declared: false, ..*DensePackAttrs::SCHEMA }),
    rules: &["C1: rank(data) == 2", "C2: rank(weight) is 3 or 4", "C3: weight[0] * weight[2] is an int64"],
    rel: rel::dense_pack_rel,
    fuse: Some(Fuse::OutEWiseFusable),
    internal: true,
    ..OpDef::BASE
};

// ---- Bits ----

pub(crate) const BITPACK: OpDef = OpDef {
    name: "nn.bitpack",
    doc: "The low `bits` bits of the elements of `data`, those along `pack_axis` side by side in words of `pack_type`. The bits have an \
          axis before axis `bit_axis`, or at the end, or none where that is no axis (`src/relay/op/nn/bitserial.cc`).",
    args: &[Arg::tensor("data")],
    attrs: Some(BitPackAttrs::SCHEMA),
    rules: &["C1: pack_type is the dtype of a tensor", "C2: bits >= 0"],
    rel: rel::bitpack_rel,
    fuse: Some(Fuse::Injective),
    internal: true,
    ..OpDef::BASE
};

pub(crate) const BITSERIAL_CONV2D: OpDef = OpDef {
    name: "nn.bitserial_conv2d",
    doc: "`nn.conv2d` of elements of few bits, a bit at a time; any shape of `weight` is accepted \
          (`src/relay/op/nn/bitserial.cc`).",
    args: &[Arg::tensor("data"), Arg::tensor("weight")],
    attrs: Some(BinaryConv2dAttrs::SCHEMA),
    rules: &[
        "C1: data_layout is a permutation of N, C, H and W, blocks allowed",
        "C2: data has the axes of data_layout, and blocks their size",
        "C3: channels is given and >= 0",
        "C4: strides and kernel_size have 2 values, each >= 1",
        "C5: padding has 1, 2 or 4 values, each >= 0",
        "C6: (in + padding - kernel_size) / strides + 1 >= 1 for H and W, unless in is 0",
        "C7: out_dtype is the dtype of a tensor",
        "C8: blocks divide the dimensions of the result",
    ],
    rel: rel::bitserial_conv2d_rel,
    fuse: Some(Fuse::OutEWiseFusable),
    internal: true,
    ..OpDef::BASE
};

pub(crate) const BITSERIAL_DENSE: OpDef = OpDef {
    name: "nn.bitserial_dense",
    doc: "`nn.dense` of elements of few bits, a bit at a time; any shape of `weight` is accepted \
          (`src/relay/op/nn/bitserial.cc`).",
    args: &[Arg::of("data", "2D Tensor"), Arg::of("weight", "2D Tensor")],
    attrs: Some(BinaryDenseAttrs::SCHEMA),
    rules: &["C1: rank(data) >= 1", "C2: units is given, and >= 0 if it is a number"],
    rel: rel::bitserial_dense_rel,
    fuse: Some(Fuse::OutEWiseFusable),
    internal: true,
    ..OpDef::BASE
};

// ---- Buffers ----

/// A sliding window over a stream.
pub(crate) const FIFO_BUFFER: OpDef = OpDef {
    name: "nn.fifo_buffer",
    doc: "`buffer` without as many of its first positions along `axis` as `data` has, and `data` behind it \
          (`src/relay/op/nn/nn.cc`).",
    args: &[Arg::tensor("data"), Arg::tensor("buffer")],
    attrs: Some(FifoBufferAttrs::SCHEMA),
    rules: &[
        "C1: rank(data) == rank(buffer)",
        "C2: -rank(buffer) <= axis < rank(buffer)",
        "C3: the other axes of data and buffer are equal",
        "C4: data[axis] < buffer[axis]",
    ],
    rel: rel::fifo_buffer_rel,
    internal: true,
    ..OpDef::BASE
};

pub(crate) const ONNX: &[(&str, Onnx)] = &[(DENSE_PACK.name, Onnx::Nodes(dense_pack_onnx))];

/// Of a weight in blocks of its rows, `(N, K, n)`.
fn dense_pack_onnx(cx: &mut OnnxCx) -> OnnxResult {
    require_product_onnx(cx.out_dtype())?;
    let shape = cx.shape(cx.tensor(1))?;
    let [rows, columns, block] = shape[..] else { return Err("a weight in blocks of its columns".into()) };
    let (data, weight) = (cx.operand_as_out(0)?, cx.operand_as_out(1)?);
    let weight = cx.transposed(weight, &[0, 2, 1]);
    let weight = cx.reshaped(weight, &[rows * block, columns]);
    Ok(cx.node("Gemm", &[data, weight]).int("transB", 1).one().into())
}

pub(crate) const FAMILY: &[OpDef] = &[
    NCHWC,
    GEMM,
    WINOGRAD2D,
    WINOGRAD3D,
    WINOGRAD2D_WEIGHT,
    WINOGRAD3D_WEIGHT,
    NNPACK_WEIGHT,
    GEMM_WEIGHT,
    DENSE_PACK,
    BITPACK,
    BITSERIAL_CONV2D,
    BITSERIAL_DENSE,
    FIFO_BUFFER,
];
