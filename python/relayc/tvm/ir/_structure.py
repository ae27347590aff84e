"""Structural equality and hashes (TVM `src/node/structural_equal.cc`, `structural_hash.cc`). Nothing recurses.

Two nodes are equal if they are of one class and their compared fields are equal. A *graph node* can be equal
to one other node only, so sharing counts. Variables are graph nodes: they are equal where they are defined
together, in the same place of both programs, or if they are the same.
"""

from __future__ import annotations

import hashlib
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

import numpy as np

from ..relay.expr import Call, Tuple as RelayTuple
from ..runtime.container import ADT, Array, Map, ShapeTuple
from ..runtime.ndarray import NDArray
from ..runtime.object import Object
from ..runtime.object_path import ObjectPath
from ..tir.expr import FloatImm, IntImm
from .attrs import Attrs, DictAttrs
from .base import EnvFunc
from .module import IRModule
from .op import Op
from .tensor_type import TensorType

#: Classes of values without variables, of which each is equal to itself.
_CLOSED = frozenset({type(None), str, int, float, bool, Op, EnvFunc, IntImm, FloatImm, NDArray})
#: Numbers this close are equal.
_TOLERANCE = 1e-9


def _compared(node: Any) -> Tuple[str, ...]:
    """The names of the fields that decide whether a node is equal to another of its class."""
    # The type arguments of operators are what inference found.
    return _OF_OPERATOR if type(node) is Call and type(node.op) is Op else type(node)._compared


_OF_OPERATOR = ("op", "args", "attrs")
#: Classes whose parts are elements, and how to get them.
_SEQUENCES: Dict[type, Callable[[Any], Sequence[Any]]] = {
    Array: lambda node: node,
    ShapeTuple: lambda node: node._dims,
    ADT: lambda node: (node.tag, *node._items),
}


def _is_graph(node: Any) -> bool:
    cls = type(node)
    # The empty tuple is a constant.
    return (cls._graph or cls._free_var) and not (cls is RelayTuple and not node.fields)


class _Task:
    """Two nodes to compare, and how they were reached."""

    __slots__ = ("lhs", "rhs", "map_free", "parent", "step", "close")

    def __init__(self, lhs: Any, rhs: Any, map_free: bool, parent: Optional["_Task"], step: Any) -> None:
        self.lhs = lhs
        self.rhs = rhs
        self.map_free = map_free
        self.parent = parent
        self.step = step
        #: Set once the parts are on the stack: the nodes are equal when it comes up again.
        self.close = False


def mismatch(lhs: Any, rhs: Any, map_free_vars: bool) -> Optional[Tuple[ObjectPath, ObjectPath]]:
    """The paths to the first parts that differ, or None if the nodes are equal."""
    return _Equality().run(lhs, rhs, map_free_vars)


class _Equality:
    """The nodes that are equal so far."""

    def __init__(self) -> None:
        self.to_rhs: Dict[int, Any] = {}
        self.to_lhs: Dict[int, Any] = {}
        self.stack: List[_Task] = []

    def run(self, lhs: Any, rhs: Any, map_free: bool) -> Optional[Tuple[ObjectPath, ObjectPath]]:
        stack = self.stack
        stack.append(_Task(lhs, rhs, map_free, None, None))
        while stack:
            task = stack[-1]
            if task.close:
                stack.pop()
                self.to_rhs[id(task.lhs)] = task.rhs
                self.to_lhs[id(task.rhs)] = task.lhs
            elif not self._expand(task):
                return _path(task, "lhs"), _path(task, "rhs")
        return None

    def _expand(self, task: _Task) -> bool:
        """Whether the two may be equal; what is left to compare goes onto the stack."""
        a, b, stack = task.lhs, task.rhs, self.stack
        known = self.to_rhs.get(id(a))
        if known is not None or id(b) in self.to_lhs:
            stack.pop()
            return known is b
        if type(a) is not type(b):
            stack.pop()
            return _values_equal(a, b)
        leaf = _leaf_equal(a, b)
        if leaf is not None:
            stack.pop()
            return leaf
        cls = type(a)
        if cls._free_var and a is not b and not task.map_free:
            return False
        if _is_graph(a):
            task.close = True
        else:
            stack.pop()
        if cls is IRModule:
            return self._modules(task)
        if isinstance(a, Attrs):
            return a.type_key == b.type_key and self._mappings(task, a._values, b._values)
        if cls is Map:
            return self._mappings(task, a._items, b._items)
        if cls in _SEQUENCES:
            return self._elements(task, _SEQUENCES[cls](a), _SEQUENCES[cls](b))
        for name in reversed(_compared(a)):
            x, y = getattr(a, name), getattr(b, name)
            if x is not y or type(x) not in _CLOSED:
                stack.append(_Task(x, y, task.map_free or name in cls._defines, task, name))
        return True

    def _elements(self, task: _Task, a: Sequence[Any], b: Sequence[Any]) -> bool:
        if len(a) != len(b):
            return False
        for i in range(len(a) - 1, -1, -1):
            x, y = a[i], b[i]
            if x is not y or type(x) not in _CLOSED:
                self.stack.append(_Task(x, y, task.map_free, task, i))
        return True

    def _mappings(self, task: _Task, a: Dict[Any, Any], b: Dict[Any, Any]) -> bool:
        if len(a) != len(b):
            return False
        for key, value in reversed(list(a.items())):
            # A node is a key only where it is known which one it is in the other program.
            other = key if isinstance(key, (str, int)) else self.to_rhs.get(id(key), key)
            if other not in b:
                return False
            self.stack.append(_Task(value, b[other], task.map_free, task, key))
        return True

    def _modules(self, task: _Task) -> bool:
        a, b = task.lhs, task.rhs
        names, types = a._global_vars, a._type_vars
        if names.keys() != b._global_vars.keys() or types.keys() != b._type_vars.keys():
            return False
        todo = [_Task(a.attrs, b.attrs, task.map_free, task, "attrs")]
        # Names are defined together, so that they are equal in all functions.
        todo += [_Task(names[name], b._global_vars[name], True, task, name) for name in names]
        todo += [_Task(types[name], b._type_vars[name], True, task, name) for name in types]
        # Data types before functions, whose constructors mention the variables of types.
        for name, var in types.items():
            todo.append(_Task(a._types[var], b._types[b._type_vars[name]], task.map_free, task, name))
        for name, var in names.items():
            todo.append(_Task(a._functions[var], b._functions[b._global_vars[name]], task.map_free, task, name))
        self.stack += reversed(todo)
        return True


def _values_equal(a: Any, b: Any) -> bool:
    """Whether values of two classes are equal: numbers and strings may be of several."""
    if isinstance(a, str) or isinstance(b, str):
        return isinstance(a, str) and isinstance(b, str) and str(a) == str(b)
    numbers = (int, float)
    return isinstance(a, numbers) and isinstance(b, numbers) and _numbers_equal(a, b)


def _numbers_equal(a: Any, b: Any) -> bool:
    return a == b or (isinstance(a, float) or isinstance(b, float)) and abs(a - b) < _TOLERANCE


def _leaf_equal(a: Any, b: Any) -> Optional[bool]:
    """Whether two values of one class without parts are equal; None if they have parts."""
    cls = type(a)
    if cls is IntImm:
        return a.value == b.value and a.dtype == b.dtype
    if cls is TensorType:
        return a._sizes_equal(b)
    if cls is NDArray:
        return a is b or _tensors_equal(a, b)
    if cls is Op or cls is EnvFunc:
        return a is b
    if cls is FloatImm:
        return a.dtype == b.dtype and _numbers_equal(a.value, b.value)
    if isinstance(a, (str, int, float)):
        return _values_equal(a, b)
    if a is None:
        return True
    if not isinstance(a, Object):
        return bool(a == b)
    if not cls._fields and cls not in _SEQUENCES and not isinstance(a, (Attrs, Map)):
        return bool(a == b)
    return None


def _tensors_equal(a: NDArray, b: NDArray) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    # Bytes, so that a NaN is equal to itself and the zeros differ.
    if a._array.nbytes < 1024:
        return a._array.tobytes() == b._array.tobytes()
    return np.array_equal(a._array.reshape(-1).view(np.uint8), b._array.reshape(-1).view(np.uint8))


def _path(task: _Task, side: str) -> ObjectPath:
    steps: List[_Task] = []
    at: Optional[_Task] = task
    while at is not None and at.parent is not None:
        steps.append(at)
        at = at.parent
    path = ObjectPath.root()
    for step in reversed(steps):
        container = getattr(step.parent, side)
        if type(container) in _SEQUENCES:
            path = path.array_index(step.step)
        elif isinstance(container, (Map, DictAttrs)):
            path = path.map_value(step.step)
        else:
            path = path.attr(str(step.step))
    return path


def structural_hash(root: Any, map_free_vars: bool) -> int:
    """The hash of a node, 64 bits with a sign."""
    return _Hash().run(root, map_free_vars)


class _Hash:
    """The hashes of the nodes so far. Python's hash of a tuple of integers is the same in every process."""

    def __init__(self) -> None:
        self.memo: Dict[int, int] = {}
        self.graph_nodes = 0
        self.free_vars = 0
        self.results: List[int] = []

    def run(self, root: Any, map_free: bool) -> int:
        stack: List[Any] = [(root, map_free)]
        results, memo = self.results, self.memo
        while stack:
            node, state = stack.pop()
            if type(state) is bool:
                self._enter(node, state, stack)
                continue
            start, base = state
            value = hash((base, *results[start:]))
            del results[start:]
            if _is_graph(node):
                value = hash((value, self.graph_nodes))
                self.graph_nodes += 1
                memo[id(node)] = value
            results.append(value)
        return results[0]

    def _enter(self, node: Any, map_free: bool, stack: List[Any]) -> None:
        known = self.memo.get(id(node))
        leaf = known if known is not None else _leaf_hash(node)
        if leaf is not None:
            self.results.append(leaf)
            return
        cls = type(node)
        base = _text_hash(node.type_key if isinstance(node, Attrs) else cls._type_key)
        if cls._free_var:
            base = hash((base, self._free_var(node, map_free)))
        stack.append((node, (len(self.results), base)))
        stack += reversed([(value, defines or map_free) for value, defines in self._hashed(node)])

    def _free_var(self, node: Any, map_free: bool) -> int:
        if not map_free:
            return id(node)
        self.free_vars += 1
        return self.free_vars

    def _hashed(self, node: Any) -> Iterator[Tuple[Any, bool]]:
        """The values that make a node's hash, and whether each defines variables."""
        if type(node) is IRModule:
            both: Any = (node._type_vars, node._types), (node._global_vars, node._functions)
            for names, _ in both:
                yield len(names), False
                yield from ((names[name], True) for name in sorted(names))
            for names, table in both:
                for name in sorted(names):
                    yield name, False
                    yield table[names[name]], False
            yield node.attrs, False
        elif type(node) in _SEQUENCES:
            yield from ((element, False) for element in _SEQUENCES[type(node)](node))
        elif isinstance(node, (Map, Attrs)):
            items = node._items if isinstance(node, Map) else node._values
            yield len(items), False
            if all(isinstance(key, str) for key in items):
                pairs = sorted(items.items())
            else:
                # Only keys that are known from elsewhere, as they have no order of their own.
                known = [(self.memo[id(key)], value) for key, value in items.items() if id(key) in self.memo]
                pairs = sorted(known, key=lambda pair: pair[0])
            for key, value in pairs:
                yield key, False
                yield value, False
        else:
            defines = type(node)._defines
            for name in _compared(node):
                yield getattr(node, name), name in defines


def _text_hash(text: str) -> int:
    value = _TEXTS.get(text)
    if value is None:
        value = _bytes_hash(text.encode())
        if len(_TEXTS) < 10_000:
            _TEXTS[str(text)] = value
    return value


_TEXTS: Dict[str, int] = {}


def _bytes_hash(data: Any) -> int:
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little", signed=True)


def _leaf_hash(value: Any) -> Optional[int]:
    """The hash of a value without parts; None if it has parts."""
    cls = type(value)
    if cls is IntImm or cls is FloatImm:
        return hash((_text_hash(value.dtype), hash(value.value)))
    if isinstance(value, str):
        return _text_hash(value)
    if isinstance(value, (int, float)):
        return hash(value)
    if value is None:
        return 0
    if cls is NDArray:
        head = (_text_hash(value.dtype), *value.shape)
        return hash((*head, _bytes_hash(np.ascontiguousarray(value._array).reshape(-1).view(np.uint8))))
    if cls is Op or cls is EnvFunc:
        return _text_hash(value.name)
    if not isinstance(value, Object):
        return hash(value)
    if not cls._fields and cls not in _SEQUENCES and not isinstance(value, (Attrs, Map)):
        return hash(value)
    return None
