"""`FakeQuantizationToInteger` under the module's name of TVM."""

from __future__ import annotations

from .transform import FakeQuantizationToInteger

__all__ = ["FakeQuantizationToInteger"]
