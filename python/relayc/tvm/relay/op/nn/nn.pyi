"""Made by `python/tools/stubs.py`: edit the table of signatures, or the module."""

from relayc.tvm.relay.expr import Call, Expr, TupleGetItem, TupleWrapper
from relayc.tvm.relay.op._types import DType, Int, IntLists, IntOrInts, Ints
from typing import Any, Optional, Sequence

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool2d_grad",
    "avg_pool3d",
    "batch_flatten",
    "batch_matmul",
    "batch_norm",
    "batch_to_space_nd",
    "bias_add",
    "bitpack",
    "bitserial_conv2d",
    "bitserial_dense",
    "contrib_conv2d_gemm_weight_transform",
    "contrib_conv2d_gemm_without_weight_transform",
    "contrib_conv2d_nchwc",
    "contrib_conv2d_winograd_nnpack_weight_transform",
    "contrib_conv2d_winograd_weight_transform",
    "contrib_conv2d_winograd_without_weight_transform",
    "contrib_conv3d_winograd_weight_transform",
    "contrib_conv3d_winograd_without_weight_transform",
    "contrib_dense_pack",
    "contrib_depthwise_conv2d_nchwc",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_backward_weight",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "correlation",
    "cross_entropy",
    "cross_entropy_with_logits",
    "deformable_conv2d",
    "dense",
    "depth_to_space",
    "dilate",
    "dropout",
    "dropout_raw",
    "fast_softmax",
    "fifo_buffer",
    "global_avg_pool1d",
    "global_avg_pool2d",
    "global_avg_pool3d",
    "global_max_pool1d",
    "global_max_pool2d",
    "global_max_pool3d",
    "group_norm",
    "instance_norm",
    "l2_normalize",
    "layer_norm",
    "leaky_relu",
    "log_softmax",
    "lrn",
    "matmul",
    "max_pool1d",
    "max_pool2d",
    "max_pool2d_grad",
    "max_pool3d",
    "mirror_pad",
    "nll_loss",
    "pad",
    "prelu",
    "relu",
    "softmax",
    "space_to_batch_nd",
    "space_to_depth",
    "sparse_add",
    "sparse_dense",
    "sparse_transpose",
    "upsampling",
    "upsampling3d",
]

def adaptive_avg_pool1d(
    data: Expr,
    output_size: Optional[IntOrInts] = None,
    layout: str = "NCW",
    out_layout: str = "",
) -> Call: ...
def adaptive_avg_pool2d(
    data: Expr,
    output_size: Optional[Ints] = None,
    layout: str = "NCHW",
    out_layout: str = "",
) -> Call: ...
def adaptive_avg_pool3d(
    data: Expr,
    output_size: Optional[Ints] = None,
    layout: str = "NCDHW",
    out_layout: str = "",
) -> Call: ...
def adaptive_max_pool1d(
    data: Expr,
    output_size: Optional[IntOrInts] = None,
    layout: str = "NCW",
    out_layout: str = "",
) -> Call: ...
def adaptive_max_pool2d(
    data: Expr,
    output_size: Optional[Ints] = None,
    layout: str = "NCHW",
    out_layout: str = "",
) -> Call: ...
def adaptive_max_pool3d(
    data: Expr,
    output_size: Optional[Ints] = None,
    layout: str = "NCDHW",
    out_layout: str = "",
) -> Call: ...
def avg_pool1d(
    data: Expr,
    pool_size: IntOrInts = (1,),
    strides: IntOrInts = (1,),
    dilation: IntOrInts = (1,),
    padding: IntOrInts = (0,),
    layout: str = "NCW",
    out_layout: str = "",
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Call: ...
def avg_pool2d(
    data: Expr,
    pool_size: IntOrInts = (1, 1),
    strides: IntOrInts = (1, 1),
    dilation: IntOrInts = (1, 1),
    padding: IntOrInts = (0, 0),
    layout: str = "NCHW",
    out_layout: str = "",
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Call: ...
def avg_pool2d_grad(
    out_grad: Expr,
    data: Expr,
    pool_size: Sequence[int] = (1, 1),
    strides: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    layout: str = "NCHW",
    out_layout: str = "",
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Call: ...
def avg_pool3d(
    data: Expr,
    pool_size: IntOrInts = (1, 1, 1),
    strides: IntOrInts = (1, 1, 1),
    dilation: IntOrInts = (1, 1, 1),
    padding: IntOrInts = (0, 0, 0),
    layout: str = "NCDHW",
    out_layout: str = "",
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Call: ...
def batch_flatten(data: Expr) -> Call: ...
def batch_matmul(
    tensor_a: Expr,
    tensor_b: Expr,
    out_dtype: DType = "",
    transpose_a: bool = False,
    transpose_b: bool = True,
) -> Call: ...
def batch_norm(
    data: Expr,
    gamma: Expr,
    beta: Expr,
    moving_mean: Expr,
    moving_var: Expr,
    axis: int = 1,
    epsilon: float = 1e-05,
    center: bool = True,
    scale: bool = True,
) -> TupleWrapper: ...
def batch_to_space_nd(data: Expr, block_shape: Ints, crops: IntLists) -> Call: ...
def bias_add(data: Expr, bias: Expr, axis: int = 1) -> Call: ...
def bitpack(
    data: Expr,
    bits: int = 1,
    pack_axis: int = 1,
    bit_axis: int = 2,
    pack_type: DType = "uint32",
    name: str = "BitPack",
) -> Call: ...
def bitserial_conv2d(
    data: Expr,
    weight: Expr,
    strides: Ints = (1, 1),
    padding: IntOrInts = (0, 0),
    channels: Optional[Int] = None,
    kernel_size: Ints = (3, 3),
    activation_bits: int = 1,
    weight_bits: int = 1,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    pack_dtype: DType = "uint32",
    out_dtype: DType = "int16",
    unipolar: bool = True,
) -> Call: ...
def bitserial_dense(
    data: Expr,
    weight: Expr,
    units: Optional[Int] = None,
    data_bits: int = 1,
    weight_bits: int = 1,
    pack_dtype: DType = "uint32",
    out_dtype: DType = "int16",
    unipolar: bool = True,
) -> Call: ...
def contrib_conv2d_gemm_weight_transform(weights: Expr, tile_rows: int, tile_cols: int) -> Call: ...
def contrib_conv2d_gemm_without_weight_transform(
    data: Expr,
    weight: Expr,
    strides: Ints = (1, 1),
    padding: IntOrInts = (0, 0),
    dilation: Ints = (1, 1),
    groups: int = 1,
    channels: Optional[Int] = None,
    kernel_size: Optional[Ints] = None,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_layout: str = "",
    out_dtype: DType = "",
) -> Call: ...
def contrib_conv2d_nchwc(
    data: Expr,
    kernel: Expr,
    strides: Ints = (1, 1),
    padding: IntOrInts = (0, 0),
    dilation: Ints = (1, 1),
    groups: int = 1,
    channels: Optional[Int] = None,
    kernel_size: Optional[Ints] = None,
    data_layout: str = "NCHW8c",
    kernel_layout: str = "OIHW",
    out_layout: str = "",
    out_dtype: DType = "",
) -> Call: ...
def contrib_conv2d_winograd_nnpack_weight_transform(
    weight: Expr,
    convolution_algorithm: int,
    out_dtype: DType = "",
) -> Call: ...
def contrib_conv2d_winograd_weight_transform(weight: Expr, tile_size: int) -> Call: ...
def contrib_conv2d_winograd_without_weight_transform(
    data: Expr,
    weight: Expr,
    tile_size: int,
    strides: Ints = (1, 1),
    padding: IntOrInts = (0, 0),
    dilation: Ints = (1, 1),
    groups: int = 1,
    channels: Optional[Int] = None,
    kernel_size: Optional[Ints] = None,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_layout: str = "",
    out_dtype: DType = "",
) -> Call: ...
def contrib_conv3d_winograd_weight_transform(weight: Expr, tile_size: int) -> Call: ...
def contrib_conv3d_winograd_without_weight_transform(
    data: Expr,
    weight: Expr,
    tile_size: int,
    strides: Ints = (1, 1, 1),
    padding: IntOrInts = (0, 0, 0),
    dilation: Ints = (1, 1, 1),
    groups: int = 1,
    channels: Optional[Int] = None,
    kernel_size: Optional[Ints] = None,
    data_layout: str = "NCDHW",
    kernel_layout: str = "OIDHW",
    out_layout: str = "",
    out_dtype: DType = "",
) -> Call: ...
def contrib_dense_pack(
    data: Expr,
    weight: Expr,
    weight_layout: str = "NC",
    units: Optional[Int] = None,
    out_dtype: DType = "",
) -> Call: ...
def contrib_depthwise_conv2d_nchwc(
    data: Expr,
    kernel: Expr,
    strides: Ints = (1, 1),
    padding: IntOrInts = (0, 0),
    dilation: Ints = (1, 1),
    groups: int = 1,
    channels: Optional[Int] = None,
    kernel_size: Optional[Ints] = None,
    data_layout: str = "NCHW8c",
    kernel_layout: str = "OIHW",
    out_layout: str = "",
    out_dtype: DType = "",
) -> Call: ...
def conv1d(
    data: Expr,
    weight: Expr,
    strides: IntOrInts = 1,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    groups: int = 1,
    channels: Optional[Int] = None,
    kernel_size: Optional[IntOrInts] = None,
    data_layout: str = "NCW",
    kernel_layout: str = "OIW",
    out_layout: str = "",
    out_dtype: DType = "",
) -> Call: ...
def conv1d_transpose(
    data: Expr,
    weight: Expr,
    strides: Ints = (1,),
    padding: Ints = (0,),
    dilation: Ints = (1,),
    groups: int = 1,
    channels: Optional[Int] = None,
    kernel_size: Optional[Ints] = None,
    data_layout: str = "NCW",
    kernel_layout: str = "IOW",
    out_layout: str = "",
    output_padding: Ints = (0,),
    out_dtype: DType = "",
) -> Call: ...
def conv2d(
    data: Expr,
    weight: Expr,
    strides: IntOrInts = (1, 1),
    padding: IntOrInts = (0, 0),
    dilation: IntOrInts = (1, 1),
    groups: int = 1,
    channels: Optional[Int] = None,
    kernel_size: Optional[IntOrInts] = None,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_layout: str = "",
    out_dtype: DType = "",
) -> Call: ...
def conv2d_backward_weight(
    grad: Expr,
    data: Expr,
    strides: IntOrInts = (1, 1),
    padding: IntOrInts = (0, 0),
    dilation: IntOrInts = (1, 1),
    groups: int = 1,
    channels: Optional[Int] = None,
    kernel_size: Optional[IntOrInts] = None,
    grad_layout: str = "NCHW",
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_dtype: DType = "",
) -> Call: ...
def conv2d_transpose(
    data: Expr,
    weight: Expr,
    strides: Ints = (1, 1),
    padding: IntOrInts = (0, 0),
    dilation: Ints = (1, 1),
    groups: int = 1,
    channels: Optional[Int] = None,
    kernel_size: Optional[Ints] = None,
    data_layout: str = "NCHW",
    kernel_layout: str = "IOHW",
    out_layout: str = "",
    output_padding: Ints = (0, 0),
    out_dtype: DType = "",
) -> Call: ...
def conv3d(
    data: Expr,
    weight: Expr,
    strides: IntOrInts = (1, 1, 1),
    padding: IntOrInts = (0, 0, 0),
    dilation: IntOrInts = (1, 1, 1),
    groups: int = 1,
    channels: Optional[Int] = None,
    kernel_size: Optional[IntOrInts] = None,
    data_layout: str = "NCDHW",
    kernel_layout: str = "OIDHW",
    out_layout: str = "",
    out_dtype: DType = "",
) -> Call: ...
def conv3d_transpose(
    data: Expr,
    weight: Expr,
    strides: IntOrInts = (1, 1, 1),
    padding: IntOrInts = (0, 0, 0),
    dilation: IntOrInts = (1, 1, 1),
    groups: int = 1,
    channels: Optional[Int] = None,
    kernel_size: Optional[IntOrInts] = None,
    data_layout: str = "NCDHW",
    kernel_layout: str = "IODHW",
    out_layout: str = "",
    output_padding: Ints = (0, 0, 0),
    out_dtype: DType = "",
) -> Call: ...
def correlation(
    data1: Expr,
    data2: Expr,
    kernel_size: int,
    max_displacement: int,
    stride1: int,
    stride2: int,
    padding: IntOrInts,
    is_multiply: bool,
    layout: str,
) -> Call: ...
def cross_entropy(predictions: Expr, targets: Expr) -> Call: ...
def cross_entropy_with_logits(predictions: Expr, targets: Expr) -> Call: ...
def deformable_conv2d(
    data: Expr,
    offset: Expr,
    weight: Expr,
    strides: Ints = (1, 1),
    padding: IntOrInts = (0, 0),
    dilation: Ints = (1, 1),
    deformable_groups: int = 1,
    groups: int = 1,
    channels: Optional[Int] = None,
    kernel_size: Optional[Ints] = None,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_layout: str = "",
    out_dtype: DType = "",
) -> Call: ...
def dense(data: Expr, weight: Expr, units: Optional[Int] = None, out_dtype: DType = "") -> Call: ...
def depth_to_space(data: Expr, block_size: int, layout: str = "NCHW", mode: str = "DCR") -> Call: ...
def dilate(data: Expr, strides: Ints, dilation_value: float = 0.0) -> Call: ...
def dropout(data: Expr, rate: float = 0.5) -> TupleGetItem: ...
def dropout_raw(data: Expr, rate: float = 0.5) -> Call: ...
def fast_softmax(data: Expr, axis: int = -1) -> Call: ...
def fifo_buffer(data: Expr, buffer: Expr, axis: int) -> Call: ...
def global_avg_pool1d(data: Expr, layout: str = "NCW", out_layout: str = "") -> Call: ...
def global_avg_pool2d(data: Expr, layout: str = "NCHW", out_layout: str = "") -> Call: ...
def global_avg_pool3d(data: Expr, layout: str = "NCDHW", out_layout: str = "") -> Call: ...
def global_max_pool1d(data: Expr, layout: str = "NCW", out_layout: str = "") -> Call: ...
def global_max_pool2d(data: Expr, layout: str = "NCHW", out_layout: str = "") -> Call: ...
def global_max_pool3d(data: Expr, layout: str = "NCDHW", out_layout: str = "") -> Call: ...
def group_norm(
    data: Expr,
    gamma: Expr,
    beta: Expr,
    num_groups: int,
    axis: int = 1,
    epsilon: float = 1e-05,
    center: bool = True,
    scale: bool = True,
) -> Call: ...
def instance_norm(
    data: Expr,
    gamma: Expr,
    beta: Expr,
    axis: int = 1,
    epsilon: float = 1e-05,
    center: bool = True,
    scale: bool = True,
) -> Call: ...
def l2_normalize(data: Expr, eps: float, axis: Optional[Ints] = None) -> Call: ...
def layer_norm(
    data: Expr,
    gamma: Expr,
    beta: Expr,
    axis: int = -1,
    epsilon: float = 1e-05,
    center: bool = True,
    scale: bool = True,
) -> Call: ...
def leaky_relu(data: Expr, alpha: float = 0.01) -> Call: ...
def log_softmax(data: Expr, axis: int = -1) -> Call: ...
def lrn(
    data: Expr,
    size: int = 5,
    axis: int = 1,
    bias: float = 2,
    alpha: float = 1e-05,
    beta: float = 0.75,
) -> Call: ...
def matmul(
    tensor_a: Expr,
    tensor_b: Expr,
    units: Optional[int] = None,
    out_dtype: str = "",
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> Call: ...
def max_pool1d(
    data: Expr,
    pool_size: IntOrInts = (1,),
    strides: IntOrInts = (1,),
    dilation: IntOrInts = (1,),
    padding: IntOrInts = (0,),
    layout: str = "NCW",
    out_layout: str = "",
    ceil_mode: bool = False,
) -> Call: ...
def max_pool2d(
    data: Expr,
    pool_size: IntOrInts = (1, 1),
    strides: IntOrInts = (1, 1),
    dilation: IntOrInts = (1, 1),
    padding: IntOrInts = (0, 0),
    layout: str = "NCHW",
    out_layout: str = "",
    ceil_mode: bool = False,
) -> Call: ...
def max_pool2d_grad(
    out_grad: Expr,
    data: Expr,
    pool_size: Sequence[int] = (1, 1),
    strides: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    layout: str = "NCHW",
    out_layout: str = "",
    ceil_mode: bool = False,
) -> Call: ...
def max_pool3d(
    data: Expr,
    pool_size: IntOrInts = (1, 1, 1),
    strides: IntOrInts = (1, 1, 1),
    dilation: IntOrInts = (1, 1, 1),
    padding: IntOrInts = (0, 0, 0),
    layout: str = "NCDHW",
    out_layout: str = "",
    ceil_mode: bool = False,
) -> Call: ...
def mirror_pad(data: Expr, pad_width: IntLists, mode: str = "SYMMETRIC") -> Call: ...
def nll_loss(
    predictions: Expr,
    targets: Expr,
    weights: Expr,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> Call: ...
def pad(data: Expr, pad_width: Any, pad_value: Any = 0, pad_mode: str = "constant") -> Call: ...
def prelu(data: Expr, alpha: Expr, axis: int = 1) -> Call: ...
def relu(data: Expr) -> Call: ...
def softmax(data: Expr, axis: int = -1) -> Call: ...
def space_to_batch_nd(data: Expr, block_shape: Ints, paddings: IntLists, pad_value: float = 0) -> Call: ...
def space_to_depth(data: Expr, block_size: int, layout: str = "NCHW") -> Call: ...
def sparse_add(dense_mat: Expr, sparse_mat: Any) -> Call: ...
def sparse_dense(dense_mat: Expr, sparse_mat: Any, sparse_lhs: bool = False) -> Call: ...
def sparse_transpose(x: Any) -> TupleWrapper: ...
def upsampling(
    data: Expr,
    scale_h: Any = 1,
    scale_w: Any = 1,
    layout: str = "NCHW",
    method: str = "nearest_neighbor",
    align_corners: bool = False,
) -> Call: ...
def upsampling3d(
    data: Expr,
    scale_d: Any = 1,
    scale_h: Any = 1,
    scale_w: Any = 1,
    layout: str = "NCDHW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "half_pixel",
) -> Call: ...
