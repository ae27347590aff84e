"""`Module`: a program that was read, and its diagnostics."""

from __future__ import annotations

import html
import os
import warnings
from typing import Any, Mapping, Sequence, overload

import numpy as np

from . import _given, _relayc
from ._diagnostics import Diagnostic, diagnostic
from ._errors import RelayError
from ._executable import Executable
from ._given import Params, Path
from ._values import CODEC


class Module:
    """A program of Relay: its functions, its data types, and the weights that came with it.

    `parse` and `load` make one, also of a program with errors: `check` lists them, and whatever needs a sound program
    raises `RelayError` with their rendered text.
    """

    def __init__(self, native: _relayc.Module, *, types: bool = False, name: str = "module") -> None:
        self._native = native
        self._types = types
        self._name = name
        self._compiled: dict[str, Any] = {}

    def check(self) -> list[Diagnostic]:
        """All errors and warnings, in text order, with those of the lints."""
        return [diagnostic(line, rendered) for line, rendered in _relayc.diagnostics(self._native)]

    def infer(self) -> Module:
        """The module with the types of all its expressions, which its text shows. Errors: RelayError."""
        _relayc.require_sound(self._native)
        return Module(self._native, types=True, name=self._name)

    def text(self, *, types: bool | None = None, meta: bool = False) -> str:
        """The canonical text: with the types as comments, and with the values of large constants (`meta`)."""
        return _relayc.print(self._native, self._types if types is None else types, meta)

    def __str__(self) -> str:
        return self.text()

    @property
    def params(self) -> dict[str, np.ndarray]:
        """The weights that came with the program, by the names of parameters, as new arrays."""
        return _relayc.weights_of(self._native)

    def with_params(self, params: Params) -> Module:
        """The module with weights: files (.params, .npz, .safetensors) or arrays by the names of parameters.

        They win over those that it has. Names without a parameter are ignored: those of files silently, since a file may
        serve several programs, those of arrays with a warning of Python. Errors: RelayError for a file, TypeError for an
        array that is no tensor.
        """
        return self._with_params(params)

    def _with_params(self, params: Params) -> Module:
        """`with_params`, for a caller two calls away."""
        files, arrays = _given.params(params)
        native = _relayc.with_weights(self._native, files, arrays)
        unknown, others = _relayc.unknown_weights(self._native, list(arrays))
        if unknown:
            names = ", ".join(f"`{name}`" + (f" (there is `{near}`)" if near else "") for name, near in unknown)
            more = f", and {others} more" if others else ""
            warnings.warn(f"no parameter has the name of these weights: {names}{more}", stacklevel=3)
        return Module(native, types=self._types, name=self._name)

    def optimize(self, *passes: str, level: int = 3, entry: str | None = "main") -> Module:
        """The module after passes of these names, or after all of a level.

        Errors: KeyError for an unknown pass, RelayError.
        """
        return Module(_relayc.optimized(self._native, list(passes), level, entry), types=self._types, name=self._name)

    def compile(
        self,
        *,
        threads: int | None = None,
        accuracy: str = "fast",
        target: str = "native",
        level: int = 3,
        entry: str = "main",
        sizes: int = 128,
    ) -> Executable:
        """Compiles an entry; the weights that came with the program become part of it.

        threads: of one call; without it RELAYC_NUM_THREADS, else OMP_NUM_THREADS, else one for each processor.
        accuracy: "fast", within 1e-4 of an output's largest magnitude, or "strict", sums as written.
        target: "native", "x86-64-v3" or "x86-64-v4".
        level: of optimization, from 0 to 3.
        sizes: for how many sizes of open dimensions code is kept.

        Errors: RelayError for a program that cannot be compiled, ValueError for an option.
        """
        return _relayc.compile(
            self._native, entry=entry, threads=threads, accuracy=accuracy, target=target, level=level, sizes=sizes
        )

    def run(self, /, *args: Any, entry: str = "main", engine: str = "jit", **inputs: Any) -> Any:
        """Runs an entry once: arguments by position or by name; parameters with weights need none.

        Tensors are arrays, tuples are tuples; values of data types are `relayc.Adt`, references `relayc.Ref`. `engine` is
        "jit", which compiles at the first run, or "interp", the reference interpreter.

        Errors: RelayError, also for a program that fails; TypeError and ValueError for arguments.
        """
        if engine not in ("jit", "interp"):
            raise ValueError(f'engine is "{engine}": expected "jit" or "interp"')
        runner = self._runner(entry, engine)
        if isinstance(runner, Executable):
            return runner(*args, **inputs)
        return runner.run(_relayc.arguments(runner.parameters, args, inputs), CODEC)

    def _runner(self, entry: str, engine: str) -> Any:
        """What runs an entry, made once."""
        key = f"{engine} {entry}"
        if key not in self._compiled:
            self._compiled[key] = self._new_runner(entry, engine)
        return self._compiled[key]

    def _new_runner(self, entry: str, engine: str) -> Any:
        if engine == "interp":
            return _relayc.Evaluator(self._native, entry=entry)
        try:
            return self.compile(entry=entry)
        except RelayError as error:
            if error.code not in ("E0601", "E0602"):
                raise
        try:
            return _relayc.Evaluator(self._native, entry=entry, compiled=True)
        except RelayError:
            return _relayc.Evaluator(self._native, entry=entry)

    def draw(self, form: str = "term", **options: Any) -> str:
        """A drawing of the program as text: "term", "dot", "svg" or "html" (a page to search and fold).

        function: one function only. around, depth: what is near a node. weights: weights are nodes too. fold: repeated
        blocks are drawn once. width: columns of a terminal. Errors: ValueError, RelayError.
        """
        options.setdefault("title", self._name)
        return _relayc.draw(self._native, form, **options)

    def _repr_html_(self) -> str:
        """The drawing in a notebook, or the messages about a program that has no drawing."""
        try:
            return _framed(self.draw("html"))
        except RelayError as error:
            return f"<pre>{html.escape(str(error))}</pre>"

    def __repr__(self) -> str:
        state = "with errors" if _relayc.has_error(self._native) else "sound"
        return f"<relayc.Module {self._name!r}, {state}>"

    def __reduce__(self) -> tuple[Any, ...]:
        text = _relayc.print(self._native, True, True)
        return _unpickled, (text, self._name, _relayc.save_params(self.params), self._types)


def _unpickled(text: str, name: str, params: bytes, types: bool) -> Module:
    native = _relayc.with_weights(_relayc.read_text(text, name), [], _relayc.load_params(params))
    return Module(native, types=types, name=name)


def _framed(page: str) -> str:
    """A whole page as a part of another."""
    return f'<iframe style="width: 100%; height: 32em; border: 0" srcdoc="{html.escape(page)}"></iframe>'


def parse(text: str, name: str = "<string>") -> Module:
    """Reads a program from its text; `name` stands for it in messages. What is wrong with it `Module.check` lists."""
    name = _given.printable(name)
    return Module(_relayc.read_text(text, name), name=name)


# What a file is shows when it is read. Only a program takes weights, only an artifact threads.
@overload
def load(
    path: Path, *, params: Path | Sequence[Path] | Mapping[str, Any], set: str | Sequence[str] = ()
) -> Module: ...
@overload
def load(path: Path, *, threads: int) -> Executable: ...
@overload
def load(
    path: Path, *, params: None = None, set: str | Sequence[str] = (), threads: int | None = None
) -> Any: ...
def load(
    path: Path, *, params: Params = None, set: str | Sequence[str] = (), threads: int | None = None
) -> Any:
    """Reads a file: a program's text, a model of ONNX, or an archive in Model Library Format as a `Module`, an artifact
    (.so) of `Executable.save` or `relayc build` as an `Executable`.

    params: weights, as `Module.with_params` takes them. set: sizes of dynamic dimensions, `"data.0=8"` or `"n=8"`.
    threads: of a call of an artifact, which is code: load only what you trust. Errors: RelayError; TypeError for an option
    of the other kind of file.
    """
    file = _given.path(path, ": `relayc.parse` takes the text of a program, `relayc.import_onnx` the bytes of a model")
    name, sizes = _given.printable(os.path.basename(file)), _given.texts(set, "set", '"n=8" or ["data.0=8", "n=8"]')
    if _is_elf(file):
        if params is not None or sizes:
            raise TypeError(
                f"`{name}` is compiled already, its weights inside: params and set are for its program, before `Module.compile`"
            )
        return _relayc.load_artifact(file, threads)
    module = Module(_relayc.read_file(file, set=sizes), name=name)
    if threads is not None:
        raise TypeError(f"`{name}` is a program, not an artifact: threads is an option of `Module.compile`")
    return module if params is None else module._with_params(params)


def _is_elf(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        # Whoever reads it says why not.
        return False
