"""Passes over functions, and passes that the native side runs.

`FunctionPass` runs a Python function on each function of a module, `NativePass` one of
the passes that `relayc passes` lists on the module as a whole. Types are inferred
after either, and nodes that a pass leaves as they are stay the same objects.
"""

from __future__ import annotations

from typing import Any, Callable, Container, Mapping, Optional, Sequence, Union

from ..._ffi import register_object
from ...ir.transform import ModulePass, Pass, PassContext, PassInfo, decorated
from ...runtime.object import Object

__all__ = [
    "FunctionPass",
    "NativePass",
    "function_native",
    "function_pass",
    "is_optimizable",
    "module_native",
    "on_expr",
    "without_functions",
]

Options = Union[Mapping[str, Any], Callable[[PassContext, Any], Mapping[str, Any]]]


def is_optimizable(func: Any) -> bool:
    """Whether passes may change a function: it is Relay, and for no other compiler.

    Rule of TVM: `AsOptimizableFunctionNode` in `src/relay/transforms/pass_utils.h`.
    """
    from ..function import Function

    if not isinstance(func, Function):
        return False
    attrs = func.attrs or {}
    return not any(
        name in attrs.keys() and attrs[name] not in (0, None)
        for name in ("Compiler", "Extern", "SkipOptimization")
    )


def without_functions(mod: Any, names: Container[str]) -> Any:
    """A copy of a module without the functions of these names."""
    kept = {var: func for var, func in mod.functions.items() if var.name_hint not in names}
    return type(mod)._from_nodes(kept, mod.type_definitions, mod.attrs)


def on_expr(step: Callable[[Any], Any], expr: Any, mod: Any = None) -> Any:
    """What a pass makes of one expression, beside the functions of `mod`."""
    from ...ir.module import IRModule
    from ..analysis import free_type_vars, free_vars
    from ..expr import GlobalVar
    from ..function import Function

    module = IRModule() if mod is None else mod._copy()
    name = "main"
    while name in module:
        name = f"_{name}"
    whole = isinstance(expr, Function)
    module[GlobalVar(name)] = expr if whole else Function(free_vars(expr), expr, None, free_type_vars(expr, module))
    result = step(module)[name]
    return result if whole else result.body


@register_object("relay.FunctionPass")
class FunctionPass(Pass):
    """A pass over each function of a module; made by `function_pass`."""

    _what = "Function"

    def __init__(self, pass_func: Callable[[Any, Any, PassContext], Any], info: PassInfo) -> None:
        super().__init__(info)
        self.pass_func = pass_func

    def _run(self, mod: Any, ctx: PassContext) -> Any:
        from .transform import InferType

        updated = mod._copy()
        changed = {
            var: self.pass_func(func, updated, ctx)
            for var, func in mod.functions.items()
            if is_optimizable(func)
        }
        for var, func in changed.items():
            updated[var] = func
        return InferType()(updated)


def function_pass(
    pass_func: Any = None,
    opt_level: Optional[int] = None,
    name: Optional[str] = None,
    required: Optional[Sequence[str]] = None,
) -> Any:
    """Makes a pass of a function `(func, mod, ctx) -> func`, or a pass class of a class
    with `transform_function(self, func, mod, ctx)`; a decorator without `pass_func`.

    Its name is the function's unless given. Raises `ValueError` without `opt_level`.
    """
    return decorated(
        pass_func, opt_level, name, required, FunctionPass, "transform_function", "function"
    )


def _native_run(self: Any, mod: Any, ctx: PassContext) -> Any:
    from ... import _native

    options = self.options(ctx, mod) if callable(self.options) else self.options
    given = {name: value for name, value in options.items() if value is not None}
    return _native.run_pass(mod, self.native_name, given)


class NativePass(Object):
    """What a pass of the native side adds to its class: the name there, and options.

    Options may depend on the context the pass runs under, and on the module; those that
    are `None` are left out.
    """

    native_name: str
    options: Options

    @staticmethod
    def of(
        base: type,
        name: str,
        opt_level: int,
        required: Sequence[str],
        native_name: str,
        options: Options,
    ) -> Pass:
        """A pass of TVM's name and kind (`ModulePass` or `FunctionPass`)."""
        kind = _NativeModulePass if base is ModulePass else _NativeFunctionPass
        made: Any = object.__new__(kind)
        Pass.__init__(made, PassInfo(opt_level, name, required))
        made.native_name, made.options = native_name, options
        return made  # type: ignore[no-any-return]


class _NativeModulePass(ModulePass, NativePass):
    _run = _native_run


class _NativeFunctionPass(FunctionPass, NativePass):
    def _run(self, mod: Any, ctx: PassContext) -> Any:
        result = _native_run(self, mod, ctx)
        for var, func in mod.functions.items():
            # Passes over functions leave those for other compilers alone.
            if not is_optimizable(func) and var.name_hint in result:
                result.update_func(result.get_global_var(var.name_hint), func)
        # TVM infers types as a pass of its own now. The result has them; instruments are told.
        infer_type = PassInfo(0, "InferType")
        if ctx._before_pass(result, infer_type):
            ctx._after_pass(result, infer_type)
        return result


def function_native(
    name: str, level: int, native: str, required: Sequence[str] = ("InferType",), **options: Any
) -> Pass:
    """A native pass that TVM runs function by function."""
    return NativePass.of(FunctionPass, name, level, required, native, options)


def module_native(
    name: str, level: int, native: str, required: Sequence[str] = (), **options: Any
) -> Pass:
    """A native pass that TVM runs on the module."""
    return NativePass.of(ModulePass, name, level, required, native, options)
