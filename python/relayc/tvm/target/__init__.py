"""`tvm.target`: what names the processor that a program is compiled for."""

from __future__ import annotations

from . import codegen
from ._named import (
    arm_cpu,
    bifrost,
    cuda,
    hexagon,
    intel_graphics,
    mali,
    rasp,
    riscv_cpu,
    rocm,
    stm32,
    vta,
)
from .compilation_config import make_compilation_config
from .generic_func import (
    GenericFunc,
    generic_func,
    get_native_generic_func,
    override_native_generic_func,
)
from .tag import list_tags
from .target import Target, TargetKind, create
from .virtual_device import VirtualDevice
from .._refused import module_getattr as _module_getattr

__all__ = [
    "GenericFunc",
    "Target",
    "TargetKind",
    "VirtualDevice",
    "arm_cpu",
    "bifrost",
    "codegen",
    "create",
    "cuda",
    "generic_func",
    "get_native_generic_func",
    "hexagon",
    "intel_graphics",
    "list_tags",
    "make_compilation_config",
    "mali",
    "override_native_generic_func",
    "rasp",
    "riscv_cpu",
    "rocm",
    "stm32",
    "vta",
]
__getattr__ = _module_getattr(__name__)
