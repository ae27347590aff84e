"""`FakeQuantizationToInteger` under the module's name of TVM; the rules of operators are
the native pass's."""

from __future__ import annotations

from .transform import FakeQuantizationToInteger

__all__ = ["FakeQuantizationToInteger"]
