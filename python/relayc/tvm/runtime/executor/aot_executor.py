"""`AotModule`, the AOT executor (TVM `python/tvm/runtime/executor/aot_executor.py`): as `GraphModule`, without a graph."""

from __future__ import annotations

from typing import Any, Tuple

from ...error import TVMError
from ..module import Module
from ..name_transforms import sanitize_name
from ._runner import Runner

__all__ = ["AotModule"]


class AotModule(Runner):
    """The executor of a library that was built for AOT. Inputs have their names in C as well: `input_0` is `input:0`."""

    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self._get_input_name = module["get_input_name"]

    def get_input_index(self, name: str) -> int:
        """The number of an input. Raises TVMError if there is none of the name."""
        names = [self._get_input_name(at) for at in range(self._get_num_inputs())]
        for known in (names, [sanitize_name(own) for own in names]):
            if name in known:
                return known.index(name)
        raise TVMError(f"Invalid input name. There is no input `{name}`; the inputs are: {', '.join(names)}")

    def set_input(self, key: Any = None, value: Any = None, **params: Any) -> None:
        """Copies a value to an input, by name or number, and others by name.

        Raises TVMError if there is no such input, ValueError for a value of another shape.
        """
        given = params if key is None else {key: value, **params}
        for name, array in given.items():
            self._set_input(self.get_input_index(name) if isinstance(name, str) else name, array)

    def get_input_name(self, index: int) -> str:
        """The name of an input."""
        return self._get_input_name(index)

    def get_input_info(self) -> Tuple[dict, dict]:
        """The shapes and the data types of the inputs, by name."""
        buffers = {self.get_input_name(at): self.get_input(at) for at in range(self.get_num_inputs())}
        return ({name: found.shape for name, found in buffers.items()}, {name: found.dtype for name, found in buffers.items()})
