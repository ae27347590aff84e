"""Named tensors in TVM's `.params` format."""

from __future__ import annotations

import struct
from typing import Any, Dict, Mapping

from .. import _native
from ..error import TVMError
from . import ndarray
from .ndarray import NDArray, to_array, to_ndarray

#: What a list of one tensor without a name begins with: the list's own magic number, the count and the name.
_ONE = struct.pack("<QQQQQ", 0xF7E58D4F05049CB7, 0, 1, 0, 1)


def save_param_dict(params: Mapping[str, Any]) -> bytearray:
    """Named arrays as bytes. Raises TVMError for a data type that relayc does not have."""
    arrays = {}
    for name, value in params.items():
        tensor = value if isinstance(value, NDArray) else ndarray.array(value)
        array = to_array(tensor)
        if to_ndarray(array).dtype != tensor.dtype:
            raise TVMError(f"tensors of {tensor.dtype} are not written")
        arrays[name] = array
    return bytearray(_native.save_params(arrays))


def save_param_dict_to_file(params: Mapping[str, Any], path: str) -> None:
    """Writes named arrays to a file."""
    with open(path, "wb") as file:
        file.write(save_param_dict(params))


def load_param_dict(param_bytes: Any) -> Dict[str, NDArray]:
    """The named tensors that `save_param_dict` wrote; those of .npz and .safetensors as well. Raises TVMError for other bytes."""
    data = param_bytes.encode("latin-1") if isinstance(param_bytes, str) else bytes(param_bytes)
    return {name: to_ndarray(array) for name, array in _native.load_params(data).items()}


def load_param_dict_from_file(path: str) -> Dict[str, NDArray]:
    """The named tensors of a file."""
    with open(path, "rb") as file:
        return load_param_dict(file.read())


def save_tensor(tensor: NDArray) -> bytes:
    """One tensor as bytes, as a file of parameters holds it."""
    return bytes(save_param_dict({"": tensor})[len(_ONE) :])


def load_tensor(data: bytes) -> NDArray:
    """The tensor that `save_tensor` wrote. Raises TVMError for other bytes."""
    return load_param_dict(_ONE + data)[""]
