"""`Module`, functions by name, and what measures and loads them (TVM `python/tvm/runtime/module.py`)."""

from __future__ import annotations

import os
import time
import warnings
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

import numpy as np

from .._ffi.registry import get_global_func
from .ndarray import check_device
from .object import Object

__all__ = ["BenchmarkResult", "Module", "enabled", "load_module", "load_static_library", "num_threads", "system_lib"]


class BenchmarkResult:
    """Times of runs, in seconds: `results`, and their mean, median, minimum, maximum and standard deviation."""

    def __init__(self, results: Sequence[float]) -> None:
        self.results = results
        self.mean = np.mean(self.results)
        self.std = np.std(self.results)
        self.median = np.median(self.results)
        self.min = np.min(self.results)
        self.max = np.max(self.results)

    def __repr__(self) -> str:
        return (
            f"BenchmarkResult(min={self.min}, mean={self.mean}, median={self.median}, "
            f"max={self.max}, std={self.std}, results={self.results})"
        )

    def __str__(self) -> str:
        names = ("mean (ms)", "median (ms)", "max (ms)", "min (ms)", "std (ms)")
        values = (self.mean, self.median, self.max, self.min, self.std)
        head = " ".join(f"{name:^12}" for name in names)
        row = " ".join(f"{1e3 * value:^12.4f}" for value in values)
        return f"Execution time summary:\n{head}\n{row}"


class ModulePropertyMask:
    """What can be done with a module, as bits."""

    BINARY_SERIALIZABLE = 0b001
    RUNNABLE = 0b010
    DSO_EXPORTABLE = 0b100


def check_compiler(fcompile: Any, options: Mapping[str, Any]) -> None:
    """Raises NotImplementedError for the compiler of another machine; warns of options of one, as none is called."""
    refused = getattr(fcompile, "_path", "")
    if refused and not refused.startswith(("contrib.cc", "contrib.tar")):
        fcompile()
    if options:
        warnings.warn(f"no compiler is called, so this has no effect: {', '.join(options)}", stacklevel=3)


class Module(Object):
    """Functions by name. `module["run"]` is one, `module(...)` calls the one named `entry_name`."""

    _type_key = "runtime.Module"
    #: What kind of module it is, as TVM names it.
    type_key = "library"
    #: The format of its source.
    format = ""

    def __init__(self, functions: Optional[Dict[str, Callable[..., Any]]] = None) -> None:
        self._functions = dict(functions or {})
        self._imports: List["Module"] = []
        self.entry_name = "__tvm_main__"

    @property
    def entry_func(self) -> Callable[..., Any]:
        """The function named `entry_name`."""
        return self.get_function(self.entry_name)

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        """Whether there is a function of this name, here or in an imported module."""
        return name in self._functions or query_imports and any(
            module.implements_function(name, True) for module in self._imports
        )

    def get_function(self, name: str, query_imports: bool = False) -> Callable[..., Any]:
        """The function of this name. Raises AttributeError if there is none."""
        if name in self._functions:
            return self._functions[name]
        for module in self._imports if query_imports else ():
            if module.implements_function(name, True):
                return module.get_function(name, True)
        raise AttributeError(f"Module has no function '{name}'; its functions are: {', '.join(self._functions)}")

    def import_module(self, module: "Module") -> None:
        """Adds a module to those that this one imports."""
        self._imports.append(module)

    @property
    def imported_modules(self) -> List["Module"]:
        """The imported modules."""
        return list(self._imports)

    def __getitem__(self, name: str) -> Callable[..., Any]:
        if not isinstance(name, str):
            raise ValueError("Can only take string as function name")
        return self.get_function(name)

    def __call__(self, *args: Any) -> Any:
        return self.entry_func(*args)

    def __repr__(self) -> str:
        return f"Module({self.type_key}, {id(self):x})"

    def __reduce__(self) -> Any:
        raise TypeError(
            f"a module of the kind `{self.type_key}` is not pickled: give the file of export_library to the other process"
        )

    def get_source(self, fmt: str = "") -> str:
        """The source of the module: the text of the program."""
        return ""

    def get_property_mask(self) -> int:
        """What can be done with the module (`ModulePropertyMask`)."""
        return ModulePropertyMask.RUNNABLE

    @property
    def is_binary_serializable(self) -> bool:
        """Whether it can be written as bytes."""
        return bool(self.get_property_mask() & ModulePropertyMask.BINARY_SERIALIZABLE)

    @property
    def is_runnable(self) -> bool:
        """Whether it can run as it is."""
        return bool(self.get_property_mask() & ModulePropertyMask.RUNNABLE)

    @property
    def is_dso_exportable(self) -> bool:
        """Whether `export_library` writes it."""
        return bool(self.get_property_mask() & ModulePropertyMask.DSO_EXPORTABLE)

    def save(self, file_name: str, fmt: str = "") -> None:
        """Writes the module to a file, as `export_library` does. Raises NotImplementedError for objects and texts."""
        form = fmt or os.path.splitext(str(file_name))[1].lstrip(".")
        if form in ("asm", "bc", "c", "ll", "o", "obj", "s"):
            raise NotImplementedError(
                f"`{form}` is not written: export_library writes shared objects, `relayc build --emit obj` objects"
            )
        self.export_library(file_name)

    def export_library(self, file_name: Any, fcompile: Any = None, **options: Any) -> None:
        """Writes the module for `load_module`. No compiler is called, so its options have no effect, which a warning says.

        Raises NotImplementedError for a module that is not compiled, and for the compiler of another machine.
        """
        check_compiler(fcompile, options)
        self._write(str(file_name))

    def _write(self, file_name: str) -> None:
        raise NotImplementedError(f"a module of the kind `{self.type_key}` is not exported: export what relay.build returns")

    def time_evaluator(
        self,
        func_name: str,
        dev: Any,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: float = 0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: float = 0,
        repeats_to_cooldown: int = 1,
        cache_flush_bytes: int = 0,
        f_preproc: str = "",
    ) -> Callable[..., BenchmarkResult]:
        """A function that calls one of the module's with its arguments and gives the times.

        It calls it once to warm up, then `number` times for each of `repeat` results; more often where these would take less than
        `min_repeat_ms`, but no more than `limit_zero_time_iterations` times in a row that take no time at all. Before each
        result it calls the global function `f_preproc` with the arguments, and writes over `cache_flush_bytes` of other memory.
        """
        check_device(dev)
        function = self.get_function(func_name)
        preprocess = get_global_func(f_preproc) if f_preproc else None
        other = np.zeros(cache_flush_bytes, "uint8")

        def once(count: int, args: Sequence[Any]) -> float:
            if preprocess is not None:
                preprocess(*args)
            other[...] += 1
            start = time.perf_counter()
            for _ in range(count):
                function(*args)
            return time.perf_counter() - start

        def evaluator(*args: Any) -> BenchmarkResult:
            function(*args)
            results = []
            count = max(1, number)
            for at in range(repeat):
                took = once(count, args)
                zeros = 0
                while 1e3 * took < min_repeat_ms and zeros < limit_zero_time_iterations:
                    zeros = 0 if took else zeros + 1
                    grown = min_repeat_ms / max(1e3 * took, 1e-6)
                    count = max(count + 1, int(count * min(grown, 10.0)))
                    took = once(count, args)
                results.append(took / count)
                if cooldown_interval_ms > 0 and (at + 1) % max(1, repeats_to_cooldown) == 0:
                    time.sleep(cooldown_interval_ms / 1e3)
            return BenchmarkResult(results)

        return evaluator


def load_module(path: Any, fmt: str = "") -> Module:
    """The module in a file that `export_library` wrote: an artifact, or a program of the virtual machine.

    It is code: load only what you trust. Raises RelayError, OSError.
    """
    from ..relay.backend._library import load

    return load(str(path))


def load_static_library(path: str, func_names: Sequence[str]) -> Module:
    """Not here: relayc links statically with the object of `relayc build --emit obj`."""
    raise NotImplementedError("relayc writes objects for linking with `relayc build --emit obj`")


def system_lib(symbol_prefix: str = "") -> Module:
    """The functions linked into this process: none."""
    return Module()


def enabled(target: str) -> bool:
    """Whether programs for a target can be built and run here."""
    return target.split()[0] in ("llvm", "cpu")


def num_threads() -> int:
    """The number of processors that this process may use, each for a thread unless the environment sets another number."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
