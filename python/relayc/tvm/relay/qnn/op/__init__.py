"""Operators on quantized numbers: `relay.qnn.op`."""

from .config import RequantizeConfig as RequantizeConfig
from .config import current_requantize_config as current_requantize_config
from .config import requantize_config as requantize_config
from .op import register_qnn_canonicalize as register_qnn_canonicalize
from .op import register_qnn_legalize as register_qnn_legalize
from .qnn import *
