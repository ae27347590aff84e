"""Operands that may be written as numbers, and attributes that may be written as constants."""

from __future__ import annotations

from typing import Any

from ..expr import Constant, Expr, const

__all__ = ["constant", "integers", "values"]


def values(value: Any) -> Any:
    """The elements of a constant as a list, those of NumPy; any other value as it is."""
    return list(value.data.numpy()) if isinstance(value, Constant) else value


def integers(shape: Any) -> Any:
    """A shape as a list: one integer, a sequence, or a constant; any other value as it is."""
    shape = values(shape)
    if isinstance(shape, int):
        return [shape]
    return list(shape) if isinstance(shape, (list, tuple)) else shape


def constant(value: Any, dtype: Any = None) -> Expr:
    """A number as a constant; an expression as it is."""
    return value if isinstance(value, Expr) else const(value, dtype)
