//! Resizing of images: interpolates every element of the result at a coordinate in the data.

mod eval;
mod nest;
mod onnx;
mod rel;

pub(crate) use eval::resized;
pub(crate) use nest::sampled;
pub(crate) use onnx::ONNX;
pub(crate) use onnx::resized_onnx;

use super::attrs::{Dims, Floats};
use super::blocks::{self, Blocks};
use crate::interpolation::TAPS;
use crate::prelude::*;
use crate::window::LAYOUT;

attrs! {
    ["relay.attrs.Resize1DAttrs", "relay.attrs.Resize2DAttrs", "relay.attrs.Resize3DAttrs"] =>
    pub(crate) struct ResizeAttrs {
        pub(crate) size: Dims = None, doc SIZE_DOC;
        pub(crate) roi: Floats = None, doc ROI_DOC;
        pub(crate) layout: String = LAYOUT[RANK - 1], doc LAYOUT_DOC;
        /// `nearest_neighbor`, `linear` or `cubic`.
        pub(crate) method: String = "linear";
        /// The rule that maps a position in the result to a coordinate in the data.
        pub(crate) coordinate_transformation_mode: String = "half_pixel";
        /// The rounding of coordinates by `nearest_neighbor`; empty for `round` with `align_corners`, else `floor`.
        pub(crate) rounding_method: String = "round";
        /// The coefficient of the cubic convolution.
        pub(crate) cubic_alpha: f64 = -0.5;
        /// Whether cubic interpolation ignores elements outside the data; otherwise the border continues.
        pub(crate) cubic_exclude: i64 = 0;
        /// The value outside the data for `tf_crop_and_resize`.
        pub(crate) extrapolation_value: f64 = 0.0;
        /// The dtype of the result; by default that of `data`.
        pub(crate) out_dtype: Option<DType> = None;
    }

    "relay.attrs.CropAndResizeAttrs" =>
    pub(crate) struct CropAndResizeAttrs {
        /// The height and width of each crop.
        pub(crate) crop_size: Dims = None;
        /// The axes of `data`; `H` and `W` are resized.
        pub(crate) layout: String = "NCHW";
        /// `bilinear` or `nearest_neighbor`.
        pub(crate) method: String = "bilinear";
        /// The value of a box outside the data.
        pub(crate) extrapolation_value: f64 = 0.0;
        /// The dtype of the result; by default that of `data`.
        pub(crate) out_dtype: Option<DType> = None;
    }
}

/// The documentation of attributes, by the number of resized axes less one.
const SIZE_DOC: [&str; 3] =
    ["The width of the result.", "The height and width of the result.", "The depth, height and width of the result."];
const ROI_DOC: [&str; 3] = [
    "The region of the data for `tf_crop_and_resize`: start and end, as fractions of the width.",
    "The region of the data for `tf_crop_and_resize`, as fractions: top, left, bottom, right.",
    "The region of the data for `tf_crop_and_resize`, as fractions: three starts, then three ends.",
];
const LAYOUT_DOC: [&str; 3] = [
    "The axes of `data`; `W` is resized.",
    "The axes of `data`; `H` and `W` are resized.",
    "The axes of `data`; `D`, `H` and `W` are resized.",
];

/// Resizes `RANK` axes.
const fn resize<const RANK: usize>() -> OpDef {
    OpDef {
        work: TAPS,
        args: DATA,
        attrs: Some(ResizeAttrs::schema::<RANK>()),
        rel: |cx| rel::resize_rel(cx, &Resize::of(LAYOUT[RANK - 1], cx.attrs)),
        eval: |cx| eval::resize_eval(cx, &Resize::of(LAYOUT[RANK - 1], cx.attrs)),
        lower: Some(Lower::Nest(|call| nest::resize(call, &Resize::of(LAYOUT[RANK - 1], call.attrs)))),
        fuse: Some(Fuse::Injective),
        ..OpDef::BASE
    }
}

pub(crate) const RESIZE1D: OpDef = OpDef {
    name: "image.resize1d",
    doc: "`data` with `size[0]` elements along `W`, each interpolated at a coordinate in the data. Position `x` of `out` along an \
          axis that had `in` lies at `(x + 0.5) * in / out - 0.5` for `half_pixel` (at 0 with `pytorch_half_pixel` where `out` is \
          1), `x * (in - 1) / (out - 1)` for `align_corners`, `x * in / out` for `asymmetric`, `(x + 0.5) * in / out` for \
          `tf_half_pixel_for_nn`, and for `tf_crop_and_resize` at `start * (in - 1) + x * (end - start) * (in - 1) / (out - 1)`, \
          which gives `extrapolation_value` outside of the data. Other coordinates outside find the border. Floats are \
          computed in float32, or float64 of float64 and integers (`src/relay/op/image/resize.cc`, \
          `python/tvm/topi/image/resize.py`).",
    rules: &[
        "C1: layout is a permutation of N, C and W, blocks allowed",
        "C2: data has the axes of layout, and blocks their size",
        "C3: size has 1 value, which is at least 0",
        "C4: roi has 2 values",
        "C5: method is \"nearest_neighbor\", \"linear\" or \"cubic\"",
        "C6: coordinate_transformation_mode is \"half_pixel\", \"align_corners\", \"asymmetric\", \"pytorch_half_pixel\", \
         \"tf_half_pixel_for_nn\" or \"tf_crop_and_resize\"",
        "C7: rounding_method is \"round\", \"round_prefer_floor\", \"round_prefer_ceil\", \"floor\", \"ceil\" or empty",
        "C8: blocks divide the dimensions of the result",
    ],
    ..resize::<1>()
};

pub const RESIZE2D: OpDef = OpDef {
    name: "image.resize2d",
    doc: "As `image.resize1d`, along `H` and `W`. With `asymmetric`, `nearest_neighbor` divides positions by a whole ratio of \
          the sizes as integers, whatever the rounding (`src/relay/op/image/resize.cc`, `python/tvm/topi/image/resize.py`).",
    rules: &[
        "C1: layout is a permutation of N, C, H and W, blocks allowed",
        "C2: data has the axes of layout, and blocks their size",
        "C3: size has 2 values, each at least 0",
        "C4: roi has 4 values",
        RESIZE1D.rules[4],
        RESIZE1D.rules[5],
        RESIZE1D.rules[6],
        RESIZE1D.rules[7],
    ],
    blocks: Some(Blocks::Same(blocks::named)),
    ..resize::<2>()
};

pub(crate) const RESIZE3D: OpDef = OpDef {
    name: "image.resize3d",
    // TVM reads `roi` from the last axis on, forgets to look outside along `D`, and excludes along `D` by the width: slips
    // of its file, where this follows its documentation and the other two operators.
    doc: "As `image.resize1d`, along `D`, `H` and `W` (`src/relay/op/image/resize.cc`, `python/tvm/topi/image/resize.py`).",
    rules: &[
        "C1: layout is a permutation of N, C, D, H and W, blocks allowed",
        "C2: data has the axes of layout, and blocks their size",
        "C3: size has 3 values, each at least 0",
        "C4: roi has 6 values",
        RESIZE1D.rules[4],
        RESIZE1D.rules[5],
        RESIZE1D.rules[6],
        RESIZE1D.rules[7],
    ],
    ..resize::<3>()
};

pub const DYN_RESIZE2D: OpDef = OpDef {
    name: "dyn.image.resize2d",
    work: TAPS,
    doc: "As `image.resize2d`, with the operands `size` and `roi` in the place of the attributes, which are ignored \
          (`src/relay/op/dyn/image/resize.cc`).",
    args: &[Arg::tensor("data"), Arg::tensor("size"), Arg::tensor("roi")],
    attrs: Some(ResizeAttrs::schema::<2>()),
    rules: &[
        "C1: layout is a permutation of N, C, H and W, blocks allowed",
        "C2: data has the axes of layout, and blocks their size",
        "C3: size is 2 integers",
        "C4: roi is 4 floats",
        RESIZE1D.rules[4],
        RESIZE1D.rules[5],
        RESIZE1D.rules[6],
    ],
    rel: rel::dyn_resize2d_rel,
    eval: eval::dyn_resize2d_eval,
    lower: None,
    fixed: Some(eval::dyn_resize2d_fixed),
    ..RESIZE1D
};

pub(crate) const CROP_AND_RESIZE: OpDef = OpDef {
    name: "image.crop_and_resize",
    work: TAPS,
    doc: "For each row `top, left, bottom, right` of `boxes`, as shares of height and width less one, that part of image \
          `box_indices` at height and width `crop_size`; a box may be turned over. A side of 1 lies in the middle of its box. \
          Outside of the data is `extrapolation_value`; an index outside traps (`src/relay/op/image/resize.cc`, \
          `python/tvm/topi/image/resize.py`).",
    args: &[Arg::tensor("data"), Arg::tensor("boxes"), Arg::tensor("box_indices")],
    attrs: Some(CropAndResizeAttrs::SCHEMA),
    rules: &[
        "C1: layout is a permutation of N, C, H and W, blocks allowed",
        "C2: data has the axes of layout, and blocks their size",
        "C3: crop_size has 2 values, each at least 0",
        "C4: boxes is n rows of 4 floats, box_indices is n integers",
        "C5: method is \"bilinear\" or \"nearest_neighbor\"",
        "C6: blocks divide the dimensions of the result",
    ],
    rel: rel::crop_and_resize_rel,
    eval: eval::crop_and_resize_eval,
    lower: None,
    ..RESIZE1D
};

const METHODS: &[&str] = &["nearest_neighbor", "linear", "cubic"];
const BOX_METHODS: &[&str] = &["bilinear", "nearest_neighbor"];
const MODES: &[&str] =
    &["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn", "tf_crop_and_resize"];
/// The mode of a box, which differs from `tf_crop_and_resize` in the order of its steps only.
const BOX: &str = "box";
const ROUNDINGS: &[&str] = &["round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil", ""];

/// The attributes that the three operators share.
struct Resize {
    /// All axes, those that are resized last.
    letters: &'static str,
    size: Option<Vec<Dim>>,
    roi: Option<Vec<f64>>,
    layout: String,
    out_dtype: Option<DType>,
    sampling: Sampling,
}

/// The rules for coordinates and interpolation.
pub(crate) struct Sampling {
    pub(crate) method: String,
    pub(crate) mode: String,
    pub(crate) rounding: String,
    pub(crate) alpha: f64,
    pub(crate) exclude: bool,
    pub(crate) extrapolation: f64,
    /// Whether coordinates outside the data give `extrapolation`; otherwise the border continues.
    pub(crate) ends: bool,
    /// Whether positions are divided by the ratio of sizes, if that is an integer.
    pub(crate) whole_ratios: bool,
}

impl Resize {
    fn of(letters: &'static str, values: &[AttrValue]) -> Resize {
        let attrs = ResizeAttrs::read(values);
        let sampling = Sampling {
            method: attrs.method.to_lowercase(),
            ends: attrs.coordinate_transformation_mode == "tf_crop_and_resize",
            mode: attrs.coordinate_transformation_mode,
            rounding: attrs.rounding_method,
            alpha: attrs.cubic_alpha,
            exclude: attrs.cubic_exclude != 0,
            extrapolation: attrs.extrapolation_value,
            whole_ratios: letters == "NCHW",
        };
        Resize { letters, size: attrs.size.0, roi: attrs.roi.0, layout: attrs.layout, out_dtype: attrs.out_dtype, sampling }
    }

    /// The layout, if it is one of the operator's: `C1`.
    fn layout(&self) -> RelResult<Layout> {
        layout_attr("C1", "layout", &self.layout, |layout| layout.of(self.letters))
    }
}

pub(crate) const FAMILY: &[OpDef] = &[RESIZE1D, RESIZE2D, RESIZE3D, DYN_RESIZE2D, CROP_AND_RESIZE];
