"""Functions with the attribute `Compiler`: make them, of regions or of literals, mark them, inline them.

Rules of TVM: `src/relay/transforms/compiler_function_utils.cc`.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Sequence

from ... import _native
from ..._ffi import get_global_func
from ...error import InternalError
from ..dataflow_pattern.graph import mutate
from ..expr import Call, GlobalVar, Let, bind, with_fields
from ..function import Function
from ._engine import is_optimizable, without_functions
from ._rewrites import rewrite

__all__ = ["inline_bound_to", "mark_extern", "outline", "partition"]

_ModulePass = Callable[[Any, Any], Any]


def _attr(func: Any, name: str) -> Optional[str]:
    attrs = func.attrs
    return str(attrs[name]) if attrs is not None and name in attrs.keys() else None


def _is_for(func: Any, compiler_filter: str) -> bool:
    if not isinstance(func, Function):
        return False
    compiler = _attr(func, "Compiler")
    return compiler is not None and compiler_filter in ("", compiler)


def partition(mod_name: str, bind_constants: bool) -> _ModulePass:
    """Each marked region becomes a global function, which the compiler's own passes rewrite if it registered any."""

    def run(mod: Any, ctx: Any) -> Any:
        output = _native.run_pass(mod, "partition-graph", {"mod_name": mod_name, "bind_constants": bind_constants})
        for var, func in output.functions.items():
            if var.name_hint in mod or not _is_for(func, ""):
                continue
            optimize = get_global_func(f"relay.ext.{_attr(func, 'Compiler')}.optimize", allow_missing=True)
            if optimize is not None:
                output.update_func(var, _optimized(func, optimize))
        return output

    return run


def _optimized(func: Any, optimize: Callable[[Any], Any]) -> Any:
    """A function with its attributes, after a compiler's passes over the module of the function without them."""
    from ...ir import IRModule
    from .transform import InferType

    bare = Function(func.params, func.body, func.ret_type, func.type_params)
    return with_fields(optimize(InferType()(IRModule.from_expr(bare)))["main"], attrs=func.attrs)


def outline(compiler_filter: str) -> _ModulePass:
    """Each called literal for the compiler becomes the global function of its `global_symbol`."""

    def run(mod: Any, ctx: Any) -> Any:
        output = mod._copy()
        symbols: Dict[str, GlobalVar] = {}

        def visit(pre: Any, post: Any, memo: Dict[int, Any]) -> Any:
            if isinstance(pre, Let) and _is_for(post.value, compiler_filter):
                return post.body
            if not isinstance(post, Call):
                return post
            func = values.get(id(post.op), post.op)
            if not _is_for(func, compiler_filter):
                return post
            symbol = _attr(func, "global_symbol")
            if symbol is None:
                raise InternalError(
                    "all functions must already have a 'global_symbol' attribute to be outlined"
                )
            if symbol not in symbols:
                symbols[symbol] = GlobalVar(symbol, func._checked_type_)
            var = symbols[symbol]
            if symbol not in output:
                output[var] = func
            return with_fields(post, op=var)

        for var, func in mod.functions.items():
            if is_optimizable(func):
                values = _bound_functions(func.body, compiler_filter)
                body = mutate(func.body, lambda _: None, visit)
                output.update_func(var, with_fields(func, body=body))
        return output

    return run


def _bound_functions(expr: Any, compiler_filter: str) -> Dict[int, Any]:
    """The functions for the compiler that `let` binds, by the `id` of their variables."""
    from ..analysis import post_order_visit

    found: Dict[int, Any] = {}

    def visit(node: Any) -> None:
        if isinstance(node, Let) and _is_for(node.value, compiler_filter):
            found[id(node.var)] = node.value

    post_order_visit(expr, visit)
    return found


def mark_extern(compiler_filter: str) -> _ModulePass:
    """Global functions for the compiler get `Extern=1` as their only attribute."""

    def run(mod: Any, ctx: Any) -> Any:
        output = mod._copy()
        for var, func in mod.functions.items():
            if _is_for(func, compiler_filter):
                bare = Function(func.params, func.body, func.ret_type, func.type_params)
                output.update_func(var, bare.with_attr("Extern", 1))
        return output

    return run


def inline_bound_to(global_vars: Sequence[Any]) -> _ModulePass:
    """Calls of these functions become their bodies, in which calls of composite literals do."""
    names = {var.name_hint for var in global_vars}

    def body_of(func: Any, args: Sequence[Any]) -> Any:
        return bind(func.body, dict(zip(func.params, args)))

    def inner(pre: Any, post: Any) -> Any:
        if isinstance(post, Call) and isinstance(post.op, Function):
            return body_of(post.op, post.args)
        return post

    def run(mod: Any, ctx: Any) -> Any:
        if not names:
            return mod

        def outer(pre: Any, post: Any) -> Any:
            if not isinstance(post, Call) or not isinstance(post.op, GlobalVar):
                return post
            if post.op.name_hint not in names:
                return post
            func = mod[post.op]
            return bind(rewrite(func.body, inner), dict(zip(func.params, post.args)))

        output = without_functions(mod, names)
        for var, func in mod.functions.items():
            if var.name_hint not in names and is_optimizable(func):
                output.update_func(var, with_fields(func, body=rewrite(func.body, outer)))
        return output

    return run
