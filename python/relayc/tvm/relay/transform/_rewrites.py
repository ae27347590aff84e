"""Rewriting over the nodes of one function, and the passes that must: their rules are functions of Python.

`Legalize` calls what callers register. `ChangeBatch` is a pass in Python in TVM too, and is told variables.
What is rewritten is so from the leaves up without recursion; what is left stays the same node.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping

from ...error import InternalError
from ...ir import Op
from ...runtime import convert
from ..dataflow_pattern.graph import mutate
from ..expr import Call, Var
from ..function import Function
from ..ty import TensorType

__all__ = ["change_batch", "legalize", "rewrite"]


def rewrite(expr: Any, visit: Callable[[Any, Any], Any]) -> Any:
    """`expr` with each part replaced by `visit(pre, post)`, `post` having new parts already."""
    return mutate(expr, lambda _: None, lambda pre, post, _: visit(pre, post))


def legalize(func: Any, attribute: str) -> Any:
    """`func` with operators replaced by what their attribute returns.

    The attribute is a function of the call's attributes, its new arguments and the
    types of arguments and result; `None` keeps the call. Raises `InternalError` if
    it returns anything but a call.
    """
    from ._legal_rules import LEGAL_RULES

    rules = LEGAL_RULES.get(attribute, {})

    def visit(pre: Any, post: Any) -> Any:
        if not isinstance(pre, Call) or not isinstance(pre.op, Op):
            return post
        replace = pre.op.get_attr(attribute) or rules.get(pre.op.name)
        if replace is None:
            return post
        types = convert([*(arg.checked_type for arg in pre.args), pre.checked_type])
        replaced = replace(pre.attrs, post.args, types)
        if replaced is None:
            return post
        if not isinstance(replaced, Call):
            raise InternalError("Can only replace the original operator with another call node")
        return replaced

    return rewrite(func, visit)


def change_batch(func: Any, data: Mapping[Any, int], batch_size: int) -> Any:
    """`func` with another batch in the parameters of `data`; types are to be inferred anew."""
    func = Function(func.params, func.body, None, func.type_params, func.attrs)

    def visit(pre: Any, post: Any) -> Any:
        if not isinstance(pre, Var) or pre not in data:
            return post
        shape = list(pre.type_annotation.shape)
        shape[data[pre]] = batch_size
        return Var(pre.name_hint, TensorType(shape, pre.type_annotation.dtype))

    return rewrite(func, visit)
