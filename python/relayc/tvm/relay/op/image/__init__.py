"""Operators on images: `relay.image`."""

from .image import *
