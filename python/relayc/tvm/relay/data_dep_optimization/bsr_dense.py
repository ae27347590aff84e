"""Dense layers with sparse weights, as `nn.sparse_dense`."""

from __future__ import annotations

from typing import Any, Dict, Tuple

from ..analysis.sparse_dense import process_params
from ..transform import DenseToSparse
from .utils import run_opt_pass

__all__ = ["convert"]


def convert(
    func: Any, params: Dict[str, Any], blocksize: Tuple[int, int], sparsity_threshold: float
) -> Tuple[Any, Dict[str, Any]]:
    """The function and the parameters with sparse weights as blocks."""
    info = process_params(func, params, blocksize, sparsity_threshold)
    return run_opt_pass(func, DenseToSparse(info.weight_name, info.weight_shape)), params
