"""Compiling and running modules: `build`, `optimize`, `create_executor` (TVM `python/tvm/relay/build_module.py`)."""

from __future__ import annotations

import warnings
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

import numpy as np

from .. import nd
from .._ffi.registry import register_func
from ..contrib import graph_executor as _graph_executor
from ..error import TVMError
from ..ir import IRModule
from ..ir.transform import PassContext, Sequential
from ..runtime.executor import aot_executor as _aot_executor
from ..runtime.ndarray import NDArray
from ..target._cpu import cpu_targets, current_cpu_targets
from . import expr as _expr
from . import function as _function
from . import ty as _ty
from .backend import Executor, Runtime
from .backend import _library
from .backend import executor_factory as _executor_factory
from .backend import interpreter as _interpreter
from .backend.vm import VMExecutor
from .transform import InferType
from .transform import build_config as build_config

__all__ = ["AotExecutor", "BuildModule", "GraphExecutor", "bind_params_by_name", "build", "create_executor", "optimize"]


def _as_module(mod: Any, params: Optional[Mapping[str, Any]], name: str) -> IRModule:
    """A module, of a function where one is given. Raises ValueError for anything else."""
    if not isinstance(mod, (IRModule, _function.Function)):
        raise ValueError("Type of input parameter mod must be tvm.IRModule")
    if isinstance(mod, IRModule):
        return mod
    warnings.warn(
        "Please use input parameter mod (tvm.IRModule) "
        f"instead of deprecated parameter {name} (tvm.relay.function.Function)",
        DeprecationWarning,
        stacklevel=3,
    )
    return IRModule.from_expr(bind_params_by_name(mod, params) if params else mod)


def _by_name(params: Any) -> Dict[str, Any]:
    """Values of parameters. Raises TypeError for anything but values by name."""
    if not isinstance(params, Mapping):
        raise TypeError(f"params is a {type(params).__name__}: expected a dictionary of arrays by the names of parameters")
    return dict(params)


def _convert_param_map(params: Mapping[str, Any]) -> Dict[str, _expr.Constant]:
    """Arrays as constants."""
    found = {}
    for name, param in _by_name(params).items():
        if isinstance(param, np.ndarray):
            param = nd.array(param)
        found[name] = _expr.const(param)
    return found


class BuildModule:
    """The steps of `build` one by one."""

    def __init__(self) -> None:
        self._network: Any = None
        self._params: Dict[str, Any] = {}
        self._mod: Any = None

    def build(
        self,
        mod: Any,
        target: Any = None,
        target_host: Any = None,
        executor: Executor = Executor("graph"),
        runtime: Runtime = Runtime("cpp"),
        workspace_memory_pools: Any = None,
        constant_memory_pools: Any = None,
        params: Optional[Mapping[str, Any]] = None,
        mod_name: Optional[str] = None,
    ) -> Tuple[Optional[str], Any, Dict[str, NDArray]]:
        """Compiles `main`. Returns the graph (None for the AOT executor), the library and the parameters."""
        current_cpu_targets(target, target_host)
        self._mod = mod
        if params:
            self._set_params(params)
        self._network = _library.compiled(mod, self._params, PassContext.current().opt_level)
        graph = self.get_graph_json() if executor.name == "graph" else None
        self._library = _library.Library(self._network, mod_name or "default")
        return graph, self._library, self.get_params()

    def optimize(
        self, mod: Any, target: Any = None, target_host: Any = None, params: Optional[Mapping[str, Any]] = None
    ) -> Tuple[Any, Dict[str, NDArray]]:
        """The module after the passes that come before code is made, and the parameters."""
        current_cpu_targets(target, target_host)
        if params:
            self._set_params(params)
        return _optimized(mod, self._params), {}

    def _set_params(self, params: Mapping[str, Any]) -> None:
        self._params = _by_name(params)

    def get_graph_json(self) -> str:
        """The graph as JSON."""
        return self._network.graph_json

    def get_module(self) -> Any:
        """The library."""
        return self._library

    def get_function_metadata(self) -> Dict[str, Any]:
        """TVM's facts about functions of TIR, of which there are none."""
        return {}

    def get_executor_codegen_metadata(self) -> None:
        """Nothing."""
        return None

    def get_devices(self) -> List[str]:
        """The devices that the program names: none."""
        return []

    def get_params(self) -> Dict[str, NDArray]:
        """The constants of the graph after folding, by name."""
        return dict(self._network.constants) if self._network else {}

    def get_irmodule(self) -> Dict[Any, Any]:
        """Functions of TIR by target, of which there are none."""
        return {}


@register_func("tvm.relay.module_export_library")
def _module_export(module: Any, file_name: Any) -> None:
    module.export_library(file_name)


@register_func("tvm.relay.build")
def _build_module_no_factory_impl(mod: Any, target: Any, target_host: Any, params: Any, mod_name: str) -> Any:
    return build(mod, target=target, target_host=target_host, params=params, mod_name=mod_name).module


def _build_module_no_factory(
    mod: Any, target: Any = None, target_host: Any = None, params: Any = None, mod_name: str = "default"
) -> Any:
    """The library of `build` alone."""
    return _build_module_no_factory_impl(mod, target, target_host, params, mod_name)


def build(
    ir_mod: Any,
    target: Any = None,
    target_host: Any = None,
    executor: Executor = Executor("graph"),
    runtime: Runtime = Runtime("cpp"),
    workspace_memory_pools: Any = None,
    constant_memory_pools: Any = None,
    params: Optional[Mapping[str, Any]] = None,
    mod_name: str = "default",
) -> Any:
    """Compiles `main` of a module for this machine, at the level of the current `PassContext`.

    target: what names a CPU, such as "llvm"; the code is for the processor at hand. params: values of parameters, which
    become constants. executor: "graph" or "aot"; both run the same code. Memory pools have no effect.

    Returns a factory: `GraphModule(factory["default"](tvm.cpu()))` runs it, `factory.export_library(path)` writes a shared
    object, `factory.params` are the constants of the graph after folding. Raises RelayError for a program with errors.
    """
    ir_mod = _as_module(ir_mod, params, "mod")
    targets = cpu_targets(target, target_host)
    _require_packed(executor, runtime)
    bound = {} if params is None else params
    _, library, constants = BuildModule().build(
        ir_mod, targets, params=bound, executor=executor, runtime=runtime, mod_name=mod_name
    )
    is_aot = executor.name == "aot"
    factory = _executor_factory.AOTExecutorFactoryModule if is_aot else _executor_factory.GraphExecutorFactoryModule
    return factory(ir_mod, targets, executor, library, mod_name, constants, runtime)


def _require_packed(executor: Executor, runtime: Runtime) -> None:
    """Raises NotImplementedError for the interfaces of C that microTVM calls, TypeError for what is no configuration."""
    for wanted, kind in ((executor, Executor), (runtime, Runtime)):
        if not isinstance(wanted, kind):
            raise TypeError(f"{wanted!r} is no relay.backend.{kind.__name__}: write {kind.__name__}({str(wanted)!r})")
    options = [f"{name}={executor[name]}" for name in ("interface-api", "unpacked-api") if name in executor]
    for option in options:
        if option in ("interface-api=c", "unpacked-api=1"):
            raise NotImplementedError(f"relayc writes no functions for microTVM to call, which {option} asks for: leave it out")
    if runtime.name == "crt":
        warnings.warn("nothing is built for microTVM: what Runtime('crt') builds runs on this processor", stacklevel=3)


def optimize(
    mod: Any, target: Any = None, params: Optional[Mapping[str, Any]] = None
) -> Tuple[Any, Dict[str, NDArray]]:
    """The module after the passes of the current level that come before code is made, with its parameters bound."""
    mod = _as_module(mod, params, "func")
    return BuildModule().optimize(mod, cpu_targets(target), params=params)


def _optimized(mod: IRModule, params: Mapping[str, Any]) -> IRModule:
    """The passes of TVM's `OptimizeImpl` (`src/relay/backend/build_module.cc`) that there are here."""
    from . import transform

    mod = with_params(mod, params)
    names = (
        "RemoveUnusedFunctions",
        "SimplifyInference",
        "EliminateCommonSubexpr",
        "CombineParallelConv2D",
        "CombineParallelDense",
        "CombineParallelBatchMatmul",
        "FoldConstant",
        "FoldScaleAxis",
        "SimplifyExpr",
        "CanonicalizeCast",
        "CanonicalizeOps",
        "FlattenAtrousConv",
        "FastMath",
        "FoldConstant",
        "FuseOps",
    )
    passes = [getattr(transform, name)() for name in names]
    return transform.InferType()(Sequential(passes)(transform.InferType()(mod)))


def with_params(mod: IRModule, params: Optional[Mapping[str, Any]]) -> IRModule:
    """A copy of the module with constants for parameters of `main`; the module itself if none are given."""
    if not params:
        return mod
    bound = mod._copy()
    bound["main"] = bind_params_by_name(mod["main"], params)
    return bound


def bind_params_by_name(func: Any, params: Mapping[str, Any]) -> Any:
    """The function with constants for the parameters of these names, which it no longer has.

    Raises TVMError if two parameters have a name that is given (TVM `BindParamsByName`, `src/relay/backend/utils.cc`).
    """
    by_name: Dict[str, List[Any]] = {}
    for param in func.params:
        by_name.setdefault(param.name_hint, []).append(param)
    binds = {}
    for name, constant in _convert_param_map(params).items():
        if len(by_name.get(name, [])) > 1:
            raise TVMError(f"Multiple args in the function have name {name}")
        for param in by_name.get(name, []):
            binds[param] = constant
    return _expr.bind(func, binds)


class _Built(_interpreter.Executor):
    """Builds the function that is evaluated, and runs it on an executor."""

    _name = ""

    def __init__(self, mod: Any, device: Any, target: Any) -> None:
        assert mod is not None
        self.mod = mod
        self.device = device
        self.target = target

    def _runner(self) -> Any:
        raise NotImplementedError

    def _make_executor(self, expr: Any = None) -> Callable[..., Any]:
        if expr is not None:
            self.mod["main"] = expr
        self.mod = InferType()(self.mod)
        ret_type = self.mod["main"].checked_type.ret_type
        if _ty.is_dynamic(ret_type):
            raise ValueError(f"{self._name} Executor only supports static graphs, got output type", ret_type)
        runner = self._runner()

        def run(*args: Any, **kwargs: Any) -> Any:
            given = self._convert_args(self.mod["main"], args, kwargs)
            wanted = len(self.mod["main"].params)
            if len(given) != wanted:
                raise TVMError(f"`main` takes {wanted} arguments, found {len(given)}")
            for at, arg in enumerate(given):
                runner.set_input(at, arg)
            runner.run()
            outputs = iter([runner.get_output(at).copyto(nd.cpu(0)) for at in range(runner.get_num_outputs())])
            return _unflattened(outputs, ret_type)

        return run


def _unflattened(outputs: Any, ty: Any) -> Any:
    """Tensors as a type nests them."""
    if isinstance(ty, _ty.TensorType):
        return next(outputs)
    if isinstance(ty, _ty.TupleType):
        return [_unflattened(outputs, field) for field in ty.fields]
    raise ValueError("Return type contains unsupported type", ty)


class GraphExecutor(_Built):
    """Evaluates on the graph executor."""

    _name = "Graph"

    def _runner(self) -> Any:
        return _graph_executor.GraphModule(build(self.mod, target=self.target)["default"](self.device))


class AotExecutor(_Built):
    """Evaluates on the AOT executor."""

    _name = "AOT"

    def _runner(self) -> Any:
        built = build(self.mod, target=self.target, executor=Executor("aot"))
        return _aot_executor.AotModule(built["default"](self.device))


def create_executor(
    kind: str = "debug",
    mod: Any = None,
    device: Any = None,
    target: Any = "llvm",
    params: Optional[Mapping[str, Any]] = None,
) -> Any:
    """What evaluates expressions of a module: "debug", the interpreter; "graph" and "aot", compiled code; "vm", which runs
    any program, compiled by subgraphs.

    Raises RuntimeError for another kind.
    """
    targets = cpu_targets(target)
    mod = IRModule() if mod is None else mod
    if device is None:
        device = nd.device(targets[0].get_target_device_type(), 0)
    else:
        assert device.device_type == targets[0].get_target_device_type()
    mod = with_params(mod, params)
    if kind == "debug":
        assert len(targets) == 1, "The interpreter currently only supports a single target"
        return _interpreter.Interpreter(mod, device, targets[0])
    kinds: Dict[str, Any] = {"graph": GraphExecutor, "vm": VMExecutor, "aot": AotExecutor}
    if kind not in kinds:
        raise RuntimeError(f"unknown execution strategy: {kind}")
    return kinds[kind](mod, device, targets)
