"""`un_cps`: a function in continuation passing style, called with the identity.

Rule of TVM: `UnCPS` in `src/relay/transforms/to_cps.cc`. It is over nodes because TVM's `un_cps` has no module:
the function may call others that the native pass `un-cps` would have to know.
"""

from __future__ import annotations

from typing import Any

from ...error import TVMError
from ..expr import Call, Var
from ..function import Function
from ..ty import FuncType

__all__ = ["un_cps"]


def un_cps(func: Any) -> Any:
    """The function whose continuation is the last parameter of `func`, and its answer the last type parameter."""
    types = [param.type_annotation or param.checked_type for param in func.params]
    if not types or not isinstance(types[-1], FuncType) or len(types[-1].arg_types) != 1 or not func.type_params:
        raise TVMError("UnCPS: the last parameter must be a continuation")
    result = types[-1].arg_types[0]
    params = [Var(param.name_hint, ty) for param, ty in zip(func.params[:-1], types)]
    x = Var("x", result)
    type_params = list(func.type_params)[:-1]
    call = Call(func, [*params, Function([x], x, result)], None, [*type_params, result])
    return Function(params, call, result, type_params, func.attrs)
