"""Functions that depend on the current target: one for each key, and a default."""

from __future__ import annotations

import functools
from typing import Any, Callable, Dict, Optional, Sequence, Union

from .._ffi import register_object
from ..runtime.object import Object
from .target import Target

__all__ = [
    "GenericFunc",
    "generic_func",
    "get_native_generic_func",
    "override_native_generic_func",
]

_Keys = Union[str, Sequence[str]]


@register_object
class GenericFunc(Object):
    """Calls the function registered for the first known key of the current target."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._default: Optional[Callable[..., Any]] = None
        self._by_key: Dict[str, Callable[..., Any]] = {}

    def set_default(self, func: Callable[..., Any], allow_override: bool = False) -> None:
        """Sets the function for all other keys. Raises `ValueError` if there is one."""
        if self._default is not None and not allow_override:
            raise ValueError(f"Generic function already registered for {self.name}")
        self._default = func

    def register(
        self, func: Callable[..., Any], key_list: _Keys, allow_override: bool = False
    ) -> None:
        """Sets the function for keys. Raises `ValueError` if one has a function already."""
        for key in [key_list] if isinstance(key_list, str) else key_list:
            if key in self._by_key and not allow_override:
                raise ValueError(f"Key is already registered for {self.name}")
            self._by_key[key] = func

    def get_packed_func(self) -> Callable[..., Any]:
        """The function for the current target. Raises `ValueError` if there is none."""
        target = Target.current()
        for key in target.keys if target is not None else ():
            if key in self._by_key:
                return self._by_key[key]
        if self._default is None:
            raise ValueError(f"No generic function registered for {self.name}")
        return self._default

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.get_packed_func()(*args, **kwargs)


_global: Dict[str, GenericFunc] = {}


def get_native_generic_func(name: str) -> GenericFunc:
    """The generic function of that name; made on the first request."""
    return _global.setdefault(name, GenericFunc(name))


def override_native_generic_func(func_name: str) -> Callable[[Callable[..., Any]], Any]:
    """Decorator: makes a function the default of the generic function of that name."""
    return lambda fdefault: _dispatching(get_native_generic_func(func_name), fdefault, True)


def generic_func(fdefault: Callable[..., Any]) -> Any:
    """Decorator: makes a function the default of a generic function of its own;
    `f.register(key)` decorates the others."""
    return _dispatching(GenericFunc(fdefault.__name__), fdefault, False)


def _dispatching(node: GenericFunc, fdefault: Callable[..., Any], replace: bool) -> Any:
    node.set_default(fdefault, allow_override=replace)

    @functools.wraps(fdefault)
    def call(*args: Any, **kwargs: Any) -> Any:
        return node(*args, **kwargs)

    def register(key: _Keys, func: Any = None, override: bool = replace) -> Any:
        def decorate(function: Any) -> Any:
            node.register(function, key, override)
            return function

        return decorate if func is None else decorate(func)

    call.fdefault = fdefault  # type: ignore[attr-defined]
    call.register = register  # type: ignore[attr-defined]
    call.dispatch_dict = node._by_key  # type: ignore[attr-defined]
    call.generic_func_node = node  # type: ignore[attr-defined]
    return call
