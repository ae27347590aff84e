"""`tvm.relay.transform`: passes over Relay programs."""

from __future__ import annotations

from . import _ffi_api, infer_layout_utils, transform
from .flexible_shape import FlexibleShapeDispatch
from .recast import recast
from .transform import *  # noqa: F403

__all__ = ["FlexibleShapeDispatch", "infer_layout_utils", "recast", *transform.__all__]


def __getattr__(name: str) -> object:
    # These register rules with operators, whose modules import this one.
    if name in ("fake_quantization_to_integer", "mixed_precision"):
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
