"""The categories of operators that `ToMixedPrecision` knows; rules of its own are
registered with `relay.op.register_mixed_precision_conversion`."""

from __future__ import annotations

__all__ = ["MIXED_PRECISION_ALWAYS", "MIXED_PRECISION_FOLLOW", "MIXED_PRECISION_NEVER"]

#: Always computed in the narrow type: it saves much time and memory.
MIXED_PRECISION_ALWAYS = 0
#: Computed in the narrow type if all operands have it.
MIXED_PRECISION_FOLLOW = 1
#: Never computed in the narrow type: results would be wrong.
MIXED_PRECISION_NEVER = 2
