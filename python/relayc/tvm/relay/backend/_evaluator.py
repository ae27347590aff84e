"""Runs of functions with any values, on the interpreter or by subgraphs."""

from __future__ import annotations

import itertools
from typing import Any, Callable

from ... import _native
from ...error import TVMError
from ..expr import GlobalVar
from ._codec import Codec


def with_function(mod: Any, func: Any) -> tuple:
    """A module like this one with one more function, and the function's name."""
    names = itertools.chain(["main"], (f"main_{number}" for number in itertools.count()))
    name = next(name for name in names if name not in mod)
    extended = mod._copy()
    extended._set_function(GlobalVar(name), func)
    return extended, name


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
