"""What programs take from `tvm._ffi`: errors, the registries of functions and objects, data types, devices."""

from __future__ import annotations

from . import base, registry, runtime_ctypes
from .base import register_error
from .registry import get_global_func, list_global_func_names, register_extension, register_func, register_object

__all__ = [
    "base",
    "get_global_func",
    "list_global_func_names",
    "register_error",
    "register_extension",
    "register_func",
    "register_object",
    "registry",
    "runtime_ctypes",
]
