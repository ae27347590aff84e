"""Sorting and searching (`python/tvm/relay/op/algorithm.py`)."""

from __future__ import annotations

from typing import Any

from ..expr import Constant, Expr
from ._call import call, results
from ._documentation import documented
from ._factory import define

__all__ = [*define("op.algorithm", globals()), "topk"]


@documented("topk")
def topk(
    data: Expr, k: Any = 1, axis: int = -1, ret_type: str = "both", is_ascend: bool = False, dtype: str = "int32"
) -> Any:
    """The first elements in sorted order.

    Parameters
    ----------
    data : Expr
        The tensor.
    k : int or Expr
        How many; all if below 1. An expression makes a call of `dyn.topk`, unless it is a constant.
    axis : int
        The axis.
    ret_type : str
        `"both"`, `"values"` or `"indices"`.
    is_ascend : bool
        Whether the smallest come first.
    dtype : str
        The dtype of the indices.

    Returns
    -------
    result : TupleWrapper or Call
        The values and the indices for `"both"`, else one of these.
    """
    if isinstance(k, Constant):
        k = k.data.numpy().item()
    attrs = {"axis": axis, "ret_type": ret_type, "is_ascend": is_ascend, "dtype": dtype}
    if isinstance(k, Expr):
        found = call("dyn.topk", (data, k), **attrs)
    else:
        found = call("topk", (data,), k=k, **attrs)
    return results(found, 2) if ret_type == "both" else found
