"""MobileNet: depthwise separable convolutions, of any width (`alpha`) and in a shallow form."""

from __future__ import annotations

from typing import Any, Dict, Sequence, Tuple

from .. import op
from ..analysis import free_vars
from ..expr import var
from ..function import Function
from . import layers
from .init import create_workload

#: The output channels of each block at full width, and whether it halves the image.
_DEEP = (
    ((64, False), (128, True), (128, False), (256, True), (256, False), (512, True))
    + ((512, False),) * 5
    + ((1024, True), (1024, False))
)
_SHALLOW = _DEEP[:6] + ((1024, True), (1024, True))


def conv_block(
    data: Any,
    name: str,
    channels: int,
    kernel_size: Sequence[int] = (3, 3),
    strides: Sequence[int] = (1, 1),
    padding: Sequence[int] = (1, 1),
    epsilon: float = 1e-5,
    layout: str = "NCHW",
) -> Any:
    """A convolution, a normalisation along axis 1 (in any layout, as in TVM) and a relu."""
    conv = layers.conv2d(
        data,
        channels=channels,
        kernel_size=kernel_size,
        strides=strides,
        padding=padding,
        data_layout=layout,
        kernel_layout=layers.conv_kernel_layout(layout),
        name=name + "_conv",
    )
    return op.nn.relu(layers.batch_norm_infer(conv, epsilon=epsilon, name=name + "_bn"))


def separable_conv_block(
    data: Any,
    name: str,
    depthwise_channels: int,
    pointwise_channels: int,
    kernel_size: Sequence[int] = (3, 3),
    downsample: bool = False,
    padding: Sequence[int] = (1, 1),
    epsilon: float = 1e-5,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Any:
    """A convolution of each channel alone and one over the channels, each with a normalisation and a relu."""
    kernel = tuple(kernel_size)
    shapes = {"NCHW": (depthwise_channels, 1, *kernel), "NHWC": (*kernel, depthwise_channels, 1)}
    if layout not in shapes:
        raise ValueError("Invalid layout: " + layout)
    depthwise = layers.conv2d(
        data,
        weight=var(name + "_weight", shape=shapes[layout], dtype=dtype),
        channels=depthwise_channels,
        groups=depthwise_channels,
        kernel_size=kernel,
        strides=(2, 2) if downsample else (1, 1),
        padding=padding,
        data_layout=layout,
        kernel_layout=layers.conv_kernel_layout(layout, True),
        name=name + "_depthwise_conv1",
    )
    axis = layout.index("C")
    body = op.nn.relu(layers.batch_norm_infer(depthwise, epsilon=epsilon, axis=axis, name=name + "_bn1"))
    pointwise = layers.conv2d(
        body,
        channels=pointwise_channels,
        kernel_size=(1, 1),
        strides=(1, 1),
        padding=(0, 0),
        data_layout=layout,
        kernel_layout=layers.conv_kernel_layout(layout),
        name=name + "_conv2",
    )
    return op.nn.relu(layers.batch_norm_infer(pointwise, epsilon=epsilon, axis=axis, name=name + "_bn2"))


def mobile_net(
    num_classes: int = 1000,
    data_shape: Sequence[int] = (1, 3, 224, 224),
    dtype: str = "float32",
    alpha: float = 1.0,
    is_shallow: bool = False,
    layout: str = "NCHW",
) -> Function:
    """The network as a function of its input `data` and its parameters; `alpha` scales all channels."""
    channels = int(32 * alpha)
    data = var("data", shape=data_shape, dtype=dtype)
    body = conv_block(data, "conv_block_1", channels, strides=(2, 2), layout=layout)
    for i, (outputs, downsample) in enumerate(_SHALLOW if is_shallow else _DEEP, start=1):
        inputs, channels = channels, int(outputs * alpha)
        body = separable_conv_block(
            body,
            f"separable_conv_block_{i}",
            inputs,
            channels,
            downsample=downsample,
            layout=layout,
            dtype=dtype,
        )
    flat = op.nn.batch_flatten(op.nn.global_avg_pool2d(body, layout=layout))
    dense = op.nn.dense(flat, weight=var("fc_weight"), units=num_classes)
    out = op.nn.softmax(op.nn.bias_add(dense, var("fc_bias")))
    return Function(free_vars(out), out)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    image_shape: Sequence[int] = (3, 224, 224),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> Tuple[Any, Dict[str, Any]]:
    """A module of the network at full width, and initial values of its parameters."""
    return create_workload(
        mobile_net(num_classes, (batch_size, *image_shape), dtype, alpha=1.0, is_shallow=False, layout=layout)
    )
