"""Nodes as JSON, in TVM's layout (`src/node/serialization.cc`). Nothing recurses.

The text is a list of nodes; a field that is a node is the position of that node in the list. Shared nodes are
written once, so sharing comes back.
"""

from __future__ import annotations

import base64
import json
import struct
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

import numpy as np

from .._ffi.registry import OBJECTS
from ..error import TVMError
from ..runtime.container import Array, Map, ShapeTuple, String
from ..runtime.ndarray import NDArray
from ..runtime.params import load_tensor, save_tensor
from ..runtime.object import BOOL, DTYPE, FLOAT, INT, NDARRAY, NODE, STR, Object
from .attrs import Attrs, DictAttrs
from .base import EnvFunc, SourceName
from .module import IRModule
from .op import Op

_VERSION = "0.14.0"

#: How a field of an attribute type is written, by the kind of its values; all others are nodes.
_ATTR_KINDS = {"Int": INT, "Float": FLOAT, "Bool": BOOL, "StdStr": DTYPE, "DType": DTYPE}
#: The kinds of fields that are nodes in JSON; a string is one as well.
_NODES = (NODE, STR)


def _attr_kinds(type_key: str) -> Dict[str, str]:
    """The fields of attributes of operators and how they are written."""
    from .. import _operators

    if type_key == "attrs.TestAttrs":
        return {"axis": INT, "name": NODE, "padding": NODE, "func": NODE}
    fields = _operators.schemas().get(type_key)
    if fields is None:
        raise TVMError(f"Cannot find type {type_key}. Did you forget to register the node?")
    return {field.name: _ATTR_KINDS.get(field.type, NODE) for field in fields}


class _Entry:
    """What the JSON of a node holds, where that is more than the fields of its class."""

    __slots__ = ("head", "kinds", "values", "keys", "data")

    def __init__(self, head: Dict[str, Any]) -> None:
        self.head = head
        self.kinds: Dict[str, str] = {}
        self.values: Dict[str, Any] = {}
        self.keys: List[str] = []
        self.data: List[Any] = []

    def settle(self) -> List[Any]:
        """The nodes that this is made of; numbers and lists of Python become nodes, once."""
        self.data = [_as_node(value) for value in self.data]
        for name, value in self.values.items():
            if self.kinds[name] in _NODES:
                self.values[name] = _as_node(value)
        return [value for name, value in self.values.items() if self.kinds[name] in _NODES] + self.data


def _entry(node: Any) -> Optional[_Entry]:
    """The entry of a node; None for one that is written by the fields of its class."""
    if isinstance(node, str):
        return _Entry({"type_key": String._type_key, **_repr(str(node).encode())})
    cls = type(node)
    if cls is NDArray:
        return _Entry({"type_key": cls._type_key, "repr_str": base64.b64encode(save_tensor(node)).decode()})
    if cls in (Op, EnvFunc, SourceName):
        return _Entry({"type_key": cls._type_key, **_repr(node.name.encode())})
    if cls is ShapeTuple:
        blob = struct.pack(f"<Q{len(node)}q", len(node), *node)
        return _Entry({"type_key": cls._type_key, "repr_str": base64.b64encode(blob).decode()})
    if cls is Array or isinstance(node, Map):
        return _container_entry(node)
    if not isinstance(node, Attrs) and cls is not IRModule:
        if cls._type_key not in OBJECTS:
            raise TVMError(f"a {cls.__name__} cannot be written as JSON")
        return None
    entry = _Entry({"type_key": getattr(node, "type_key", cls._type_key)})
    if cls is DictAttrs:
        entry.kinds, entry.values = {"__dict__": NODE}, {"__dict__": Map(node._values)}
    elif cls is IRModule:
        entry.kinds, entry.values = cls._fields, {name: getattr(node, name) for name in cls._fields}
    else:
        entry.kinds, entry.values = _attr_kinds(node.type_key), dict(node._values)
    return entry


def _container_entry(node: Any) -> _Entry:
    entry = _Entry({"type_key": "Array" if type(node) is Array else "Map"})
    if type(node) is Array:
        entry.data = list(node)
    elif all(isinstance(key, str) for key in node):
        entry.keys = [str(key) for key in node]
        entry.data = list(node.values())
    else:
        entry.data = [part for pair in node.items() for part in pair]
    return entry


def _repr(text: bytes) -> Dict[str, str]:
    """Bytes as a field of a node: as they are if they can be printed."""
    if not text:
        return {}
    if all(0x20 <= byte < 0x7F for byte in text):
        return {"repr_str": text.decode()}
    return {"repr_b64": base64.b64encode(struct.pack("<Q", len(text)) + text).decode()}


def _as_node(value: Any) -> Any:
    if isinstance(value, (Object, str)) or value is None:
        return value
    from ..runtime.object_generic import convert

    return convert(value)


_Form = Tuple[Tuple[str, ...], Tuple[Tuple[str, str], ...], str]
_FORMS: Dict[type, _Form] = {}


def _form(cls: Any) -> _Form:
    """The fields of a class that are nodes, all its fields in order of their names, and its JSON with gaps."""
    if cls in _FORMS:
        return _FORMS[cls]
    fields = tuple(sorted(cls._fields.items()))
    gaps = ", ".join(f'"{name}": "{{}}"' for name, _ in fields)
    text = f'{{{{"type_key": "{cls._type_key}", "attrs": {{{{{gaps}}}}}}}}}'
    nodes = tuple(name for name, kind in cls._fields.items() if kind in _NODES)
    return _FORMS.setdefault(cls, (nodes, fields, text))


def save_json(root: Any) -> str:
    """The JSON of a node and all that it is made of."""
    return _Saver().save(_as_node(root))


class _Saver:
    """Numbers all nodes from the root on, parents first, then writes them."""

    def __init__(self) -> None:
        self.index: Dict[int, int] = {id(None): 0}
        #: The nodes by number: kept, so that no two have one address.
        self.nodes: List[Any] = [None]
        self.entries: Dict[int, _Entry] = {0: _Entry({"type_key": ""})}
        self.tensors: List[str] = []
        self.tensor_index: Dict[int, int] = {}

    def save(self, root: Any) -> str:
        pending = [root]
        while pending:
            node = pending.pop()
            if id(node) in self.index:
                continue
            number = self.index[id(node)] = len(self.nodes)
            self.nodes.append(node)
            entry = _entry(node)
            if entry is None:
                pending += [getattr(node, name, None) for name in reversed(_form(type(node))[0])]
            else:
                self.entries[number] = entry
                pending += reversed(entry.settle())
        # A node a line.
        lines = ",\n    ".join(self._line(number) for number in range(len(self.nodes)))
        graph = {
            "root": self.index[id(root)],
            "b64ndarrays": self.tensors,
            "attrs": {"tvm_version": _VERSION},
        }
        return f'{{"nodes": [\n    {lines}],\n  {json.dumps(graph)[1:]}'

    def _line(self, number: int) -> str:
        entry = self.entries.get(number)
        if entry is None:
            node = self.nodes[number]
            _, fields, text = _form(type(node))
            return text.format(*[self._text(kind, getattr(node, name, None)) for name, kind in fields])
        result = dict(entry.head)
        if entry.values:
            result["attrs"] = {
                name: self._text(entry.kinds[name], entry.values[name]) for name in sorted(entry.values)
            }
        if entry.keys:
            result["keys"] = entry.keys
        if entry.data:
            result["data"] = [self.index[id(value)] for value in entry.data]
        return json.dumps(result)

    def _text(self, kind: str, value: Any) -> Any:
        if kind in _NODES:
            return str(self.index[id(value)])
        if kind == NDARRAY:
            if id(value) not in self.tensor_index:
                self.tensor_index[id(value)] = len(self.tensors)
                self.tensors.append(base64.b64encode(save_tensor(value)).decode())
            return str(self.tensor_index[id(value)])
        if kind == FLOAT:
            return f"{float(value):.17g}"
        return str(int(value)) if kind in (INT, BOOL) else str(value)


def load_json(text: str) -> Any:
    """The node that `save_json` or TVM from 0.6 on wrote. Raises TVMError for other text."""
    # What is read may be the first thing of Relay that a process has: a pickle imports this module alone.
    from .. import relay  # noqa: F401  registers its nodes
    from ._json_old import upgrade

    try:
        graph = json.loads(text)
        nodes, root, blobs = graph["nodes"], graph["root"], graph.get("b64ndarrays", [])
    except (ValueError, KeyError, TypeError) as error:
        raise TVMError(f"the text is no JSON of nodes: {error}") from None
    try:
        nodes = upgrade(nodes, graph.get("attrs", {}))
        tensors = [load_tensor(base64.b64decode(blob)) for blob in blobs]
        return _Loader(nodes, tensors).load(int(root))
    except (IndexError, KeyError, ValueError, AttributeError, TypeError) as error:
        raise TVMError(f"the JSON is damaged: {type(error).__name__}: {error}") from None


class _Loader:
    """Makes all nodes empty first, then sets their plain fields, makes the containers, and sets the other fields."""

    def __init__(self, nodes: List[Dict[str, Any]], tensors: List[NDArray]) -> None:
        self.nodes = nodes
        self.tensors = tensors
        self.made: List[Any] = [_empty(node) for node in nodes]

    def load(self, root: int) -> Any:
        self._check_references(root)
        plain = [(node, made) for node, made in zip(self.nodes, self.made) if _has_fields(node, made)]
        for node, made in plain:
            self._set_fields(node, made, lambda kind: kind != NODE)
        for position, node in enumerate(self.nodes):
            if node["type_key"] in _CONTAINERS:
                self._container(position)
        for node, made in plain:
            self._set_fields(node, made, lambda kind: kind == NODE)
        for node, made in plain:
            if isinstance(made, IRModule):
                self._fill_module(node["attrs"], made)
        return self.made[root]

    def _check_references(self, root: int) -> None:
        """Raises if a reference leads nowhere, or back to where it comes from."""
        below = [self._references(node, made) for node, made in zip(self.nodes, self.made)]
        counts = [0] * len(below)
        for references in [*below, [root]]:
            for i in references:
                if not 0 <= i < len(below):
                    raise IndexError(f"there is no node {i}")
                counts[i] += 1
        counts[root] -= 1
        free = [i for i, count in enumerate(counts) if count == 0]
        for i in free:  # which grows
            for j in below[i]:
                counts[j] -= 1
                if counts[j] == 0:
                    free.append(j)
        if len(free) < len(below):
            raise ValueError("cyclic reference")

    def _references(self, node: Dict[str, Any], made: Any) -> List[int]:
        """The positions of the nodes that a node is made of."""
        if not _has_fields(node, made):
            return [int(i) for i in node.get("data", [])]
        attrs = node.get("attrs", {})
        if type(made) is DictAttrs:
            names: Iterable[str] = ["__dict__"]
        elif isinstance(made, Attrs):
            names = [name for name, kind in _attr_kinds(made.type_key).items() if kind in _NODES]
        else:
            names = _form(type(made))[0]
        return [int(attrs[name]) for name in names if name in attrs]

    def _fill_module(self, attrs: Dict[str, str], module: IRModule) -> None:
        for var, func in (self.made[int(attrs["functions"])] or Map()).items():
            module._set_function(var, func)
        for header, data in (self.made[int(attrs["type_definitions"])] or Map()).items():
            module._set_type(header, data)
        module.attrs = self.made[int(attrs.get("attrs", 0))]

    def _container(self, root: int) -> None:
        """Makes a container, after those in it."""
        pending = [root]
        while pending:
            position = pending[-1]
            node = self.nodes[position]
            if self.made[position] is not _UNMADE:
                pending.pop()
                continue
            data = node.get("data", [])
            missing = [i for i in data if self.made[i] is _UNMADE]
            if missing:
                pending += missing
                continue
            pending.pop()
            values = [self.made[i] for i in data]
            self.made[position] = _container_of(node, values)

    def _set_fields(self, node: Dict[str, Any], made: Any, wanted: Callable[[str], bool]) -> None:
        attrs = node.get("attrs", {})
        if isinstance(made, IRModule):
            return
        if isinstance(made, DictAttrs):
            if wanted(NODE):
                made._values = {str(key): value for key, value in self.made[int(attrs["__dict__"])].items()}
            return
        of_attrs = isinstance(made, Attrs)
        for name, kind in (_attr_kinds(made.type_key) if of_attrs else type(made)._fields).items():
            if name in attrs and wanted(kind):
                value = self._value(kind, attrs[name])
                if of_attrs:
                    made._values[name] = value
                else:
                    setattr(made, name, value)
            elif name not in attrs and not of_attrs and not hasattr(made, name):
                raise KeyError(f"a {made.type_key} without the field {name}")

    def _value(self, kind: str, text: str) -> Any:
        if kind == NODE:
            return self.made[int(text)]
        if kind == STR:
            return str(self.made[int(text)])
        if kind == NDARRAY:
            return self.tensors[int(text)]
        if kind == INT:
            return int(text)
        if kind == BOOL:
            return bool(int(text))
        return float(text) if kind == FLOAT else text


class _Unmade:
    """The place of a container that is not made yet."""


_UNMADE = _Unmade()
_CONTAINERS = ("Array", "Map")


def _empty(node: Dict[str, Any]) -> Any:
    """A node without its fields; a whole one where text says all of it."""
    key = node["type_key"]
    if not key:
        return None
    if key in _CONTAINERS:
        return _UNMADE
    if key in _FROM_TEXT:
        return _FROM_TEXT[key](_text_of(node))
    if key == IRModule._type_key:
        return IRModule()
    if key == "DictAttrs":
        return DictAttrs()
    if key.startswith(("relay.attrs.", "attrs.")):
        from ..relay.op.op_attrs import make_attrs

        return make_attrs(key, dict.fromkeys(_attr_kinds(key)))
    cls = OBJECTS.get(key)
    if cls is None:
        raise TVMError(f"Cannot find type {key}. Did you forget to register the node?")
    return object.__new__(cls)


def _text_of(node: Dict[str, Any]) -> str:
    if "repr_b64" in node:
        return base64.b64decode(node["repr_b64"])[8:].decode()
    return node.get("repr_str", "")


def _shape_of(text: str) -> ShapeTuple:
    length, *dims = np.frombuffer(base64.b64decode(text), "<i8").tolist()
    if length != len(dims):
        raise ValueError(f"a shape of {length} dimensions has {len(dims)}")
    return ShapeTuple(dims)


#: How nodes are made that text says all of.
_FROM_TEXT: Dict[str, Callable[[str], Any]] = {
    String._type_key: String,
    Op._type_key: Op.get,
    EnvFunc._type_key: EnvFunc.get,
    SourceName._type_key: SourceName,
    NDArray._type_key: lambda text: load_tensor(base64.b64decode(text)),
    ShapeTuple._type_key: _shape_of,
}


def _has_fields(node: Dict[str, Any], made: Any) -> bool:
    return made is not None and made is not _UNMADE and node["type_key"] not in _FROM_TEXT


def _container_of(node: Dict[str, Any], values: List[Any]) -> Any:
    if node["type_key"] == "Array":
        return Array(values)
    keys = node.get("keys")
    pairs: Iterable[Tuple[Any, Any]] = zip(values[::2], values[1::2]) if keys is None else zip(keys, values)
    return Map(pairs)

