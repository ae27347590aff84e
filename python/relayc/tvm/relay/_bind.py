"""Replacing variables in expressions and types (TVM `src/relay/ir/expr_functor.cc`, `Bind`)."""

from __future__ import annotations

from typing import Any, Mapping, Tuple

from ..error import TVMError
from ..ir._rewrite import rewrite
from ..ir.type import Type
from .adt import PatternVar
from .expr import Let
from .function import Function


def bind(expr: Any, binds: Mapping[Any, Any]) -> Any:
    """The expression with variables replaced; see `relay.bind`. Raises TVMError if a replaced one is defined within."""
    binds = dict(binds)
    if isinstance(expr, Type) or not isinstance(expr, Function):
        return _replaced(expr, binds)
    from .analysis import free_vars

    body = _replaced(expr.body, binds)
    params = [param for param in expr.params if param not in binds]
    if body is expr.body and len(params) == len(expr.params):
        return expr
    bound = Function(params, body, expr.ret_type, expr.type_params, expr.attrs, expr.span)
    before = set(free_vars(expr))
    params += [var for var in free_vars(bound) if var not in before]
    result = Function(params, body, expr.ret_type, expr.type_params, expr.attrs, expr.span)
    result.virtual_device_ = expr.virtual_device_
    return result


def _replaced(expr: Any, binds: Mapping[Any, Any]) -> Any:
    def check(node: Any) -> None:
        defined: Tuple[Any, ...] = node.params if isinstance(node, Function) else ()
        if isinstance(node, (Let, PatternVar)):
            defined = (node.var,)
        for var in defined:
            if var in binds:
                raise TVMError(f"Cannot bind `{var.name_hint}`, which is defined within the expression")

    return rewrite(expr, lambda node: binds.get(node) if node._kind in _VARIABLES else None, check)


_VARIABLES = frozenset({"Var", "TypeVar", "IncompleteType", "tir.Var", "tir.SizeVar"})
