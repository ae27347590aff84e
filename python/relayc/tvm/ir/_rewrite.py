"""Walks over the nodes below a node, and rebuilds them where leaves are replaced. Nothing recurses."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from ..runtime.container import Array
from ..runtime.object import NODE, Object

#: Fields that are no part of the program that a node describes.
_BESIDE = frozenset({"span", "virtual_device_", "_checked_type_", "vid", "attrs", "op_type", "arguments"})


_CHILD_FIELDS: Dict[type, Tuple[str, ...]] = {}


def child_fields(cls: Any) -> Tuple[str, ...]:
    """The fields of a class of nodes that hold parts of the program, in TVM's order."""
    names = _CHILD_FIELDS.get(cls)
    if names is None:
        names = tuple(name for name, kind in cls._fields.items() if kind == NODE and name not in _BESIDE)
        _CHILD_FIELDS[cls] = names
    return names


def children(node: Object) -> Iterator[Object]:
    """The nodes that a node is made of."""
    for name in child_fields(type(node)):
        value = getattr(node, name)
        if type(value) is Array:
            yield from value
        elif value is not None:
            yield value


def rewrite(root: Any, replace: Callable[[Any], Optional[Any]], enter: Optional[Callable[[Any], Any]] = None) -> Any:
    """The program with nodes replaced; parts without such a node stay the same nodes, sharing stays.

    `replace(node)` gives what stands in its place, or None to look below it. `enter(node)` is called before
    the parts of a node are looked at.
    """
    done: Dict[int, Any] = {}
    pending: List[Tuple[Any, Optional[List[Any]]]] = [(root, None)]
    while pending:
        node, parts = pending.pop()
        if id(node) in done:
            continue
        if parts is not None:  # and they are done
            done[id(node)] = _rebuilt(node, parts, done)
            continue
        new = replace(node)
        if new is not None:
            done[id(node)] = new
            continue
        if enter is not None:
            enter(node)
        parts = list(children(node))
        pending.append((node, parts))
        pending.extend((part, None) for part in reversed(parts) if id(part) not in done)
    return done[id(root)]


def _rebuilt(node: Any, parts: List[Any], done: Dict[int, Any]) -> Any:
    if all(done[id(part)] is part for part in parts):
        return node
    changes = {}
    for name in child_fields(type(node)):
        value = getattr(node, name)
        if type(value) is Array:
            changes[name] = Array([done[id(part)] for part in value])
        elif value is not None:
            changes[name] = done[id(value)]
    result = object.__new__(type(node))
    result.__dict__.update(node.__dict__, **changes)
    return result
