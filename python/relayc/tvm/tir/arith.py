"""The operations on two scalars, with constants folded (TVM `src/tir/op/op.cc`, `src/arith/const_fold.h`)."""

from __future__ import annotations

import math
from numbers import Number
from typing import Any as _Any
from typing import Dict, Optional, Tuple

from .._ffi.registry import register_object
from ..ir.base import Span
from ..ir.expr import PrimExpr
from ..runtime._dtype import dtype_name
from ..runtime.object import DTYPE, NODE
from ..runtime.object_generic import ObjectGeneric, const, scalar_dtype
from . import expr as _expr


def _is(value: _Any, number: int) -> bool:
    return isinstance(value, (_expr.IntImm, _expr.FloatImm)) and value.value == number


def _is_float(dtype: str) -> bool:
    return "float" in dtype


@register_object("tir.Add")
class Add(_expr.BinaryOpExpr):
    """`a + b`."""

    _kind = "tir.Add"

    @staticmethod
    def _fold(a: _Any, b: _Any) -> _Any:
        return a + b

    @classmethod
    def _simplify(cls, a: _Any, b: _Any) -> _Any:
        return b if _is(a, 0) else a if _is(b, 0) else None


@register_object("tir.Sub")
class Sub(_expr.BinaryOpExpr):
    """`a - b`."""

    _kind = "tir.Sub"

    @staticmethod
    def _fold(a: _Any, b: _Any) -> _Any:
        return a - b

    @classmethod
    def _simplify(cls, a: _Any, b: _Any) -> _Any:
        return a if _is(b, 0) else None


@register_object("tir.Mul")
class Mul(_expr.BinaryOpExpr):
    """`a * b`."""

    _kind = "tir.Mul"

    @staticmethod
    def _fold(a: _Any, b: _Any) -> _Any:
        return a * b

    @classmethod
    def _simplify(cls, a: _Any, b: _Any) -> _Any:
        if _is(a, 1) or _is(b, 0) and not _is_float(b.dtype):
            return b
        if _is(b, 1) or _is(a, 0) and not _is_float(a.dtype):
            return a
        return None


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


class _Division(_expr.BinaryOpExpr):
    @classmethod
    def _simplify(cls, a: _Any, b: _Any) -> _Any:
        if _is(b, 0):
            raise ZeroDivisionError("Divide by zero")
        return a if _is(a, 0) or _is(b, 1) else None


class _Remainder(_expr.BinaryOpExpr):
    @classmethod
    def _simplify(cls, a: _Any, b: _Any) -> _Any:
        if _is(b, 0):
            raise ZeroDivisionError("Divide by zero")
        return a if _is(a, 0) else const(0, a.dtype) if _is(b, 1) else None


@register_object("tir.Div")
class Div(_Division):
    """`a / b`, of integers rounded towards zero."""

    _kind = "tir.Div"

    @staticmethod
    def _fold(a: _Any, b: _Any) -> _Any:
        return _truncated(a, b) if isinstance(a, int) else a / b


@register_object("tir.Mod")
class Mod(_Remainder):
    """What `Div` leaves: its sign is that of `a`."""

    _kind = "tir.Mod"

    @staticmethod
    def _fold(a: _Any, b: _Any) -> _Any:
        return a - _truncated(a, b) * b if isinstance(a, int) else math.fmod(a, b)


@register_object("tir.FloorDiv")
class FloorDiv(_Division):
    """`a / b` rounded down."""

    _kind = "tir.FloorDiv"

    @staticmethod
    def _fold(a: _Any, b: _Any) -> _Any:
        return a // b


@register_object("tir.FloorMod")
class FloorMod(_Remainder):
    """What `FloorDiv` leaves: its sign is that of `b`."""

    _kind = "tir.FloorMod"

    @staticmethod
    def _fold(a: _Any, b: _Any) -> _Any:
        return a % b


@register_object("tir.Min")
class Min(_expr.BinaryOpExpr):
    """The lesser."""

    _kind = "tir.Min"

    @staticmethod
    def _fold(a: _Any, b: _Any) -> _Any:
        return min(a, b)

    @classmethod
    def _simplify(cls, a: _Any, b: _Any) -> _Any:
        return a if a is b else None


@register_object("tir.Max")
class Max(_expr.BinaryOpExpr):
    """The greater."""

    _kind = "tir.Max"

    @staticmethod
    def _fold(a: _Any, b: _Any) -> _Any:
        return max(a, b)

    @classmethod
    def _simplify(cls, a: _Any, b: _Any) -> _Any:
        return a if a is b else None


@register_object("tir.EQ")
class EQ(_expr.CmpExpr):
    """`a == b`."""

    _kind = "tir.EQ"

    @staticmethod
    def _fold(a: _Any, b: _Any) -> bool:
        return a == b


@register_object("tir.NE")
class NE(_expr.CmpExpr):
    """`a != b`."""

    _kind = "tir.NE"

    @staticmethod
    def _fold(a: _Any, b: _Any) -> bool:
        return a != b


@register_object("tir.LT")
class LT(_expr.CmpExpr):
    """`a < b`."""

    _kind = "tir.LT"

    @staticmethod
    def _fold(a: _Any, b: _Any) -> bool:
        return a < b


@register_object("tir.LE")
class LE(_expr.CmpExpr):
    """`a <= b`."""

    _kind = "tir.LE"

    @staticmethod
    def _fold(a: _Any, b: _Any) -> bool:
        return a <= b


@register_object("tir.GT")
class GT(_expr.CmpExpr):
    """`a > b`."""

    _kind = "tir.GT"

    @staticmethod
    def _fold(a: _Any, b: _Any) -> bool:
        return a > b


@register_object("tir.GE")
class GE(_expr.CmpExpr):
    """`a >= b`."""

    _kind = "tir.GE"

    @staticmethod
    def _fold(a: _Any, b: _Any) -> bool:
        return a >= b


@register_object("tir.And")
class And(_expr.LogicalExpr):
    """Whether both hold."""

    _kind = "tir.And"

    @staticmethod
    def _fold(a: _Any, b: _Any) -> bool:
        return bool(a and b)


@register_object("tir.Or")
class Or(_expr.LogicalExpr):
    """Whether one holds."""

    _kind = "tir.Or"

    @staticmethod
    def _fold(a: _Any, b: _Any) -> bool:
        return bool(a or b)


@register_object("tir.Not")
class Not(_expr.PrimExprWithOp):
    """Whether `a` does not hold."""

    _kind = "tir.Not"
    _fields = {"dtype": DTYPE, "a": NODE, "span": NODE}
    _compared = ("dtype", "a")

    def __init__(self, a: _Any, span: Optional[Span] = None) -> None:
        super().__init__("bool", span)
        self.a = as_prim_expr(a)


def as_prim_expr(value: _Any) -> _Any:
    """A scalar expression from one, a number, or a comparison. Raises TypeError for others."""
    if isinstance(value, PrimExpr):
        return value
    if isinstance(value, Number):
        return const(value)
    if isinstance(value, ObjectGeneric):
        return value.asobject()
    if hasattr(value, "__index__"):  # zero-dimensional arrays of integers
        return const(value.__index__())
    if isinstance(value, str):
        return _expr.StringImm(value)
    raise TypeError(f"expected a scalar expression, found {type(value).__name__}: {value!r}")


#: Dimensions that were mentioned, up to a size: one node for each.
_DIMENSIONS: Dict[int, _expr.IntImm] = {}
_SMALL = 4096


def as_dimension(value: _Any) -> _Any:
    """A dimension as a node: integers become `IntImm`, of 32 bits where they fit."""
    if type(value) is int:
        known = _DIMENSIONS.get(value)
        if known is None:
            known = const(value)
            if 0 <= value < _SMALL:
                _DIMENSIONS[value] = known
        return known
    if isinstance(value, PrimExpr):
        return value
    if isinstance(value, float):
        raise TypeError(f"expected a dimension, found {value!r}: dimensions are integers")
    if hasattr(value, "__index__"):
        return as_dimension(int(value.__index__()))
    return as_prim_expr(value)


def match_types(a: _Any, b: _Any) -> Tuple[_Any, _Any]:
    """Both as expressions of one type: a Python number takes the other's, integers the wider, else floats win."""
    if isinstance(a, PrimExpr) and isinstance(b, Number):
        b = _same_type(b, a.dtype)
    elif isinstance(b, PrimExpr) and isinstance(a, Number):
        a = _same_type(a, b.dtype)
    a, b = as_prim_expr(a), as_prim_expr(b)
    if a.dtype == b.dtype:
        return a, b
    if _is_float(a.dtype) != _is_float(b.dtype):
        wanted = a.dtype if _is_float(a.dtype) else b.dtype
    else:
        wanted = max(a.dtype, b.dtype, key=_bits)
    return cast(wanted, a), cast(wanted, b)


def _same_type(value: _Any, dtype: str) -> _Any:
    if _is_float(scalar_dtype(value)) and not _is_float(dtype):
        return const(value)
    return const(value, dtype)


def _bits(dtype: str) -> int:
    digits = "".join(c for c in dtype if c.isdigit())
    return int(digits) if digits else 1


def binary(cls: _Any, a: _Any, b: _Any, span: Optional[Span] = None) -> _Any:
    """`cls(a, b)`, or the constant or operand that it is equal to."""
    a, b = match_types(a, b)
    simple = cls._simplify(a, b)
    if simple is not None:
        return simple
    if isinstance(a, (_expr.IntImm, _expr.FloatImm)) and isinstance(b, (_expr.IntImm, _expr.FloatImm)):
        return const(cls._fold(a.value, b.value), cls._result_dtype(a), span)
    return cls(a, b, span)


def _true_divide(a: _Any, b: _Any) -> _Any:
    a, b = match_types(a, b)
    if not _is_float(a.dtype):
        raise RuntimeError(
            "TVM supports multiple types of integer divisions, please call div, indexdiv/indexmod, "
            "floordiv/floormod  or truncdiv/truncmod directly to avoid ambiguity in the code."
        )
    return binary(Div, a, b)


def cast(dtype: _Any, value: _Any, span: Optional[Span] = None) -> _Any:
    """`value` converted to a data type; constants at once."""
    dtype, value = dtype_name(dtype), as_prim_expr(value)
    if value.dtype == dtype:
        return value
    if isinstance(value, (_expr.IntImm, _expr.FloatImm)):
        return const(value.value, dtype, span)
    return _expr.Cast(dtype, value, span)
