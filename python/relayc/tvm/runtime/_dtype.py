"""Data types by name: one spelling for each, and the NumPy dtype that stores it."""

from __future__ import annotations

from typing import Any, Dict

import numpy as np

from .._ffi.runtime_ctypes import DataType

_NAMES: Dict[Any, str] = {}


def dtype_name(dtype: Any) -> str:
    """The name of a data type given as a name, a NumPy dtype or scalar type, or a `DataType`.

    A name without bits has 32 of them: `float` is `float32`. Raises ValueError for other words.
    """
    name = _NAMES.get(dtype)
    if name is None:
        name = "void" if dtype == "" else str(DataType(dtype) if not isinstance(dtype, DataType) else dtype)
        _NAMES[dtype] = name
    return name


def storage_dtype(name: str) -> np.dtype:
    """The NumPy dtype that holds elements of this data type; bfloat16 has none and is held as uint16."""
    if name == "bfloat16":
        return np.dtype("uint16")
    if name == "int4":
        return np.dtype("int8")
    return np.dtype(name)
