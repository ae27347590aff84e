"""Weights of `nn.conv2d` that are sparse enough for `nn.sparse_conv2d`."""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

import numpy as np

from ._sparse import SparseAnalysisResult, bsr, replace_weight, weight_names

__all__ = ["SparseAnalysisResult", "process_params"]


def process_params(
    expr: Any,
    params: Dict[str, Any],
    block_size: Tuple[int, int],
    sparsity_threshold: float,
    layout: str,
    kernel_size: int,
    reg_task_input: bool = True,
) -> SparseAnalysisResult:
    """Writes sparse weights of 1x1 or 3x3 windows as blocks, in `params`.

    `layout` is that of the data, NHWC or NCHW. For 1x1 windows the share of zeros
    counts, for 3x3 that of the blocks that are zero. `reg_task_input` is for tuning.
    """
    found = SparseAnalysisResult([], [])
    for name in weight_names(expr, "nn.conv2d"):
        matrix = _matrix(params[name].numpy(), layout, kernel_size)
        if matrix is None:
            continue
        data, indices, pointers = bsr(matrix, block_size)
        nonzero = np.count_nonzero(matrix) if kernel_size == 1 else data.size
        if 1.0 - nonzero / matrix.size < sparsity_threshold:
            continue
        if kernel_size == 1 and block_size[1] == 1:
            data = data.reshape(len(data), block_size[0])
        replace_weight(params, name, (data, indices, pointers), found)
    return found


def _matrix(weight: np.ndarray, layout: str, kernel_size: int) -> Optional[np.ndarray]:
    """The weight with a row for each output channel, if its window is a square of that size."""
    window = weight.shape[:2] if layout == "NHWC" else weight.shape[2:]
    if kernel_size not in (1, 3) or tuple(window) != (kernel_size, kernel_size):
        return None
    if layout == "NHWC":
        return weight.reshape(-1, weight.shape[-1]).T
    return weight.reshape(weight.shape[0], -1)
