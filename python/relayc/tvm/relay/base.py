"""The base of Relay's nodes, and their text."""

from __future__ import annotations

import os
from typing import Any, Callable, Optional

from .. import _native
from .._ffi.registry import register_object
from ..ir.base import Node, SequentialSpan, SourceName, Span
from ..runtime.object import STR, Object

RelayNode = Node

__STD_PATH__ = os.path.join(os.path.dirname(os.path.realpath(__file__)), "std")


def pretty_print(obj: Object) -> str:
    """The text of a node, without the line for the version and the section for large constants."""
    return _native.astext(obj, False).partition("\n")[2].rstrip("\n")


def astext(obj: Object, show_meta_data: bool = True, annotate: Optional[Callable[[Any], str]] = None) -> str:
    """The text of a node. With `show_meta_data` large constants follow it, so that it reads back the same.

    Raises NotImplementedError for `annotate`.
    """
    return _native.astext(obj, show_meta_data, annotate)


@register_object("relay.Id")
class Id(Node):
    """The identity of a variable, which passes keep; variables that differ otherwise may share it."""

    _fields = {"name_hint": STR}
    _free_var = True

    def __init__(self, name_hint: str) -> None:
        self.name_hint = name_hint

    def __repr__(self) -> str:
        return f"Id({self.name_hint})"
