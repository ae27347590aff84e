"""Functions that make targets of single devices: `cuda`, `arm_cpu`, …"""

from __future__ import annotations

import warnings
from typing import List, Optional, Sequence, Union

from .target import Target

__all__ = [
    "adreno",
    "arm_cpu",
    "bifrost",
    "cuda",
    "hexagon",
    "intel_graphics",
    "mali",
    "micro",
    "rasp",
    "riscv_cpu",
    "rocm",
    "stm32",
    "vta",
]

_Options = Union[str, Sequence[str], None]


def _target(kind: str, options: List[str], more: _Options) -> Target:
    extra = more.split() if isinstance(more, str) else list(more or [])
    words = [kind, *options, *(option for option in extra if option not in options)]
    return Target(" ".join(words))


def cuda(model: str = "unknown", arch: Optional[str] = None, options: _Options = None) -> Target:
    """A GPU of NVIDIA."""
    return _target("cuda", [f"-model={model}", *([f"-arch={arch}"] if arch else [])], options)


def rocm(model: str = "unknown", options: _Options = None) -> Target:
    """A GPU of AMD."""
    return _target("rocm", [f"-model={model}"], options)


def mali(model: str = "unknown", options: _Options = None) -> Target:
    """A Mali GPU of Arm."""
    return _target("opencl", ["-device=mali", f"-model={model}"], options)


def intel_graphics(model: str = "unknown", options: _Options = None) -> Target:
    """A GPU of Intel."""
    words = ["-device=intel_graphics", f"-model={model}", "-thread_warp_size=16"]
    return _target("opencl", words, options)


def bifrost(model: str = "unknown", options: _Options = None) -> Target:
    """A Mali GPU of Arm, of the Bifrost architecture."""
    return _target("opencl", ["-device=bifrost", f"-model={model}"], options)


def adreno(model: str = "unknown", options: _Options = None) -> Target:
    """An Adreno GPU of Qualcomm."""
    return _target("opencl", ["-device=adreno", f"-model={model}"], options)


def arm_cpu(model: str = "unknown", options: _Options = None) -> Target:
    """A CPU of Arm."""
    return _target("llvm", ["-keys=arm_cpu,cpu", "-device=arm_cpu", f"-model={model}"], options)


def rasp(options: _Options = None) -> Target:
    """A Raspberry Pi 3b."""
    warnings.warn('tvm.target.rasp() is deprecated: use tvm.target.arm_cpu("rasp3b")', stacklevel=2)
    return arm_cpu("rasp3b", options)


def riscv_cpu(model: str = "sifive-u54", options: _Options = None) -> Target:
    """A CPU of RISC-V."""
    return _target("llvm", ["-keys=arm_cpu,cpu", "-device=arm_cpu", f"-model={model}"], options)


def vta(model: str = "unknown", options: _Options = None) -> Target:
    """The accelerator VTA."""
    return _target("ext_dev", ["-device=vta", "-keys=vta,cpu", f"-model={model}"], options)


def micro(model: str = "unknown", options: _Options = None) -> Target:
    """A microcontroller."""
    return _target("c", [f"-model={model}"], options)


def stm32(series: str = "unknown", options: _Options = None) -> Target:
    """A microcontroller of the STM32 family."""
    return _target("c", ["-keys=arm_cpu,cpu", "-device=arm_cpu", f"-model={series}"], options)


def hexagon(cpu_ver: str = "v68", **kwargs: object) -> Target:
    """A Hexagon DSP of Qualcomm."""
    return Target(f"hexagon -mtriple=hexagon -mcpu=hexagon{cpu_ver}")
