"""Programs on quantized numbers: `relay.qnn`."""

from . import op as op
from . import transform as transform
