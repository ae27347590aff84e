"""Scalar expressions, as far as dimensions of tensors and attributes of operators need them.

Arithmetic folds constants and neutral elements at once (TVM `src/tir/op/op.cc`). `a == b` is a
comparison that counts as true if both are the same node; between constants it compares values.
"""

from __future__ import annotations

from typing import Any as _Any
from typing import Optional

from .._ffi.registry import register_object
from ..ir.base import Span
from ..ir.expr import PrimExpr
from ..runtime._dtype import dtype_name
from ..runtime.container import Array
from ..runtime.object import DTYPE, FLOAT, INT, NODE, STR
from ..runtime.object_generic import ObjectGeneric, const
from ..runtime.script_printer import Scriptable


class ExprOp:
    """Python's operators on scalar expressions."""

    dtype: str

    def __add__(self, other: _Any) -> _Any:
        return binary(Add, self, other)

    def __radd__(self, other: _Any) -> _Any:
        return binary(Add, other, self)

    def __sub__(self, other: _Any) -> _Any:
        return binary(Sub, self, other)

    def __rsub__(self, other: _Any) -> _Any:
        return binary(Sub, other, self)

    def __mul__(self, other: _Any) -> _Any:
        return binary(Mul, self, other)

    def __rmul__(self, other: _Any) -> _Any:
        return binary(Mul, other, self)

    def __truediv__(self, other: _Any) -> _Any:
        return _true_divide(self, other)

    def __rtruediv__(self, other: _Any) -> _Any:
        return _true_divide(other, self)

    def __floordiv__(self, other: _Any) -> _Any:
        return binary(FloorDiv, self, other)

    def __rfloordiv__(self, other: _Any) -> _Any:
        return binary(FloorDiv, other, self)

    def __mod__(self, other: _Any) -> _Any:
        return binary(FloorMod, self, other)

    def __rmod__(self, other: _Any) -> _Any:
        return binary(FloorMod, other, self)

    def __neg__(self) -> _Any:
        return self * const(-1, self.dtype)

    def __lt__(self, other: _Any) -> _Any:
        return binary(LT, self, other)

    def __le__(self, other: _Any) -> _Any:
        return binary(LE, self, other)

    def __gt__(self, other: _Any) -> _Any:
        return binary(GT, self, other)

    def __ge__(self, other: _Any) -> _Any:
        return binary(GE, self, other)

    def __eq__(self, other: _Any) -> _Any:
        return EqualOp(self, other)

    def __ne__(self, other: _Any) -> _Any:
        return NotEqualOp(self, other)

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise ValueError(
            "Cannot use and / or / not operator to Expr, hint: use tvm.tir.all / tvm.tir.any instead"
        )

    def equal(self, other: _Any, span: Optional[Span] = None) -> _Any:
        """The comparison as an expression."""
        return binary(EQ, self, other, span)

    def astype(self, dtype: str, span: Optional[Span] = None) -> _Any:
        """The expression converted to a data type."""
        return cast(dtype, self, span)


class EqualOp(ObjectGeneric, ExprOp):
    """`a == b`, not yet an expression: true if both are the same node."""

    same_as = object.__eq__

    def __init__(self, a: _Any, b: _Any, span: Optional[Span] = None) -> None:
        self.a = a
        self.b = b
        self.span = span

    def __bool__(self) -> bool:
        return self.a is self.b

    def asobject(self) -> _Any:
        """The comparison as an expression."""
        return binary(EQ, self.a, self.b, self.span)


class NotEqualOp(EqualOp):
    """`a != b`, not yet an expression: true if they are different nodes."""

    def __bool__(self) -> bool:
        return self.a is not self.b

    def asobject(self) -> _Any:
        """The comparison as an expression."""
        return binary(NE, self.a, self.b, self.span)


class IntImmEnum(ObjectGeneric):
    """The value of an enumeration, a constant once it is needed."""

    def __init__(self, value: int, span: Optional[Span] = None) -> None:
        self.value = value
        self.span = span

    def asobject(self) -> "IntImm":
        """The constant."""
        return IntImm("int32", self.value, self.span)


class PrimExprWithOp(ExprOp, PrimExpr, Scriptable):
    """The base of scalar expressions."""

    __hash__ = PrimExpr.__hash__

    def __init__(self, dtype: _Any, span: Optional[Span] = None) -> None:
        self.dtype = dtype_name(dtype)
        if span is not None:
            self.span = span


class ConstExpr(PrimExprWithOp):
    """The base of constants."""

    value: _Any


@register_object("tir.Var")
class Var(PrimExprWithOp):
    """A variable: an integer that is not known when the program is written."""

    _kind = "tir.Var"
    _fields = {"dtype": DTYPE, "name": STR, "type_annotation": NODE, "span": NODE}
    _compared = ("dtype",)
    _free_var = True
    type_annotation = None

    def __init__(self, name: str, dtype: _Any = "int32", span: Optional[Span] = None) -> None:
        from ..ir.type import PrimType, Type

        self.name = name
        if isinstance(dtype, Type):
            self.type_annotation = dtype
            dtype = dtype.dtype if isinstance(dtype, PrimType) else "handle"
        super().__init__(dtype, span)

    def __repr__(self) -> str:
        return self.name


@register_object("tir.SizeVar")
class SizeVar(Var):
    """A variable that is not negative: the size of a dimension."""

    _kind = "tir.SizeVar"


@register_object("FloatImm")
class FloatImm(ConstExpr):
    """A constant of a float type."""

    _kind = "FloatImm"
    _fields = {"dtype": DTYPE, "value": FLOAT, "span": NODE}
    _compared = ("dtype", "value")

    def __init__(self, dtype: _Any, value: float, span: Optional[Span] = None) -> None:
        super().__init__(dtype, span)
        self.value = float(value)

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        return repr(self.value)


@register_object("IntImm")
class IntImm(ConstExpr):
    """A constant of an integer type or bool."""

    _kind = "IntImm"
    _fields = {"dtype": DTYPE, "value": INT, "span": NODE}
    _compared = ("dtype", "value")

    def __init__(self, dtype: _Any, value: int, span: Optional[Span] = None) -> None:
        super().__init__(dtype, span)
        self.value = int(value)

    def __hash__(self) -> int:
        return hash(self.value)

    def __int__(self) -> int:
        return self.value

    def __index__(self) -> int:
        return self.value

    def __bool__(self) -> bool:
        return self.value != 0

    def __eq__(self, other: _Any) -> _Any:
        return _compare(EQ, self, other)

    def __ne__(self, other: _Any) -> _Any:
        return _compare(NE, self, other)

    def __repr__(self) -> str:
        return str(bool(self.value)) if self.dtype == "bool" else str(self.value)


def _compare(cls: _Any, a: IntImm, other: _Any) -> _Any:
    """A comparison with a constant: bool if `other` is an integer, else what the expression folds to."""
    if isinstance(other, (int, IntImm)):
        return cls._fold(a.value, int(other))
    if other is None or isinstance(other, str):
        return cls is NE
    return binary(cls, a, other)


@register_object("tir.StringImm")
class StringImm(ConstExpr):
    """A constant string."""

    _kind = "StringImm"
    _fields = {"dtype": DTYPE, "value": STR, "span": NODE}
    _compared = ("value",)

    def __init__(self, value: str, span: Optional[Span] = None) -> None:
        super().__init__("handle", span)
        self.value = value

    def __eq__(self, other: _Any) -> bool:
        return self.value == (other.value if isinstance(other, ConstExpr) else other)

    def __ne__(self, other: _Any) -> bool:
        return not self == other

    __hash__ = PrimExpr.__hash__


@register_object("tir.Any")
class Any(PrimExprWithOp):
    """A dimension of any size."""

    _kind = "tir.Any"
    _fields = {"dtype": DTYPE, "span": NODE}
    _compared = ("dtype",)

    def __init__(self, span: Optional[Span] = None) -> None:
        super().__init__("int32", span)

    def __repr__(self) -> str:
        return "?"


@register_object("tir.Cast")
class Cast(PrimExprWithOp):
    """An expression converted to a data type."""

    _kind = "tir.Cast"
    _fields = {"dtype": DTYPE, "value": NODE, "span": NODE}
    _compared = ("dtype", "value")

    def __init__(self, dtype: _Any, value: _Any, span: Optional[Span] = None) -> None:
        super().__init__(dtype, span)
        self.value = as_prim_expr(value)


@register_object("tir.Call")
class Call(PrimExprWithOp):
    """A call of an intrinsic function."""

    _kind = "tir.Call"
    _fields = {"dtype": DTYPE, "op": NODE, "args": NODE, "span": NODE}
    _compared = ("op", "dtype", "args")

    def __init__(self, dtype: _Any, op: _Any, args: _Any, span: Optional[Span] = None) -> None:
        from ..ir.op import Op

        super().__init__(dtype, span)
        self.op = Op.get(op) if isinstance(op, str) else op
        self.args = Array(map(as_prim_expr, args))


class BinaryOpExpr(PrimExprWithOp):
    """The base of operations on two operands of one type."""

    _fields = {"dtype": DTYPE, "a": NODE, "b": NODE, "span": NODE}
    _compared = ("dtype", "a", "b")

    def __init__(self, a: _Any, b: _Any, span: Optional[Span] = None) -> None:
        a, b = match_types(a, b)
        super().__init__(self._result_dtype(a), span)
        self.a = a
        self.b = b

    @staticmethod
    def _result_dtype(a: _Any) -> str:
        return a.dtype

    @staticmethod
    def _fold(a: _Any, b: _Any) -> _Any:
        """The value for constants; None where it has none."""
        raise NotImplementedError

    @classmethod
    def _simplify(cls, a: _Any, b: _Any) -> _Any:
        """What the operation is for an operand that is neutral or zero, or None."""
        return None


class CmpExpr(BinaryOpExpr):
    """The base of comparisons."""

    @staticmethod
    def _result_dtype(a: _Any) -> str:
        return "bool"


class LogicalExpr(CmpExpr):
    """The base of connectives."""


from .arith import (  # noqa: E402  the operations, which the classes above combine into
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Div,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Sub,
    _true_divide,
    as_dimension,
    as_prim_expr,
    binary,
    cast,
    match_types,
)
