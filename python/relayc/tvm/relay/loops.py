"""Loops, written as recursive functions."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from . import expr as _expr
from . import function as _function
from .scope_builder import ScopeBuilder


def while_loop(
    cond: Callable[..., Any], loop_vars: Sequence[Any], loop_bodies: Callable[..., Sequence[Any]]
) -> _expr.Let:
    """A function of the values of `loop_vars` before the loop that gives the tuple of those after it.

    `cond(*vars)` says whether to go on; `loop_bodies(*vars)` gives the values of the next round.
    """
    sb = ScopeBuilder()
    loop = _expr.Var("while_loop")
    fresh = []
    for i, loop_var in enumerate(loop_vars):
        name = loop_var.name_hint if isinstance(loop_var, _expr.Var) else f"arg{i}"
        fresh.append(_expr.var(name, type_annotation=sb.type_of(loop_var), span=loop_var.span))
    with sb.if_scope(cond(*fresh)):
        sb.ret(loop(*loop_bodies(*fresh)))
    with sb.else_scope():
        sb.ret(_expr.Tuple(fresh))
    return _expr.Let(loop, _function.Function(fresh, sb.get()), loop)
