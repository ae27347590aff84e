"""Values of programs that are no arrays: those of data types, and references."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Adt:
    """A value of a data type: what a constructor made of its fields."""

    constructor: str
    fields: tuple[Any, ...] = ()
    type: str = ""

    def __repr__(self) -> str:
        # A list of a million cells is a value as well.
        return f"Adt({self.constructor!r}, {len(self.fields)} fields)"


@dataclass
class Ref:
    """A reference, with the value that it holds."""

    value: Any


class Codec:
    """What an object is, and objects of results (`python/src/values.rs`)."""

    def take(self, value: Any) -> tuple[Any, ...]:
        """The kind of an object with its parts."""
        if isinstance(value, Adt):
            return "adt", value.constructor, value.fields
        if isinstance(value, Ref):
            return "ref", value.value
        if isinstance(value, tuple):
            return "tuple", value
        return "tensor", value

    def tensor(self, array: Any, dtype: str) -> Any:
        """The object of a tensor."""
        return array

    def tuple(self, fields: list[Any]) -> Any:
        """The object of a tuple."""
        return tuple(fields)

    def adt(self, type: str, constructor: str, index: int, fields: list[Any]) -> Any:
        """The object of a value that a constructor made."""
        return Adt(constructor, tuple(fields), type)

    def ref(self, value: Any) -> Any:
        """The object of a reference."""
        return Ref(value)


CODEC = Codec()
