"""Inference for calls of operators that the program registered itself (`relay.op.op.register`).

The native side knows the operators of Relay only. While it infers a module, each call of another
operator is a call of a variable, whose function type the operator's relation gives: one of
TVM's by name, or a function of the types of arguments and the attributes (`Op.add_type_rel`).
"""

from __future__ import annotations

from typing import Any, Dict, List

from ... import _operators
from ...error import TVMError
from ...ir import FuncType, IRModule, Op
from ..dataflow_pattern.graph import mutate
from ..expr import Call, Let, Tuple, Var
from ..function import Function, FunctionWithFields
from ._engine import on_expr

__all__ = ["infer_types"]

#: Relations of TVM, with an operator of Relay that has the same.
_RELATIONS = {"Broadcast": "add", "BroadcastComp": "less", "Identity": "copy"}


def _is_own_call(expr: Any) -> bool:
    return isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name not in _operators.declarations()


def infer_types(mod: Any, infer: Any) -> Any:
    """`infer(mod)` of a module that may call operators that are not Relay's."""
    calling = {var for var, func in mod.functions.items() if isinstance(func, Function) and _calls_own(func)}
    if not calling:
        return infer(mod)
    known = {var: func for var, func in mod.functions.items() if var not in calling}
    scratch = IRModule._from_nodes(known, mod.type_definitions, None)
    made = {var: _with_stand_ins(mod[var], scratch, infer) for var in calling}
    functions = {var: made[var][0] if var in calling else func for var, func in mod.functions.items()}
    result = infer(IRModule._from_nodes(functions, mod.type_definitions, mod.attrs))
    for var in calling:
        name = result.get_global_var(var.name_hint)
        result.update_func(name, _restored(result[name], made[var][1]))
    return result


def _calls_own(func: Any) -> bool:
    from ..analysis._walk import post_order

    return any(_is_own_call(expr) for expr in post_order(func))


def _with_stand_ins(func: Any, mod: Any, infer: Any) -> Any:
    """`func` with parameters added that its calls of other operators call, and the operators in their order."""
    own: Dict[int, Any] = {}
    ops: List[Any] = []
    values: Dict[int, Any] = {}

    def dataflow(pre: Any, post: Any, memo: Dict[int, Any]) -> Any:
        """The value of each part with a variable in the place of each call that is known by now."""
        if isinstance(pre, Let):
            return memo[id(pre.body)]
        if isinstance(pre, Var):
            return memo.get(values.get(id(pre), 0), pre)
        if not _is_own_call(pre):
            return post
        types = _types(list(post.args), mod, infer)
        result = _relation(pre, types, infer)
        own[id(pre)] = Var(f"own{len(ops)}", FuncType(types, result))
        ops.append(pre.op)
        return Var("result", result)

    def enter(pre: Any) -> Any:
        if isinstance(pre, Let):
            values[id(pre.var)] = id(pre.value)
        return None

    mutate(func, enter, dataflow)

    def replace(pre: Any, post: Any, memo: Dict[int, Any]) -> Any:
        return Call(own[id(pre)], post.args, pre.attrs, pre.type_args, pre.span) if id(pre) in own else post

    body = mutate(func.body, lambda _: None, replace)
    return FunctionWithFields(func, [*func.params, *own.values()], body), ops


def _types(args: List[Any], mod: Any, infer: Any) -> List[Any]:
    """The types of expressions that call nothing but Relay, of variables with types."""
    return list(on_expr(infer, Tuple(args), mod).checked_type.fields)


def _relation(call: Any, types: List[Any], infer: Any) -> Any:
    """The type of a call's result."""
    name, function = getattr(call.op, "_type_rel", (None, None))
    if function is not None:
        result = function(types, call.attrs)
        if result is None:
            raise TVMError(f"the relation {name} of {call.op.name} gives no type for {types}")
        return result
    if name not in _RELATIONS:
        raise TVMError(f"{call.op.name}: no type relation that relayc knows: give add_type_rel a function")
    operands = [Var(f"x{i}", ty) for i, ty in enumerate(types)]
    return _types([Call(Op.get(_RELATIONS[name]), operands)], IRModule(), infer)[0]


def _restored(func: Any, ops: List[Any]) -> Any:
    """A typed function that calls operators in the place of its last parameters."""
    n_params = len(func.params) - len(ops)
    own = {id(param): op for param, op in zip(func.params[n_params:], ops)}

    def visit(pre: Any, post: Any, memo: Dict[int, Any]) -> Any:
        if isinstance(pre, Call) and id(pre.op) in own:
            post = Call(own[id(pre.op)], post.args, pre.attrs, pre.type_args, pre.span)
        if post is not pre:
            post._checked_type_ = pre._checked_type_
        return post

    body = mutate(func.body, lambda _: None, visit)
    params = list(func.params[:n_params])
    restored = FunctionWithFields(func, params, body)
    restored._checked_type_ = FuncType([param.checked_type for param in params], func.ret_type)
    return restored
