"""Operators of memory plans: `relay.op.memory`."""

from .memory import *
