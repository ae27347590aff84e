"""The variables and constants that Relay programs take from `te`. Everything else of it is refused."""

from __future__ import annotations

import contextlib
from typing import Any, Optional

from .._refused import module_getattr
from ..ir.base import Span as Span
from ..runtime.object_generic import const as const
from ..tir.expr import SizeVar as SizeVar, Var as Var
from ..tir.op import (
    abs as abs,
    add as add,
    all as all,
    any as any,
    div as div,
    floordiv as floordiv,
    floormod as floormod,
    indexdiv as indexdiv,
    indexmod as indexmod,
    max as max,
    max_value as max_value,
    min as min,
    min_value as min_value,
    multiply as multiply,
    subtract as subtract,
    truncdiv as truncdiv,
    truncmod as truncmod,
)


def var(name: str = "tindex", dtype: str = "int32", span: Optional[Span] = None) -> Var:
    """A new variable."""
    return Var(name, dtype, span)


def size_var(name: str = "size", dtype: str = "int32", span: Optional[Span] = None) -> SizeVar:
    """A new variable that is not negative."""
    return SizeVar(name, dtype, span)


class tag_scope(contextlib.ContextDecorator):
    """A scope, or a decorator of a function, that names the computations in it. It changes nothing here."""

    def __init__(self, tag: str) -> None:
        self.tag = tag

    def __enter__(self) -> "tag_scope":
        return self

    def __exit__(self, *error: Any) -> None:
        pass


__getattr__ = module_getattr(__name__)
