"""Devices and data types as values: `Device`, `DataType`, `DataTypeCode`.

One device exists here, the CPU. The others have their names and numbers, so that
programs can ask for them and find that they do not exist.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Optional, Tuple

__all__ = ["DataType", "DataTypeCode", "Device", "RPC_SESS_MASK"]

#: Devices of a remote session have numbers from here on.
RPC_SESS_MASK = 128


class DataTypeCode:
    """The codes of DLPack (`dlpack.h`, `DLDataTypeCode`) and TVM's own."""

    INT = 0
    UINT = 1
    FLOAT = 2
    HANDLE = 3
    BFLOAT = 4
    E4M3Float = 6
    E5M2Float = 7


_CODE_NAMES = {
    DataTypeCode.INT: "int",
    DataTypeCode.UINT: "uint",
    DataTypeCode.FLOAT: "float",
    DataTypeCode.HANDLE: "handle",
    DataTypeCode.BFLOAT: "bfloat",
    DataTypeCode.E4M3Float: "e4m3_float",
    DataTypeCode.E5M2Float: "e5m2_float",
}
_NAME_CODES = {name: code for code, name in _CODE_NAMES.items()}
_DATA_TYPE = re.compile(rf"({'|'.join([*_NAME_CODES, 'bool'])})(\d*)(?:x(\d+))?$")


class DataType:
    """A data type: code, bits and lanes, written `float32`, `int8x4`, `bool`."""

    def __init__(self, type_str: Any) -> None:
        name = type_str if isinstance(type_str, str) else str(_numpy_name(type_str))
        self.type_code, self.bits, self.lanes = _parse_data_type(name)

    def __repr__(self) -> str:
        if self.bits == 0 and self.lanes == 0:
            return "void"
        if self.bits == 1 and self.type_code == DataTypeCode.UINT:
            name = "bool"
        else:
            name = f"{_CODE_NAMES[self.type_code]}{self.bits}"
        return name if self.lanes == 1 else f"{name}x{self.lanes}"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            other = DataType(other)
        if not isinstance(other, DataType):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> Tuple[int, int, int]:
        return self.type_code, self.bits, self.lanes


def _numpy_name(dtype: Any) -> str:
    import numpy as np

    return np.dtype(dtype).name


def _parse_data_type(name: str) -> Tuple[int, int, int]:
    """Code, bits and lanes of a name. Raises `ValueError` for other words."""
    if name == "void":
        return DataTypeCode.HANDLE, 0, 0
    match = _DATA_TYPE.match(name)
    if match:
        head, bits, lanes = match.group(1), match.group(2), int(match.group(3) or 1)
        if head == "bool" and not bits:
            return DataTypeCode.UINT, 1, lanes
        if head == "handle" and not bits:
            return DataTypeCode.HANDLE, 64, lanes
        if head in _NAME_CODES:
            return _NAME_CODES[head], int(bits or 32), lanes
    raise ValueError(f"Do not know how to handle type {name}")


class Device:
    """A device: its type's number and its own. Two are equal if both numbers are."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLAOCL = 32
    kDLSDAccel = 33
    kOpenGL = 34
    kDLMicroDev = 35

    MASK2STR: Dict[int, str] = {
        kDLCPU: "cpu",
        kDLCUDA: "cuda",
        kDLCUDAHost: "cuda_host",
        kDLOpenCL: "opencl",
        kDLVulkan: "vulkan",
        kDLMetal: "metal",
        kDLVPI: "vpi",
        kDLROCM: "rocm",
        kDLROCMHost: "rocm_host",
        kDLExtDev: "ext_dev",
        kDLCUDAManaged: "cuda_managed",
        kDLOneAPI: "oneapi",
        kDLWebGPU: "webgpu",
        kDLHexagon: "hexagon",
        kDLAOCL: "aocl",
        kDLSDAccel: "sdaccel",
        kOpenGL: "opengl",
        kDLMicroDev: "microdev",
    }
    STR2MASK: Dict[str, int] = {
        **{name: number for number, name in MASK2STR.items()},
        **dict.fromkeys(("llvm", "stackvm", "c", "test", "hybrid", "composite"), kDLCPU),
        **{"nvptx": kDLCUDA, "cl": kDLOpenCL, "aocl_sw_emu": kDLAOCL},
    }

    __slots__ = ("device_type", "device_id")

    def __init__(self, device_type: int, device_id: int = 0) -> None:
        self.device_type = int(device_type)
        self.device_id = int(device_id)

    @property
    def exist(self) -> bool:
        """Whether the device can be used: only the CPU can."""
        return self.device_type == Device.kDLCPU

    #: What only accelerators have is absent, as TVM says `None` for a CPU.
    max_threads_per_block: Optional[int] = None
    warp_size: Optional[int] = None
    max_shared_memory_per_block: Optional[int] = None
    compute_version: Optional[str] = None
    device_name: Optional[str] = None
    max_clock_rate: Optional[int] = None
    multi_processor_count: Optional[int] = None
    max_thread_dimensions: Optional[Any] = None

    def sync(self, stream: Any = None) -> None:
        """Waits for the device; calls on the CPU are finished when they return."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Device):
            return NotImplemented
        return (self.device_type, self.device_id) == (other.device_type, other.device_id)

    def __hash__(self) -> int:
        return hash((self.device_type, self.device_id))

    def __repr__(self) -> str:
        return f"{self.MASK2STR.get(self.device_type, self.device_type)}({self.device_id})"

    def __str__(self) -> str:
        return repr(self)
