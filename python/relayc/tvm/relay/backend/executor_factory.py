"""Executor factories: what `relay.build` returns (TVM `python/tvm/relay/backend/executor_factory.py`)."""

from __future__ import annotations

import warnings
from typing import Any, Dict, Iterator, List, Optional

from ..._refused import refuse
from ...runtime.module import check_compiler
from ...runtime.ndarray import NDArray


class _FunctionMetadata(Dict[str, Any]):
    """TVM's facts about compiled functions of TIR, of which there are none."""

    def __missing__(self, name: str) -> Any:
        return refuse("relay.backend.executor_factory.function_metadata")()


class ExecutorFactoryModule:
    """A compiled program, of which `factory["default"](device)` makes executors.

    Unpacked, `graph, lib, params = relay.build(...)`, it is the graph, the library and the parameters.
    """

    def __init__(
        self,
        ir_mod: Any,
        target: Any,
        executor: Any,
        libmod: Any,
        libmod_name: str,
        params: Dict[str, NDArray],
        runtime: Any = None,
    ) -> None:
        self.ir_mod = ir_mod
        self.target = target
        self.executor = executor
        self.runtime = runtime
        self.module = libmod
        self.lib = libmod
        self.libmod_name = libmod_name
        self.params = params
        self.function_metadata: Dict[str, Any] = _FunctionMetadata()
        self.iter_cnt = 0

    def get_executor_config(self) -> Optional[str]:
        """What configures the executor."""
        raise NotImplementedError

    def get_params(self) -> Dict[str, NDArray]:
        """The parameters: the constants of the graph after folding, by name."""
        return self.params

    def get_lib(self) -> Any:
        """The library."""
        return self.lib

    def get_devices(self) -> List[str]:
        """The devices that the program names: none."""
        return []

    def export_library(self, file_name: Any, fcompile: Any = None, addons: Any = None, **kwargs: Any) -> None:
        """Writes a shared object that needs neither TVM nor relayc; `tvm.runtime.load_module` loads it.

        No compiler is called, so its options have no effect, which a warning says. Raises NotImplementedError for the
        compiler of another machine.
        """
        check_compiler(fcompile, kwargs if addons is None else {"addons": addons, **kwargs})
        self.lib._write(str(file_name))

    def __getitem__(self, item: str) -> Any:
        return self.module[item]

    def __iter__(self) -> Iterator[Any]:
        warnings.warn(
            "unpacking what relay.build returns is deprecated: use graph_executor.GraphModule(lib['default'](device))",
            DeprecationWarning,
            2,
        )
        self.iter_cnt = 0
        return self

    def __next__(self) -> Any:
        parts = (self.get_executor_config(), self.lib, self.params)
        if self.iter_cnt >= len(parts):
            raise StopIteration
        self.iter_cnt += 1
        return parts[self.iter_cnt - 1]


class GraphExecutorFactoryModule(ExecutorFactoryModule):
    """The factory of graph executors."""

    @property
    def graph_json(self) -> str:
        """The graph as JSON: the program in groups of operators."""
        return self.lib.network.graph_json

    def get_graph_json(self) -> str:
        """The graph as JSON."""
        return self.graph_json

    def get_executor_config(self) -> str:
        """The graph as JSON."""
        return self.graph_json


class AOTExecutorFactoryModule(ExecutorFactoryModule):
    """The factory of AOT executors."""

    executor_codegen_metadata: Any = None
    lowered_ir_mods: Dict[Any, Any] = {}

    def get_executor_config(self) -> None:
        """Nothing: the executor needs no graph."""
        return None
