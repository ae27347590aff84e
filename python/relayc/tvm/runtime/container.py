"""The containers of nodes: `Array`, `Map`, `String`, `ShapeTuple`, `ADT`. None of them changes once made.

`Array` is a tuple, `Map` a mapping and `String` a string of Python, so all that Python does with
these works; indices and slices of an `Array` are TVM's (a slice is a list).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Dict, Iterable, Iterator, List, Tuple

from .object import Object


def getitem_helper(obj: Any, elem_getter: Any, length: int, idx: Any) -> Any:
    """`obj[idx]` by way of `elem_getter(obj, i)`: an element, or a list for a slice."""
    if isinstance(idx, slice):
        return [elem_getter(obj, i) for i in range(*idx.indices(length))]
    if idx < -length or idx >= length:
        raise IndexError(f"Index out of range. size: {length}, got index {idx}")
    return elem_getter(obj, idx + length if idx < 0 else idx)


class Array(tuple, Object):
    """A list of nodes."""

    __slots__ = ()
    _type_key = "Array"

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return list(tuple.__getitem__(self, idx))
        return tuple.__getitem__(self, idx)

    def __repr__(self) -> str:
        return f"[{', '.join(map(repr, self))}]"

    def __reduce__(self) -> Any:
        return Array, (list(self),)

    def same_as(self, other: Any) -> bool:
        """Whether `other` is this very array."""
        return self is other


class Map(Object, Mapping):
    """A mapping; strings and numbers are found by value, nodes by identity."""

    _type_key = "Map"

    def __init__(self, items: Any = ()) -> None:
        self._items: Dict[Any, Any] = dict(items)

    def __getitem__(self, k: Any) -> Any:
        return self._items[k]

    def __contains__(self, k: Any) -> bool:
        return k in self._items

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def items(self) -> List[Tuple[Any, Any]]:  # type: ignore[override]
        """The pairs, as a list."""
        return list(self._items.items())

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of `key`, or `default`."""
        return self._items.get(key, default)

    def __eq__(self, other: Any) -> bool:
        return self is other or (isinstance(other, Mapping) and dict(self) == dict(other))

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{k!r}: {v!r}' for k, v in self._items.items())}}}"


class String(str, Object):
    """A string among nodes."""

    __slots__ = ()
    _type_key = "runtime.String"

    def __repr__(self) -> str:
        return str.__repr__(self)

    def __reduce__(self) -> Any:
        return String, (str(self),)


class ShapeTuple(Object):
    """The shape of a tensor, of Python integers."""

    _type_key = "runtime.ShapeTuple"

    def __init__(self, shape: Iterable[int]) -> None:
        assert isinstance(shape, (list, tuple)), f"Expect list of tuple, but received : {type(shape)}"
        for dim in shape:
            assert isinstance(dim, int), f"Expect int type, but received : {type(dim)}"
        self._dims = tuple(shape)

    def __len__(self) -> int:
        return len(self._dims)

    def __getitem__(self, idx: Any) -> Any:
        return getitem_helper(self._dims, tuple.__getitem__, len(self._dims), idx)

    def __eq__(self, other: Any) -> bool:
        return self is other or self._dims == tuple(other)

    def __hash__(self) -> int:
        return hash(self._dims)

    def __repr__(self) -> str:
        return repr(self._dims)


class ADT(Object):
    """A value of an algebraic data type, or a tuple (tag 0): a tag and fields, which are nodes, tensors or closures."""

    _type_key = "runtime.ADT"

    def __init__(self, tag: int, fields: Iterable[Any]) -> None:
        from .object_generic import ObjectTypes

        for field in fields:
            assert isinstance(field, ObjectTypes) or callable(
                field
            ), f"Expect object or tvm NDArray type, but received : {type(field)}"
        self.tag = int(tag)
        self._items = tuple(fields)

    def __getitem__(self, idx: Any) -> Any:
        return getitem_helper(self._items, tuple.__getitem__, len(self._items), idx)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"ADT(tag={self.tag}, fields={list(self._items)!r})"


def tuple_object(fields: Any = None) -> ADT:
    """A tuple of run-time values."""
    return ADT(0, fields or [])
