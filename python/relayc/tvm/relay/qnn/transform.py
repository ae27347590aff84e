"""Passes on quantized operators (`python/tvm/relay/qnn/transform.py`)."""

from __future__ import annotations

from typing import Any

__all__ = ["CanonicalizeOps", "Legalize"]


def CanonicalizeOps() -> Any:
    """Writes quantized operators as others, by the functions of `register_qnn_canonicalize` and the native rules."""
    from ..transform import Legalize as legalize

    return legalize("FTVMQnnCanonicalize")


def Legalize() -> Any:
    """Rewrites quantized operators, by the functions of `register_qnn_legalize`."""
    from ..transform import Legalize as legalize

    return legalize("FTVMQnnLegalize")
