"""Paths from a node to a part of it: attributes, elements of arrays, values of maps."""

from __future__ import annotations

import json
from typing import Any, ClassVar, Optional, Tuple

from .._ffi.registry import register_object
from .object import Object


@register_object("ObjectPath")
class ObjectPath(Object):
    """A path; `ObjectPath.root()` is the path to the node itself. Equal paths are equal."""

    _parent: Optional["ObjectPath"]
    _step: Any
    _length: int
    _text: ClassVar[str]

    def __init__(self) -> None:
        raise ValueError(
            "ObjectPath can't be initialized directly. "
            "Use ObjectPath.root() to create a path to the root object"
        )

    @staticmethod
    def root(root_name: Optional[str] = None) -> "ObjectPath":
        """The path without steps."""
        return RootPath._make(None, root_name or "<root>")

    @classmethod
    def _make(cls, parent: Optional["ObjectPath"], step: Any) -> "ObjectPath":
        path = object.__new__(cls)
        path._parent = parent
        path._step = step
        path._length = 1 if parent is None else len(parent) + 1
        return path

    @property
    def parent(self) -> Optional["ObjectPath"]:
        """The path without the last step."""
        return self._parent

    def __len__(self) -> int:
        return self._length

    def _steps(self) -> Tuple[Any, ...]:
        steps = []
        at: Optional[ObjectPath] = self
        while at is not None:
            steps.append((type(at), at._step))
            at = at._parent
        return tuple(reversed(steps))

    def get_prefix(self, length: int) -> "ObjectPath":
        """The path of the first steps. Raises IndexError for more steps than there are."""
        if length < 1:
            raise IndexError("Prefix length must be at least 1")
        if length > len(self):
            raise IndexError("Attempted to get a prefix longer than the path itself")
        at = self
        while len(at) > length:
            assert at._parent is not None
            at = at._parent
        return at

    def is_prefix_of(self, other: "ObjectPath") -> bool:
        """Whether `other` begins with this path."""
        return len(self) <= len(other) and self == other.get_prefix(len(self))

    def attr(self, attr_key: Optional[str]) -> "ObjectPath":
        """The path to an attribute."""
        if attr_key is None:
            return UnknownAttributeAccessPath._make(self, None)
        return AttributeAccessPath._make(self, attr_key)

    def array_index(self, index: int) -> "ObjectPath":
        """The path to an element."""
        return ArrayIndexPath._make(self, index)

    def missing_array_element(self, index: int) -> "ObjectPath":
        """The path to an element that is not there."""
        return MissingArrayElementPath._make(self, index)

    def map_value(self, key: Any) -> "ObjectPath":
        """The path to the value of a key."""
        return MapValuePath._make(self, key)

    def missing_map_entry(self) -> "ObjectPath":
        """The path to a value that is not there."""
        return MissingMapEntryPath._make(self, None)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, ObjectPath) and self._steps() == other._steps()

    def __hash__(self) -> int:
        return hash(self._steps())

    def __repr__(self) -> str:
        return "".join(
            cls._text.format(json.dumps(step) if cls is MapValuePath and isinstance(step, str) else step)
            for cls, step in self._steps()
        )


@register_object("RootPath")
class RootPath(ObjectPath):
    """The node itself."""

    _text = "{}"


@register_object("AttributeAccessPath")
class AttributeAccessPath(ObjectPath):
    """An attribute."""

    _text = ".{}"


@register_object("UnknownAttributeAccessPath")
class UnknownAttributeAccessPath(ObjectPath):
    """An attribute without a name."""

    _text = ".<unknown attribute>"


@register_object("ArrayIndexPath")
class ArrayIndexPath(ObjectPath):
    """An element."""

    _text = "[{}]"


@register_object("MissingArrayElementPath")
class MissingArrayElementPath(ObjectPath):
    """An element that is not there."""

    _text = "[<missing element #{}>]"


@register_object("MapValuePath")
class MapValuePath(ObjectPath):
    """The value of a key."""

    _text = "[{}]"


@register_object("MissingMapEntryPath")
class MissingMapEntryPath(ObjectPath):
    """A value that is not there."""

    _text = "[<missing entry>]"


class ObjectPathPair(Object):
    """Two paths, one in each of two programs."""

    def __init__(self, lhs_path: ObjectPath, rhs_path: ObjectPath) -> None:
        self.lhs_path = lhs_path
        self.rhs_path = rhs_path
