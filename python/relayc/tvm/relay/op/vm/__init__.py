"""Operators of the virtual machine: `relay.op.vm`."""

from .vm import *
