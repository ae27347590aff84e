"""Functions of real numbers that quantized operators stand for (`python/tvm/relay/qnn/op/legalizations.py`).

The operators themselves are lowered by the native side.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["hardswish_func"]


def hardswish_func(x: Any) -> Any:
    """`x * min(max(x + 3, 0), 6) / 6` of each element of an array."""
    return x * np.clip(x + 3.0, 0.0, 6.0) / 6.0
