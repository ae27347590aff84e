"""TVM v0.14's Relay API on relayc. Programs that say `import tvm` say `import relayc.tvm as tvm` instead.

What is not Relay (te, tir, topi, tuning, other targets) imports, and says when it is called what to do instead.
"""

from __future__ import annotations

from . import _refused

_refused.install()

from . import error
from ._ffi.base import TVMError, __version__
from ._ffi.registry import get_global_func, register_extension, register_func, register_object
from .runtime import ndarray as nd
from .runtime.ndarray import (
    DataType,
    DataTypeCode,
    cl,
    cpu,
    cuda,
    device,
    ext_dev,
    gpu,
    hexagon,
    metal,
    mtl,
    opencl,
    rocm,
    vpi,
    vulkan,
)
from .runtime.object import Object
from . import ir, runtime, te, tir
from .ir import IRModule, container, instrument, transform
from . import contrib, parser, support, target

__getattr__ = _refused.module_getattr(__name__)
