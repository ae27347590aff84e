"""Algebraic data types: their constructors and their definition."""

from __future__ import annotations

from typing import Any, Iterable

from .._ffi.registry import register_object
from ..runtime.container import Array
from ..runtime.object import INT, NODE, STR
from .expr import RelayExpr
from .type import GlobalTypeVar, Type, TypeVar


@register_object("relay.Constructor")
class Constructor(RelayExpr):
    """A constructor of an algebraic data type, which makes a value of it from values of `inputs`."""

    _kind = "Constructor"
    _fields = {
        "name_hint": STR,
        "inputs": NODE,
        "belong_to": NODE,
        "tag": INT,
        "span": NODE,
        "_checked_type_": NODE,
    }
    _compared = ("name_hint", "inputs")

    def __init__(self, name_hint: str, inputs: Iterable[Type], belong_to: GlobalTypeVar) -> None:
        self.name_hint = name_hint
        self.inputs = Array(inputs)
        self.belong_to = belong_to
        #: The number of the constructor among all of a module, set when a module takes the type.
        self.tag = -1

    def __call__(self, *args: Any) -> Any:
        """A call of the constructor."""
        from ..relay.expr import Call

        return Call(self, args)

    def __repr__(self) -> str:
        return self.name_hint


@register_object("relay.TypeData")
class TypeData(Type):
    """The definition of an algebraic data type: its name, type variables and constructors."""

    _kind = "TypeData"
    _fields = {"header": NODE, "type_vars": NODE, "constructors": NODE, "span": NODE}
    _compared = ("header", "type_vars", "constructors")
    _defines = ("header", "type_vars")

    def __init__(
        self, header: GlobalTypeVar, type_vars: Iterable[TypeVar], constructors: Iterable[Constructor]
    ) -> None:
        self.header = header
        self.type_vars = Array(type_vars)
        self.constructors = Array(constructors)
