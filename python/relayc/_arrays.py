"""Arrays of NumPy from other objects, for the inputs and outputs of runs.

The native side takes arrays that are in order, aligned and native by itself. Everything else comes here: other
arrays are copied, objects of the buffer protocol, DLPack and `__array__` are seen as arrays, numbers and lists become
arrays of the wanted element type.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# The element type that NumPy does not have, and how arrays hold it.
BFLOAT16 = "bfloat16"

_BFLOAT16_FROM = f"NumPy has no {BFLOAT16}: give an array of ml_dtypes.{BFLOAT16}, or of its bits as uint16"


def dtype_name(array: np.ndarray) -> str:
    """Relay's name of the element type of an array."""
    dtype = array.dtype
    if dtype.kind == "V" and dtype.itemsize == 2 and dtype.names is None:
        return BFLOAT16
    return str(dtype.newbyteorder("="))


def as_array(value: Any, name: str, dtype: str) -> np.ndarray:
    """The value of input `name` as an array of `dtype` that is in order, aligned and native.

    An array, or what shares memory with one, must have the element type. Numbers and lists of them are converted if no
    value changes but by rounding. Without a `dtype` any will do. Errors: TypeError.
    """
    if np.ma.is_masked(value):
        raise TypeError(f"`{name}`: expected an array, found one with masked elements, which would count; array.filled(0) has none")
    if isinstance(value, np.ndarray) or np.isscalar(value) and isinstance(value, np.generic):
        array = np.asarray(value)
    elif isinstance(value, (bool, int, float, list, tuple)):
        return _of_numbers(value, name, dtype)
    elif isinstance(value, dict):
        raise TypeError(f"`{name}`: expected an array, found {_kind(value)}; arguments by name are given with `**`")
    else:
        array = _shared(value, f"`{name}`")
    if array.dtype == object:
        found = "an array of objects" if isinstance(value, np.ndarray) else _kind(value)
        raise TypeError(f"`{name}`: expected an array of {dtype or 'numbers'}, found {found}")
    if dtype and not _has(array, dtype):
        raise TypeError(f"`{name}`: expected an array of {dtype}, found {dtype_name(array)}; {_conversion(array, dtype)}")
    shape = array.shape
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    # Of a scalar, `ascontiguousarray` would make a vector.
    return np.require(native, requirements=["C", "A"]).reshape(shape)


def view(value: Any, name: str) -> np.ndarray:
    """An array in the memory of another object, for output `name`. Errors: TypeError if there is no such memory."""
    if isinstance(value, (bool, int, float, list, tuple)) or value is None:
        raise TypeError(f"output `{name}`: expected an array to write into, found {_kind(value)}")
    array = _shared(value, f"output `{name}`")
    if array.flags.owndata:
        raise TypeError(f"output `{name}`: {_kind(value)} gives a copy of its memory, which would be written in vain")
    return array


def _shared(value: Any, what: str) -> np.ndarray:
    """An array that shares the memory of an object; messages call it `what`."""
    try:
        buffer = memoryview(value)
    except TypeError:
        pass
    else:
        return np.asarray(buffer)
    if hasattr(value, "__dlpack__"):
        # Tensors on other devices, and those that record gradients, have no array; they say what to do.
        if hasattr(value, "__array__"):
            try:
                return np.asarray(value)
            except (TypeError, RuntimeError, BufferError) as error:
                raise TypeError(f"{what}: {error}{_of_bfloat16(value)}") from error
        try:
            return np.from_dlpack(value)
        except (TypeError, RuntimeError, BufferError) as error:
            raise TypeError(f"{what}: {error}{_of_bfloat16(value)}") from error
    if hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
        try:
            return np.asarray(value)
        except (TypeError, ValueError, RuntimeError) as error:
            raise TypeError(f"{what}: {error}") from error
    raise TypeError(f"{what}: expected an array, found {_kind(value)}")


def _conversion(array: np.ndarray, dtype: str) -> str:
    """How an array of another element type becomes one of `dtype`."""
    if dtype == BFLOAT16:
        return _BFLOAT16_FROM
    # Half of a complex number would be lost.
    return f'convert it: array{".real" if array.dtype.kind == "c" else ""}.astype("{dtype}")'


def _of_bfloat16(value: Any) -> str:
    """What to do with a tensor of torch that NumPy does not take for its element type."""
    if str(getattr(value, "dtype", "")) != "torch.bfloat16":
        return ""
    return f'; NumPy has no {BFLOAT16}: give tensor.view(torch.int16).numpy().view("uint16")'


def _of_numbers(value: Any, name: str, dtype: str) -> np.ndarray:
    try:
        found = np.asarray(value)
    except ValueError as error:
        raise TypeError(f"`{name}`: expected numbers, found lists that do not make an array: {error}") from error
    if found.dtype.kind not in "biuf" and found.size:
        raise TypeError(f"`{name}`: expected numbers, found {_kind(value)}")
    if not dtype:
        # As literals of Relay.
        literals = {"i": "int32", "f": "float32"}
        return found.astype(literals.get(found.dtype.kind, found.dtype))
    if dtype == BFLOAT16:
        raise TypeError(f"`{name}`: expected an array of {dtype}, found {_kind(value)}; {_BFLOAT16_FROM}")
    wanted = np.dtype(dtype)
    with np.errstate(invalid="ignore", over="ignore"):
        converted = found.astype(wanted)
        if wanted.kind == "f":
            # Numbers are rounded, but a finite one is not infinity.
            other = np.isinf(converted) != np.isinf(found)
        else:
            # There and back, a number that wraps around is itself again, with another sign between.
            other = (converted.astype(found.dtype) != found) | ((converted < 0) != (found < 0))
    if other.any():
        raise TypeError(f"`{name}`: expected numbers of {dtype}, found {found[other].flat[0]}")
    return converted


def _has(array: np.ndarray, dtype: str) -> bool:
    if dtype == BFLOAT16:
        return array.dtype.itemsize == 2 and array.dtype.kind in "Vu" and array.dtype.names is None
    return dtype_name(array) == dtype


def _kind(value: Any) -> str:
    return type(value).__name__
