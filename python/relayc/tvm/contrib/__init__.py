"""`tvm.contrib`: executors, downloads and temporary directories."""

from __future__ import annotations

from .._refused import module_getattr as _module_getattr
from . import utils as utils

__getattr__ = _module_getattr(__name__)
