"""Operators of object detection: `relay.vision`."""

from .multibox import *
from .nms import *
from .rcnn import *
from .yolo import *
