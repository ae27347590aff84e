"""cuDNN, which is never there: relayc compiles for CPUs."""

from __future__ import annotations

from .._refused import module_getattr

__all__ = ["exists"]


def exists() -> bool:
    """False."""
    return False


__getattr__ = module_getattr(__name__)
