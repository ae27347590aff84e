"""`check_kind`: whether a type is made of types of the right kinds."""

from __future__ import annotations

from typing import Any, Iterator, Tuple

from ...error import TVMError
from ...ir.type import TypeKind

__all__ = ["check_kind"]

_Expected = Iterator[Tuple[Any, int, str]]


def check_kind(t: Any, mod: Any = None) -> TypeKind:
    """The kind of a type. Raises `TVMError` if a part of it has a wrong kind.

    Calls of types are looked up in `mod`.
    Rule of TVM: `src/relay/analysis/kind_check.cc`.
    """
    stack = [t]
    while stack:
        ty = stack.pop()
        for part, expected, what in _parts(ty, mod):
            kind = _kind_of(part)
            if kind != expected:
                raise TVMError(
                    f"Incorrect kind for a {what}. A {type(part).__name__} inside a "
                    f"{type(ty).__name__} is of kind {kind!r} but was expected to be {expected!r}"
                )
            stack.append(part)
    return _kind_of(t)


def _kind_of(ty: Any) -> TypeKind:
    kind = type(ty).__name__
    if kind in ("IncompleteType", "TypeVar", "GlobalTypeVar"):
        return TypeKind(ty.kind)
    return {"TypeRelation": TypeKind.Constraint, "TypeData": TypeKind.TypeData}.get(
        kind, TypeKind.Type
    )


def _parts(ty: Any, mod: Any) -> _Expected:
    """The parts of a type, with the kind that each must have."""
    kind = ty._kind
    if kind == "TupleType":
        yield from ((field, TypeKind.Type, "tuple member") for field in ty.fields)
    elif kind == "FuncType":
        yield from ((arg, TypeKind.Type, "function type parameter") for arg in ty.arg_types)
        yield ty.ret_type, TypeKind.Type, "function return type"
        for constraint in ty.type_constraints:
            yield constraint, TypeKind.Constraint, "function type constraint"
    elif type(ty).__name__ == "RelayRefType":
        yield ty.value, TypeKind.Type, "ref contents"
    elif type(ty).__name__ == "TypeRelation":
        yield from ((arg, TypeKind.Type, "argument to type relation") for arg in ty.args)
    elif kind == "TypeCall":
        yield from _type_call(ty, mod)
    elif kind == "TypeData":
        yield from _type_data(ty)


def _type_call(ty: Any, mod: Any) -> _Expected:
    if type(ty.func).__name__ != "GlobalTypeVar":
        raise TVMError(f"The callee of a type call is a {type(ty.func).__name__}, not a global type var")
    yield ty.func, TypeKind.AdtHandle, "type call function"
    yield from ((arg, TypeKind.Type, "type call argument") for arg in ty.args)
    definitions = {} if mod is None else mod.type_definitions
    data = definitions.get(ty.func)
    if data is None:
        raise TVMError(f"the type variable : `{ty.func.name_hint}` is undefined")
    if len(data.type_vars) != len(ty.args):
        raise TVMError(
            f"Expected {len(data.type_vars)} arguments for {ty.func.name_hint}; got {len(ty.args)}"
        )


def _type_data(ty: Any) -> _Expected:
    yield ty.header, TypeKind.AdtHandle, "type data header"
    yield from ((var, TypeKind.Type, "ADT type var") for var in ty.type_vars)
    for constructor in ty.constructors:
        if constructor.belong_to is not ty.header:
            raise TVMError(
                f"{constructor.name_hint} has header {constructor.belong_to.name_hint} but its "
                f"data type has header {ty.header.name_hint}"
            )
        yield from ((t, TypeKind.Type, "ADT constructor input") for t in constructor.inputs)
