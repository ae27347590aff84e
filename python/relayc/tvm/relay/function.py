"""Relay's functions."""

from __future__ import annotations

from typing import Any, Iterable, Optional

from .._ffi.registry import register_object
from ..ir.attrs import DictAttrs
from ..ir.base import Span
from ..ir.expr import RelayExpr
from ..ir.function import BaseFunc
from ..ir.type import Type, TypeVar
from ..runtime.container import Array
from ..runtime.object import NODE
from .base import astext, pretty_print
from .expr import Call, Var, _exprs, _wrong, with_fields


@register_object("relay.Function")
class Function(BaseFunc):
    """A function: parameters, body, the type of its result or None, type parameters, attributes or None."""

    _kind = "Function"
    _fields = {
        "params": NODE,
        "body": NODE,
        "ret_type": NODE,
        "type_params": NODE,
        "attrs": NODE,
        **RelayExpr._expr_fields,
    }
    _compared = ("params", "type_params", "ret_type", "attrs", "body")
    _defines = ("params", "type_params")
    _graph = True

    def __init__(
        self,
        params: Iterable[Var],
        body: RelayExpr,
        ret_type: Optional[Type] = None,
        type_params: Optional[Iterable[TypeVar]] = None,
        attrs: Optional[DictAttrs] = None,
        span: Optional[Span] = None,
    ) -> None:
        self.params = _exprs(params)
        for param in self.params:
            if not isinstance(param, Var):
                raise _wrong("a variable", param, "parameters are what relay.var makes")
        if not isinstance(body, RelayExpr):
            raise _wrong("an expression", body, "write relay.const(…) for a number, `.astuple()` for several results")
        self.body = body
        self.ret_type = ret_type
        self.type_params = Array(type_params or ())
        self.attrs = attrs
        if span is not None:
            self.span = span

    def __call__(self, *args: RelayExpr) -> Call:
        """A call of the function."""
        return Call(self, args, None, None)

    def __repr__(self) -> str:
        return pretty_print(self)

    def astext(self, show_meta_data: bool = True, annotate: Any = None) -> str:
        """The text of the function."""
        return astext(self, show_meta_data, annotate)


def FunctionWithFields(
    function: Function,
    params: Optional[Iterable[Var]] = None,
    body: Optional[RelayExpr] = None,
    ret_type: Optional[Type] = None,
    ty_params: Optional[Iterable[TypeVar]] = None,
    attrs: Optional[DictAttrs] = None,
    virtual_device: Any = None,
    span: Optional[Span] = None,
) -> Function:
    """The function with the given fields; the same node if nothing changes."""
    return with_fields(
        function,
        params=params,
        body=body,
        ret_type=ret_type,
        type_params=ty_params,
        attrs=attrs,
        virtual_device_=virtual_device,
        span=span,
    )
