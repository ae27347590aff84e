"""Marks on expressions for passes: `relay.annotation`."""

from .annotation import *
