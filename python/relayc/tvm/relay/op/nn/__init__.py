"""Operators of neural networks: `relay.nn`."""

from .nn import *
from . import utils as utils
