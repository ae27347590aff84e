"""`GraphModule`, an executor of a compiled graph (TVM `python/tvm/contrib/graph_executor.py`)."""

from __future__ import annotations

from typing import Any, Optional, Tuple

from .._ffi.runtime_ctypes import Device
from ..runtime.executor._runner import Runner
from ..runtime.module import BenchmarkResult, Module

__all__ = ["GraphModule", "create", "get_device"]


def create(graph_json_str: str, libmod: Module, device: Any) -> "GraphModule":
    """The executor of a library that `relay.build` made or `load_module` loaded. The graph is that of the library."""
    assert isinstance(graph_json_str, str)
    devices, _, _ = get_device(libmod, device)
    return GraphModule(libmod["create"](*devices))


def get_device(libmod: Module, device: Any) -> Tuple[list, int, list]:
    """Devices as a list, the number of remote ones, and their types and numbers. Raises ValueError for what is no device."""
    devices = [device] if isinstance(device, Device) else device
    if not isinstance(devices, (list, tuple)) or not all(isinstance(found, Device) for found in devices):
        raise ValueError("dev has to be the type of Device or a list of Device")
    numbers = [number for found in devices for number in (found.device_type, found.device_id)]
    return list(devices), 0, numbers


class GraphModule(Runner):
    """The executor of a graph, which may use memory of the caller's.

    Inputs that are given by names that no input has are ignored, so that all parameters of a file may be given.
    """

    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self._set_input_zero_copy = module["set_input_zero_copy"]
        self._set_output_zero_copy = module["set_output_zero_copy"]
        self._get_input_info = module["get_input_info"]
        self._load_params = module["load_params"]
        self._share_params = module["share_params"]

    def set_input(self, key: Any = None, value: Any = None, **params: Any) -> None:
        """Copies a value to an input, by name or number, and others by name.

        Raises RuntimeError if `key` is no input, ValueError for a value of another shape.
        """
        if key is not None:
            if not self._has_input(key):
                raise RuntimeError(f"Could not find '{key}' in graph's inputs")
            self._set_input(key, value)
        for name, given in params.items():
            if self._has_input(name):
                self._set_input(name, given)

    def _has_input(self, key: Any) -> bool:
        if isinstance(key, str):
            return self._get_input_index(key) >= 0
        return 0 <= key < self._get_num_inputs()

    def set_input_zero_copy(self, key: Any = None, value: Any = None, **params: Any) -> None:
        """Uses the memory of a tensor, or of an object with DLPack, as an input from now on."""
        if key is not None:
            self._set_input_zero_copy(key, value)
        for name, given in params.items():
            if self._has_input(name):
                self._set_input_zero_copy(name, given)

    def set_output_zero_copy(self, key: Any, value: Any) -> None:
        """Writes an output into the memory of a tensor from now on."""
        self._set_output_zero_copy(key, value)

    def get_input_info(self) -> Tuple[Any, Any]:
        """The shapes and the data types of the inputs that are no constants, by name."""
        found = self._get_input_info()
        return found["shape"], found["dtype"]

    def debug_get_output(self, node: Any, out: Any) -> None:
        """For the debugger's executor."""
        raise NotImplementedError("Please use debugger.debug_executor as graph_executor instead.")

    def load_params(self, params_bytes: Any) -> None:
        """Sets the inputs that a file of parameters names, given its bytes."""
        self._load_params(bytearray(params_bytes))

    def share_params(self, other: "GraphModule", params_bytes: Any) -> None:
        """Uses the memory of another executor for the inputs that a file of parameters names."""
        self._share_params(other.module, bytearray(params_bytes))

    def __getitem__(self, key: str) -> Any:
        return self.module[key]

    def benchmark(
        self,
        device: Any,
        func_name: str = "run",
        repeat: int = 5,
        number: int = 5,
        min_repeat_ms: Optional[float] = None,
        limit_zero_time_iterations: int = 100,
        end_to_end: bool = False,
        cooldown_interval_ms: float = 0,
        repeats_to_cooldown: int = 1,
        **kwargs: Any,
    ) -> BenchmarkResult:
        """The time of a function, called `number` times for each of `repeat` results.

        `kwargs` are inputs; with `end_to_end` setting them and getting the outputs counts as well.
        """
        evaluate = self.module.time_evaluator(
            "run_from_inputs" if end_to_end else func_name,
            device,
            repeat=repeat,
            number=number,
            min_repeat_ms=0 if min_repeat_ms is None else min_repeat_ms,
            limit_zero_time_iterations=limit_zero_time_iterations,
            cooldown_interval_ms=cooldown_interval_ms,
            repeats_to_cooldown=repeats_to_cooldown,
        )
        if end_to_end:
            named = [part for pair in kwargs.items() for part in pair]
            return evaluate(device.device_type, device.device_id, *named)
        if kwargs:
            self.set_input(**kwargs)
        return evaluate()
