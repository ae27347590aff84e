"""`ExecutorModule`, the buffers and the functions of an executor: what `library["default"](device)` makes."""

from __future__ import annotations

import hashlib
from typing import Any, Dict, List, Optional, Set, Tuple

import numpy as np

from ...error import TVMError
from ...runtime.container import Map, ShapeTuple, String
from ...runtime.module import Module
from ...runtime.ndarray import NDArray, array, check_device, empty, to_array, to_ndarray
from ...runtime.params import load_param_dict


class ExecutorModule(Module):
    """Runs a network on its own buffers. Its functions are those of TVM's graph and AOT executors."""

    type_key = "GraphExecutor"

    def __init__(self, network: Any, devices: Tuple[Any, ...] = ()) -> None:
        super().__init__()
        for device in devices:
            check_device(device)
        self.network = network
        self._executable = network.executable
        self._names: List[str] = []
        self._inputs: List[NDArray] = []
        for name, shape, dtype in network.inputs:
            if not all(isinstance(dim, int) for dim in shape):
                words = f"the graph executor runs tensors of known shapes, and `{name}` has {shape}"
                raise TVMError(f"{words}: use the virtual machine")
            self._names.append(name)
            self._inputs.append(_zeros(shape, dtype))
        #: The buffers of constants that were asked for or set, those that a caller may write, and those set since the last run.
        self._constants: Dict[str, NDArray] = {}
        self._lent: Set[str] = set()
        self._set: Set[str] = set()
        #: The constants that the executable has and the network has not.
        self._compiled: Dict[str, NDArray] = {}
        self._results: Optional[List[NDArray]] = None
        self._types = network.constant_types()
        self._constant_names = list(self._types)
        self._outputs: List[Optional[NDArray]] = [
            empty(port.shape, port.dtype) if all(isinstance(dim, int) for dim in port.shape) else None
            for port in self._executable.outputs
        ]
        for name in _FUNCTIONS:
            self._functions[name] = getattr(self, f"_{name}")

    def _position(self, key: Any) -> Optional[int]:
        """The number of an input; constants come after the function's parameters."""
        if isinstance(key, (int, np.integer)):
            return int(key) if 0 <= key < self._get_num_inputs() else None
        if key in self._names:
            return self._names.index(key)
        return len(self._names) + self._constant_names.index(key) if key in self._types else None

    def _get_input(self, key: Any) -> Optional[NDArray]:
        """The buffer of an input, by name or number; None if there is none."""
        at = self._position(key)
        if at is None:
            return None
        if at < len(self._names):
            return self._inputs[at]
        name = self._constant_names[at - len(self._names)]
        self._lent.add(name)
        return self._constant(name)

    def _constant(self, name: str) -> NDArray:
        """The buffer of a constant."""
        if name not in self._constants:
            known = self.network.constants.get(name)
            shape, dtype = self._types[name]
            self._constants[name] = _zeros(shape, dtype) if known is None else array(known)
        return self._constants[name]

    def _set_input(self, key: Any, value: Any = None) -> None:
        at = self._position(key)
        if at is None:
            raise TVMError(f"there is no input `{key}`; the inputs are: {', '.join(self._names)}")
        if at < len(self._names):
            self._inputs[at].copyfrom(value)
            return
        name = self._constant_names[at - len(self._names)]
        room = self._constant(name)
        if name in self.network.digests:
            shape, dtype = self._types[name]
            given = _zeros(shape, dtype)
            given.copyfrom(value)
            self._require_built_with(name, given)
            room.copyfrom(given)
            return
        room.copyfrom(value)
        self._set.add(name)

    def _require_built_with(self, name: str, value: NDArray) -> None:
        """Refuses a value of a constant that an artifact was not built with."""
        if hashlib.sha256(value._array.tobytes()).hexdigest() != self.network.digests[name]:
            words = "the artifact was built with another value, which is part of its code"
            raise TVMError(f"`{name}`: {words}: build the network anew to run it with this one")

    def _set_input_zero_copy(self, key: Any, value: Any) -> None:
        at = self._position(key)
        if at is None or at >= len(self._names):
            raise TVMError(f"there is no input `{key}` whose memory may be the caller's")
        self._inputs[at] = _checked(value, self._inputs[at], f"input `{key}`")

    def _set_output_zero_copy(self, key: Any, value: Any) -> None:
        at = self._output(key)
        room = self._outputs[at]
        self._outputs[at] = value if room is None else _checked(value, room, f"output {key}")

    def _run(self) -> None:
        self._take_constants()
        inputs = [to_array(buffer) for buffer in self._inputs]
        if any(room is None for room in self._outputs):
            made = self._executable._run_flat(inputs)
            ports = self._executable.outputs
            self._results = [to_ndarray(array, port.dtype) for array, port in zip(made, ports)]
            return
        self._executable._run_flat(inputs, [to_array(room) for room in self._outputs])
        self._results = self._outputs

    def _take_constants(self) -> None:
        """Compiles the network anew if a constant has another value than it is compiled with."""
        changed, self._set = self._set | self._lent, set()
        if self.network.native is None:
            # What is lent of an artifact is empty until somebody writes into it.
            for name in changed & set(self.network.digests):
                if self._constants[name]._array.any():
                    self._require_built_with(name, self._constants[name])
            return
        if not changed:
            return
        known = {**self.network.constants, **self._compiled}
        differing = {name: array(self._constants[name]) for name in changed if not _same(self._constants[name], known[name])}
        if differing:
            self._compiled = {**self._compiled, **differing}
            self._executable = self.network.with_constants(self._compiled)

    def _run_from_inputs(self, device_type: int, device_id: int, *named: Any) -> List[NDArray]:
        for key, value in zip(named[::2], named[1::2]):
            self._set_input(key, value)
        self._run()
        return [self._get_output(at) for at in range(self._get_num_outputs())]

    def _output(self, key: Any) -> int:
        """The number of an output, by name or number. Raises TVMError if there is none."""
        names = [port.name for port in self._executable.outputs]
        at = names.index(key) if key in names else key
        if not isinstance(at, (int, np.integer)) or not 0 <= at < len(names):
            raise TVMError(f"there is no output `{key}`; the outputs are: {', '.join(names)}")
        return int(at)

    def _get_output(self, index: Any, out: Optional[NDArray] = None) -> Any:
        at = self._output(index)
        results = self._results if self._results is not None else self._outputs
        if out is None:
            return results[at]
        results[at].copyto(out)
        return None

    def _get_num_outputs(self) -> int:
        return len(self._outputs)

    def _get_num_inputs(self) -> int:
        return len(self._names) + len(self._constant_names)

    def _get_input_index(self, name: str) -> int:
        at = self._position(name)
        return -1 if at is None else at

    def _get_input_name(self, index: int) -> str:
        return [*self._names, *self._constant_names][index]

    def _get_input_info(self) -> Map:
        """The shapes and data types of the inputs that are no constants."""
        inputs = list(zip(self._names, self._inputs))
        shapes = Map({String(name): ShapeTuple(tuple(int(dim) for dim in buffer.shape)) for name, buffer in inputs})
        dtypes = Map({String(name): String(buffer.dtype) for name, buffer in inputs})
        return Map({"shape": shapes, "dtype": dtypes})

    def _load_params(self, params: Any) -> None:
        """Sets the inputs that a file of parameters names; it may name others."""
        for name, value in load_param_dict(bytes(params)).items():
            if self._position(name) is not None:
                self._set_input(name, value)

    def _share_params(self, other: "ExecutorModule", params: Any) -> None:
        """Uses the buffers of another executor for the inputs that a file of parameters names."""
        for name in load_param_dict(bytes(params)):
            at, theirs = self._position(name), other._get_input(name)
            if at is None or theirs is None:
                continue
            if at < len(self._names):
                self._inputs[at] = theirs
                continue
            name = self._constant_names[at - len(self._names)]
            if name in self.network.digests:
                self._require_built_with(name, theirs)
            self._constants[name] = theirs
            self._lent.add(name)

    def _profile(self) -> Any:
        """The time of each group of operators, as a table."""
        return self._executable.profile(*self._nested())

    def _nested(self) -> List[Any]:
        buffers = iter(self._inputs)
        return [_nest(nest, buffers) for nest in self._executable._nests]


_FUNCTIONS = (
    "get_input",
    "get_input_index",
    "get_input_info",
    "get_input_name",
    "get_num_inputs",
    "get_num_outputs",
    "get_output",
    "load_params",
    "profile",
    "run",
    "run_from_inputs",
    "set_input",
    "set_input_zero_copy",
    "set_output_zero_copy",
    "share_params",
)


def _nest(nest: Any, buffers: Any) -> Any:
    return to_array(next(buffers)) if nest is None else tuple(_nest(field, buffers) for field in nest)


def _zeros(shape: Any, dtype: str) -> NDArray:
    buffer = empty(shape, dtype)
    buffer._array[...] = 0
    return buffer


def _checked(value: Any, room: NDArray, what: str) -> NDArray:
    """The caller's tensor in the place of a buffer. Raises TVMError for another type."""
    from ...runtime.ndarray import from_dlpack

    found = value if isinstance(value, NDArray) else from_dlpack(value)
    if (found.shape, found.dtype) != (room.shape, room.dtype):
        raise TVMError(f"{what}: expected {room.dtype} of the shape {room.shape}, found {found.dtype} of {found.shape}")
    return found


def _same(one: NDArray, other: NDArray) -> bool:
    """Whether two tensors have the same bytes."""
    return one is other or np.array_equal(one._array.reshape(-1).view(np.uint8), other._array.reshape(-1).view(np.uint8))
