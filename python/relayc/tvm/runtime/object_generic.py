"""`convert`: Python values as nodes. Integers become `IntImm`, lists `Array`, dictionaries `Map`."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Number
from typing import Any, Optional

import numpy as np

from .container import Array, Map, String
from .ndarray import NDArray
from .object import Object


class ObjectGeneric:
    """The base of values that turn into a node by `asobject` when a node is needed."""

    def asobject(self) -> Any:
        """The node."""
        raise NotImplementedError()


#: What may stand among nodes as it is.
ObjectTypes = (Object, NDArray)


def convert_to_object(value: Any, span: Any = None) -> Any:
    """`value` as a node. Raises ValueError for a type that has none."""
    if isinstance(value, ObjectTypes) or value is None:
        return value
    if isinstance(value, str):
        return String(value)
    if isinstance(value, (bool, np.bool_)):
        return const(bool(value), "uint1", span=span)
    if isinstance(value, Number):
        return const(value, span=span)
    if isinstance(value, (list, tuple)):
        return Array([convert_to_object(x, span) for x in value])
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, (ObjectTypes, str, Number)):
                raise ValueError("key of map must already been a container type")
        return Map((_key(k), convert_to_object(v, span)) for k, v in value.items())
    if isinstance(value, ObjectGeneric):
        return value.asobject()
    if callable(value) or type(value).__name__ == "Module":
        return value
    raise ValueError(f"don't know how to convert type {type(value)} to object")


def _key(key: Any) -> Any:
    return key if isinstance(key, ObjectTypes) else convert_to_object(key)


def convert(value: Any, span: Any = None) -> Any:
    """`value` as a node, or as a function that the registry can hold."""
    return convert_to_object(value, span=span)


def scalar_dtype(value: Any) -> str:
    """The data type that a Python or NumPy scalar has without one being named."""
    if hasattr(value, "dtype"):
        return str(value.dtype)
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, float):
        return "float32" if abs(value) <= 3.40282347e38 else "float64"
    if isinstance(value, Integral):
        return "int32" if -(2**31) <= int(value) < 2**31 else "int64"
    raise NotImplementedError(f"Cannot automatically inference the type. value={value}")


def const(value: Any, dtype: Optional[str] = None, span: Any = None) -> Any:
    """A constant of the loop language: `IntImm` or `FloatImm`."""
    from ..tir.expr import FloatImm, IntImm

    if dtype is None:
        dtype = scalar_dtype(value)
    if dtype.startswith(("float", "bfloat")):
        return FloatImm(dtype, float(value), span)
    return IntImm(dtype, int(value), span)
