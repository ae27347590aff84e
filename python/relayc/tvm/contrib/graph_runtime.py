"""`graph_executor` by its old name."""

from __future__ import annotations

import warnings
from typing import Any

from . import graph_executor
from .graph_executor import GraphModule as GraphModule


def create(*args: Any, **kwargs: Any) -> graph_executor.GraphModule:
    """`graph_executor.create`."""
    warnings.warn("tvm.contrib.graph_runtime is deprecated: use tvm.contrib.graph_executor", stacklevel=2)
    return graph_executor.create(*args, **kwargs)
