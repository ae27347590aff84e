"""Operators of YOLO (`python/tvm/relay/op/vision/yolo.py`)."""

from .._factory import define as _define

__all__ = _define("op.vision.yolo", globals())
