"""TVM v0.14's Relay API on relayc. Programs that say `import tvm` say `import relayc.tvm as tvm` instead.

What is not Relay (te, tir, topi, tuning, other targets) imports, and says when it is called what to do instead.
"""

from __future__ import annotations

from . import _refused

_refused.install()

from . import error as error
from ._ffi.base import TVMError as TVMError, __version__
from ._ffi.registry import (
    get_global_func as get_global_func,
    register_extension as register_extension,
    register_func as register_func,
    register_object as register_object,
)
from .runtime import nd as nd
from .runtime.ndarray import (
    DataType as DataType,
    DataTypeCode as DataTypeCode,
    cl as cl,
    cpu as cpu,
    cuda as cuda,
    device as device,
    ext_dev as ext_dev,
    gpu as gpu,
    hexagon as hexagon,
    metal as metal,
    mtl as mtl,
    opencl as opencl,
    rocm as rocm,
    vpi as vpi,
    vulkan as vulkan,
)
from .runtime.object import Object as Object
from . import ir as ir, runtime as runtime, te as te, tir as tir
from .ir import (
    IRModule as IRModule,
    container as container,
    instrument as instrument,
    transform as transform,
)
from . import contrib as contrib, parser as parser, support as support, target as target

__getattr__ = _refused.module_getattr(__name__)
