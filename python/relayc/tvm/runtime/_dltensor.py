"""Tensors and named tensors as bytes, as TVM writes them (`src/runtime/ndarray.cc`, `src/runtime/file_utils.cc`)."""

from __future__ import annotations

import struct
from typing import Dict, Tuple

import numpy as np

from .._ffi.runtime_ctypes import DataType
from ..error import TVMError
from ._dtype import storage_dtype
from .ndarray import Device, NDArray

_TENSOR_MAGIC = 0xDD5E40F096B4A13F
_LIST_MAGIC = 0xF7E58D4F05049CB7


class Bytes:
    """Bytes that are read from front to back. Raises TVMError where they end too early."""

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)
        self._at = 0

    def take(self, count: int) -> memoryview:
        """The next bytes."""
        if count > len(self._data) - self._at:
            raise TVMError(f"the file ends too early: {count} bytes were expected at offset {self._at}")
        self._at += count
        return self._data[self._at - count : self._at]

    def unpack(self, form: str) -> Tuple[int, ...]:
        """The next numbers, as `struct` writes them."""
        return struct.unpack(form, self.take(struct.calcsize(form)))


def save_tensor(array: NDArray) -> bytes:
    """A tensor as bytes."""
    dtype = DataType(array.dtype)
    data = array._array.astype(array._array.dtype.newbyteorder("<"), copy=False).tobytes()
    device = (Device.kDLCPU, 0)
    element = (dtype.type_code, dtype.bits, dtype.lanes)
    head = struct.pack("<QQiiiBBH", _TENSOR_MAGIC, 0, *device, array.ndim, *element)
    return head + struct.pack(f"<{array.ndim}q", *array.shape) + struct.pack("<q", len(data)) + data


def load_tensor(source: Bytes) -> NDArray:
    """The tensor that `save_tensor` wrote. Raises TVMError for other bytes."""
    magic, _, _, _, ndim, code, bits, lanes = source.unpack("<QQiiiBBH")
    if magic != _TENSOR_MAGIC:
        raise TVMError("Invalid DLTensor file format")
    dtype = DataType("float32")
    dtype.type_code, dtype.bits, dtype.lanes = code, bits, lanes
    shape = source.unpack(f"<{ndim}q")
    (size,) = source.unpack("<q")
    name = str(dtype)
    stored = storage_dtype(name).newbyteorder("<")
    data = np.frombuffer(source.take(size), stored)
    if any(dim < 0 for dim in shape) or data.size != np.prod(shape, dtype=object):
        raise TVMError("Invalid DLTensor file format")
    return NDArray(data.reshape(shape).astype(stored.newbyteorder("=")), name)


def save_params(params: Dict[str, NDArray]) -> bytearray:
    """Named tensors as bytes."""
    out = bytearray(struct.pack("<QQQ", _LIST_MAGIC, 0, len(params)))
    for name in params:
        text = name.encode()
        out += struct.pack("<Q", len(text)) + text
    out += struct.pack("<Q", len(params))
    for array in params.values():
        out += save_tensor(array)
    return out


def load_params(data: bytes) -> Dict[str, NDArray]:
    """The named tensors that `save_params` wrote. Raises TVMError for other bytes."""
    source = Bytes(data)
    magic, _, count = source.unpack("<QQQ")
    if magic != _LIST_MAGIC:
        raise TVMError("Invalid parameters file format")
    names = [bytes(source.take(*source.unpack("<Q"))).decode() for _ in range(count)]
    if source.unpack("<Q") != (count,):
        raise TVMError("Invalid parameters file format")
    return {name: load_tensor(source) for name in names}
