"""`NDArray`, a tensor: a thin wrapper around a C-contiguous NumPy array. Devices, of which the CPU exists."""

from __future__ import annotations

import warnings
from typing import Any, Optional, Sequence, Tuple, Union

import numpy as np

from .._ffi.runtime_ctypes import DataType, DataTypeCode, Device
from ._dtype import dtype_name, storage_dtype
from .object import Object

__all__ = ["DataType", "DataTypeCode", "Device", "NDArray", "array", "cpu", "device", "empty", "from_dlpack"]


class NDArray(Object):
    """A tensor in memory. Two are equal if they are the same tensor; `numpy()` gives a copy of the elements.

    bfloat16 has no NumPy dtype: its elements are stored and given as uint16.
    """

    _kind = "NDArray"
    _type_key = "runtime.NDArray"

    def __init__(self, data: np.ndarray, dtype: Optional[str] = None, dev: Optional[Device] = None) -> None:
        """Takes `data` as it is, without a copy; it must be C-contiguous and of the machine's byte order."""
        self._array = data
        self._dtype = dtype or data.dtype.name
        self.device = dev or _CPU

    @property
    def shape(self) -> Tuple[int, ...]:
        """The sizes."""
        return self._array.shape

    @property
    def dtype(self) -> str:
        """The name of the data type."""
        return self._dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._array.ndim

    def numpy(self) -> np.ndarray:
        """The elements, as a new array."""
        return self._array.copy()

    def asnumpy(self) -> np.ndarray:
        """`numpy()` by its old name."""
        warnings.warn("NDArray.asnumpy() is deprecated: use NDArray.numpy()", DeprecationWarning, stacklevel=2)
        return self.numpy()

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> np.ndarray:
        return np.array(self._array, dtype=dtype)

    def __dlpack__(self, stream: Any = None, **kwargs: Any) -> Any:
        return self.to_dlpack()

    def __dlpack_device__(self) -> Tuple[int, int]:
        return self.device.device_type, self.device.device_id

    def to_dlpack(self) -> Any:
        """A DLPack capsule of the same memory."""
        return self._array.__dlpack__()

    def __setitem__(self, in_slice: Any, value: Any) -> None:
        if not isinstance(in_slice, slice) or in_slice.start is not None or in_slice.stop is not None:
            raise ValueError("Array only support set from numpy array")
        if isinstance(value, NDArray):
            if value is not self:
                value.copyto(self)
        elif isinstance(value, (np.ndarray, np.generic)):
            self.copyfrom(value)
        else:
            raise TypeError(f"type {type(value)} not supported")

    def copyfrom(self, source_array: Any) -> "NDArray":
        """Overwrites the elements with those of an array of the same shape, converted to this data type."""
        if isinstance(source_array, NDArray):
            source_array.copyto(self)
            return self
        if not isinstance(source_array, np.ndarray):
            try:
                source_array = np.array(source_array, dtype=self._array.dtype)
            except (TypeError, ValueError):
                raise TypeError(
                    f"array must be an array_like data, type {type(source_array)} is not supported"
                ) from None
        if source_array.shape != self.shape:
            raise ValueError(
                "array shape do not match the shape of NDArray " f"{source_array.shape} vs {self.shape}"
            )
        self._array[...] = _stored(source_array, self._dtype)
        return self

    def copyto(self, target: Any, mem_scope: Optional[str] = None) -> "NDArray":
        """Copies the elements to another tensor, or to a new one on a device."""
        if isinstance(target, Device):
            target = empty(self.shape, self._dtype, target, mem_scope)
        if not isinstance(target, NDArray):
            raise ValueError(f"Unsupported target type {type(target)}")
        if target.shape != self.shape:
            raise ValueError(f"cannot copy a tensor of shape {self.shape} to one of shape {target.shape}")
        target._array[...] = self._array
        return target

    def _create_view(self, shape: Sequence[int]) -> "NDArray":
        """The same memory in another shape."""
        return NDArray(self._array.reshape([int(dim) for dim in shape]), self._dtype, self.device)

    def __repr__(self) -> str:
        return f"<tvm.nd.NDArray shape={self.shape}, {self.device}>\n{self._array!r}"

    def __str__(self) -> str:
        return str(self._array)

    def __reduce__(self) -> Any:
        return NDArray, (self._array, self._dtype)


def _stored(data: np.ndarray, dtype: str) -> np.ndarray:
    """`data` as elements of the array that stores `dtype`."""
    if data.dtype.name == "bfloat16":  # of the package ml_dtypes
        data = data.view(np.uint16)
    return data.astype(storage_dtype(dtype), copy=False)


def to_array(value: NDArray) -> np.ndarray:
    """The memory of a tensor as the native side takes it: bfloat16 as two raw bytes."""
    return value._array.view("V2") if value.dtype == "bfloat16" else value._array


def to_ndarray(array: np.ndarray, dtype: Optional[str] = None) -> NDArray:
    """The tensor of an array that the native side made."""
    is_bfloat16 = array.dtype.kind == "V" or dtype == "bfloat16"
    return NDArray(array.view(np.uint16), "bfloat16") if is_bfloat16 else NDArray(array, dtype)


def check_device(dev: Device) -> None:
    """Raises TVMError for a device that does not exist, TypeError for what is no device."""
    if not isinstance(dev, Device):
        raise TypeError(f"a device is wanted, such as tvm.cpu(), not {dev!r}")
    if not dev.exist:
        from ..error import TVMError

        raise TVMError(f"device {dev} does not exist: tensors and programs are on tvm.cpu()")


def device(dev_type: Union[int, str], dev_id: int = 0) -> Device:
    """The device of this kind and number; the kind may be `cpu`, `llvm`, `cuda:1` or DLPack's number."""
    if not isinstance(dev_id, int):
        raise ValueError(f"Invalid device id: {dev_id}")
    if not isinstance(dev_type, str):
        return Device(dev_type, dev_id)
    name, *numbers = dev_type.split()[0].split(":")
    if len(numbers) > 1:
        raise ValueError(f"Invalid device string: {dev_type}")
    if numbers:
        if not numbers[0].isdigit():
            raise ValueError(f"Invalid device id: {numbers[0]}")
        dev_id = int(numbers[0])
    if name not in Device.STR2MASK:
        raise ValueError(f"Unknown device type: {name}")
    return Device(Device.STR2MASK[name], dev_id)


def cpu(dev_id: int = 0) -> Device:
    """The CPU."""
    return Device(Device.kDLCPU, dev_id)


_CPU = cpu()


def empty(
    shape: Sequence[int],
    dtype: Any = "float32",
    device: Device = _CPU,
    mem_scope: Optional[str] = None,
) -> NDArray:
    """A new tensor, its elements not set."""
    check_device(device)
    name = dtype_name(dtype)
    return NDArray(np.empty([int(dim) for dim in shape], storage_dtype(name)), name, device)


def array(arr: Any, device: Device = _CPU, mem_scope: Optional[str] = None) -> NDArray:
    """A new tensor with the elements of an array, a tensor, or nested lists."""
    from .container import Array

    if isinstance(arr, Array):
        raise AttributeError("arr is an instance of", type(arr))
    check_device(device)
    if isinstance(arr, NDArray):
        return arr.copyto(device)
    data = np.asarray(arr)
    name = dtype_name(data.dtype)
    data = _stored(data, name)
    native = data.dtype.newbyteorder("=")
    return NDArray(np.array(data, dtype=native, order="C", copy=True), name, device)


def from_dlpack(dltensor: Any) -> NDArray:
    """A tensor of the memory of an object with `__dlpack__` or of a DLPack capsule, without a copy."""
    if hasattr(dltensor, "__dlpack__"):
        data = np.from_dlpack(dltensor)
    elif type(dltensor).__name__ == "PyCapsule":
        data = np.from_dlpack(_Capsule(dltensor))
    else:
        raise AttributeError("Required attribute __dlpack__ not found")
    return NDArray(np.ascontiguousarray(data))


class _Capsule:
    """A bare DLPack capsule as an object that NumPy takes."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> Tuple[int, int]:
        return Device.kDLCPU, 0


def numpyasarray(np_data: np.ndarray) -> Tuple[NDArray, Tuple[int, ...]]:
    """A tensor of the same memory, and its shape."""
    assert np_data.flags["C_CONTIGUOUS"]
    return NDArray(np_data), np_data.shape


def cuda(dev_id: int = 0) -> Device:
    """A GPU of CUDA."""
    return Device(Device.kDLCUDA, dev_id)


def gpu(dev_id: int = 0) -> Device:
    """`cuda` by its old name."""
    warnings.warn("tvm.gpu() is deprecated: use tvm.cuda()", DeprecationWarning, stacklevel=2)
    return cuda(dev_id)


def rocm(dev_id: int = 0) -> Device:
    """A GPU of ROCm."""
    return Device(Device.kDLROCM, dev_id)


def opencl(dev_id: int = 0) -> Device:
    """A device of OpenCL."""
    return Device(Device.kDLOpenCL, dev_id)


def metal(dev_id: int = 0) -> Device:
    """A GPU of Metal."""
    return Device(Device.kDLMetal, dev_id)


def vpi(dev_id: int = 0) -> Device:
    """A simulated device of VPI."""
    return Device(Device.kDLVPI, dev_id)


def vulkan(dev_id: int = 0) -> Device:
    """A GPU of Vulkan."""
    return Device(Device.kDLVulkan, dev_id)


def ext_dev(dev_id: int = 0) -> Device:
    """An extension device."""
    return Device(Device.kDLExtDev, dev_id)


def hexagon(dev_id: int = 0) -> Device:
    """A processor of Hexagon."""
    return Device(Device.kDLHexagon, dev_id)


def webgpu(dev_id: int = 0) -> Device:
    """A GPU of WebGPU."""
    return Device(Device.kDLWebGPU, dev_id)


cl = opencl
mtl = metal
