"""TVM's cache of lowered functions. There is none here: programs are compiled as a whole."""

from __future__ import annotations

from ..._refused import module_getattr

__all__ = ["TECompiler", "get"]


class TECompiler:
    """The cache, always empty."""

    def clear(self) -> None:
        """Does nothing."""


def get() -> TECompiler:
    """The cache of this process."""
    return TECompiler()


__getattr__ = module_getattr(__name__)
