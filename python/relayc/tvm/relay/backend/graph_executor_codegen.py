"""The code generator of the graph executor (TVM `python/tvm/relay/backend/graph_executor_codegen.py`)."""

from __future__ import annotations

from typing import Any, Dict, Tuple

from ...ir.transform import PassContext
from ...runtime.ndarray import NDArray
from ...target._cpu import cpu_targets
from . import _library

__all__ = ["GraphExecutorCodegen"]


class GraphExecutorCodegen:
    """Compiles functions to graphs."""

    def __init__(self, mod: Any, target: Any) -> None:
        self._targets = cpu_targets(target)

    def codegen(self, ir_module: Any, func: Any) -> Tuple[str, Dict[Any, Any], Dict[str, NDArray]]:
        """The graph of a function as JSON, what is compiled by target, and the constants of the graph."""
        mod = ir_module._copy()
        mod["main"] = func
        network = _library.compiled(mod, None, PassContext.current().opt_level)
        return network.graph_json, {self._targets[0]: network}, dict(network.constants)
