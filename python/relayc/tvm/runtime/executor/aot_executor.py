"""`AotModule`, the AOT executor (TVM `python/tvm/runtime/executor/aot_executor.py`): as `GraphModule`, without a graph."""

from __future__ import annotations

from typing import Any, Optional, Tuple

from ..module import Module
from ..ndarray import NDArray

__all__ = ["AotModule"]


class AotModule:
    """An executor: set inputs, run, get outputs."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._set_input = module["set_input"]
        self._run = module["run"]
        self._get_output = module["get_output"]
        self._get_input = module["get_input"]
        self._get_num_outputs = module["get_num_outputs"]
        self._get_input_index = module["get_input_index"]
        self._get_num_inputs = module["get_num_inputs"]
        self._get_input_name = module["get_input_name"]

    def set_input(self, key: Any = None, value: Any = None, **params: Any) -> None:
        """Copies a value to an input, by name or number, and others by name. Raises RuntimeError if `key` is no input."""
        if key is not None:
            if isinstance(key, str) and self._get_input_index(key) < 0:
                raise RuntimeError(f"Could not find '{key}' in model's inputs")
            self._set_input(key, value)
        for name, given in params.items():
            if self._get_input_index(name) >= 0:
                self._set_input(name, given)

    def run(self, **input_dict: Any) -> None:
        """Runs once, with these inputs set before."""
        if input_dict:
            self.set_input(**input_dict)
        self._run()

    def get_num_outputs(self) -> int:
        """The number of outputs."""
        return self._get_num_outputs()

    def get_num_inputs(self) -> int:
        """The number of inputs."""
        return self._get_num_inputs()

    def get_input(self, index: Any, out: Optional[NDArray] = None) -> Any:
        """The memory of an input, by name or number; or a copy of it in `out`."""
        found = self._get_input(index)
        return found if out is None else found.copyto(out)

    def get_input_index(self, name: str) -> int:
        """The number of an input; -1 if there is none of the name."""
        return self._get_input_index(name)

    def get_output(self, index: Any, out: Optional[NDArray] = None) -> Any:
        """An output of the last run; or a copy of it in `out`."""
        if out is None:
            return self._get_output(index)
        self._get_output(index, out)
        return out

    def get_input_name(self, index: int) -> str:
        """The name of an input."""
        return self._get_input_name(index)

    def get_input_info(self) -> Tuple[dict, dict]:
        """The shapes and the data types of the inputs, by name."""
        buffers = {self.get_input_name(at): self.get_input(at) for at in range(self.get_num_inputs())}
        return ({name: found.shape for name, found in buffers.items()}, {name: found.dtype for name, found in buffers.items()})
