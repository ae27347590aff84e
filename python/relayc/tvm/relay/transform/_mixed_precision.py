"""`ToMixedPrecision`: the categories of operators that a program registered in Python."""

from __future__ import annotations

from typing import Any, Dict, List

from ...ir import Op
from ..analysis._walk import post_order

__all__ = ["listed"]

_NAMES = ("always", "follow", "never")


def listed(mod: Any, dtype: str) -> Dict[str, List[str]]:
    """The operators of a module with a rule of `register_mixed_precision_conversion`, by category.

    The rule is asked about the first call of its operator.
    """
    found: Dict[str, List[str]] = {}
    seen = set()
    for func in mod.functions.values():
        for node in post_order(func):
            if node._kind != "Call" or not isinstance(node.op, Op) or node.op.name in seen:
                continue
            seen.add(node.op.name)
            rule = node.op.get_attr("FTVMMixedPrecisionConversionType")
            if rule is not None:
                category = int(rule(node, dtype)[0])
                found.setdefault(_NAMES[category], []).append(node.op.name)
    return found
