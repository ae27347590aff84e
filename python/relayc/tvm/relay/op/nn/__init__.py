"""Operators of neural networks: `relay.nn`."""

from .nn import *
from . import utils as utils
from ...expr import Constant as Constant, Expr as Expr, const as const
