"""Passes on quantized operators (`python/tvm/relay/qnn/transform.py`)."""

from __future__ import annotations

from typing import Any

__all__ = ["CanonicalizeOps", "Legalize"]


def CanonicalizeOps() -> Any:
    """Rewrites quantized operators, by the functions of `register_qnn_canonicalize`.

    Operators without one stay, unlike in TVM: relayc compiles them as they are.
    """
    from ..transform import Legalize as legalize

    return legalize("FTVMQnnCanonicalize")


def Legalize() -> Any:
    """Rewrites quantized operators, by the functions of `register_qnn_legalize`."""
    from ..transform import Legalize as legalize

    return legalize("FTVMQnnLegalize")
