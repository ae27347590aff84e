"""Operators: a function for each, in its namespace (`python/tvm/relay/op/__init__.py`).

A function builds a call. Where an argument may be known only at run time it accepts
an expression, and the call is one of the operator's form below `dyn`.
"""

from ..._refused import module_getattr
from .op import (
    OpPattern,
    OpStrategy,
    debug,
    get,
    register_alter_op_layout,
    register_compute,
    register_external_compiler,
    register_fake_quantization_to_integer,
    register_gradient,
    register_legalize,
    register_mixed_precision_conversion,
    register_optional_fake_quantization_to_integer,
    register_pattern,
)
from .reduce import *
from .tensor import *
from .transform import *
from .algorithm import *
from . import annotation, contrib, dyn, image, memory, nn, op_attrs, random, vision, vm
from . import _make

__getattr__ = module_getattr(__name__)
