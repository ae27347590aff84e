"""Weights that are sparse enough to be written as blocks: what the two public modules share."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

import numpy as np

from ...ir.op import Op
from ._walk import post_order

__all__ = ["SparseAnalysisResult", "bsr", "replace_weight", "weight_names"]


class SparseAnalysisResult(NamedTuple):
    """Names of sparse weights, and for each the shapes of data, indices and pointers in a row."""

    weight_name: List[str]
    weight_shape: List[List[int]]


def weight_names(expr: Any, op_name: str) -> List[str]:
    """The names of the variables that are weights of an operator."""
    return [
        node.args[1].name_hint
        for node in post_order(expr)
        if node._kind == "Call"
        and node.op is Op.get(op_name)
        and node.args[1]._kind == "Var"
    ]


def bsr(matrix: np.ndarray, block: Tuple[int, int]) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Data, indices and pointers of a matrix in the block sparse row format.

    Raises `ValueError` if the blocks do not divide the matrix.
    """
    rows, columns = matrix.shape
    height, width = block
    if rows % height or columns % width:
        raise ValueError(f"blocks of {block} do not divide a matrix of {matrix.shape}")
    blocks = matrix.reshape(rows // height, height, columns // width, width).swapaxes(1, 2)
    kept = np.any(blocks != 0, axis=(2, 3))
    indices = np.nonzero(kept)[1].astype("int32")
    pointers = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype("int32")
    return np.ascontiguousarray(blocks[kept]), indices, pointers


def replace_weight(
    params: Dict[str, Any], name: str, parts: Sequence[np.ndarray], found: SparseAnalysisResult
) -> None:
    """Puts a weight's parts in its place, and notes their shapes."""
    from ...runtime.ndarray import array

    del params[name]
    found.weight_name.append(name)
    found.weight_shape.append([size for part in parts for size in part.shape])
    for suffix, part in zip(("data", "indices", "indptr"), parts):
        params[f"{name}.{suffix}"] = array(part)
