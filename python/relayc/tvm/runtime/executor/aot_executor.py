"""`AotModule`, the AOT executor (TVM `python/tvm/runtime/executor/aot_executor.py`): as `GraphModule`, without a graph."""

from __future__ import annotations

from typing import Tuple

from ..module import Module
from ._runner import Runner

__all__ = ["AotModule"]


class AotModule(Runner):
    """The executor of a library that was built for AOT."""

    _what = "model"

    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self._get_input_name = module["get_input_name"]

    def get_input_name(self, index: int) -> str:
        """The name of an input."""
        return self._get_input_name(index)

    def get_input_info(self) -> Tuple[dict, dict]:
        """The shapes and the data types of the inputs, by name."""
        buffers = {self.get_input_name(at): self.get_input(at) for at in range(self.get_num_inputs())}
        return ({name: found.shape for name, found in buffers.items()}, {name: found.dtype for name, found in buffers.items()})
