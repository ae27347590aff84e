"""The kinds of targets by name: their device, their default keys, their options.

relayc builds for `llvm`, and `c` as `llvm`: the CPU it runs on. The other kinds exist so that programs
can name them; building for one is refused.
"""

from __future__ import annotations

from typing import Any, Dict, Tuple

from .._ffi.runtime_ctypes import Device

__all__ = ["COMMON_OPTIONS", "KINDS", "OPTIONS"]

_GPU_OPTIONS: Dict[str, Any] = {
    "arch": str,
    "max_num_threads": int,
    "max_threads_per_block": int,
    "max_shared_memory_per_block": int,
    "max_function_args": int,
    "registers_per_block": int,
    "thread_warp_size": int,
    "texture_spatial_limit": int,
    "system-lib": bool,
    "l2_cache_size_bytes": int,
    "mtriple": str,
    "mcpu": str,
    "supports_integer_dot_product": bool,
    "supports_cooperative_matrix": bool,
    "supports_float16": bool,
    "supports_int8": bool,
    "supports_float64": bool,
    "supports_int64": bool,
    "supports_16bit_buffer": bool,
    "supports_8bit_buffer": bool,
    "supports_storage_buffer_storage_class": bool,
    "supported_subgroup_operations": int,
    "driver_version": int,
    "vulkan_api_version": int,
    "device_name": str,
    "device_type": str,
}

_CPU_OPTIONS: Dict[str, Any] = {
    "mattr": list,
    "mcpu": str,
    "mtriple": str,
    "mabi": str,
    "march": str,
    "mfloat-abi": str,
    "num-cores": int,
    "alignment": int,
    "fast-math": bool,
    "fast-math-nnan": bool,
    "fast-math-ninf": bool,
    "fast-math-nsz": bool,
    "fast-math-arcp": bool,
    "fast-math-contract": bool,
    "fast-math-reassoc": bool,
    "opt-level": int,
    "cl-opt": list,
    "jit": str,
    "vector-width": int,
    "workspace-byte-alignment": int,
    "constants-byte-alignment": int,
}

#: Options that every kind has.
COMMON_OPTIONS: Dict[str, Any] = {
    "keys": list,
    "tag": str,
    "device": str,
    "model": str,
    "libs": list,
    "host": str,
    "from_device": int,
    "target_device_type": int,
}

#: Kind to its device, its default keys, and attributes that it has by default.
KINDS: Dict[str, Tuple[int, Tuple[str, ...], Dict[str, Any]]] = {
    "llvm": (Device.kDLCPU, ("cpu",), {}),
    "c": (Device.kDLCPU, ("cpu",), {}),
    "stackvm": (Device.kDLCPU, (), {}),
    "ext_dev": (Device.kDLExtDev, (), {}),
    "hybrid": (Device.kDLCPU, (), {}),
    "composite": (Device.kDLCPU, (), {}),
    "test": (Device.kDLCPU, ("cpu",), {}),
    "ccompiler": (Device.kDLCPU, ("cpu",), {}),
    "example_target_hook": (Device.kDLCPU, ("cpu",), {}),
    "cuda": (
        Device.kDLCUDA,
        ("cuda", "gpu"),
        {"max_num_threads": 1024, "thread_warp_size": 32, "arch": "sm_50"},
    ),
    "nvptx": (Device.kDLCUDA, ("cuda", "gpu"), {"max_num_threads": 1024, "thread_warp_size": 32}),
    "cudnn": (Device.kDLCUDA, ("cuda", "gpu"), {}),
    "cublas": (Device.kDLCUDA, ("cuda", "gpu"), {}),
    "cutlass": (Device.kDLCUDA, ("cuda", "gpu"), {}),
    "tensorrt": (Device.kDLCUDA, ("cuda", "gpu"), {}),
    "rocm": (Device.kDLROCM, ("rocm", "gpu"), {"max_num_threads": 256, "thread_warp_size": 64}),
    "opencl": (Device.kDLOpenCL, ("opencl", "gpu"), {"max_num_threads": 256, "thread_warp_size": 1}),
    "metal": (Device.kDLMetal, ("metal", "gpu"), {"max_num_threads": 256, "thread_warp_size": 16}),
    "vulkan": (Device.kDLVulkan, ("vulkan", "gpu"), {"max_num_threads": 256, "thread_warp_size": 1}),
    "webgpu": (Device.kDLWebGPU, ("webgpu", "gpu"), {"max_num_threads": 256}),
    "sdaccel": (Device.kDLOpenCL, ("sdaccel", "hls"), {}),
    "aocl": (Device.kDLAOCL, ("aocl", "hls"), {}),
    "aocl_sw_emu": (Device.kDLAOCL, ("aocl", "hls"), {}),
    "hexagon": (Device.kDLHexagon, ("hexagon", "cpu"), {}),
}

#: Options of the kinds beyond the common ones.
OPTIONS: Dict[str, Dict[str, Any]] = {
    kind: {
        **(_CPU_OPTIONS if device in (Device.kDLCPU, Device.kDLHexagon) else _GPU_OPTIONS),
        **({"vtcm-capacity": int, "llvm-options": list} if kind == "hexagon" else {}),
        **({"devices": list} if kind == "composite" else {}),
        **({"header": str} if kind == "ccompiler" else {}),
        **({"example_attribute": int} if kind == "example_target_hook" else {}),
        **({"use_implicit_batch": bool, "tensorrt_version": list} if kind == "tensorrt" else {}),
        **({"tuning_result": str, "sm": int, "use_3xtf32": bool} if kind == "cutlass" else {}),
    }
    for kind, (device, _, _) in KINDS.items()
}
