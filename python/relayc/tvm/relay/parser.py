"""Relay text to nodes."""

from __future__ import annotations

from typing import Any, Dict, Optional

from .. import _native
from ..ir.module import IRModule


def parse(
    source: str,
    source_name: str = "from_string",
    init_module: Optional[IRModule] = None,
    init_meta_table: Optional[Dict[str, Any]] = None,
) -> IRModule:
    """The module that a text describes. Definitions of `init_module` are in scope and part of the result.

    Raises RelayError, a DiagnosticError, with the rendered messages if the text has errors.
    """
    parsed = IRModule._from_native(_native.parse_module(source, source_name, init_module, init_meta_table))
    if init_module is None:
        return parsed
    result = init_module._copy()
    renamed = result._names_of_this(parsed)
    known = {*result._global_vars, *result._type_vars}
    for header, data in parsed.type_definitions.items():
        if header.name_hint not in known:
            result._set_type(renamed(header), renamed(data))
    for var, func in parsed.functions.items():
        if var.name_hint not in known:
            result._set_function(renamed(var), renamed(func))
    return result


def parse_expr(source: str) -> Any:
    """The expression that a text describes."""
    return _native.parse_expr(source, "string")


def fromtext(source: str, source_name: str = "from_string") -> IRModule:
    """`parse` by its old name."""
    return parse(source, source_name)


def SpanCheck() -> Any:
    """Refuses: relayc has no such pass."""
    raise NotImplementedError("relayc keeps the places of messages itself: parse the text to see them")
