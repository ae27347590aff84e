"""`GraphModuleDebug`, an executor that shows the time of each group of operators (TVM `python/tvm/contrib/debugger/debug_executor.py`).

Absent: the values of single nodes, of which compiled code keeps none; `relayc run --save-steps` writes them.
"""

from __future__ import annotations

import warnings
from typing import Any, NoReturn, Optional

from ...runtime.module import Module
from .. import graph_executor

__all__ = ["GraphModuleDebug", "create"]


def create(graph_json_str: str, libmod: Module, device: Any, dump_root: Optional[str] = None) -> "GraphModuleDebug":
    """The executor of a library, as `graph_executor.create` makes it."""
    assert isinstance(graph_json_str, str)
    devices, _, _ = graph_executor.get_device(libmod, device)
    return GraphModuleDebug(libmod["create"](*devices), devices, graph_json_str, dump_root)


def _unused(what: str, why: str) -> None:
    warnings.warn(f"{what} has no effect here: {why}", stacklevel=3)


class GraphModuleDebug(graph_executor.GraphModule):
    """As `GraphModule`; a run also prints the time of each group."""

    def __init__(self, module: Module, device: Any, graph_json_str: str, dump_root: Optional[str] = None) -> None:
        super().__init__(module)
        if dump_root is not None:
            _unused("dump_root", "no files are written; str(profile()) is the table")
        self._profile = module["profile"]
        self.graph_json = graph_json_str

    def run(  # type: ignore[override]
        self,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: float = 1,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: float = 0,
        repeats_to_cooldown: int = 1,
        sort_by_time: bool = True,
        **input_dict: Any,
    ) -> None:
        """Runs once, with these inputs set before, and prints the profile: a row per group, in the order of running."""
        given = (number, repeat, min_repeat_ms, limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown, sort_by_time)
        if given != (10, 1, 1, 100, 0, 1, True):
            _unused("how often run() measures", "the profile repeats each group as often as it needs")
        super().run(**input_dict)
        print(self._profile())

    def profile(self, collectors: Any = None, **input_dict: Any) -> Any:
        """The time of each group of operators; `str()` of it is a table."""
        if collectors:
            raise NotImplementedError("a profile counts time alone: count events of the processor with `perf stat`")
        if input_dict:
            self.set_input(**input_dict)
        return self._profile()

    def debug_get_output(self, node: Any, out: Any = None) -> NoReturn:
        """Not here: compiled code keeps no values of nodes."""
        raise NotImplementedError("compiled code keeps no values of nodes: `relayc run --save-steps` writes those of a program")

    def run_individual(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not here: nodes do not run alone."""
        raise NotImplementedError("the nodes of a graph do not run alone: profile() gives the time of each group")

    def run_individual_node(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not here: nodes do not run alone."""
        raise NotImplementedError("the nodes of a graph do not run alone: profile() gives the time of each group")

    def exit(self) -> None:
        """Nothing is left behind."""
