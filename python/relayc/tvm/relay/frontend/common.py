"""What programs that make Relay ask about it: types, shapes and values of expressions, and places in models."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np

from ... import error
from ...ir import GlobalVar, IRModule, Op
from ...ir.base import SourceName, Span
from ...ir.transform import PassContext
from ...runtime import ndarray as nd
from .. import expr as _expr
from .. import op as _op
from .. import ty as _ty
from ..analysis import free_vars
from ..dataflow_pattern.graph import mutate
from ..function import Function
from ..transform import FoldConstantExpr, InferType


def get_name(node: Any) -> str:
    """The name of a variable; an empty string for other expressions."""
    return getattr(node, "name_hint", "")


def infer_type(node: Any, mod: Optional[IRModule] = None) -> Any:
    """The expression with types; functions of `mod` are in scope."""
    if isinstance(mod, IRModule):
        mod["main"] = Function(free_vars(node), node)
        return InferType()(mod)["main"].body
    main = InferType()(IRModule.from_expr(node))["main"]
    return main if isinstance(node, Function) else main.body


def fold_constant(node: Any, mod: Optional[IRModule] = None) -> Any:
    """The expression with all parts computed that depend on no variable."""
    return FoldConstantExpr(node, IRModule() if mod is None else mod)


def _plain_shape(ty: Any) -> Tuple[Any, ...]:
    """The dimensions, numbers as integers."""
    return tuple(int(dim) if hasattr(dim, "value") else dim for dim in ty.shape)


def infer_channels(inputs: Any, transpose: bool = False) -> Any:
    """The output channels of a weight: its first axis, or the second of a transposed one."""
    return _plain_shape(infer_type(inputs).checked_type)[1 if transpose else 0]


def infer_shape(inputs: Any, mod: Optional[IRModule] = None) -> Any:
    """The shape of a tensor as a tuple; the type of what is no tensor."""
    ty = infer_type(inputs, mod=mod).checked_type
    return _plain_shape(ty) if hasattr(ty, "shape") else ty


def infer_value(input_val: Any, params: Dict[str, Any], mod: Optional[IRModule] = None) -> Any:
    """The value of an expression, whose variables all have values in `params`."""
    from ..build_module import create_executor

    variables = free_vars(input_val)
    assert all(var.name_hint in params for var in variables), "All inputs to infer must be available in params."
    function = Function(variables, input_val)
    if isinstance(mod, IRModule):
        mod["main"] = function
    else:
        mod = IRModule.from_expr(function)
    return create_executor("debug", mod=mod).evaluate()(*(params[var.name_hint] for var in variables))


def infer_value_simulated(input_val: Any, params: Dict[str, Any]) -> Any:
    """As `infer_value`, with random values for the variables that have none."""
    known = dict(params)
    for var in free_vars(input_val):
        if var.name_hint not in known:
            ty = var.type_annotation
            known[var.name_hint] = nd.array(np.random.rand(*_plain_shape(ty)).astype(ty.dtype))
    return infer_value(input_val, known)


def try_infer_value(
    val: Any,
    on_success: Optional[Callable[[np.ndarray], Any]] = None,
    on_failure: Optional[Callable[[], Any]] = None,
    parameters: Optional[Dict[str, Any]] = None,
) -> Tuple[Any, bool]:
    """The value of an expression and whether it has one; else the expression or what `on_failure` returns."""
    try:
        value = infer_value(val, parameters or {}).numpy()
    except Exception:  # whatever fails, there is no value
        return (on_failure() if on_failure else val), False
    return (on_success(value) if on_success else value), True


def shape_of(x: Any, dtype: str = "int64", start: Optional[int] = None, end: Optional[int] = None) -> Any:
    """The shape of a tensor as an expression: a constant if it is known."""
    ty = infer_type(x).checked_type
    if _ty.is_dynamic(ty):
        return _op.shape_of(x, dtype)
    dims = list(_plain_shape(ty))
    return _expr.const(dims[start or 0 : end or len(dims)], dtype)


def new_var(name_hint: str, type_annotation: Any = None, shape: Any = None, dtype: str = "float32") -> _expr.Var:
    """A new variable."""
    return _expr.var(name_hint, type_annotation, shape, dtype)


def get_relay_op(op_name: str) -> Callable[..., Any]:
    """The operator's function of this name, such as `nn.relu` or `relu`. Raises OpNotImplemented if there is none."""
    *path, name = op_name.split(".")
    places = [_op] if path else [_op, _op.nn, _op.image, _op.vision, _op.contrib]
    for part in path:
        places = [vars(place)[part] for place in places if part in vars(place)]
    found = next((vars(place)[name] for place in places if name in vars(place)), None)
    if found is None:
        raise error.OpNotImplemented(f"Unable to map op_name {op_name} to relay")
    return found


def to_int_list(np_array: Any) -> List[int]:
    """The elements as Python integers."""
    return [int(x) for x in np_array]


def set_span(sym: Any, span: Any) -> Any:
    """The expression with `span` on all parts down to those that have one; a text names a node of a model.

    Changes nothing if the configuration `relay.frontend.fill_span` of the pass context is False.
    """
    if not PassContext.current().config.get("relay.frontend.fill_span", True):
        return sym
    if isinstance(span, bytes):
        span = span.decode("utf-8")
    if isinstance(span, str):
        span = Span(SourceName(span), 0, 0, 0, 0)
    if not isinstance(span, Span):
        raise TypeError(f"unsupported type {type(span)}")
    return _filled(sym, span)


def _filled(sym: Any, span: Span) -> Any:
    if isinstance(sym, _expr.TupleWrapper):
        return _expr.TupleWrapper(_filled(sym.tuple_value, span), sym.size)
    if isinstance(sym, (list, tuple)):
        return type(sym)(_filled(part, span) for part in sym)
    if not isinstance(sym, _expr.Expr):
        raise RuntimeError(f"unsupported type {type(sym)}")

    def tagged(expr: Any) -> Any:
        # Operators and global functions are shared by all calls.
        is_shared = isinstance(expr, (Op, GlobalVar))
        return expr if is_shared or getattr(expr, "span", None) is not None else None

    return mutate(sym, tagged, lambda pre, post, memo: _expr.with_fields(post, span=span))
