"""Objects, tensors, devices and containers."""

from __future__ import annotations

from . import _dtype, container, ndarray, object, object_generic, params
from .container import ADT, Array, Map, ShapeTuple, String
from .ndarray import (
    DataType,
    DataTypeCode,
    Device,
    NDArray,
    cl,
    cpu,
    cuda,
    device,
    ext_dev,
    gpu,
    metal,
    mtl,
    opencl,
    rocm,
    vpi,
    vulkan,
)
from .module import BenchmarkResult, Module, enabled, load_module, load_static_library, num_threads, system_lib
from .object import Object
from .object_path import ObjectPath, ObjectPathPair
from .object_generic import ObjectGeneric, ObjectTypes, const, convert, convert_to_object
from .packed_func import PackedFunc
from .params import (
    load_param_dict,
    load_param_dict_from_file,
    save_param_dict,
    save_param_dict_to_file,
)
from .script_printer import Scriptable
from . import executor, module, vm
