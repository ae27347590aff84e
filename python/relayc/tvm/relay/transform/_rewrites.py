"""Passes over the nodes of one function: legalization, common subexpressions, batches.

All rewrite from the leaves up without recursion; what they leave stays the same node.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional

from ...error import InternalError
from ...ir import Op, structural_equal
from ...runtime import convert
from ..dataflow_pattern.graph import mutate
from ..expr import Call, Constant, Tuple, TupleGetItem, Var
from ..function import Function
from ..ty import TensorType

__all__ = ["canonicalize_ops", "change_batch", "eliminate_common_subexpr", "fast_math", "legalize", "rewrite"]


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


def eliminate_common_subexpr(func: Any, fskip: Optional[Callable[[Any], bool]] = None) -> Any:
    """`func` with equal calls of operators, and equal elements of tuples, made one.

    Rule of TVM: `src/relay/transforms/eliminate_common_subexpr.cc`. Operands are equal
    if they are the same node, or equal scalar constants, also inside of tuples.
    """
    known: Dict[int, List[Any]] = {}

    def visit(pre: Any, post: Any) -> Any:
        if isinstance(post, Call):
            if not post.args or not isinstance(post.op, Op) or post.op.get_attr("TOpIsStateful"):
                return post
            key, same = post.op, _same_call
        elif isinstance(post, TupleGetItem):
            key, same = post.tuple_value, _same_element
        else:
            return post
        if fskip is not None and fskip(post):
            return post
        # The operand nearest to the call tells most of the candidates apart.
        at = id(key) if key is not getattr(post, "op", None) else hash((id(key), _mark(post)))
        candidates = known.setdefault(at, [])
        for candidate in candidates:
            if same(post, candidate):
                return candidate
        candidates.append(post)
        return post

    return rewrite(func, visit)


def _mark(call: Any) -> Any:
    """Equal for equal calls: what their operands are, scalars and tuples left out."""
    return tuple(0 if isinstance(arg, (Constant, Tuple)) else id(arg) for arg in call.args)


def _same_call(a: Any, b: Any) -> bool:
    return (
        isinstance(b, Call)
        and a.op is b.op
        and len(a.args) == len(b.args)
        and all(_same_operand(x, y) for x, y in zip(a.args, b.args))
        and structural_equal(a.attrs, b.attrs)
    )


def _same_element(a: Any, b: Any) -> bool:
    return isinstance(b, TupleGetItem) and a.index == b.index


def _same_operand(a: Any, b: Any) -> bool:
    if isinstance(a, Tuple) and isinstance(b, Tuple):
        return len(a.fields) == len(b.fields) and all(
            _same_scalar(x, y) for x, y in zip(a.fields, b.fields)
        )
    return _same_scalar(a, b)


def _same_scalar(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if not (isinstance(a, Constant) and isinstance(b, Constant)):
        return False
    return not a.data.shape and not b.data.shape and structural_equal(a, b)


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


def canonicalize_ops(func: Any) -> Any:
    """`func` with biases as additions of an expanded vector."""
    bias_add = Op.get("nn.bias_add")

    def visit(pre: Any, post: Any) -> Any:
        if not isinstance(pre, Call) or pre.op is not bias_add:
            return post
        from ..op import add, expand_dims

        data, bias = post.args
        rank = len(pre.args[0].checked_type.shape)
        behind = rank - 1 - int(pre.attrs.axis) % rank
        return add(data, expand_dims(bias, 1, behind) if behind else bias)

    return rewrite(func, visit)


#: Operators and the faster ones that compute nearly the same.
_FAST = {
    "erf": "fast_erf",
    "exp": "fast_exp",
    "nn.softmax": "nn.fast_softmax",
    "tanh": "fast_tanh",
}


def fast_math(func: Any) -> Any:
    """`func` with approximations of functions that are slow to compute."""

    def visit(pre: Any, post: Any) -> Any:
        if not isinstance(post, Call) or not isinstance(post.op, Op) or post.op.name not in _FAST:
            return post
        return Call(Op.get(_FAST[post.op.name]), post.args, post.attrs, None, post.span)

    return rewrite(func, visit)
