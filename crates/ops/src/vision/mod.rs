//! Boxes in images: generated, transformed, filtered by overlap, and sampled.

mod boxes;
mod nms;
mod onnx;
mod proposal;
mod roi;

pub(crate) use onnx::ONNX;

use super::attrs::{Dims, StdString};
use crate::prelude::*;

attrs! {
    "relay.attrs.MultiBoxPriorAttrs" =>
    pub(crate) struct MultiBoxPriorAttrs {
        /// The sizes of boxes, as fractions of the height.
        pub(crate) sizes: Vec<f64> = &[1.0];
        /// The ratios of width to height; the first is ignored.
        pub(crate) ratios: Vec<f64> = &[1.0];
        /// The distances of centres: downwards, to the right; a value not above 0 stands for the distance of elements.
        pub(crate) steps: Vec<f64> = &[-1.0, -1.0];
        /// The position of a centre in its element: downwards, to the right.
        pub(crate) offsets: Vec<f64> = &[0.5, 0.5];
        /// Whether boxes are clipped to the image.
        pub(crate) clip: bool = false;
    }

    "relay.attrs.MultiBoxTransformLocAttrs" =>
    pub(crate) struct MultiBoxTransformLocAttrs {
        /// Whether boxes are clipped to the image.
        pub(crate) clip: bool = true;
        /// The least probability of a box that is not background.
        pub(crate) threshold: f64 = 0.01;
        /// The factors of predictions: right, down, width, height.
        pub(crate) variances: Vec<f64> = &[0.1, 0.1, 0.2, 0.2];
        /// Whether boxes of the background, class 0, stay.
        pub(crate) keep_background: bool = false;
    }

    "relay.attrs.GetValidCountsAttrs" =>
    pub(crate) struct GetValidCountsAttrs {
        /// Ignored; an operand gives it.
        pub(crate) score_threshold: Option<f64>;
        /// The index of a box's class, which must not be negative; a negative index stands for no class.
        pub(crate) id_index: i64 = 0;
        /// The index of a box's score.
        pub(crate) score_index: i64 = 1;
    }

    "relay.attrs.NonMaximumSuppressionAttrs" =>
    pub(crate) struct NonMaximumSuppressionAttrs {
        /// Whether boxes of other classes also suppress a box.
        pub(crate) force_suppress: bool = false;
        /// The number of boxes to consider, those with the largest scores; all if not above 0.
        pub(crate) top_k: i64 = -1;
        /// The index of a box's four coordinates: two opposite corners.
        pub(crate) coord_start: i64 = 2;
        /// The index of a box's score.
        pub(crate) score_index: i64 = 1;
        /// The index of a box's class; a negative index stands for no class.
        pub(crate) id_index: i64 = 0;
        /// Whether to return the indices of boxes instead of the boxes.
        pub(crate) return_indices: bool = true;
        /// Whether rows without a box come last.
        pub(crate) invalid_to_bottom: bool = false;
    }

    "relay.attrs.AllClassNonMaximumSuppressionAttrs" =>
    pub(crate) struct AllClassNmsAttrs {
        /// The form of the result: `onnx` or `tensorflow`.
        pub(crate) output_format: StdString = "onnx";
    }

    "relay.attrs.RegularNonMaximumSuppressionAttrs" =>
    pub(crate) struct RegularNmsAttrs {
        /// The largest number of boxes of a class.
        pub(crate) max_detections_per_class: i64;
        /// The largest number of boxes of an image.
        pub(crate) max_detections: i64;
        /// The number of classes without background, which are the last ones of `scores`.
        pub(crate) num_classes: i64;
        /// The overlap above which a box is suppressed.
        pub(crate) iou_threshold: f64;
        /// The least score.
        pub(crate) score_threshold: f64;
    }

    "relay.attrs.ROIAlignAttrs" =>
    pub(crate) struct RoiAlignAttrs {
        /// The height and width of the result.
        pub(crate) pooled_size: Dims;
        /// The factor from coordinates of `rois` to coordinates of `data`.
        pub(crate) spatial_scale: f64;
        /// The number of points to sample in each direction of a bin; if not above 0, its number of elements.
        pub(crate) sample_ratio: i64 = -1;
        /// The axes of `data`: `NCHW` or `NHWC`.
        pub(crate) layout: StdString = "NCHW";
        /// The function of the points: the mean, `avg`, or the largest, `max`.
        pub(crate) mode: StdString = "avg";
    }

    "relay.attrs.ROIPoolAttrs" =>
    pub(crate) struct RoiPoolAttrs {
        /// The height and width of the result.
        pub(crate) pooled_size: Dims;
        /// The factor from coordinates of `rois` to coordinates of `data`.
        pub(crate) spatial_scale: f64;
        /// The axes of `data`: `NCHW` or `NHWC`.
        pub(crate) layout: StdString = "NCHW";
    }

    "relay.attrs.YoloReorgAttrs" =>
    pub(crate) struct YoloReorgAttrs {
        /// The number of rows and columns that become channels.
        pub(crate) stride: Option<Dim> = Some(1);
    }

    "relay.attrs.ProposalAttrs" =>
    pub(crate) struct ProposalAttrs {
        /// The sizes of anchors, as multiples of `feature_stride`.
        pub(crate) scales: Vec<f64> = &[4.0, 8.0, 16.0, 32.0];
        /// The ratios of height to width.
        pub(crate) ratios: Vec<f64> = &[0.5, 1.0, 2.0];
        /// The distance of positions in the image.
        pub(crate) feature_stride: i64 = 16;
        /// The overlap above which a box is suppressed.
        pub(crate) threshold: f64 = 0.7;
        /// The number of boxes to consider, those with the largest scores; all if not above 0.
        pub(crate) rpn_pre_nms_top_n: i64 = 6000;
        /// The number of boxes for each image.
        pub(crate) rpn_post_nms_top_n: i64 = 300;
        /// The least height and width.
        pub(crate) rpn_min_size: i64 = 16;
        /// Whether predictions are distances of corners.
        pub(crate) iou_loss: bool = false;
    }
}

pub(crate) const MULTIBOX_PRIOR: OpDef = OpDef {
    name: "vision.multibox_prior",
    doc: "Around each position of `data`, whose elements do not count, boxes `left, top, right, bottom` as shares of the image: \
          one for each of `sizes`, then one of `sizes[0]` for each of `ratios` but the first. A box is `size * height / width * \
          sqrt(ratio)` wide and `size / sqrt(ratio)` high (`src/relay/op/vision/multibox_op.cc`, \
          `python/tvm/topi/vision/ssd/multibox.py`).",
    args: &[Arg::tensor("data")],
    attrs: Some(MultiBoxPriorAttrs::SCHEMA),
    rules: &[
        "C1: rank(data) == 4",
        "C2: sizes and ratios have at least 1 value",
        "C3: steps and offsets have 2 values",
        "C4: dtype(data) is float",
    ],
    rel: boxes::multibox_prior_rel,
    eval: boxes::multibox_prior_eval,
    lower: Some(Lower::Nest(boxes::multibox_prior_nest)),
    ..OpDef::BASE
};

pub(crate) const MULTIBOX_TRANSFORM_LOC: OpDef = OpDef {
    name: "vision.multibox_transform_loc",
    doc: "For each image, rows `class, probability, left, top, right, bottom` of the anchors whose most probable class is not \
          the background, counted without it, and how many there are; rows behind them are -1. A box is its anchor, moved and \
          scaled by the four numbers of `loc_pred` times `variances` (`src/relay/op/vision/multibox_op.cc`, \
          `python/tvm/topi/vision/ssd/multibox.py`).",
    args: &[Arg::tensor("cls_prob"), Arg::tensor("loc_pred"), Arg::tensor("anchor")],
    attrs: Some(MultiBoxTransformLocAttrs::SCHEMA),
    rules: &[
        "C1: cls_prob is (n, classes, anchors), loc_pred is (n, 4 * anchors), anchor is (1, anchors, 4)",
        "C2: there is an anchor",
        "C3: variances has 4 values",
        "C4: all operands are of one float dtype",
    ],
    rel: boxes::multibox_transform_loc_rel,
    eval: boxes::multibox_transform_loc_eval,
    lower: Some(Lower::Routine(boxes::multibox_transform_loc_routine)),
    ..OpDef::BASE
};

pub(crate) const GET_VALID_COUNTS: OpDef = OpDef {
    name: "vision.get_valid_counts",
    doc: "For each image, how many rows of `data` have a score above `score_threshold` and a class, these rows, and their \
          numbers; the rest is -1 (`src/relay/op/vision/nms.cc`, `python/tvm/topi/vision/nms.py`).",
    args: &[Arg::tensor("data"), Arg::tensor("score_threshold")],
    attrs: Some(&AttrSchema { declared: false, ..*GetValidCountsAttrs::SCHEMA }),
    rules: &[
        "C1: rank(data) == 3",
        "C2: score_index is in 0…data[2]-1, and id_index less than data[2]",
        "C3: dtype(data) is float",
        "C4: score_threshold has one element",
    ],
    rel: nms::get_valid_counts_rel,
    eval: nms::get_valid_counts_eval,
    lower: Some(Lower::Routine(nms::get_valid_counts_routine)),
    ..OpDef::BASE
};

pub(crate) const NON_MAX_SUPPRESSION: OpDef = OpDef {
    name: "vision.non_max_suppression",
    doc: "The first `valid_count` boxes of each image by falling score; one that overlaps a better one of its class by at least \
          `iou_threshold`, and all behind the first `max_output_size`, become -1. Boxes of a score not above 0 stay, and \
          suppress none; so do all where `iou_threshold` is not above 0. With `return_indices` the result has the chosen boxes' \
          `indices`, then -1, and their number (`src/relay/op/vision/nms.cc`, `python/tvm/topi/vision/nms.py`).",
    args: &[
        Arg::tensor("data"),
        Arg::tensor("valid_count"),
        Arg::tensor("indices"),
        Arg::tensor("max_output_size"),
        Arg::tensor("iou_threshold"),
    ],
    attrs: Some(&AttrSchema { declared: false, ..*NonMaximumSuppressionAttrs::SCHEMA }),
    rules: &[
        "C1: rank(data) == 3, and valid_count is data[0] integers",
        "C2: score_index and coord_start…coord_start+3 are in 0…data[2]-1, and id_index less than data[2]",
        "C3: dtype(data) is float",
        "C4: max_output_size and iou_threshold have one element",
        "C5: with return_indices, indices is (data[0], data[1]) integers",
    ],
    rel: nms::non_max_suppression_rel,
    eval: nms::non_max_suppression_eval,
    lower: Some(Lower::Routine(nms::non_max_suppression_routine)),
    ..OpDef::BASE
};

pub const ALL_CLASS_NON_MAX_SUPPRESSION: OpDef = OpDef {
    name: "vision.all_class_non_max_suppression",
    doc: "For each image and class, at most `max_output_boxes_per_class` boxes (if above 0) of a score above `score_threshold`, \
          by falling score, none of which overlaps a better one by `iou_threshold` or more. As `onnx`: rows `image, class, box` \
          one after the other, and their number; as `tensorflow`: for each image rows `class, box`, their scores, and their \
          number. The rest is 0 (`src/relay/op/vision/nms.cc`, `python/tvm/topi/vision/nms.py`).",
    args: &[
        Arg::tensor("boxes"),
        Arg::tensor("scores"),
        Arg::tensor("max_output_boxes_per_class"),
        Arg::tensor("iou_threshold"),
        Arg::tensor("score_threshold"),
    ],
    attrs: Some(&AttrSchema { declared: false, ..*AllClassNmsAttrs::SCHEMA }),
    rules: &[
        "C1: boxes is (n, boxes, 4), scores is (n, classes, boxes)",
        "C2: dtype(boxes) and dtype(scores) are float",
        "C3: output_format is \"onnx\" or \"tensorflow\"",
        "C4: max_output_boxes_per_class, iou_threshold and score_threshold have one element",
    ],
    rel: nms::all_class_rel,
    eval: nms::all_class_eval,
    lower: Some(Lower::Routine(nms::all_class_routine)),
    ..OpDef::BASE
};

pub(crate) const REGULAR_NON_MAX_SUPPRESSION: OpDef = OpDef {
    name: "vision.regular_non_max_suppression",
    doc: "For each image the `max_detections` boxes of the largest scores, at least `score_threshold`, that do not overlap a \
          better one of their class by more than `iou_threshold`: the boxes `top, left, bottom, right`, their classes, their \
          scores, and their number. The rest is 0 (`src/relay/op/vision/nms.cc`, `python/tvm/topi/vision/nms.py`).",
    args: &[Arg::tensor("boxes"), Arg::tensor("scores")],
    attrs: Some(&AttrSchema { declared: false, ..*RegularNmsAttrs::SCHEMA }),
    rules: &[
        "C1: boxes is (n, boxes, 4), scores is (n, boxes, classes)",
        "C2: dtype(boxes) and dtype(scores) are float",
        "C3: max_detections >= 0",
        "C4: 0 <= num_classes <= scores[2]",
    ],
    rel: nms::regular_rel,
    eval: nms::regular_eval,
    ..OpDef::BASE
};

pub const ROI_ALIGN: OpDef = OpDef {
    name: "vision.roi_align",
    doc: "Each row `image, left, top, right, bottom` of `rois`, scaled by `spatial_scale`, cut into bins: the mean or the \
          largest of points interpolated in it. Points more than an element outside are 0; an index of no image traps \
          (`src/relay/op/vision/rcnn_op.cc`, `python/tvm/topi/x86/roi_align.py`).",
    args: &[Arg::tensor("data"), Arg::tensor("rois")],
    attrs: Some(&AttrSchema { declared: false, ..*RoiAlignAttrs::SCHEMA }),
    rules: &[
        "C1: layout is \"NCHW\" or \"NHWC\", and rank(data) == 4",
        "C2: the shape of rois is (n, 5)",
        "C3: pooled_size has 2 values, each at least 1",
        "C4: dtype(data) and dtype(rois) are float",
        "C5: mode is \"avg\" or \"max\"",
    ],
    rel: roi::roi_align_rel,
    eval: roi::roi_align_eval,
    lower: Some(Lower::Routine(roi::roi_align_routine)),
    fuse: Some(Fuse::OutEWiseFusable),
    ..OpDef::BASE
};

pub const ROI_POOL: OpDef = OpDef {
    name: "vision.roi_pool",
    doc: "Each row `image, left, top, right, bottom` of `rois`, scaled by `spatial_scale` and rounded, cut into bins: the \
          largest element of each, where NaN wins, and 0 where there is none. An index of no image traps \
          (`src/relay/op/vision/rcnn_op.cc`, `python/tvm/topi/vision/rcnn/roi_pool.py`).",
    attrs: Some(&AttrSchema { declared: false, ..*RoiPoolAttrs::SCHEMA }),
    rules: &[ROI_ALIGN.rules[0], ROI_ALIGN.rules[1], ROI_ALIGN.rules[2], ROI_ALIGN.rules[3]],
    rel: roi::roi_pool_rel,
    eval: roi::roi_pool_eval,
    lower: Some(Lower::Routine(roi::roi_pool_routine)),
    ..ROI_ALIGN
};

pub(crate) const YOLO_REORG: OpDef = OpDef {
    name: "vision.yolo_reorg",
    // TVM counts pictures behind the first from another place (`include/tvm/topi/vision/reorg.h`), outside of the data.
    doc: "The elements of each image of `data` in another order: element `(c, y, x)` is element `(c % C, y * stride + c / C / \
          stride, x * stride + c / C % stride)` of the image seen as `(C, height * stride, width * stride)`, where `C` is its \
          channels by `stride * stride`; the result then is `(channels * stride * stride, height / stride, width / stride)` \
          (`src/relay/op/vision/yolo.cc`).",
    args: &[Arg::tensor("data")],
    attrs: Some(YoloReorgAttrs::SCHEMA),
    rules: &[
        "C1: rank(data) == 4",
        "C2: stride is at least 1",
        "C3: stride divides height and width, and stride * stride the channels",
    ],
    rel: roi::yolo_reorg_rel,
    eval: roi::yolo_reorg_eval,
    lower: Some(Lower::Nest(roi::yolo_reorg_nest)),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

pub(crate) const PROPOSAL: OpDef = OpDef {
    name: "vision.proposal",
    doc: "For each image `rpn_post_nms_top_n` rows `image, left, top, right, bottom`: the anchors at each position moved by \
          `bbox_pred`, cut to the image, by falling score, without those that overlap a better one by more than `threshold`; if \
          there are fewer, they repeat (`src/relay/op/vision/rcnn_op.cc`, `python/tvm/topi/vision/rcnn/proposal.py`).",
    args: &[Arg::tensor("cls_prob"), Arg::tensor("bbox_pred"), Arg::tensor("im_info")],
    attrs: Some(&AttrSchema { declared: false, ..*ProposalAttrs::SCHEMA }),
    rules: &[
        "C1: with one anchor for each of scales and ratios, cls_prob is (n, 2 * anchors, h, w), bbox_pred is (n, 4 * anchors, h, \
         w)",
        "C2: the shape of im_info is (n, 3)",
        "C3: rpn_post_nms_top_n >= 0",
        "C4: all operands are of one float dtype",
    ],
    rel: proposal::proposal_rel,
    eval: proposal::proposal_eval,
    internal: true,
    ..OpDef::BASE
};

/// Requires an operand to have these dimensions: `rule`. A `?` admits any number. `words` name the dimensions.
fn require_shape(cx: &RelCx, rule: &'static str, tensor: &TensorTy, dims: &[Dim], words: &str) -> RelResult {
    let fits = tensor.rank() == dims.len() && tensor.shape.iter().zip(dims).all(|(a, b)| a.compatible(*b));
    cx.require(rule, fits, || Fault::shape(format!("expected {words}, found {}", tensor.shape_text())).at(tensor.place(), ""))
}

/// Requires an operand to have one element, where that is known: `rule`.
fn require_single(cx: &mut RelCx, rule: &'static str, arg: usize) -> RelResult {
    let Some(tensor) = cx.known_tensor(arg)? else { return Ok(()) };
    let one = tensor.shape.iter().all(|dim| dim.compatible(Dim::known(1)));
    cx.require(rule, one, || {
        Fault::shape(format!("expected one element, found the shape {}", tensor.shape_text())).at(tensor.place(), "")
    })
}

pub(crate) const FAMILY: &[OpDef] = &[
    MULTIBOX_PRIOR,
    MULTIBOX_TRANSFORM_LOC,
    GET_VALID_COUNTS,
    NON_MAX_SUPPRESSION,
    ALL_CLASS_NON_MAX_SUPPRESSION,
    REGULAR_NON_MAX_SUPPRESSION,
    ROI_ALIGN,
    ROI_POOL,
    YOLO_REORG,
    PROPOSAL,
];
