"""Operators of YOLO (`python/tvm/relay/op/vision/yolo.py`)."""

from .._factory import define

__all__ = define("op.vision.yolo", globals())
