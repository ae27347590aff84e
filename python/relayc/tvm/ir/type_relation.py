"""Applied type functions, and the relations that operators put between types."""

from __future__ import annotations

from typing import Any, Iterable

from .._ffi.registry import register_object
from ..runtime.container import Array
from ..runtime.object import INT, NODE
from .type import Type, TypeConstraint


@register_object("TypeCall")
class TypeCall(Type):
    """An algebraic data type, or a type variable, applied to types."""

    _kind = "TypeCall"
    _fields = {"func": NODE, "args": NODE, "span": NODE}
    _compared = ("func", "args")

    def __init__(self, func: Type, args: Iterable[Type]) -> None:
        self.func = func
        self.args = Array(args)


@register_object("TypeRelation")
class TypeRelation(TypeConstraint):
    """A relation between types, the first `num_inputs` of which are given and the others follow."""

    _kind = "TypeRelation"
    _fields = {"func": NODE, "args": NODE, "num_inputs": INT, "attrs": NODE, "span": NODE}
    _compared = ("func", "args", "num_inputs", "attrs")

    def __init__(self, func: Any, args: Iterable[Type], num_inputs: int, attrs: Any) -> None:
        self.func = func
        self.args = Array(args)
        self.num_inputs = num_inputs
        self.attrs = attrs

    def __repr__(self) -> str:
        return self.legacy_repr()
