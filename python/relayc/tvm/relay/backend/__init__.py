"""What compiles and runs Relay: executors, factories, the virtual machine, the interpreter."""

from __future__ import annotations

from ..._refused import module_getattr
from . import _backend, executor, executor_factory, graph_executor_codegen, interpreter, runtime, utils, vm
from .executor import Executor
from .runtime import Runtime

__getattr__ = module_getattr(__name__)
