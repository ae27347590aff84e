"""`Node`, places in source text, and comparison, hashing and JSON of nodes by structure."""

from __future__ import annotations

import functools
import warnings
from typing import Any, Callable, ClassVar, Iterable, List, Optional, Tuple

from .._ffi.registry import get_global_func, register_object
from ..runtime.container import Array
from ..runtime.object import INT, NODE, STR, Object


class Node(Object):
    """The base of all nodes of programs."""


@register_object("SourceName")
class SourceName(Node):
    """The name of a source text."""

    _fields = {"name": STR}
    _compared = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


@register_object("SourceMap")
class SourceMap(Node):
    """The source texts of a module, by name."""

    _fields = {"source_map": NODE}

    def __init__(self) -> None:
        self.source_map: dict = {}

    def add(self, name: str, content: str) -> SourceName:
        """Adds a text and gives its name as a node."""
        source = SourceName(name)
        self.source_map[source] = content
        return source


@register_object("Span")
class Span(Node):
    """A place in a source text: lines and columns from 1, the end excluded."""

    _kind = "Span"
    _fields = {"source_name": NODE, "line": INT, "column": INT, "end_line": INT, "end_column": INT}
    _compared: ClassVar[Tuple[str, ...]] = ("source_name", "line", "column", "end_line", "end_column")

    def __init__(
        self, source_name: Optional[SourceName], line: int, end_line: int, column: int, end_column: int
    ) -> None:
        self.source_name = source_name
        self.line = line
        self.end_line = end_line
        self.column = column
        self.end_column = end_column

    def __repr__(self) -> str:
        name = None if self.source_name is None else self.source_name.name
        return f"Span({name}, {self.line}, {self.end_line}, {self.column}, {self.end_column})"


@register_object("SequentialSpan")
class SequentialSpan(Span):
    """The places that an expression came from, when a pass made it of several."""

    _kind = "SequentialSpan"
    _fields = {"spans": NODE, **Span._fields}
    _compared = ("spans",)

    spans: Array

    def __init__(self, spans: Iterable[Span]) -> None:
        flat: List[Span] = []
        for span in spans:
            flat.extend(span.spans if isinstance(span, SequentialSpan) else [span])
        self.spans = Array(flat)
        first = flat[0] if flat else Span(None, 0, 0, 0, 0)
        super().__init__(first.source_name, first.line, first.end_line, first.column, first.end_column)

    def __repr__(self) -> str:
        return f"SequentialSpan([{', '.join(map(repr, self.spans))}])"


@register_object("EnvFunc")
class EnvFunc(Node):
    """A global function of the registry, named in a program; there is one node for each name."""

    _fields = {"name": STR}
    _compared = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *args: Any) -> Any:
        return self.func(*args)

    @property
    def func(self) -> Callable:
        """The function. Raises ValueError if none is registered."""
        func = get_global_func(self.name)
        assert func is not None
        return func

    @staticmethod
    @functools.lru_cache(maxsize=None)
    def get(name: str) -> "EnvFunc":
        """The node of this name. Whether a function is registered shows when it is called."""
        return EnvFunc(name)


def load_json(json_str: str) -> Any:
    """The node that `save_json` wrote."""
    from ._json import load_json as load

    return load(json_str)


def save_json(node: Any) -> str:
    """A node as JSON, as TVM writes it (`src/node/serialization.cc`)."""
    from ._json import save_json as save

    return save(node)


def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> bool:
    """Whether two nodes are the same program but for the names of variables.

    Sharing counts: `%1 = f(); (%1, %1)` differs from `(f(), f())`. Free variables are equal to themselves
    only, or in order of occurrence with `map_free_vars`.
    """
    from ..runtime.object_generic import convert
    from ._structure import mismatch

    return mismatch(convert(lhs), convert(rhs), map_free_vars) is None


def get_first_structural_mismatch(lhs: Any, rhs: Any, map_free_vars: bool = False) -> Any:
    """The paths to the first nodes that differ, one in each program, or None if the programs are equal."""
    from ..runtime.object_generic import convert
    from ._structure import mismatch

    return mismatch(convert(lhs), convert(rhs), map_free_vars)


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """Raises ValueError, with the place and both programs, unless they are structurally equal."""
    from ..runtime.object_generic import convert
    from ._structure import mismatch

    lhs, rhs = convert(lhs), convert(rhs)
    paths = mismatch(lhs, rhs, map_free_vars)
    if paths is not None:
        raise ValueError(
            f"StructuralEqual check failed, caused by lhs at {paths[0]}:\n{lhs}\nand rhs at {paths[1]}:\n{rhs}"
        )


def structural_hash(node: Any, map_free_vars: bool = False) -> int:
    """A hash that is the same for structurally equal nodes, here and in other processes."""
    from ..runtime.object_generic import convert
    from ._structure import structural_hash as compute

    return compute(convert(node), map_free_vars)


def deprecated(method_name: str, new_method_name: str) -> Callable:
    """A decorator: calls warn that `new_method_name` is to be used."""

    def decorate(func: Callable) -> Callable:
        @functools.wraps(func)
        def call(*args: Any, **kwargs: Any) -> Any:
            warnings.warn(
                f"{method_name} is deprecated, use {new_method_name} instead", DeprecationWarning, stacklevel=2
            )
            return func(*args, **kwargs)

        return call

    return decorate
