"""Regions of interest (`python/tvm/relay/op/vision/rcnn.py`)."""

from .._factory import define as _define

__all__ = _define("op.vision.rcnn", globals())
