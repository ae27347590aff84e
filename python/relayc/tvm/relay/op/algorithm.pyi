"""Made by `python/tools/stubs.py`: edit the table of signatures, or the module."""

from relayc.tvm.relay.expr import Call, Expr
from relayc.tvm.relay.op._types import DType
from typing import Any

__all__ = [
    "argsort",
    "searchsorted",
    "sort",
    "topk",
]

def argsort(data: Expr, axis: int = -1, is_ascend: int = 1, dtype: DType = "int32") -> Call: ...
def searchsorted(sorted_sequence: Expr, values: Expr, right: bool = False, dtype: DType = "int32") -> Call: ...
def sort(data: Expr, axis: int = -1, is_ascend: int = 1) -> Call: ...
def topk(
    data: Expr,
    k: Any = 1,
    axis: int = -1,
    ret_type: str = "both",
    is_ascend: bool = False,
    dtype: str = "int32",
) -> Any: ...
