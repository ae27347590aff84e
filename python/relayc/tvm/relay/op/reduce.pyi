"""Made by `python/tools/stubs.py`: edit the table of signatures, or the module."""

from relayc.tvm.relay.expr import Call, Expr, TupleWrapper
from relayc.tvm.relay.op._types import IntOrInts
from typing import Any, Optional

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "logsumexp",
    "max",
    "mean",
    "mean_std",
    "mean_variance",
    "min",
    "prod",
    "std",
    "sum",
    "variance",
]

def all(data: Expr, axis: Optional[IntOrInts] = None, keepdims: bool = False, exclude: bool = False) -> Call: ...
def any(data: Expr, axis: Optional[IntOrInts] = None, keepdims: bool = False, exclude: bool = False) -> Call: ...
def argmax(
    data: Expr,
    axis: Optional[IntOrInts] = None,
    keepdims: bool = False,
    exclude: bool = False,
    select_last_index: bool = False,
) -> Call: ...
def argmin(
    data: Expr,
    axis: Optional[IntOrInts] = None,
    keepdims: bool = False,
    exclude: bool = False,
    select_last_index: bool = False,
) -> Call: ...
def logsumexp(data: Expr, axis: Any = None, keepdims: bool = False) -> Call: ...
def max(data: Expr, axis: Optional[IntOrInts] = None, keepdims: bool = False, exclude: bool = False) -> Call: ...
def mean(data: Expr, axis: Optional[IntOrInts] = None, keepdims: bool = False, exclude: bool = False) -> Call: ...
def mean_std(data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False) -> TupleWrapper: ...
def mean_variance(
    data: Expr,
    axis: Any = None,
    keepdims: bool = False,
    exclude: bool = False,
    unbiased: bool = False,
) -> TupleWrapper: ...
def min(data: Expr, axis: Optional[IntOrInts] = None, keepdims: bool = False, exclude: bool = False) -> Call: ...
def prod(data: Expr, axis: Optional[IntOrInts] = None, keepdims: bool = False, exclude: bool = False) -> Call: ...
def std(
    data: Expr,
    axis: Any = None,
    keepdims: bool = False,
    exclude: bool = False,
    unbiased: bool = False,
) -> Call: ...
def sum(data: Expr, axis: Optional[IntOrInts] = None, keepdims: bool = False, exclude: bool = False) -> Call: ...
def variance(
    data: Expr,
    axis: Any = None,
    keepdims: bool = False,
    exclude: bool = False,
    unbiased: bool = False,
    with_mean: Optional[Expr] = None,
) -> Call: ...
