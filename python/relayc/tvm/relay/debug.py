"""The function that the operator `debug` calls while a program runs: Python's debugger."""

from __future__ import annotations

from typing import Any

from .._ffi.registry import register_func


@register_func("relay.debug")
def _debug(*args: Any) -> None:
    import pdb

    pdb.set_trace()
