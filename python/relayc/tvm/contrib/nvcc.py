"""`tvm.contrib.nvcc`: what a program may ask of CUDA. There is none; compiling for it is refused."""

from __future__ import annotations

from typing import Any, Tuple

from .._refused import module_getattr

__all__ = [
    "get_cuda_version",
    "have_bf16",
    "have_cudagraph",
    "have_fp16",
    "have_int8",
    "have_tensorcore",
]


def _never(compute_version: Any = None, target: Any = None) -> bool:
    """Whether CUDA devices of a version can do it: there are no such devices."""
    return False


have_fp16 = have_int8 = have_tensorcore = have_cudagraph = have_bf16 = _never


def get_cuda_version(cuda_path: Any = None) -> Tuple[int, ...]:
    """Raises `RuntimeError`: CUDA is not there."""
    raise RuntimeError("CUDA is not there: relayc compiles for CPUs")


__getattr__ = module_getattr(__name__)
