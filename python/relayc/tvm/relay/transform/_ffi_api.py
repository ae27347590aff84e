"""TVM's functions behind its passes, by the names that TVM's Python calls: the passes."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from . import transform

    if name in transform.__all__:
        return getattr(transform, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
