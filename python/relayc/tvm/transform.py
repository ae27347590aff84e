"""`tvm.transform`: the pass infrastructure of `tvm.ir.transform`."""

from __future__ import annotations

from .ir import transform as _transform
from .ir.transform import *  # noqa: F403

__all__ = list(_transform.__all__)
