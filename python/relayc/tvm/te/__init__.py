"""The variables and constants that Relay programs take from `te`. Everything else of it is refused."""

from __future__ import annotations

from typing import Optional

from .._refused import module_getattr
from ..ir.base import Span
from ..runtime.object_generic import const
from ..tir.expr import SizeVar, Var
from ..tir.op import (
    abs,
    add,
    all,
    any,
    div,
    floordiv,
    floormod,
    indexdiv,
    indexmod,
    max,
    max_value,
    min,
    min_value,
    multiply,
    subtract,
    truncdiv,
    truncmod,
)


def var(name: str = "tindex", dtype: str = "int32", span: Optional[Span] = None) -> Var:
    """A new variable."""
    return Var(name, dtype, span)


def size_var(name: str = "size", dtype: str = "int32", span: Optional[Span] = None) -> SizeVar:
    """A new variable that is not negative."""
    return SizeVar(name, dtype, span)


__getattr__ = module_getattr(__name__)
