"""The rules that `Legalize` has before anybody registers one.

Rules of TVM: `python/tvm/relay/qnn/op/_qnn.py`. They are functions of Python like those that callers register in
their place.
"""

from __future__ import annotations

from typing import Any, Callable, Dict

import numpy as np

from ...ir import Op
from ..expr import Call
from ._qnn_rules import QNN_RULES

__all__ = ["LEGAL_RULES"]

_Rule = Callable[[Any, Any, Any], Any]


def _clip(attrs: Any, args: Any, types: Any) -> Any:
    """A requantized value is in the range of its type already."""
    value = args[0]
    if not isinstance(value, Call) or value.op is not Op.get("qnn.requantize"):
        return None
    limits = np.iinfo(types[0].dtype)
    whole = limits.min == attrs.a_min and limits.max == attrs.a_max
    return value if whole else None


#: The rules by attribute and operator.
LEGAL_RULES: Dict[str, Dict[str, _Rule]] = {
    "FTVMLegalize": {"clip": _clip},
    "FTVMQnnLegalize": QNN_RULES,
}
