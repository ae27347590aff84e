"""Objects, tensors, devices and containers."""

from __future__ import annotations

from . import (
    _dtype,
    container as container,
    ndarray as ndarray,
    object as object,
    object_generic as object_generic,
    params as params,
)
from .container import (
    ADT as ADT,
    Array as Array,
    Map as Map,
    ShapeTuple as ShapeTuple,
    String as String,
)
from .ndarray import (
    DataType as DataType,
    DataTypeCode as DataTypeCode,
    Device as Device,
    NDArray as NDArray,
    cl as cl,
    cpu as cpu,
    cuda as cuda,
    device as device,
    ext_dev as ext_dev,
    gpu as gpu,
    metal as metal,
    mtl as mtl,
    opencl as opencl,
    rocm as rocm,
    vpi as vpi,
    vulkan as vulkan,
)
from .module import (
    BenchmarkResult as BenchmarkResult,
    Module as Module,
    enabled as enabled,
    load_module as load_module,
    load_static_library as load_static_library,
    num_threads as num_threads,
    system_lib as system_lib,
)
from .object import Object as Object
from .object_path import ObjectPath as ObjectPath, ObjectPathPair as ObjectPathPair
from .object_generic import (
    ObjectGeneric as ObjectGeneric,
    ObjectTypes as ObjectTypes,
    const as const,
    convert as convert,
    convert_to_object as convert_to_object,
)
from .packed_func import PackedFunc as PackedFunc
from .params import (
    load_param_dict as load_param_dict,
    load_param_dict_from_file as load_param_dict_from_file,
    save_param_dict as save_param_dict,
    save_param_dict_to_file as save_param_dict_to_file,
)
from .script_printer import Scriptable as Scriptable
from . import executor as executor, module as module, vm as vm

nd = ndarray
