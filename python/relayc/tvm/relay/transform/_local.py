"""Passes that only fill in what nodes carry: types of single expressions, spans."""

from __future__ import annotations

from typing import Any

from ...ir.base import SourceName, Span
from ..dataflow_pattern.graph import ExprGraph
from ..expr import Constant, GlobalVar, Var, with_fields
from ._rewrites import rewrite

__all__ = ["annotate_spans", "capture_post_dfs_index", "infer_type_local"]


def infer_type_local(expr: Any) -> Any:
    """The type of `expr`, whose parts have types already; it is left in `checked_type`."""
    from ...ir.module import IRModule
    from ..expr import Call, Tuple, TupleGetItem
    from ..function import Function
    from .transform import InferType

    if expr._checked_type_ is not None:
        return expr._checked_type_
    stand_ins = {}

    def stand_in(part: Any) -> Any:
        if part._checked_type_ is None or isinstance(part, (Constant, Function)):
            return part
        return stand_ins.setdefault(id(part), Var("x", part._checked_type_))

    if isinstance(expr, Call):
        local = Call(expr.op, [stand_in(arg) for arg in expr.args], expr.attrs, expr.type_args)
    elif isinstance(expr, Tuple):
        local = Tuple([stand_in(field) for field in expr.fields])
    elif isinstance(expr, TupleGetItem):
        local = TupleGetItem(stand_in(expr.tuple_value), expr.index)
    else:
        local = expr
    from ..analysis import free_vars

    module = InferType()(IRModule.from_expr(Function(free_vars(local), local)))
    expr._checked_type_ = module["main"].body.checked_type
    return expr._checked_type_


def annotate_spans(mod: Any, ctx: Any) -> Any:
    """The module of its own printed text, so that each node has its place in it."""
    from ..parser import parse
    from .transform import InferType

    parsed = InferType()(parse(mod.astext(), "GeneratedSource"))
    parsed.attrs = mod.attrs
    return parsed


def capture_post_dfs_index(func: Any, mod: Any, ctx: Any) -> Any:
    """Lines are the numbers of nodes in post order, columns those of their dominators, or -1.

    Operators and constructors stay as they are.
    Rule of TVM: `src/relay/transforms/capture_postdfsindex_in_spans.cc`.
    """
    from ...ir import Op
    from ...ir.adt import Constructor

    graph = ExprGraph(func)
    source = SourceName("index")

    def visit(pre: Any, post: Any) -> Any:
        if isinstance(post, (Op, Constructor)):
            return post
        node = graph.node(pre)
        # The graph finds a node's dominator on the first question about it.
        graph.dominates(func, pre)
        column = node.dominator.index if node.dominator is not None else -1
        span = Span(source, node.index, node.index, column, column)
        if isinstance(post, GlobalVar):
            # A module knows its functions by the very variables.
            post.span = span
            return post
        return with_fields(post, span=span)

    return rewrite(func, visit)
