"""Runs of functions with any values, on the interpreter or by subgraphs."""

from __future__ import annotations

from typing import Any, Callable

from ... import _native
from ...error import TVMError
from ...ir import IRModule
from ..expr import GlobalVar
from ._codec import Codec


def with_function(mod: Any, func: Any) -> tuple:
    """A module like this one with one more function, and the function's name."""
    functions = dict(mod.functions.items())
    taken = {var.name_hint for var in functions}
    name = next(name for name in _names() if name not in taken)
    functions[GlobalVar(name)] = func
    return IRModule(functions, dict(mod.type_definitions.items())), name


def _names() -> Any:
    yield "main"
    number = 0
    while True:
        yield f"main_{number}"
        number += 1


def evaluator(mod: Any, func: Any, *, values: bool, compiled: bool = False, level: int = 3) -> Callable[..., Any]:
    """A Python function that runs a function of Relay, or the one of a global variable; `values` as for `Codec`.

    It raises TVMError for arguments of other types, RelayError for a run that fails.
    """
    if isinstance(func, GlobalVar):
        name = func.name_hint
    else:
        mod, name = with_function(mod, func)
    codec = Codec(mod, values)
    native = _native.evaluator(mod, name, compiled, level)

    def run(*args: Any) -> Any:
        try:
            return native.run(list(args), codec)
        except (TypeError, ValueError) as error:
            raise TVMError(str(error)) from error

    return run
