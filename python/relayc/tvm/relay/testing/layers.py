"""Layers that make their own parameters: `conv2d(data, name="conv1", ...)` has the weight `conv1_weight`."""

from __future__ import annotations

from typing import Any, Optional

from .. import op
from ..expr import var


def batch_norm_infer(
    data: Any,
    gamma: Any = None,
    beta: Any = None,
    moving_mean: Any = None,
    moving_var: Any = None,
    **kwargs: Any,
) -> Any:
    """A batch normalisation, of which only the normalised value is used; `name` begins its parameters' names."""
    name = kwargs.pop("name")
    return op.nn.batch_norm(
        data,
        gamma=gamma or var(name + "_gamma"),
        beta=beta or var(name + "_beta"),
        moving_mean=moving_mean or var(name + "_moving_mean"),
        moving_var=moving_var or var(name + "_moving_var"),
        **kwargs,
    )[0]


def conv2d(data: Any, weight: Any = None, **kwargs: Any) -> Any:
    """A convolution of images with the weight `<name>_weight`."""
    name = kwargs.pop("name")
    return op.nn.conv2d(data, weight or var(name + "_weight"), **kwargs)


def conv3d(data: Any, weight: Any = None, **kwargs: Any) -> Any:
    """A convolution of volumes with the weight `<name>_weight`."""
    name = kwargs.pop("name")
    return op.nn.conv3d(data, weight or var(name + "_weight"), **kwargs)


def conv2d_transpose(data: Any, weight: Any = None, **kwargs: Any) -> Any:
    """A transposed convolution of images with the weight `<name>_weight`."""
    name = kwargs.pop("name")
    return op.nn.conv2d_transpose(data, weight or var(name + "_weight"), **kwargs)


def dense_add_bias(
    data: Any, weight: Any = None, bias: Any = None, units: Optional[int] = None, **kwargs: Any
) -> Any:
    """A dense layer with `<name>_weight` and `<name>_bias`."""
    name = kwargs.pop("name")
    weight = weight or var(name + "_weight")
    bias = bias or var(name + "_bias")
    return op.nn.bias_add(op.nn.dense(data, weight, units, **kwargs), bias, axis=-1)


def conv_kernel_layout(data_layout: str, is_depthwise: bool = False) -> str:
    """The layout of kernels that goes with `NCHW` or `NHWC`."""
    kernels = {"NCHW": ("OIHW", "OIHW"), "NHWC": ("HWIO", "HWOI")}
    assert data_layout in kernels, f"Unknown data layout {data_layout}"
    return kernels[data_layout][is_depthwise]
