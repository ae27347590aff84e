"""`tvm.target.codegen`: relayc writes machine code itself, so there is no LLVM to ask."""

from __future__ import annotations

from typing import Optional

from .._refused import module_getattr

__all__ = ["llvm_version_major"]


def llvm_version_major(allow_none: bool = False) -> Optional[int]:
    """The version of LLVM: 0, or `None` if that is allowed, as there is none."""
    return None if allow_none else 0


__getattr__ = module_getattr(__name__)
