"""The signatures of the operator functions that only build a call: names, order and defaults as in TVM v0.14.

A line is `names(parameters) -> operator * n`. Several names share one signature.
The operator is the function's name behind the prefix of its module, unless the
arrow names another. With `* n` the result is a tuple of `n` fields, taken apart as
Python does. An indented line continues the one before.

A parameter that is called as an attribute of the operator sets it, or the attribute
that its annotation names in quotes. The others are the operands, in order. The
annotation `eachN` lets one integer stand for N of them, and `padN` completes a
padding of N axes (`python/tvm/relay/op/nn/utils.py`).
"""

from __future__ import annotations

from typing import Dict, NamedTuple

__all__ = ["Namespace", "NAMESPACES"]


class Namespace(NamedTuple):
    """The functions of one module."""

    #: What stands before a function's name in its operator's.
    prefix: str
    signatures: str


#: By the module's path below `tvm.relay`.
NAMESPACES: Dict[str, Namespace] = {}

NAMESPACES["op.tensor"] = Namespace(
    "",
    """
log log2 log10 exp erf sqrt rsqrt sigmoid tanh(data)
sin cos tan sinh cosh asin acos atan asinh acosh atanh(data)
floor ceil trunc round abs sign negative copy(data)
logical_not bitwise_not isnan isfinite isinf zeros_like ones_like(data)
add subtract multiply divide power mod maximum minimum(lhs, rhs)
floor_divide floor_mod trunc_divide trunc_mod(lhs, rhs)
logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor left_shift right_shift(lhs, rhs)
equal not_equal less less_equal greater greater_equal(lhs, rhs)
clip(a, a_min, a_max)
fixed_point_multiply(data, multiplier, shift)
shape_of ndarray_size(data, dtype="int32")
""",
)

NAMESPACES["op.transform"] = Namespace(
    "",
    """
sliding_window(data, axis, window_shape, strides)
cast reinterpret(data, dtype)
cast_like(data, dtype_like)
argwhere(condition)
scatter_elements(data, indices, updates, axis=0, reduction="update")
scatter_nd(data, indices, updates, mode="update")
reshape_like(data, shape_like, lhs_begin=0, lhs_end=None, rhs_begin=0, rhs_end=None)
take(data, indices, axis=None, batch_dims=0, mode="clip")
full_like(data, fill_value)
repeat(data, repeats, axis)
reverse(data, axis)
reverse_sequence(data, seq_lengths, seq_axis=1, batch_axis=0)
where(condition, x, y)
broadcast_to_like(data, broadcast_type)
collapse_sum_like(data, collapse_type)
slice_like(data, shape_like, axes=None)
layout_transform(data, src_layout, dst_layout)
gather(data, axis, indices)
gather_nd(data, indices, batch_dims=0, index_rank=None)
sequence_mask(data, valid_length, mask_value=0, axis=0)
unravel_index(indices, shape)
sparse_reshape(sparse_indices, prev_shape, new_shape) -> sparse_reshape * 2
cumsum cumprod(data, axis=None, dtype=None, exclusive=None)
invert_permutation(data)
dft(re_data, im_data, inverse=False) -> dft * 2
""",
)

NAMESPACES["op.reduce"] = Namespace(
    "",
    """
argmax argmin(data, axis: each1 = None, keepdims=False, exclude=False, select_last_index=False)
sum prod mean max min all any(data, axis: each1 = None, keepdims=False, exclude=False)
""",
)

NAMESPACES["op.algorithm"] = Namespace(
    "",
    """
sort(data, axis=-1, is_ascend=1)
argsort(data, axis=-1, is_ascend=1, dtype="int32")
searchsorted(sorted_sequence, values, right=False, dtype="int32")
""",
)

NAMESPACES["op.nn.nn"] = Namespace(
    "nn.",
    """
conv1d(data, weight, strides: each1 = 1, padding: pad1 = 0, dilation: each1 = 1, groups=1, channels=None,
    kernel_size: each1 = None, data_layout="NCW", kernel_layout="OIW", out_layout="", out_dtype="")
conv2d(data, weight, strides: each2 = (1, 1), padding: pad2 = (0, 0), dilation: each2 = (1, 1), groups=1,
    channels=None, kernel_size: each2 = None, data_layout="NCHW", kernel_layout="OIHW", out_layout="", out_dtype="")
conv3d(data, weight, strides: each3 = (1, 1, 1), padding: pad3 = (0, 0, 0), dilation: each3 = (1, 1, 1), groups=1,
    channels=None, kernel_size: each3 = None, data_layout="NCDHW", kernel_layout="OIDHW", out_layout="", out_dtype="")
conv1d_transpose(data, weight, strides=(1,), padding=(0,), dilation=(1,), groups=1, channels=None, kernel_size=None,
    data_layout="NCW", kernel_layout="IOW", out_layout="", output_padding=(0,), out_dtype="")
conv2d_transpose(data, weight, strides=(1, 1), padding: pad2 = (0, 0), dilation=(1, 1), groups=1, channels=None,
    kernel_size=None, data_layout="NCHW", kernel_layout="IOHW", out_layout="", output_padding=(0, 0), out_dtype="")
conv3d_transpose(data, weight, strides: each3 = (1, 1, 1), padding: pad3 = (0, 0, 0), dilation: each3 = (1, 1, 1),
    groups=1, channels=None, kernel_size: each3 = None, data_layout="NCDHW", kernel_layout="IODHW", out_layout="",
    output_padding=(0, 0, 0), out_dtype="")
conv2d_backward_weight(grad, data, strides: each2 = (1, 1), padding: pad2 = (0, 0), dilation: each2 = (1, 1), groups=1,
    channels=None, kernel_size: each2 = None, grad_layout: "data_layout" = "NCHW",
    data_layout: "kernel_layout" = "NCHW", kernel_layout: "out_layout" = "OIHW", out_dtype="")
deformable_conv2d(data, offset, weight, strides=(1, 1), padding: pad2 = (0, 0), dilation=(1, 1), deformable_groups=1,
    groups=1, channels=None, kernel_size=None, data_layout="NCHW", kernel_layout="OIHW", out_layout="", out_dtype="")
contrib_conv2d_winograd_without_weight_transform(data, weight, tile_size, strides=(1, 1), padding: pad2 = (0, 0),
    dilation=(1, 1), groups=1, channels=None, kernel_size=None, data_layout="NCHW", kernel_layout="OIHW", out_layout="",
    out_dtype="")
contrib_conv3d_winograd_without_weight_transform(data, weight, tile_size, strides=(1, 1, 1), padding: pad3 = (0, 0, 0),
    dilation=(1, 1, 1), groups=1, channels=None, kernel_size=None, data_layout="NCDHW", kernel_layout="OIDHW",
    out_layout="", out_dtype="")
contrib_conv2d_gemm_without_weight_transform(data, weight, strides=(1, 1), padding: pad2 = (0, 0), dilation=(1, 1),
    groups=1, channels=None, kernel_size=None, data_layout="NCHW", kernel_layout="OIHW", out_layout="", out_dtype="")
contrib_conv2d_nchwc(data, kernel, strides=(1, 1), padding: pad2 = (0, 0), dilation=(1, 1), groups=1, channels=None,
    kernel_size=None, data_layout="NCHW8c", kernel_layout="OIHW", out_layout="", out_dtype="")
    -> nn.contrib_conv2d_NCHWc
contrib_depthwise_conv2d_nchwc(data, kernel, strides=(1, 1), padding: pad2 = (0, 0), dilation=(1, 1), groups=1,
    channels=None, kernel_size=None, data_layout="NCHW8c", kernel_layout="OIHW", out_layout="", out_dtype="")
    -> nn.contrib_depthwise_conv2d_NCHWc
contrib_conv2d_winograd_weight_transform contrib_conv3d_winograd_weight_transform(weight, tile_size)
contrib_conv2d_gemm_weight_transform(weights, tile_rows, tile_cols)
contrib_conv2d_winograd_nnpack_weight_transform(weight, convolution_algorithm, out_dtype="")
bitpack(data, bits=1, pack_axis=1, bit_axis=2, pack_type="uint32", name="BitPack")
bitserial_conv2d(data, weight, strides=(1, 1), padding: pad2 = (0, 0), channels=None, kernel_size=(3, 3),
    activation_bits=1, weight_bits=1, data_layout="NCHW", kernel_layout="OIHW", pack_dtype="uint32", out_dtype="int16",
    unipolar=True)
bitserial_dense(data, weight, units=None, data_bits=1, weight_bits=1, pack_dtype="uint32", out_dtype="int16",
    unipolar=True)
max_pool1d(data, pool_size: each1 = (1,), strides: each1 = (1,), dilation: each1 = (1,), padding: pad1 = (0,),
    layout="NCW", out_layout="", ceil_mode=False)
max_pool2d(data, pool_size: each2 = (1, 1), strides: each2 = (1, 1), dilation: each2 = (1, 1), padding: pad2 = (0, 0),
    layout="NCHW", out_layout="", ceil_mode=False)
max_pool3d(data, pool_size: each3 = (1, 1, 1), strides: each3 = (1, 1, 1), dilation: each3 = (1, 1, 1),
    padding: pad3 = (0, 0, 0), layout="NCDHW", out_layout="", ceil_mode=False)
avg_pool1d(data, pool_size: each1 = (1,), strides: each1 = (1,), dilation: each1 = (1,), padding: pad1 = (0,),
    layout="NCW", out_layout="", ceil_mode=False, count_include_pad=False)
avg_pool2d(data, pool_size: each2 = (1, 1), strides: each2 = (1, 1), dilation: each2 = (1, 1), padding: pad2 = (0, 0),
    layout="NCHW", out_layout="", ceil_mode=False, count_include_pad=False)
avg_pool3d(data, pool_size: each3 = (1, 1, 1), strides: each3 = (1, 1, 1), dilation: each3 = (1, 1, 1),
    padding: pad3 = (0, 0, 0), layout="NCDHW", out_layout="", ceil_mode=False, count_include_pad=False)
global_max_pool2d global_avg_pool2d(data, layout="NCHW", out_layout="")
adaptive_max_pool1d adaptive_avg_pool1d(data, output_size: each1 = None, layout="NCW", out_layout="")
adaptive_max_pool2d adaptive_avg_pool2d(data, output_size=None, layout="NCHW", out_layout="")
adaptive_max_pool3d adaptive_avg_pool3d(data, output_size=None, layout="NCDHW", out_layout="")
softmax fast_softmax log_softmax(data, axis=-1)
batch_flatten relu(data)
leaky_relu(data, alpha=0.01)
prelu(data, alpha, axis=1)
bias_add(data, bias, axis=1)
dense(data, weight, units=None, out_dtype="")
contrib_dense_pack(data, weight, weight_layout="NC", units=None, out_dtype="")
batch_matmul(tensor_a, tensor_b, out_dtype="", transpose_a=False, transpose_b=True)
fifo_buffer(data, buffer, axis)
dilate(data, strides, dilation_value=0.0)
mirror_pad(data, pad_width, mode="SYMMETRIC")
dropout_raw(data, rate=0.5) -> nn.dropout
lrn(data, size=5, axis=1, bias=2, alpha=1e-05, beta=0.75)
l2_normalize(data, eps, axis=None)
batch_norm(data, gamma, beta, moving_mean, moving_var, axis=1, epsilon=1e-05, center=True, scale=True)
    -> nn.batch_norm * 3
instance_norm(data, gamma, beta, axis=1, epsilon=1e-05, center=True, scale=True)
layer_norm(data, gamma, beta, axis=-1, epsilon=1e-05, center=True, scale=True)
group_norm(data, gamma, beta, num_groups, axis=1, epsilon=1e-05, center=True, scale=True)
cross_entropy cross_entropy_with_logits(predictions, targets)
nll_loss(predictions, targets, weights, reduction="mean", ignore_index=-100)
depth_to_space(data, block_size, layout="NCHW", mode="DCR")
space_to_depth(data, block_size, layout="NCHW")
space_to_batch_nd(data, block_shape, paddings, pad_value=0)
batch_to_space_nd(data, block_shape, crops)
correlation(data1, data2, kernel_size, max_displacement, stride1, stride2, padding: each2, is_multiply, layout)
""",
)

NAMESPACES["op.image.image"] = Namespace(
    "image.",
    """
crop_and_resize(data, boxes, box_indices, crop_size, layout, method="bilinear", extrapolation_value=0, out_dtype=None)
dilation2d(data, weight, strides=(1, 1), padding=(0, 0), dilations=(1, 1), data_layout="NCHW", kernel_layout="IHW",
    out_dtype="")
affine_grid(data, target_shape=None)
grid_sample(data, grid, method="bilinear", layout="NCHW", padding_mode="zeros", align_corners=True)
""",
)

NAMESPACES["op.vision.multibox"] = Namespace(
    "vision.",
    """
multibox_prior(data, sizes=(1.0,), ratios=(1.0,), steps=(-1.0, -1.0), offsets=(0.5, 0.5), clip=False)
multibox_transform_loc(cls_prob, loc_pred, anchor, clip=True, threshold=0.01, variances=(0.1, 0.1, 0.2, 0.2),
    keep_background=False) -> vision.multibox_transform_loc * 2
""",
)

NAMESPACES["op.vision.nms"] = Namespace(
    "vision.",
    """
regular_non_max_suppression(boxes, scores, max_detections_per_class, max_detections, num_classes, iou_threshold,
    score_threshold) -> vision.regular_non_max_suppression * 4
""",
)

NAMESPACES["op.vision.rcnn"] = Namespace(
    "vision.",
    """
roi_align(data, rois, pooled_size, spatial_scale, sample_ratio=-1, layout="NCHW", mode="avg")
roi_pool(data, rois, pooled_size, spatial_scale, layout="NCHW")
proposal(cls_prob, bbox_pred, im_info, scales, ratios, feature_stride, threshold, rpn_pre_nms_top_n, rpn_post_nms_top_n,
    rpn_min_size, iou_loss)
""",
)

NAMESPACES["op.vision.yolo"] = Namespace("vision.", "yolo_reorg(data, stride)")

NAMESPACES["op.random.kernel"] = Namespace(
    "random.",
    """
threefry_generate(key, shape: "out_shape")
threefry_split(key)
multinomial(key, probs, num_samples)
""",
)

NAMESPACES["op.annotation.annotation"] = Namespace(
    "annotation.",
    """
stop_fusion checkpoint(data)
compiler_begin compiler_end(data, compiler)
""",
)

NAMESPACES["op.vm.vm"] = Namespace("vm.", "reshape_tensor(data, shape, newshape)")

NAMESPACES["qnn.op.qnn"] = Namespace(
    "qnn.",
    """
quantize(data, output_scale, output_zero_point, axis=-1, out_dtype="int8")
dequantize(data, input_scale, input_zero_point, axis=-1, out_dtype="float32")
requantize(data, input_scale, input_zero_point, output_scale, output_zero_point, axis=-1, rounding="None",
    compute_dtype="None", out_dtype="int8")
conv2d(data, kernel, input_zero_point, kernel_zero_point, input_scale, kernel_scale, kernel_size, channels,
    strides=(1, 1), padding: pad2 = (0, 0), dilation=(1, 1), groups=1, data_layout="NCHW", kernel_layout="OIHW",
    out_layout="", out_dtype="int32")
conv2d_transpose(data, weight, input_zero_point, kernel_zero_point, input_scale, kernel_scale, strides=(1, 1),
    padding: pad2 = (0, 0), dilation=(1, 1), groups=1, channels=None, kernel_size=None, data_layout="NCHW",
    kernel_layout="IOHW", out_layout="", output_padding=(0, 0), out_dtype="int32")
dense(data, weight, input_zero_point, kernel_zero_point, input_scale, kernel_scale, units, out_dtype="int32")
contrib_dense_pack(data, weight, input_zero_point, kernel_zero_point, input_scale, kernel_scale,
    kernel_layout: "weight_layout" = "NC", units=None, out_dtype="int32")
add mul subtract(lhs, rhs, lhs_scale, lhs_zero_point, rhs_scale, rhs_zero_point, output_scale, output_zero_point,
    lhs_axis=-1, rhs_axis=-1)
tanh exp sqrt rsqrt erf abs sigmoid hardswish log(x, scale, zero_point, output_scale, output_zero_point)
leaky_relu(x, alpha, input_scale, input_zero_point, output_scale, output_zero_point)
softmax(x, scale, zero_point, output_scale, output_zero_point, axis=-1)
avg_pool2d(data, input_scale, input_zero_point, output_scale, output_zero_point, pool_size, strides, padding, dilation,
    ceil_mode=False, count_include_pad=True, layout="NHWC", out_layout="")
""",
)
