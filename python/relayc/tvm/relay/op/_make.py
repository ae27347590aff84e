"""Operators without a function: `relay.op._make.fast_exp(data)`.

A name is that of an operator; the call takes its operands by position and its
attributes by name. Operators with a function of that name have this function.
"""

from __future__ import annotations

import functools
from typing import Any, Callable

from ... import _operators
from ._call import call


def __getattr__(name: str) -> Callable[..., Any]:
    from . import algorithm, reduce, tensor, transform

    for module in (tensor, transform, reduce, algorithm):
        if name in module.__all__:
            function: Callable[..., Any] = getattr(module, name)
            return function
    if name not in _operators.declarations():
        raise AttributeError(f"there is no operator {name}")
    return functools.partial(_of, name)


def _of(operator: str, *operands: Any, **attrs: Any) -> Any:
    return call(operator, operands, **attrs)
