"""Operators: a function for each, in its namespace (`python/tvm/relay/op/__init__.py`).

A function builds a call. Where an argument may be known only at run time it accepts
an expression, and the call is one of the operator's form below `dyn`.
"""

from ..._refused import module_getattr
from ..expr import const as const
from .op import OpPattern as OpPattern
from .op import OpStrategy as OpStrategy
from .op import debug as debug
from .op import get as get
from .op import register_alter_op_layout as register_alter_op_layout
from .op import register_compute as register_compute
from .op import register_external_compiler as register_external_compiler
from .op import register_fake_quantization_to_integer as register_fake_quantization_to_integer
from .op import register_gradient as register_gradient
from .op import register_legalize as register_legalize
from .op import register_mixed_precision_conversion as register_mixed_precision_conversion
from .op import register_optional_fake_quantization_to_integer as register_optional_fake_quantization_to_integer
from .op import register_pattern as register_pattern
from .reduce import *
from .tensor import *
from .transform import *
from .algorithm import *
from . import _make
from . import annotation as annotation
from . import contrib as contrib
from . import dyn as dyn
from . import image as image
from . import memory as memory
from . import nn as nn
from . import op_attrs as op_attrs
from . import random as random
from . import vision as vision
from . import vm as vm

__getattr__ = module_getattr(__name__)
