"""Tables of patterns of other compilers: `relay.op.contrib`."""

from ...._refused import module_getattr
from .register import get_pattern_table as get_pattern_table
from .register import register_pattern_table as register_pattern_table

__getattr__ = module_getattr(__name__)
