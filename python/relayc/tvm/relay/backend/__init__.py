"""What compiles and runs Relay: executors, factories, the virtual machine, the interpreter."""

from __future__ import annotations

from ..._refused import module_getattr
from . import (
    _backend,
    executor as executor,
    executor_factory as executor_factory,
    graph_executor_codegen as graph_executor_codegen,
    interpreter as interpreter,
    runtime as runtime,
    utils as utils,
    vm as vm,
)
from .executor import Executor as Executor
from .runtime import Runtime as Runtime

__getattr__ = module_getattr(__name__)
