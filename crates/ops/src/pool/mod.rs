//! Pooling: the maximum or the mean of windows over the spatial axes, and the gradients of both.
//!
//! The attributes of means begin with those of maxima.

mod eval;
mod grad;
mod nest;
mod onnx;
mod rel;
mod tabled;

pub(crate) use onnx::ONNX;

use super::attrs::DimsOrNone;
use super::blocks::{self, Blocks};
use crate::prelude::*;
use crate::window::{LAYOUT, PADDING_DOC, SPATIAL, WINDOW_DOC};

attrs! {
    ["relay.attrs.MaxPool1DAttrs", "relay.attrs.MaxPool2DAttrs", "relay.attrs.MaxPool3DAttrs"] =>
    pub struct MaxPool2dAttrs {
        pub pool_size: Vec<i64>, doc WINDOW_DOC;
        /// The step from one window to the next.
        pub strides: Vec<i64> = &[1; RANK];
        /// The distance between neighbouring elements of the window.
        pub dilation: Vec<i64> = &[1; RANK];
        pub padding: Vec<i64> = &[0; RANK], doc PADDING_DOC;
        pub layout: String = LAYOUT[RANK - 1], doc LAYOUT_DOC;
        /// The same as `layout`, or empty.
        pub(crate) out_layout: String = "";
        /// Whether the last window may extend beyond the end.
        pub ceil_mode: bool = false;
    }

    ["relay.attrs.AvgPool1DAttrs", "relay.attrs.AvgPool2DAttrs", "relay.attrs.AvgPool3DAttrs"] =>
    pub struct AvgPool2dAttrs {
        pub(crate) pool_size: Vec<i64>, doc WINDOW_DOC;
        /// The step from one window to the next.
        pub(crate) strides: Vec<i64> = &[1; RANK];
        /// The distance between neighbouring elements of the window.
        pub(crate) dilation: Vec<i64> = &[1; RANK];
        pub padding: Vec<i64> = &[0; RANK], doc PADDING_DOC;
        pub layout: String = LAYOUT[RANK - 1], doc LAYOUT_DOC;
        /// The same as `layout`, or empty.
        pub(crate) out_layout: String = "";
        /// Whether the last window may extend beyond the end.
        pub(crate) ceil_mode: bool = false;
        /// Whether padding counts as elements with the value 0.
        pub count_include_pad: bool = false;
    }

    "relay.attrs.GlobalPool2DAttrs" =>
    pub struct GlobalPool2dAttrs {
        /// The axes of `data`; `H` and `W` are pooled.
        pub layout: String = "NCHW";
        /// The same as `layout`, or empty.
        pub(crate) out_layout: String = "";
    }

    ["relay.attrs.AdaptivePool1DAttrs", "relay.attrs.AdaptivePool2DAttrs", "relay.attrs.AdaptivePool3DAttrs"] =>
    pub(crate) struct AdaptivePool2dAttrs {
        pub(crate) output_size: DimsOrNone = Some(&[]), doc OUTPUT_SIZE_DOC;
        pub(crate) layout: String = LAYOUT[RANK - 1], doc LAYOUT_DOC;
        /// The same as `layout`, or empty.
        pub(crate) out_layout: String = "";
    }
}

/// The documentation of `layout`, by the number of pooled axes less one.
const LAYOUT_DOC: [&str; 3] = [
    "The axes of `data`; `W` is pooled.",
    "The axes of `data`; `H` and `W` are pooled.",
    "The axes of `data`; `D`, `H` and `W` are pooled.",
];

/// The documentation of `output_size`, likewise.
const OUTPUT_SIZE_DOC: [&str; 3] = [
    "The pooled axes of the result: one; none, or `None`, leaves them as they are.",
    "The pooled axes of the result: one value for all, or height, width; none, or `None`, leaves them as they are.",
    "The pooled axes of the result: one value for all, or depth, height, width; none, or `None`, leaves them as they are.",
];

/// The maximum of each window, over `RANK` spatial axes.
const fn max_pool<const RANK: usize>(name: &'static str, doc: &'static str) -> OpDef {
    OpDef {
        name,
        doc,
        args: DATA,
        attrs: Some(MaxPool2dAttrs::schema::<RANK>()),
        rules: &[
            "C1: layout has the spatial axes, not in blocks, and out_layout is the same or empty",
            "C2: rank(data) is the number of axes of layout",
            "C3: pool_size, strides and dilation have a value for each spatial axis, each >= 1",
            "C4: padding has 1 value, or 1 or 2 for each spatial axis, each >= 0",
            "C5: (in + padding - ((pool_size - 1) * dilation + 1)) / strides + 1 >= 1 for each spatial axis, unless in is 0",
        ],
        rel: |cx| rel::pool_rel(cx, SPATIAL[RANK - 1]),
        blocks: Some(Blocks::Same(blocks::named)),
        eval: |cx| eval::max_pool(cx, SPATIAL[RANK - 1]),
        limit: Some(rel::may_cover_nothing),
        lower: Some(Lower::Nest(|call| {
            nest::max_pool(call, SPATIAL[RANK - 1]).or_else(|| tabled::pool(call, SPATIAL[RANK - 1], false))
        })),
        fuse: Some(Fuse::OutEWiseFusable),
        ..OpDef::BASE
    }
}

pub const MAX_POOL2D: OpDef = max_pool::<2>(
    "nn.max_pool2d",
    "The largest of the elements a window covers, for each position of it; NaN wins, padding does not count, and a window \
     over nothing but padding gives the dtype's least number. The axes `H` and `W` of the result have \
     `floor((in + padding - ((pool_size - 1) * dilation + 1)) / strides) + 1` elements, with `ceil_mode` the ceiling \
     (`src/relay/op/nn/pooling.cc`, `include/tvm/topi/nn/pooling.h`).",
);

pub const MAX_POOL1D: OpDef =
    max_pool::<1>("nn.max_pool1d", "As `nn.max_pool2d`, along the one axis `W` (`src/relay/op/nn/pooling.cc`).");

pub const MAX_POOL3D: OpDef =
    max_pool::<3>("nn.max_pool3d", "As `nn.max_pool2d`, along the axes `D`, `H` and `W` (`src/relay/op/nn/pooling.cc`).");

/// The mean of each window, over `RANK` spatial axes.
const fn avg_pool<const RANK: usize>(name: &'static str, doc: &'static str) -> OpDef {
    OpDef {
        attrs: Some(AvgPool2dAttrs::schema::<RANK>()),
        eval: |cx| eval::avg_pool(cx, SPATIAL[RANK - 1]),
        limit: None,
        lower: Some(Lower::Nest(|call| {
            nest::avg_pool(call, SPATIAL[RANK - 1]).or_else(|| tabled::pool(call, SPATIAL[RANK - 1], true))
        })),
        ..max_pool::<RANK>(name, doc)
    }
}

pub const AVG_POOL2D: OpDef = avg_pool::<2>(
    "nn.avg_pool2d",
    "The mean of the elements a window covers, for each position of it. Padding is not counted, unless `count_include_pad` \
     counts it as zeros; a window over nothing gives 0. Integers are divided towards zero. The result's shape is that of \
     `nn.max_pool2d` (`src/relay/op/nn/pooling.cc`, `include/tvm/topi/nn/pooling.h`).",
);

pub const AVG_POOL1D: OpDef =
    avg_pool::<1>("nn.avg_pool1d", "As `nn.avg_pool2d`, along the one axis `W` (`src/relay/op/nn/pooling.cc`).");

pub const AVG_POOL3D: OpDef =
    avg_pool::<3>("nn.avg_pool3d", "As `nn.avg_pool2d`, along the axes `D`, `H` and `W` (`src/relay/op/nn/pooling.cc`).");

pub const GLOBAL_AVG_POOL2D: OpDef = OpDef {
    name: "nn.global_avg_pool2d",
    doc: "The mean of the elements along `H` and `W`, which have one element in the result; 0 where there are none. Integers are \
          divided towards zero (`src/relay/op/nn/pooling.cc`).",
    args: DATA,
    attrs: Some(GlobalPool2dAttrs::SCHEMA),
    rules: &[
        "C1: layout has the axes H and W, not in blocks, and out_layout is the same or empty",
        "C2: rank(data) is the number of axes of layout",
    ],
    rel: rel::global_pool_rel,
    blocks: Some(Blocks::Same(blocks::named)),
    eval: eval::global_avg_pool,
    lower: Some(Lower::Nest(|call| nest::global_pool(call, true))),
    fuse: Some(Fuse::OutEWiseFusable),
    ..OpDef::BASE
};

pub const GLOBAL_MAX_POOL2D: OpDef = OpDef {
    name: "nn.global_max_pool2d",
    doc: "The largest of the elements along `H` and `W`, which have one element in the result; NaN wins, and the dtype's least \
          number stands where there are none (`src/relay/op/nn/pooling.cc`).",
    eval: eval::global_max_pool,
    lower: Some(Lower::Nest(|call| nest::global_pool(call, false))),
    ..GLOBAL_AVG_POOL2D
};

/// The mean of windows whose number is the size of the result, over `RANK` spatial axes.
const fn adaptive_avg_pool<const RANK: usize>(name: &'static str, doc: &'static str) -> OpDef {
    OpDef {
        name,
        doc,
        args: DATA,
        attrs: Some(AdaptivePool2dAttrs::schema::<RANK>()),
        rules: &[
            "C1: layout has the spatial axes, not in blocks, and out_layout is the same or empty",
            "C2: rank(data) is the number of axes of layout",
            "C3: output_size is null, or has no value, 1 value or 1 for each spatial axis, each a number >= 0",
        ],
        rel: |cx| rel::adaptive_pool_rel(cx, SPATIAL[RANK - 1]),
        blocks: Some(Blocks::Same(blocks::named)),
        eval: |cx| eval::adaptive_avg_pool(cx, SPATIAL[RANK - 1]),
        lower: Some(Lower::Nest(|call| {
            nest::adaptive_pool(call, SPATIAL[RANK - 1], true).or_else(|| tabled::adaptive(call, SPATIAL[RANK - 1], true))
        })),
        fuse: Some(Fuse::OutEWiseFusable),
        ..OpDef::BASE
    }
}

pub const ADAPTIVE_AVG_POOL2D: OpDef = adaptive_avg_pool::<2>(
    "nn.adaptive_avg_pool2d",
    "The mean of the elements of each window along `H` and `W`, of which there are `output_size`: window `i` of `n` covers the \
     elements from `floor(i * in / n)` to before `ceil((i + 1) * in / n)`. A window over nothing gives 0; integers are divided \
     towards zero (`src/relay/op/nn/pooling.cc`, `include/tvm/topi/nn/pooling.h`).",
);

pub(crate) const ADAPTIVE_AVG_POOL1D: OpDef = adaptive_avg_pool::<1>(
    "nn.adaptive_avg_pool1d",
    "As `nn.adaptive_avg_pool2d`, along the one axis `W` (`src/relay/op/nn/pooling.cc`).",
);

pub(crate) const ADAPTIVE_AVG_POOL3D: OpDef = adaptive_avg_pool::<3>(
    "nn.adaptive_avg_pool3d",
    "As `nn.adaptive_avg_pool2d`, along the axes `D`, `H` and `W` (`src/relay/op/nn/pooling.cc`).",
);

/// The maximum of windows whose number is the size of the result, over `RANK` spatial axes.
const fn adaptive_max_pool<const RANK: usize>(name: &'static str, doc: &'static str) -> OpDef {
    OpDef {
        eval: |cx| eval::adaptive_max_pool(cx, SPATIAL[RANK - 1]),
        lower: Some(Lower::Nest(|call| {
            nest::adaptive_pool(call, SPATIAL[RANK - 1], false).or_else(|| tabled::adaptive(call, SPATIAL[RANK - 1], false))
        })),
        ..adaptive_avg_pool::<RANK>(name, doc)
    }
}

pub const ADAPTIVE_MAX_POOL2D: OpDef = adaptive_max_pool::<2>(
    "nn.adaptive_max_pool2d",
    "The largest element of each of the windows of `nn.adaptive_avg_pool2d`; NaN wins, and a window over nothing gives the \
     dtype's least number (`src/relay/op/nn/pooling.cc`).",
);

pub(crate) const ADAPTIVE_MAX_POOL1D: OpDef = adaptive_max_pool::<1>(
    "nn.adaptive_max_pool1d",
    "As `nn.adaptive_max_pool2d`, along the one axis `W` (`src/relay/op/nn/pooling.cc`).",
);

pub(crate) const ADAPTIVE_MAX_POOL3D: OpDef = adaptive_max_pool::<3>(
    "nn.adaptive_max_pool3d",
    "As `nn.adaptive_max_pool2d`, along the axes `D`, `H` and `W` (`src/relay/op/nn/pooling.cc`).",
);

pub(crate) const MAX_POOL2D_GRAD: OpDef = OpDef {
    name: "nn.max_pool2d_grad",
    doc: "For each window of `nn.max_pool2d` over operand 1, adds its element of operand 0, the gradient of the result, to the \
          place of the largest element the window covers: the first NaN, or the first of the largest. The rest is 0. TVM's \
          registration calls the operands `data` and `grad`, but the gradient comes first (`src/relay/op/nn/pooling.cc`).",
    args: &[Arg::tensor("data"), Arg::tensor("grad")],
    attrs: Some(MaxPool2dAttrs::schema::<2>()),
    rules: &[
        "C1: layout has the axes H and W, not in blocks, and out_layout is the same or empty",
        "C2: the rank of operand 1 is the number of axes of layout",
        "C3: pool_size, strides and dilation have 2 values, each >= 1",
        "C4: padding has 1, 2 or 4 values, each >= 0",
        "C5: (in + padding - ((pool_size - 1) * dilation + 1)) / strides + 1 >= 1 for H and W, unless in is 0",
        "C6: operand 0 has the type of the pool's result",
    ],
    rel: rel::pool_grad_rel,
    eval: grad::max_pool_grad,
    fuse: Some(Fuse::OutEWiseFusable),
    lower: Some(Lower::Routine(|call| grad::routine(call, None))),
    ..OpDef::BASE
};

pub(crate) const AVG_POOL2D_GRAD: OpDef = OpDef {
    name: "nn.avg_pool2d_grad",
    doc: "For each window of `nn.avg_pool2d` over operand 1, adds its element of operand 0, the gradient of the result, divided \
          by the number of elements the window covers, to each of them; with `count_include_pad` by the number of points in the \
          data or its padding. TVM registers the attributes of `nn.max_pool2d` with it, but its calls have those of \
          `nn.avg_pool2d`; its names of the operands are in the other order (`src/relay/op/nn/pooling.cc`).",
    attrs: Some(AvgPool2dAttrs::schema::<2>()),
    eval: grad::avg_pool_grad,
    lower: Some(Lower::Routine(|call| grad::routine(call, Some(AvgPool2dAttrs::read(call.attrs).count_include_pad)))),
    ..MAX_POOL2D_GRAD
};

pub(crate) const FAMILY: &[OpDef] = &[
    MAX_POOL1D,
    MAX_POOL2D,
    MAX_POOL3D,
    AVG_POOL1D,
    AVG_POOL2D,
    AVG_POOL3D,
    GLOBAL_AVG_POOL2D,
    GLOBAL_MAX_POOL2D,
    ADAPTIVE_AVG_POOL1D,
    ADAPTIVE_AVG_POOL2D,
    ADAPTIVE_AVG_POOL3D,
    ADAPTIVE_MAX_POOL1D,
    ADAPTIVE_MAX_POOL2D,
    ADAPTIVE_MAX_POOL3D,
    MAX_POOL2D_GRAD,
    AVG_POOL2D_GRAD,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Reading the attributes of means as those of maxima relies on this.
    #[test]
    fn attributes_of_means_begin_with_those_of_maxima() {
        let fields = |def: &OpDef| -> Vec<_> {
            def.attrs.expect("pools have attributes").fields.iter().map(|field| (field.name, field.kind)).collect()
        };
        assert!(fields(&AVG_POOL2D).starts_with(&fields(&MAX_POOL2D)));
    }
}
