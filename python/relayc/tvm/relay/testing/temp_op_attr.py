"""An attribute of an operator for the time of a `with` block."""

from __future__ import annotations

from typing import Any

from ..op import get


class TempOpAttr:
    """Sets `attr_key` of the operator `op_name` in a `with` block, and the value before it afterwards."""

    def __init__(self, op_name: str, attr_key: str, attr_value: Any):
        self.op = get(op_name)
        self.attr_key = attr_key
        self.attr_value = attr_value

    def __enter__(self) -> "TempOpAttr":
        self.older_attr = self.op.get_attr(self.attr_key)
        self.op.reset_attr(self.attr_key)
        self.op.set_attr(self.attr_key, self.attr_value)
        return self

    def __exit__(self, ptype: Any, value: Any, trace: Any) -> None:
        self.op.reset_attr(self.attr_key)
        if self.older_attr is not None:
            self.op.set_attr(self.attr_key, self.older_attr)
