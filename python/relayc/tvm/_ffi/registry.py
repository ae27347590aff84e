"""The registries of global functions and of object types, by name (TVM `python/tvm/_ffi/registry.py`)."""

from __future__ import annotations

from typing import Any, Callable, Optional

_FUNCTIONS: dict[str, Callable] = {}
OBJECTS: dict[str, type] = {}


def register_object(type_key: Any = None) -> Any:
    """Names the class of nodes with this type key; also a decorator, with or without the key."""
    name = type_key if isinstance(type_key, str) else type_key.__name__

    def register(cls: type) -> type:
        cls._type_key = name
        OBJECTS[name] = cls
        return cls

    return register if isinstance(type_key, str) else register(type_key)


def register_extension(cls: type, fcreate: Optional[Callable] = None) -> type:
    """Accepts a class as an extension type; nothing has to be known of it here."""
    return cls


def register_func(func_name: Any, f: Optional[Callable] = None, override: bool = False) -> Any:
    """Registers a global function; also a decorator. A second one of the name needs `override`."""
    if callable(func_name):
        func_name, f = func_name.__name__, func_name
    if not isinstance(func_name, str):
        raise ValueError("expect string function name")

    def register(func: Callable) -> Callable:
        if func_name in _FUNCTIONS and not override:
            from .base import TVMError

            raise TVMError(f"Global PackedFunc {func_name} is already registered")
        _FUNCTIONS[func_name] = func
        return func

    return register(f) if f is not None else register


def get_global_func(name: str, allow_missing: bool = False) -> Optional[Callable]:
    """The global function of this name; None or ValueError where there is none."""
    func = _FUNCTIONS.get(name)
    if func is None and not allow_missing:
        from .._refused import global_function

        func = global_function(name)
    if func is None and not allow_missing:
        raise ValueError(f"Cannot find global function {name}")
    return func


def remove_global_func(name: str) -> None:
    """Forgets the global function of this name."""
    _FUNCTIONS.pop(name, None)


def list_global_func_names() -> list[str]:
    """The names of the registered functions."""
    return list(_FUNCTIONS)
