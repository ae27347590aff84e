"""The bases of expressions, global variables, ranges."""

from __future__ import annotations

from numbers import Number
from typing import Any, Optional

from .._ffi.registry import register_object
from ..runtime.object import NODE, STR
from ..runtime.script_printer import Scriptable
from .base import Node, Span
from .type import Type


class BaseExpr(Node):
    """The base of all expressions."""

    span: Optional[Span] = None


class PrimExpr(BaseExpr):
    """The base of scalar expressions: those of dimensions."""

    dtype: str


class RelayExpr(BaseExpr):
    """The base of Relay's expressions."""

    #: The fields that all of them have, last in TVM's order.
    _expr_fields = {"virtual_device_": NODE, "span": NODE, "_checked_type_": NODE}

    _checked_type: Optional[Type] = None
    virtual_device_: Any = None

    @property
    def checked_type(self) -> Type:
        """The type that inference found. Raises ValueError before inference."""
        if self._checked_type is None:
            raise ValueError("The type checker has not populated the checked_type for this node")
        return self._checked_type

    @property
    def _checked_type_(self) -> Optional[Type]:
        return self._checked_type

    @_checked_type_.setter
    def _checked_type_(self, ty: Optional[Type]) -> None:
        self._checked_type = ty


@register_object("GlobalVar")
class GlobalVar(RelayExpr):
    """The name of a function of a module. Two of one name are different variables."""

    _kind = "GlobalVar"
    _fields = {"name_hint": STR, **RelayExpr._expr_fields}
    _compared = ("name_hint",)
    _free_var = True

    def __init__(self, name_hint: str, type_annot: Optional[Type] = None) -> None:
        self.name_hint = name_hint
        if type_annot is not None:
            self._checked_type = type_annot

    def __call__(self, *args: Any) -> Any:
        """A call of the function."""
        if all(isinstance(x, RelayExpr) for x in args):
            from ..relay.expr import Call

            return Call(self, args)
        arg_types = [type(x) for x in args]
        if all(isinstance(x, (Number, PrimExpr)) for x in args):
            raise NotImplementedError("relayc has no TIR: call a global function with Relay expressions")
        raise RuntimeError(f"Do not know how to handle GlobalVar.__call__ for types {arg_types}")

    def astext(self, show_meta_data: bool = True, annotate: Any = None) -> str:
        """The text of the variable."""
        from ..relay.base import astext

        return astext(self, show_meta_data, annotate)

    def __repr__(self) -> str:
        return f"@{self.name_hint}"


@register_object("Range")
class Range(Node, Scriptable):
    """The integers from `min` on, `extent` many."""

    _fields = {"min": NODE, "extent": NODE, "span": NODE}
    _compared = ("min", "extent")
    span: Optional[Span] = None

    def __init__(self, begin: Any, end: Any = None, span: Optional[Span] = None) -> None:
        from ..runtime.object_generic import convert

        self.min = convert(0 if end is None else begin)
        self.extent = convert(begin) if end is None else convert(end) - self.min
        self.span = span

    @staticmethod
    def from_min_extent(min_value: Any, extent: Any, span: Optional[Span] = None) -> "Range":
        """The range that begins at `min_value` and has `extent` integers."""
        from ..runtime.object_generic import convert

        result = Range(extent, span=span)
        result.min = convert(min_value)
        return result

    def __eq__(self, other: Any) -> bool:
        from .base import structural_equal

        return structural_equal(self, other)

    def __ne__(self, other: Any) -> bool:
        return not self == other

    __hash__ = object.__hash__
