"""Rewriting by patterns: callbacks that replace matches, and partitions of matches into functions."""

from __future__ import annotations

import warnings
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Union

from ... import ir as _ir
from ...error import TVMError
from ...ir.container import Map
from ...ir.expr import RelayExpr
from ...runtime import convert
from ..expr import Call
from .graph import ExprGraph, mutate
from .group import Group, Query
from .pattern import DFPattern, FunctionPattern

#: After so many rounds over the program, callbacks are taken to undo each other's work.
_MAX_ROUNDS = 100
#: After a pattern matches so many times as often as in the first round, its callback is taken to make what it matches.
_MAX_GROWTH = 1000


class DFPatternCallback:
    """Replaces what matches `self.pattern` by what `callback` returns; derive from it and set `pattern`.

    With `require_type`, types are inferred before the search. With `rewrite_once`, the callback takes part in
    no further round once it has changed the program.
    """

    def __init__(self, require_type: bool = False, rewrite_once: bool = False):
        self.pattern: Optional[DFPattern] = None
        self.require_type = require_type
        self.rewrite_once = rewrite_once

    def rewrite(self, expr: Any) -> Any:
        """Returns `expr` with all matches replaced."""
        return rewrite(self, expr)

    def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
        """Returns what replaces the match `pre`.

        `post` is the match with replaced inputs. `node_map` has for each pattern the list of what it matched,
        with replaced inputs.
        """
        raise NotImplementedError()


def rewrite(
    callbacks: Union[DFPatternCallback, Sequence[DFPatternCallback]], expr: Any, mod: Optional[Any] = None
) -> Any:
    """Applies the callbacks in turn to `expr` until none changes it any more.

    `mod` has the global functions and types that `expr` refers to. Raises `TVMError` if there is no end, `TypeError` if
    a callback returns no expression.
    """
    todo = [callbacks] if isinstance(callbacks, DFPatternCallback) else list(callbacks)
    for callback in todo:
        assert callback.pattern is not None, f"{type(callback).__name__} has no pattern"
    queries = [Query(callback.pattern) for callback in todo]
    done: Set[int] = set()
    #: By callback, the last expression without a match.
    idle: Dict[int, Any] = {}
    rounds = 0
    typed = graph = None
    limits: Dict[int, int] = {}
    while True:
        last = expr
        for i, callback in enumerate(todo):
            if i in done:
                continue
            before = expr
            if callback.require_type and expr is not typed:
                expr = typed = _infer(expr, mod)
            if idle.get(i) is expr:
                continue
            if graph is None or graph.root is not expr:
                graph = ExprGraph(expr)
            groups = queries[i].groups(graph)
            if len(groups) > limits.setdefault(i, _MAX_GROWTH * max(len(groups), 1)):
                name = type(callback).__name__
                raise TVMError(f"{name} makes more of what it matches in each round: give it rewrite_once=True, or a narrower pattern")
            rounds += 1
            if not groups:
                idle[i] = expr
                continue
            expr = _rewrite_matches(callback, expr, groups)
            if callback.rewrite_once and not _equal(before, expr):
                done.add(i)
        if _equal(last, expr):
            return expr
        if rounds >= _MAX_ROUNDS:
            raise TVMError(f"Observed {_MAX_ROUNDS} rewrite passes, possible conflicting passes?")


def _equal(a: Any, b: Any) -> bool:
    return a is b or _ir.structural_equal(a, b, map_free_vars=True)


def _infer(expr: Any, mod: Optional[Any]) -> Any:
    """`expr` with types, inferred beside the functions of `mod`."""
    from ..transform import InferType
    from ..transform._engine import on_expr

    return on_expr(InferType(), expr, mod)


def _rewrite_matches(callback: DFPatternCallback, expr: Any, groups: Dict[int, Group]) -> Any:
    """One round of one callback."""

    def visit(pre: Any, post: Any, memo: Dict[int, Any]) -> Any:
        group = groups.get(id(pre))
        if group is None:
            return post
        node_map = {
            pattern: convert([post if expr is pre else memo.get(id(expr), expr) for expr in found])
            for pattern, found in group.matches.items()
        }
        replaced = callback.callback(pre, post, Map(node_map))
        if not isinstance(replaced, RelayExpr):
            name = type(callback).__name__
            raise TypeError(f"{name}.callback returned {replaced!r}: return an expression, which is `post` to change nothing")
        return replaced

    return mutate(expr, lambda _: None, visit)


def partition(
    pattern: DFPattern,
    expr: Any,
    attrs: Optional[Dict[str, Any]] = None,
    check: Callable[[Any], bool] = lambda x: True,
) -> Any:
    """Replaces each match of `pattern` within `expr` by a call of a function that holds it.

    The functions get the attribute `PartitionedFromPattern` and those of `attrs`. A match whose root
    `check` refuses stays as it is.
    """
    if isinstance(pattern, FunctionPattern):
        warnings.warn(f"partitioning a function that is not called does nothing: {pattern}", stacklevel=2)
        return expr
    groups = Query(pattern).groups(ExprGraph(expr))
    if not groups:
        return expr

    def visit(pre: Any, post: Any, memo: Dict[int, Any]) -> Any:
        group = groups.get(id(pre))
        if group is None or not check(pre):
            return post
        function = group.function()
        for name, value in (attrs or {}).items():
            function = function.with_attr(name, value)
        args: List[Any] = [memo[id(arg)] for arg in group.args]
        return Call(function, args)

    return mutate(expr, lambda _: None, visit)
