"""Operators on quantized numbers: `relay.qnn.op`."""

from .config import RequantizeConfig, current_requantize_config, requantize_config
from .op import register_qnn_canonicalize, register_qnn_legalize
from .qnn import *
