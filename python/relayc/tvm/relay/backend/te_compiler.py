"""`te_compiler`: TVM's cache of lowered functions. relayc keeps none, and lowers none by itself."""

from __future__ import annotations

from typing import Any

from ..._refused import module_getattr, refuse

__all__ = ["TECompiler", "get"]


class TECompiler:
    """The cache of lowered functions, which is always empty."""

    def clear(self) -> None:
        """Empties the cache."""

    def items(self) -> list:
        """What the cache has."""
        return []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return refuse(f"relay.backend.te_compiler.TECompiler.{name}")


_CACHE = TECompiler()


def get() -> TECompiler:
    """The cache."""
    return _CACHE


__getattr__ = module_getattr(__name__)
