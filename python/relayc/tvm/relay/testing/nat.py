"""Natural numbers in unary notation (`std/nat.rly`) from Python's integers and back."""

from __future__ import annotations

from typing import Any, Tuple

from ..backend.interpreter import ConstructorValue


def get_type(prelude: Any, name: str) -> Tuple[Any, ...]:
    """The global type variable of this name, then its constructors."""
    var = prelude.mod.get_global_type_var(name)
    return (var, *prelude.mod.type_definitions[var].constructors)


def count(prelude: Any, n: ConstructorValue) -> int:
    """The number that a value of the type `nat` stands for."""
    assert isinstance(n, ConstructorValue)
    _, zero, succ = prelude.mod.get_type("nat")
    number = 0
    while n.tag != zero.tag:
        assert n.tag == succ.tag
        number += 1
        n = n.fields[0]
    return number


def make_nat_value(prelude: Any, n: int) -> ConstructorValue:
    """The value of the type `nat` for a number from 0."""
    _, zero, succ = prelude.mod.get_type("nat")
    value = ConstructorValue(zero.tag, [], zero)
    for _ in range(n):
        value = ConstructorValue(succ.tag, [value], succ)
    return value


def make_nat_expr(prelude: Any, n: int) -> Any:
    """The expression of the type `nat` for a number from 0."""
    assert n >= 0
    _, zero, succ = prelude.mod.get_type("nat")
    expr = zero()
    for _ in range(n):
        expr = succ(expr)
    return expr
