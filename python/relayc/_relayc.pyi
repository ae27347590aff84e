"""The native module. What is public of it is in `relayc`; the rest serves the package."""

from __future__ import annotations

import os
from typing import Any, Mapping, Sequence

from numpy.typing import NDArray

from ._executable import Bench, Profile

__version__: str

class Module:
    """A program of Relay: its functions and data types."""

    def nodes(self) -> tuple[dict[Any, Any], dict[Any, Any]]: ...

class Tensor:
    """A tensor of the native side."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> str: ...
    def numpy(self) -> NDArray[Any]: ...

class Port:
    """An input or output: its name, element type and shape."""

    @property
    def name(self) -> str:
        """The parameter without `%`, `out` for the result; fields of tuples are `name.0`, `name.1`."""
    @property
    def dtype(self) -> str:
        """TVM's name of the element type."""
    @property
    def shape(self) -> tuple[int | str, ...]:
        """The extent of each axis: a number, or the text of an open dimension."""

class Executable:
    """A compiled program: call it with arrays, by position or by name.

    Arrays that are C-contiguous, aligned and native are read and written in place; others are copied once as inputs, and refused
    as outputs. Any number of threads may call it at one time. It pickles as program, options and weights, or as the path of its
    artifact, and is compiled where it is unpickled; a process that is forked may go on using it.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs once. Returns the result: an array, or a tuple as the program's result is one."""
    def run_into(self, outputs: Any, *args: Any, **kwargs: Any) -> None:
        """Runs once and writes the result into `outputs`: an array, or a tuple as the program's result is one."""
    @property
    def inputs(self) -> list[Port]:
        """The tensors that a call takes, in order."""
    @property
    def outputs(self) -> list[Port]:
        """The tensors that a call gives, in order."""
    @property
    def parameters(self) -> list[str]:
        """The names of the parameters, in order."""
    @property
    def options(self) -> dict[str, Any]:
        """The options it was compiled with; of an artifact, those that are known of it."""
    @property
    def fallbacks(self) -> list[str]:
        """The operators without a kernel, which are evaluated as the interpreter does."""
    def text(self) -> str:
        """The text of the program; that of an artifact is the text it was built from."""
    def bench(self, *args: Any, seconds: float = 1.0, warmup: float = 0.2, **kwargs: Any) -> Bench:
        """Measures single runs, without what a call from Python adds. Without arguments, floats are random, all else is zero."""
    def profile(self, *args: Any, seconds: float = 1.0, **kwargs: Any) -> Profile:
        """Measures each group of operators. Without arguments, floats are random, all else is zero."""
    def save(
        self,
        path: str | os.PathLike[str],
        *,
        targets: str | Sequence[str] | None = None,
        sizes: str | Sequence[str] | None = None,
    ) -> None:
        """Writes a shared object with code for machines of the targets, by default "x86-64-v3" and "x86-64-v4", and the weights.

        `sizes` are those of open dimensions, `"n=1,4"`; it has code for each combination.
        """
    @property
    def _nests(self) -> list[Any]: ...
    @property
    def _graph(self) -> str | None: ...
    def _repr_html_(self) -> str: ...
    def _times(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], *, seconds: float, warmup: float
    ) -> list[float]: ...
    def _profile(self, args: tuple[Any, ...], kwargs: dict[str, Any], *, seconds: float) -> tuple[str, str]: ...
    def _write_artifact(self, path: str, name: str, targets: list[str], sizes: list[str]) -> None: ...
    def _run_flat(self, inputs: Sequence[Any], outputs: Sequence[Any] | None = None) -> list[NDArray[Any]]: ...

class Evaluator:
    """An entry of a module for runs with any values, on the interpreter or by subgraphs."""

    def __init__(
        self,
        module: Module,
        *,
        entry: str = "main",
        compiled: bool = False,
        threads: int | None = None,
        accuracy: str = "fast",
        level: int = 3,
    ) -> None: ...
    @property
    def parameters(self) -> list[str]: ...
    def run(self, args: list[Any], codec: Any) -> Any: ...

def compile(
    module: Module,
    *,
    entry: str = "main",
    threads: int | None = None,
    accuracy: str = "fast",
    target: str = "native",
    level: int = 3,
    sizes: int = 128,
) -> Executable: ...
def compile_text(
    name: str, text: str, weights: bytes, options: tuple[str, int, str, str, int, int]
) -> Executable: ...
def load_artifact(path: str, threads: int | None = None, target: str = "native") -> Executable: ...
def arguments(parameters: Sequence[str], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]: ...
def read_text(text: str, name: str = "<string>") -> Module: ...
def read_file(path: str, *, set: list[str] = ..., entry: str = "main") -> Module: ...
def import_file(
    path: str,
    *,
    data: bytes | None = None,
    weights: list[str] = ...,
    shapes: list[str] = ...,
    inputs: list[str] = ...,
    keep_going: bool = False,
    external_data: bool = False,
) -> tuple[Module, str]: ...
def diagnostics(module: Module) -> list[tuple[str, str]]: ...
def has_error(module: Module) -> bool: ...
def require_sound(module: Module) -> None: ...
def print(module: Module, types: bool, meta: bool) -> str: ...
def optimized(module: Module, passes: list[str], level: int, entry: str | None) -> Module: ...
def draw(
    module: Module,
    form: str,
    *,
    function: str | None = None,
    around: str | None = None,
    depth: int = ...,
    weights: bool = False,
    fold: bool = True,
    width: int = ...,
    title: str = "-",
) -> str: ...
def zoo_networks() -> list[tuple[str, str, list[tuple[str, str, str]]]]: ...
def zoo_build(name: str, flags: list[str], seed: int | None) -> Module: ...
def operator_pages(name: str) -> list[tuple[str, str]]: ...
def operator_page(name: str) -> str: ...
def load_params(data: bytes) -> dict[str, NDArray[Any]]: ...
def save_params(params: dict[str, Any]) -> bytes: ...
def read_weights(path: str) -> dict[str, NDArray[Any]]: ...
def write_weights(path: str, params: dict[str, Any]) -> None: ...
def with_weights(module: Module, files: list[str], arrays: dict[str, Any] | None) -> Module: ...
def unknown_weights(module: Module, names: list[str]) -> tuple[list[tuple[str, str | None]], int]: ...
def weights_of(module: Module) -> dict[str, NDArray[Any]]: ...
def graph_of(module: Module, entry: str, level: int) -> tuple[str, dict[str, Tensor]]: ...
def with_constants(module: Module, entry: str, level: int, constants: dict[str, Any]) -> Module: ...
def operators() -> str: ...
def astext(node: Any, show_meta_data: bool) -> str: ...
def parse_module(source: str, source_name: str, init_module: Any = None) -> Module: ...
def parse_expr(source: str, source_name: str) -> Any: ...
def infer_module(module: Any) -> tuple[dict[Any, Any], dict[Any, Any]]: ...
def run_pass(module: Any, name: str, options: dict[str, Any] | None = None) -> tuple[dict[Any, Any], dict[Any, Any]]: ...
def native_of(module: Any) -> Module: ...
def import_model(
    data: bytes,
    kind: str,
    *,
    name: str = "model",
    shapes: list[str] = ...,
    weights: Mapping[str, Any] | None = None,
) -> tuple[Module, dict[str, Tensor], dict[str, str], str]: ...
def read_image(path: str, preset: str, shape: list[int], dtype: str) -> NDArray[Any]: ...
def network(name: str, flags: list[str]) -> Module: ...
