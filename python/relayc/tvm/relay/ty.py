"""The types of Relay, at the path that programs take them from."""

from __future__ import annotations

from ..ir.tensor_type import TensorType
from ..ir.type import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RelayRefType,
    TupleType,
    Type,
    TypeConstraint,
    TypeKind,
    TypeVar,
)
from ..ir.type_relation import TypeCall, TypeRelation
from ..tir.expr import Any, IntImm
from .base import RelayNode

RefType = RelayRefType

__all__ = [
    "Any",
    "FuncType",
    "GlobalTypeVar",
    "IncompleteType",
    "RefType",
    "RelayNode",
    "ShapeVar",
    "TensorType",
    "TupleType",
    "Type",
    "TypeCall",
    "TypeConstraint",
    "TypeKind",
    "TypeRelation",
    "TypeVar",
    "is_dynamic",
    "scalar_type",
]


def is_dynamic(tensor_type: Type) -> bool:
    """Whether a type has a dimension that is not a number, in a tensor anywhere within it."""
    from .analysis._walk import type_parts

    tensors = (part for part in type_parts(tensor_type) if isinstance(part, TensorType))
    return any(not isinstance(dim, IntImm) for part in tensors for dim in part.shape)


def ShapeVar(name: str) -> TypeVar:
    """A type variable that stands for a dimension."""
    return TypeVar(name, kind=TypeKind.ShapeVar)


def scalar_type(dtype: str) -> TensorType:
    """The type of a tensor without dimensions."""
    return TensorType((), dtype)
