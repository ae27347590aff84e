"""Made by `python/tools/stubs.py`: edit the table of signatures, or the module."""

from relayc.tvm.relay.expr import Call, Expr
from relayc.tvm.relay.op._types import DType, Int, IntOrInts, Ints
from relayc.tvm.relay.qnn.op.config import RequantizeConfig, RequantizeConfig as RequantizeConfig, current_requantize_config as current_requantize_config, requantize_config as requantize_config
from typing import Any, Optional, Sequence

__all__ = [
    "RequantizeConfig",
    "abs",
    "add",
    "avg_pool2d",
    "batch_matmul",
    "concatenate",
    "contrib_dense_pack",
    "conv2d",
    "conv2d_transpose",
    "current_requantize_config",
    "dense",
    "dequantize",
    "erf",
    "exp",
    "hardswish",
    "leaky_relu",
    "log",
    "mul",
    "quantize",
    "requantize",
    "requantize_config",
    "rsqrt",
    "sigmoid",
    "simulated_dequantize",
    "simulated_quantize",
    "softmax",
    "sqrt",
    "subtract",
    "tanh",
]

def abs(x: Expr, scale: Expr, zero_point: Expr, output_scale: Expr, output_zero_point: Expr) -> Call: ...
def add(
    lhs: Expr,
    rhs: Expr,
    lhs_scale: Expr,
    lhs_zero_point: Expr,
    rhs_scale: Expr,
    rhs_zero_point: Expr,
    output_scale: Expr,
    output_zero_point: Expr,
    lhs_axis: int = -1,
    rhs_axis: int = -1,
) -> Call: ...
def avg_pool2d(
    data: Expr,
    input_scale: Expr,
    input_zero_point: Expr,
    output_scale: Expr,
    output_zero_point: Expr,
    pool_size: Ints,
    strides: Ints,
    padding: Ints,
    dilation: Ints,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    layout: str = "NHWC",
    out_layout: str = "",
) -> Call: ...
def batch_matmul(
    x: Expr,
    y: Expr,
    x_zero_point: Expr,
    y_zero_point: Expr,
    x_scale: Expr,
    y_scale: Expr,
    out_dtype: str = "int32",
) -> Call: ...
def concatenate(
    data: Any,
    input_scales: Sequence[Expr],
    input_zero_points: Sequence[Expr],
    output_scale: Expr,
    output_zero_point: Expr,
    axis: int,
) -> Call: ...
def contrib_dense_pack(
    data: Expr,
    weight: Expr,
    input_zero_point: Expr,
    kernel_zero_point: Expr,
    input_scale: Expr,
    kernel_scale: Expr,
    kernel_layout: str = "NC",
    units: Optional[Int] = None,
    out_dtype: DType = "int32",
) -> Call: ...
def conv2d(
    data: Expr,
    kernel: Expr,
    input_zero_point: Expr,
    kernel_zero_point: Expr,
    input_scale: Expr,
    kernel_scale: Expr,
    kernel_size: Ints,
    channels: Int,
    strides: Ints = (1, 1),
    padding: IntOrInts = (0, 0),
    dilation: Ints = (1, 1),
    groups: int = 1,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_layout: str = "",
    out_dtype: DType = "int32",
) -> Call: ...
def conv2d_transpose(
    data: Expr,
    weight: Expr,
    input_zero_point: Expr,
    kernel_zero_point: Expr,
    input_scale: Expr,
    kernel_scale: Expr,
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
    out_dtype: DType = "int32",
) -> Call: ...
def dense(
    data: Expr,
    weight: Expr,
    input_zero_point: Expr,
    kernel_zero_point: Expr,
    input_scale: Expr,
    kernel_scale: Expr,
    units: Int,
    out_dtype: DType = "int32",
) -> Call: ...
def dequantize(
    data: Expr,
    input_scale: Expr,
    input_zero_point: Expr,
    axis: int = -1,
    out_dtype: DType = "float32",
) -> Call: ...
def erf(x: Expr, scale: Expr, zero_point: Expr, output_scale: Expr, output_zero_point: Expr) -> Call: ...
def exp(x: Expr, scale: Expr, zero_point: Expr, output_scale: Expr, output_zero_point: Expr) -> Call: ...
def hardswish(x: Expr, scale: Expr, zero_point: Expr, output_scale: Expr, output_zero_point: Expr) -> Call: ...
def leaky_relu(
    x: Expr,
    alpha: float,
    input_scale: Expr,
    input_zero_point: Expr,
    output_scale: Expr,
    output_zero_point: Expr,
) -> Call: ...
def log(x: Expr, scale: Expr, zero_point: Expr, output_scale: Expr, output_zero_point: Expr) -> Call: ...
def mul(
    lhs: Expr,
    rhs: Expr,
    lhs_scale: Expr,
    lhs_zero_point: Expr,
    rhs_scale: Expr,
    rhs_zero_point: Expr,
    output_scale: Expr,
    output_zero_point: Expr,
    lhs_axis: int = -1,
    rhs_axis: int = -1,
) -> Call: ...
def quantize(
    data: Expr,
    output_scale: Expr,
    output_zero_point: Expr,
    axis: int = -1,
    out_dtype: DType = "int8",
) -> Call: ...
def requantize(
    data: Expr,
    input_scale: Expr,
    input_zero_point: Expr,
    output_scale: Expr,
    output_zero_point: Expr,
    axis: int = -1,
    rounding: str = "None",
    compute_dtype: str = "None",
    out_dtype: DType = "int8",
) -> Call: ...
def rsqrt(x: Expr, scale: Expr, zero_point: Expr, output_scale: Expr, output_zero_point: Expr) -> Call: ...
def sigmoid(x: Expr, scale: Expr, zero_point: Expr, output_scale: Expr, output_zero_point: Expr) -> Call: ...
def simulated_dequantize(
    data: Expr,
    input_scale: Expr,
    input_zero_point: Expr,
    axis: int = -1,
    in_dtype: Any = "int8",
) -> Call: ...
def simulated_quantize(
    data: Expr,
    output_scale: Expr,
    output_zero_point: Expr,
    axis: int = -1,
    out_dtype: Any = "int8",
) -> Call: ...
def softmax(
    x: Expr,
    scale: Expr,
    zero_point: Expr,
    output_scale: Expr,
    output_zero_point: Expr,
    axis: int = -1,
) -> Call: ...
def sqrt(x: Expr, scale: Expr, zero_point: Expr, output_scale: Expr, output_zero_point: Expr) -> Call: ...
def subtract(
    lhs: Expr,
    rhs: Expr,
    lhs_scale: Expr,
    lhs_zero_point: Expr,
    rhs_scale: Expr,
    rhs_zero_point: Expr,
    output_scale: Expr,
    output_zero_point: Expr,
    lhs_axis: int = -1,
    rhs_axis: int = -1,
) -> Call: ...
def tanh(x: Expr, scale: Expr, zero_point: Expr, output_scale: Expr, output_zero_point: Expr) -> Call: ...
