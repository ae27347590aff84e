"""`FakeQuantizationToInteger`: the operators whose rules a program registered in Python."""

from __future__ import annotations

import warnings
from typing import Any, List

from ...ir import Op
from ..analysis._walk import post_order

__all__ = ["ruled_in_python"]

_ATTRIBUTES = ("FTVMFakeQuantizationToInteger", "FTVMOptionalFakeQuantizationToInteger")


def ruled_in_python(mod: Any) -> List[str]:
    """The operators of a module with a rule of Python, which the native pass cannot call; warns of them."""
    names: List[str] = []
    for func in mod.functions.values():
        for node in post_order(func):
            op = node.op if node._kind == "Call" else None
            if isinstance(op, Op) and op.name not in names and any(map(op.has_attr, _ATTRIBUTES)):
                names.append(op.name)
    if names:
        warnings.warn(
            f"FakeQuantizationToInteger calls no rules of Python: regions with {', '.join(names)} stay as they are",
            stacklevel=2,
        )
    return names
