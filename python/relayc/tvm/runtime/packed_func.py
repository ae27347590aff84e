"""`PackedFunc`, the type of functions that TVM's registry holds: any callable here."""

from __future__ import annotations

from typing import Any, Callable


class _Callables(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return callable(instance)


class PackedFunc(metaclass=_Callables):
    """A function of the registry; every callable is one."""


def convert_to_tvm_func(pyfunc: Callable) -> Callable:
    """The function itself."""
    return pyfunc
