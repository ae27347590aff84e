"""Anchor boxes (`python/tvm/relay/op/vision/multibox.py`)."""

from .._factory import define as _define

__all__ = _define("op.vision.multibox", globals())
