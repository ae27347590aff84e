"""`tvm.testing`: what tests of Relay programs use of it."""

from __future__ import annotations

from .. import relay as _relay  # noqa: F401 (with TVM, `import tvm.testing` brings `tvm.relay`)
from .._refused import module_getattr as _module_getattr
from . import utils
from .utils import *  # noqa: F403

__all__ = list(utils.__all__)
__getattr__ = _module_getattr(__name__)
