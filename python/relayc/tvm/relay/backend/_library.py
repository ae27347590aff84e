"""What `relay.build` makes and `load_module` loads: a compiled network, its graph and its parameters.

A network runs its whole function at once; the graph only describes it. Its inputs are the function's parameters, then
the constants of the graph (`p0`, `p1`, …) with their values. Another value for a constant compiles the network anew with
it; in an artifact the constants are part of the code, and other values are refused.
"""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, Optional


from ... import _native
from ...error import TVMError
from ...runtime.module import Module, ModulePropertyMask
from ...runtime.ndarray import NDArray, to_array
from ._executor import ExecutorModule

#: What files of programs of the virtual machine begin with.
PROGRAM = b"relayc program of the virtual machine\n"


class Network:
    """A compiled function with its graph."""

    def __init__(self, native: Any, level: int, accuracy: str, executable: Any = None) -> None:
        self.native = native
        self.level = level
        self.accuracy = accuracy
        self.entry = "main"
        self.executable = executable or _native.compiled(native, self.entry, level, accuracy)
        self.graph_json, self.constants = self._graph()
        self.digests = _digests(self.graph_json) if native is None else {}
        self.inputs = [(port.name, port.shape, port.dtype) for port in self.executable.inputs]

    def _graph(self) -> tuple:
        if self.native is None:
            text = self.executable._graph or _plain_graph(self.executable)
            return text, {}
        try:
            text, constants = _native.graph_of(self.native, self.entry, self.level)
        except TVMError:
            # The graph executor of TVM cannot run it; this one can.
            return _plain_graph(self.executable), {}
        return text, {name: NDArray(tensor.numpy(), tensor.dtype) for name, tensor in constants.items()}

    def with_constants(self, constants: Mapping[str, NDArray]) -> Any:
        """The executable with other values for constants. Raises ValueError for one of another type."""
        arrays = {name: to_array(value) for name, value in constants.items()}
        native = _native.with_constants(self.native, self.entry, self.level, arrays)
        return _native.compiled(native, self.entry, self.level, self.accuracy)

    def constant_types(self) -> Dict[str, tuple]:
        """The shape and data type of each constant that the graph names."""
        graph = json.loads(self.graph_json)
        own = {name for name, _, _ in self.inputs}
        shapes, dtypes = graph["attrs"]["shape"][1], graph["attrs"]["dltype"][1]
        rows = graph["node_row_ptr"]
        found = {}
        for node in graph["arg_nodes"]:
            name = graph["nodes"][node]["name"]
            if name not in own:
                found[name] = tuple(shapes[rows[node]]), dtypes[rows[node]]
        return found


def _digests(graph_json: str) -> Dict[str, str]:
    """Of the constants that an artifact is compiled with."""
    nodes = json.loads(graph_json)["nodes"]
    digests = {node["name"]: node.get("attrs", {}).get("digest") for node in nodes if node["op"] == "null"}
    return {name: digest for name, digest in digests.items() if digest}


def _plain_graph(executable: Any) -> str:
    """A graph of one call, for programs that TVM's graph executor cannot run."""
    inputs, outputs = executable.inputs, executable.outputs
    nodes: List[dict] = [{"op": "null", "name": port.name, "inputs": []} for port in inputs]
    attrs = {"func_name": "relayc_main", "num_inputs": str(len(inputs)), "num_outputs": str(len(outputs)), "flatten_data": "0"}
    call = {"op": "tvm_op", "name": "relayc_main", "attrs": attrs, "inputs": [[at, 0, 0] for at in range(len(inputs))]}
    ports = [*inputs, *outputs]
    return json.dumps(
        {
            "nodes": [*nodes, call],
            "arg_nodes": list(range(len(inputs))),
            "heads": [[len(inputs), at, 0] for at in range(len(outputs))],
            "attrs": {
                "dltype": ["list_str", [port.dtype for port in ports]],
                "device_index": ["list_int", [1] * len(ports)],
                "storage_id": ["list_int", list(range(len(ports)))],
                "shape": ["list_shape", [[dim if isinstance(dim, int) else -1 for dim in port.shape] for port in ports]],
            },
            "node_row_ptr": [*range(len(inputs) + 1), len(ports)],
        }
    )


class Library(Module):
    """A compiled network as a module: `library["default"](device)` makes what runs it."""

    type_key = "GraphExecutorFactory"

    def __init__(self, network: Network, name: str = "default") -> None:
        super().__init__()
        self.network = network
        self.name = name
        self._functions[name] = lambda *devices: ExecutorModule(network, devices)
        self._functions["create"] = self._functions[name]
        self._functions["get_graph_json"] = lambda: network.graph_json
        self._functions["get_graph_params"] = lambda: dict(network.constants)

    def get_property_mask(self) -> int:
        """It runs, and `export_library` writes it."""
        return ModulePropertyMask.RUNNABLE | ModulePropertyMask.DSO_EXPORTABLE

    def get_source(self, fmt: str = "") -> str:
        """The text of the program."""
        return self.network.executable.text()

    def _write(self, file_name: str) -> None:
        """Writes a shared object with code for AVX2 and AVX-512, and with the constants."""
        if self.network.native is None:
            raise NotImplementedError("an artifact that was loaded is not written again: copy its file")
        self.network.executable.save(file_name)


def load(path: str) -> Module:
    """The module in a file that `export_library` wrote. Raises RelayError for another file, OSError."""
    with open(path, "rb") as file:
        start = file.read(len(PROGRAM))
        if start == PROGRAM:
            from ...runtime.vm import ProgramModule, read_program

            return ProgramModule(read_program(file.read()))
    return Library(Network(None, 3, "fast", _native.load_artifact(path)))


def compiled(mod: Any, params: Optional[Mapping[str, Any]], level: int) -> Network:
    """The network of a module's `main` with the values of some parameters. Raises RelayError.

    Sums are as written below level 3, and within 1e-4 of an output's largest magnitude from there on.
    """
    from ...runtime import ndarray
    from ..qnn.op.config import configured

    tensors = {
        name: value if isinstance(value, NDArray) else ndarray.array(value) for name, value in (params or {}).items()
    }
    native = _native.native_of(configured(mod))
    if tensors:
        native = _native.with_weights(native, {name: to_array(value) for name, value in tensors.items()})
    return Network(native, min(level, 3), "fast" if level >= 3 else "strict")
