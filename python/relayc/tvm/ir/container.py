"""`Array` and `Map`, at the path that TVM has for them."""

from __future__ import annotations

from ..runtime.container import Array, Map

__all__ = ["Array", "Map"]
