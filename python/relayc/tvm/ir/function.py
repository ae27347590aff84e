"""The base of functions, which have attributes."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Optional

from .attrs import DictAttrs
from .expr import RelayExpr


class CallingConv(IntEnum):
    """How a function of the loop language is called."""

    DEFAULT = 0
    C_PACKED_FUNC = 1
    DEVICE_KERNEL_LAUNCH = 2


class BaseFunc(RelayExpr):
    """The base of functions."""

    attrs: Optional[DictAttrs] = None

    def _copy(self) -> "BaseFunc":
        """A node of its own with the same fields."""
        result = object.__new__(type(self))
        result.__dict__.update(self.__dict__)
        return result

    def with_attr(self, attr_key_or_dict: Any, attr_value: Any = None) -> Any:
        """A copy with one more attribute, or those of a dictionary."""
        from ..runtime.object_generic import convert

        new = attr_key_or_dict if isinstance(attr_key_or_dict, dict) else {attr_key_or_dict: attr_value}
        result = self._copy()
        old = {} if self.attrs is None else self.attrs._values
        result.attrs = DictAttrs({**old, **{key: convert(value) for key, value in new.items()}})
        return result

    def without_attr(self, attr_key: str) -> Any:
        """A copy without an attribute."""
        result = self._copy()
        if self.attrs is not None:
            result.attrs = DictAttrs({k: v for k, v in self.attrs._values.items() if k != attr_key})
        return result
