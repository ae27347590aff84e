"""Programs on quantized numbers: `relay.qnn`."""

from . import op, transform
