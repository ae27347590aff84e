"""Random numbers: `relay.random`."""

from .kernel import *
