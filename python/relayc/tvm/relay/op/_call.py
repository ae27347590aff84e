"""Calls of operators: the node that every operator function returns."""

from __future__ import annotations

import functools
from typing import Any, FrozenSet, NamedTuple, Optional, Sequence, Tuple

from ... import _operators
from ..._ffi.base import TVMError
from ...ir.op import Op
from ..expr import Call, Expr, TupleWrapper
from . import _values
from .op_attrs import make_attrs

__all__ = ["call", "results"]


class _Target(NamedTuple):
    """What a call of an operator needs."""

    op: Op
    #: The type of its attributes; `None` if it has none.
    attrs_type_key: Optional[str]
    fields: Tuple[_operators.Field, ...]
    names: FrozenSet[str]


@functools.lru_cache(maxsize=None)
def _target(name: str) -> _Target:
    declared = _operators.declaration(name)
    names = frozenset(field.name for field in declared.fields)
    return _Target(Op.get(name), declared.attrs_type_key, declared.fields, names)


def call(name: str, operands: Sequence[Any], /, **attrs: Any) -> Call:
    """A call of an operator.

    Parameters
    ----------
    name : str
        The operator, as in text.
    operands : sequence of Expr
        Its operands.
    attrs
        Attributes by name. Those left out are zero, empty or no object, not their defaults in text.

    Raises
    ------
    TVMError
        If an operand is no expression, or an attribute is of another kind than declared.
    """
    target = _target(name)
    args = [_operand(name, position, operand) for position, operand in enumerate(operands)]
    if target.attrs_type_key is None:
        return Call(target.op, args)
    unknown = attrs.keys() - target.names
    if unknown:
        raise TypeError(f"{name} has no attribute `{min(unknown)}`")
    values = {
        field.name: _values.convert(name, field, attrs[field.name]) if field.name in attrs else _values.zero(field)
        for field in target.fields
    }
    return Call(target.op, args, make_attrs(target.attrs_type_key, values))


def results(value: Call, count: int) -> TupleWrapper:
    """The call's tuple, to be taken apart: `a, b = results(call, 2)`."""
    return TupleWrapper(value, count)


def _operand(name: str, position: int, operand: Any) -> Expr:
    if isinstance(operand, Expr):
        return operand
    if isinstance(operand, TupleWrapper):
        return operand.astuple()
    found = f"operand {position} must be an expression of Relay, found {type(operand).__name__}"
    raise TVMError(f"{name}: {found}: write relay.const(…) for a number")
