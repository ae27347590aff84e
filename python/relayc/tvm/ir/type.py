"""The types of Relay but for tensors. Types are equal if they have the same structure."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Iterable, Optional

from .._ffi.registry import register_object
from ..runtime._dtype import dtype_name
from ..runtime.container import Array
from ..runtime.object import DTYPE, INT, NODE, STR
from ..runtime.script_printer import Scriptable
from .base import Node, Span


class Type(Node, Scriptable):
    """The base of all types."""

    span: Optional[Span] = None

    def __eq__(self, other: Any) -> bool:
        if self is other:
            return True
        from .base import structural_equal

        return isinstance(other, Type) and structural_equal(self, other)

    def __ne__(self, other: Any) -> bool:
        return not self == other

    def __hash__(self) -> int:
        from .base import structural_hash

        return structural_hash(self)

    def __repr__(self) -> str:
        from ..relay.base import pretty_print

        return pretty_print(self)


class TypeKind(IntEnum):
    """What a type variable stands for."""

    Type = 0
    ShapeVar = 1
    BaseType = 2
    Constraint = 4
    AdtHandle = 5
    TypeData = 6


@register_object("PrimType")
class PrimType(Type):
    """The type of a scalar of the loop language."""

    _kind = "PrimType"
    _fields = {"dtype": DTYPE}
    _compared = ("dtype",)

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype_name(dtype)


@register_object("PointerType")
class PointerType(Type):
    """The type of a buffer of the loop language."""

    _kind = "PointerType"
    _fields = {"element_type": NODE, "storage_scope": STR}
    _compared = ("element_type", "storage_scope")

    def __init__(self, element_type: Type, storage_scope: str = "") -> None:
        self.element_type = element_type
        self.storage_scope = storage_scope or "global"


@register_object("TypeVar")
class TypeVar(Type):
    """A variable for types, which a function or a function type defines."""

    _kind = "TypeVar"
    _fields = {"name_hint": STR, "kind": INT, "span": NODE}
    _compared = ("kind",)
    _free_var = True
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __init__(self, name_hint: str, kind: int = TypeKind.Type) -> None:
        self.name_hint = name_hint
        self.kind = TypeKind(kind)

    def __call__(self, *args: Type) -> Any:
        from .type_relation import TypeCall

        return TypeCall(self, args)


@register_object("GlobalTypeVar")
class GlobalTypeVar(Type):
    """The name of an algebraic data type of a module."""

    _kind = "GlobalTypeVar"
    _fields = {"name_hint": STR, "kind": INT}
    _compared = ("name_hint",)
    _free_var = True
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __init__(self, name_hint: str, kind: int = TypeKind.AdtHandle) -> None:
        self.name_hint = name_hint
        self.kind = TypeKind(kind)

    def __call__(self, *args: Type) -> Any:
        from .type_relation import TypeCall

        return TypeCall(self, args)


@register_object("TupleType")
class TupleType(Type):
    """The type of a tuple."""

    _kind = "TupleType"
    _fields = {"fields": NODE, "span": NODE}
    _compared = ("fields",)

    def __init__(self, fields: Iterable[Type]) -> None:
        self.fields = Array(fields)


@register_object("TypeConstraint")
class TypeConstraint(Type):
    """The base of constraints between types."""


@register_object("FuncType")
class FuncType(Type):
    """The type of a function, perhaps of any types and under constraints."""

    _kind = "FuncType"
    _fields = {
        "arg_types": NODE,
        "ret_type": NODE,
        "type_params": NODE,
        "type_constraints": NODE,
        "span": NODE,
    }
    _compared = ("type_params", "arg_types", "ret_type", "type_constraints")
    _defines = ("type_params",)

    def __init__(
        self,
        arg_types: Iterable[Type],
        ret_type: Type,
        type_params: Optional[Iterable[TypeVar]] = None,
        type_constraints: Optional[Iterable[TypeConstraint]] = None,
    ) -> None:
        self.arg_types = Array(arg_types)
        self.ret_type = ret_type
        self.type_params = Array(type_params or ())
        self.type_constraints = Array(type_constraints or ())


@register_object("IncompleteType")
class IncompleteType(Type):
    """A type that inference is to find."""

    _kind = "IncompleteType"
    _fields = {"kind": INT, "span": NODE}
    _compared = ("kind",)
    _free_var = True
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __init__(self, kind: int = TypeKind.Type) -> None:
        self.kind = TypeKind(kind)


@register_object("relay.RefType")
class RelayRefType(Type):
    """The type of a reference to a value."""

    _kind = "RefType"
    _fields = {"value": NODE, "span": NODE}
    _compared = ("value",)

    def __init__(self, value: Type) -> None:
        self.value = value
