"""Functions on scalar expressions, with constants folded."""

from __future__ import annotations

import builtins
from typing import Any as _Any
from typing import Optional

import numpy as np

from ..ir.base import Span
from ..runtime.object_generic import const
from . import expr as _expr
from .arith import as_prim_expr, binary


def add(lhs: _Any, rhs: _Any, span: Optional[Span] = None) -> _Any:
    """`lhs + rhs`."""
    return binary(_expr.Add, lhs, rhs, span)


def subtract(lhs: _Any, rhs: _Any, span: Optional[Span] = None) -> _Any:
    """`lhs - rhs`."""
    return binary(_expr.Sub, lhs, rhs, span)


def multiply(lhs: _Any, rhs: _Any, span: Optional[Span] = None) -> _Any:
    """`lhs * rhs`."""
    return binary(_expr.Mul, lhs, rhs, span)


def div(a: _Any, b: _Any, span: Optional[Span] = None) -> _Any:
    """`a / b` as in C: integers are rounded towards zero."""
    return binary(_expr.Div, a, b, span)


truncdiv = div


def truncmod(a: _Any, b: _Any, span: Optional[Span] = None) -> _Any:
    """What `truncdiv` leaves."""
    return binary(_expr.Mod, a, b, span)


def floordiv(a: _Any, b: _Any, span: Optional[Span] = None) -> _Any:
    """`a / b` rounded down."""
    return binary(_expr.FloorDiv, a, b, span)


def floormod(a: _Any, b: _Any, span: Optional[Span] = None) -> _Any:
    """What `floordiv` leaves."""
    return binary(_expr.FloorMod, a, b, span)


indexdiv = floordiv
indexmod = floormod


def ceildiv(lhs: _Any, rhs: _Any, span: Optional[Span] = None) -> _Any:
    """`lhs / rhs` rounded up."""
    return floordiv(as_prim_expr(lhs) + (as_prim_expr(rhs) - 1), rhs, span)


def min(a: _Any, b: _Any, span: Optional[Span] = None) -> _Any:
    """The lesser."""
    return binary(_expr.Min, a, b, span)


def max(a: _Any, b: _Any, span: Optional[Span] = None) -> _Any:
    """The greater."""
    return binary(_expr.Max, a, b, span)


def abs(x: _Any, span: Optional[Span] = None) -> _Any:
    """The absolute value."""
    x = as_prim_expr(x)
    if isinstance(x, (_expr.IntImm, _expr.FloatImm)):
        return const(builtins.abs(x.value), x.dtype, span)
    return max(x, -x, span)


def all(*args: _Any, span: Optional[Span] = None) -> _Any:
    """Whether all hold."""
    return _combined(_expr.And, args, span)


def any(*args: _Any, span: Optional[Span] = None) -> _Any:
    """Whether one holds."""
    return _combined(_expr.Or, args, span)


def _combined(cls: type, args: _Any, span: Optional[Span]) -> _Any:
    if not args:
        raise ValueError("Any must take at least 1 argument")
    result = as_prim_expr(args[0])
    for arg in args[1:]:
        result = binary(cls, result, arg, span)
    return result


def min_value(dtype: str, span: Optional[Span] = None) -> _Any:
    """The least value of a data type."""
    return _limit(dtype, "min", span)


def max_value(dtype: str, span: Optional[Span] = None) -> _Any:
    """The greatest value of a data type."""
    return _limit(dtype, "max", span)


def _limit(dtype: str, which: str, span: Optional[Span]) -> _Any:
    info = np.finfo(dtype) if "float" in dtype else np.iinfo(dtype)
    return const(getattr(info, which).item() if "float" in dtype else int(getattr(info, which)), dtype, span)
