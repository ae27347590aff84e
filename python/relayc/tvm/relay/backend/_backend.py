"""TVM's functions of the backend that Python calls by this module (`python/tvm/relay/backend/_backend.py`)."""

from __future__ import annotations

from typing import Any, Mapping, NoReturn

from ...target._cpu import cpu_targets
from ._library import Library


def build(mod: Mapping[Any, Any], target: Any, target_host: Any = None) -> Library:
    """The library of what `GraphExecutorCodegen.codegen` compiled."""
    cpu_targets(target, target_host)
    (network,) = mod.values()
    return Library(network)


def GraphPlanMemory(func: Any) -> NoReturn:
    """Not here: memory is planned for machine code."""
    raise NotImplementedError("relayc plans memory with the code that uses it: `relayc run --emit plan` shows the plan")
