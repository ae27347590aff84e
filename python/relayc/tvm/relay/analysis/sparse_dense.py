"""Weights of `nn.dense` that are sparse enough for `nn.sparse_dense`."""

from __future__ import annotations

from typing import Any, Dict, Tuple

import numpy as np

from ._sparse import SparseAnalysisResult, bsr, replace_weight, weight_names

__all__ = ["SparseAnalysisResult", "process_params"]


def process_params(
    expr: Any, params: Dict[str, Any], block_size: Tuple[int, int], sparsity_threshold: float
) -> SparseAnalysisResult:
    """Writes the weights whose share of zeros reaches the threshold as blocks, in `params`."""
    found = SparseAnalysisResult([], [])
    for name in weight_names(expr, "nn.dense"):
        weight = params[name].numpy()
        if 1.0 - np.count_nonzero(weight) / weight.size >= sparsity_threshold:
            replace_weight(params, name, bsr(weight, block_size), found)
    return found
