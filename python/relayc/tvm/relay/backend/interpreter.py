"""The interpreter of Relay, and what all executors share (TVM `python/tvm/relay/backend/interpreter.py`)."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional, Sequence

import numpy as np

from ... import nd
from ..._ffi.registry import register_object
from ...runtime.container import ADT
from ...runtime.object import Object
from ..expr import Call, Constant, GlobalVar, RefCreate, Tuple, const
from ..function import Function
from ..scope_builder import ScopeBuilder

__all__ = ["ConstructorValue", "Executor", "Interpreter", "RefValue"]


@register_object("relay.ConstructorValue")
class ConstructorValue(Object):
    """A value of a data type: the tag of its constructor, the fields, and the constructor."""

    def __init__(self, tag: int, fields: Sequence[Any], constructor: Any = None) -> None:
        self.tag = int(tag)
        self.fields = list(fields)
        self.constructor = constructor

    def __repr__(self) -> str:
        name = getattr(self.constructor, "name_hint", self.tag)
        return f"ConstructorValue({name}, {len(self.fields)} fields)"


@register_object("relay.RefValue")
class RefValue(Object):
    """A reference, with the value that it holds."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _arg_to_ast(mod: Any, arg: Any) -> Any:
    """An argument as an expression. Numbers have the types of literals."""
    if isinstance(arg, nd.NDArray):
        return Constant(arg.copyto(nd.cpu(0)))
    if isinstance(arg, (ADT, tuple)):
        return Tuple([_arg_to_ast(mod, field) for field in arg])
    if isinstance(arg, RefValue):
        return RefCreate(_arg_to_ast(mod, arg.value))
    if isinstance(arg, ConstructorValue):
        return Call(mod.get_constructor(arg.tag), [_arg_to_ast(mod, field) for field in arg.fields])
    if isinstance(arg, np.ndarray):
        return Constant(nd.array(arg))
    if isinstance(arg, Constant):
        return arg
    return const(arg)


class Executor:
    """What evaluates expressions of a module."""

    mod: Any

    def _convert_args(self, expr: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[Any]:
        """The arguments in the order of a function's parameters. Raises Exception for a wrong number, or one given twice."""
        assert expr is not None
        if not kwargs:
            return args
        if not isinstance(expr, Function):
            raise Exception(f"can only supply keyword parameters for a relay.Function, found {expr}")
        found = list(args)
        for at, param in enumerate(expr.params):
            name = param.name_hint
            if at >= len(args):
                found.append(kwargs[name])
            elif name in kwargs:
                raise Exception(
                    f"duplicate argument supplied in both positional args (at position: {at}), "
                    f"and keyword argument (with name: {name})"
                )
        if len(found) != len(expr.params):
            raise Exception(f"insufficient arguments, expected {len(expr.params)}, provided {len(found)}")
        return tuple(found)

    def _make_executor(self, expr: Any = None) -> Callable[..., Any]:
        """A Python function that evaluates `expr`, or `main` of the module."""
        raise NotImplementedError()

    def evaluate(self, expr: Any = None, binds: Optional[Mapping[Any, Any]] = None) -> Any:
        """The value of an expression, or a Python function for a function of Relay; `binds` are values of free variables."""
        from ..analysis import free_vars

        if binds:
            scope_builder = ScopeBuilder()
            for key, value in binds.items():
                scope_builder.let(key, _arg_to_ast(self.mod, value))
            scope_builder.ret(expr)
            expr = scope_builder.get()
        if expr is None:
            return self._make_executor()
        if isinstance(expr, Function):
            assert not free_vars(expr)
        if isinstance(expr, (Function, GlobalVar)):
            return self._make_executor(expr)
        return self._make_executor(Function([], expr))()


class Interpreter(Executor):
    """Evaluates on the reference interpreter, without any optimization."""

    def __init__(self, mod: Any, device: Any, target: Any) -> None:
        self.mod = mod
        self.device = device
        self.target = target

    def _make_executor(self, expr: Any = None) -> Callable[..., Any]:
        from ._evaluator import evaluator

        expr = self.mod.get_global_var("main") if expr is None else expr
        func = self.mod[expr] if isinstance(expr, GlobalVar) else expr
        run = evaluator(self.mod, expr, values=True)

        def apply(*args: Any, **kwargs: Any) -> Any:
            return run(*self._convert_args(func, args, kwargs))

        return apply
