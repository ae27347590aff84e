"""Regions of interest (`python/tvm/relay/op/vision/rcnn.py`)."""

from .._factory import define

__all__ = define("op.vision.rcnn", globals())
