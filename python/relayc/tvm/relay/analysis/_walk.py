"""Walks over expressions and types in TVM's order, with stacks of their own: nothing recurses."""

from __future__ import annotations

from typing import Any, Callable, Iterator, List, Tuple

from ...ir._rewrite import children as node_children
from ...ir.type import Type
from ..adt import Pattern, PatternVar
from ..expr import Var


def is_call(expr: Any, name: str) -> bool:
    """Whether an expression is a call of the operator of this name."""
    return expr._kind == "Call" and expr.op._kind == "Op" and expr.op.name == name


def operands(expr: Any) -> Tuple[Any, ...]:
    """The expressions that an expression is made of, in TVM's order (`src/relay/ir/expr_functor.cc`)."""
    kind = expr._kind
    if kind == "Call":
        return (expr.op, *expr.args)
    if kind == "Tuple":
        return expr.fields
    if kind == "TupleGetItem":
        return (expr.tuple_value,)
    if kind == "Function":
        return (*expr.params, expr.body)
    if kind == "Let":
        return (expr.value, expr.var, expr.body)
    if kind == "If":
        return (expr.cond, expr.true_branch, expr.false_branch)
    if kind == "Match":
        return (expr.data, *(clause.rhs for clause in expr.clauses))
    if kind in ("RefCreate", "RefRead", "RefWrite"):
        return tuple(node_children(expr))
    return ()


def post_order(root: Any, parts: Callable[[Any], Tuple[Any, ...]] = operands) -> Iterator[Any]:
    """Each expression once, after what it is made of."""
    seen = {id(root)}
    stack: List[Tuple[Any, Iterator[Any]]] = [(root, iter(parts(root)))]
    while stack:
        expr, rest = stack[-1]
        for part in rest:
            if id(part) not in seen:
                seen.add(id(part))
                stack.append((part, iter(parts(part))))
                break
        else:
            stack.pop()
            yield expr


def pattern_vars(pattern: Pattern) -> Iterator[Var]:
    """The variables that a pattern binds, from left to right."""
    pending = [pattern]
    while pending:
        part = pending.pop()
        if isinstance(part, PatternVar):
            yield part.var
        else:
            pending.extend(reversed(getattr(part, "patterns", ())))


def type_parts(ty: Type) -> Iterator[Any]:
    """Each type below a type and the type itself, before those below it."""
    pending: List[Any] = [ty]
    while pending:
        part = pending.pop()
        yield part
        if part._kind == "FuncType":
            below = [*part.type_params, *part.arg_types, part.ret_type, *part.type_constraints]
        elif part._kind == "TensorType":
            continue
        else:
            below = [child for child in node_children(part) if isinstance(child, Type)]
        pending.extend(reversed(below))
