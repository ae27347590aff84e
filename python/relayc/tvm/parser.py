"""`tvm.parser`: the parser of Relay's text, where TVM had it first."""

from __future__ import annotations

from typing import Any

__all__ = ["SpanCheck", "fromtext", "parse", "parse_expr"]


def __getattr__(name: str) -> Any:
    # `import tvm` must not load Relay's operators.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .relay import parser

    return getattr(parser, name)
