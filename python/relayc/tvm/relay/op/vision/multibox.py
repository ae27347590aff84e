"""Anchor boxes (`python/tvm/relay/op/vision/multibox.py`)."""

from .._factory import define

__all__ = define("op.vision.multibox", globals())
