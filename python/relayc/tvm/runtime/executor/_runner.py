"""What the graph executor and the AOT executor share: runs, and inputs and outputs by name or number."""

from __future__ import annotations

from typing import Any, Optional

from ..module import Module
from ..ndarray import NDArray

__all__ = ["Runner"]


class Runner:
    """An executor: set inputs, run, get outputs.

    `module` is what `library["default"](device)` made. An output is the executor's own memory, which the next run overwrites.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self._set_input = module["set_input"]
        self._run = module["run"]
        self._get_output = module["get_output"]
        self._get_input = module["get_input"]
        self._get_num_outputs = module["get_num_outputs"]
        self._get_input_index = module["get_input_index"]
        self._get_num_inputs = module["get_num_inputs"]

    def run(self, **input_dict: Any) -> None:
        """Runs once, with these inputs set before."""
        if input_dict:
            self.set_input(**input_dict)
        self._run()

    def get_num_outputs(self) -> int:
        """The number of outputs."""
        return self._get_num_outputs()

    def get_num_inputs(self) -> int:
        """The number of inputs, with the constants of the graph."""
        return self._get_num_inputs()

    def get_input(self, index: Any, out: Optional[NDArray] = None) -> Any:
        """The memory of an input, by name or number; or a copy of it in `out`."""
        found = self._get_input(index)
        return found if out is None else found.copyto(out)

    def get_input_index(self, name: str) -> int:
        """The number of an input; -1 if there is none of the name."""
        return self._get_input_index(name)

    def get_output(self, index: Any, out: Optional[NDArray] = None) -> Any:
        """An output of the last run, by number or name; or a copy of it in `out`."""
        if out is None:
            return self._get_output(index)
        self._get_output(index, out)
        return out
