"""Convolutions with sparse weights, as `nn.sparse_conv2d`."""

from __future__ import annotations

from typing import Any, Dict, Tuple

from ..analysis.sparse_conv2d import process_params
from ..transform import Conv2dToSparse, Conv2dToSparse2
from .utils import run_opt_pass

__all__ = ["convert", "convert2"]


def convert(
    func: Any,
    params: Dict[str, Any],
    blocksize: Tuple[int, int],
    sparsity_threshold: float,
    layout: str = "NHWC",
    kernel_size: int = 1,
) -> Tuple[Any, Dict[str, Any]]:
    """The function and the parameters with sparse weights as blocks."""
    info = process_params(func, params, blocksize, sparsity_threshold, layout, kernel_size)
    step = Conv2dToSparse(info.weight_name, info.weight_shape, layout, kernel_size)
    return run_opt_pass(func, step), params


def convert2(
    func: Any,
    params: Dict[str, Any],
    blocksize: Tuple[int, int],
    sparsity_threshold: float,
    layout: str,
    kernel_size: int,
) -> Tuple[Any, Dict[str, Any]]:
    """As `convert`, for a function whose weights are constants."""
    step = Conv2dToSparse2(layout, kernel_size, blocksize, sparsity_threshold)
    return run_opt_pass(func, step), params
