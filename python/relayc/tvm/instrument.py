"""`tvm.instrument`: the pass instruments of `tvm.ir.instrument`."""

from __future__ import annotations

from .ir import instrument as _instrument
from .ir.instrument import *  # noqa: F403

__all__ = list(_instrument.__all__)
