"""The compiler of the virtual machine (TVM `python/tvm/relay/backend/vm.py`)."""

from __future__ import annotations

from typing import Any, Callable, Dict, Mapping, Optional, Tuple

from ...ir.transform import PassContext
from ...runtime import vm as vm_rt
from ...runtime.ndarray import NDArray
from ...target._cpu import current_cpu_targets
from .interpreter import Executor

__all__ = ["VMCompiler", "VMExecutor", "compile"]


def compile(
    mod: Any, target: Any = None, target_host: Any = None, params: Optional[Mapping[str, Any]] = None
) -> vm_rt.Executable:
    """A module for the virtual machine, with values of parameters of `main`.

    It is compiled while it runs, where that pays. Raises RelayError for a program with errors.
    """
    compiler = VMCompiler()
    if params:
        compiler.set_params(params)
    compiler.lower(mod, target, target_host)
    compiler.codegen()
    return compiler.get_exec()


class VMCompiler:
    """The steps of `compile` one by one."""

    def __init__(self) -> None:
        self._params: Dict[str, Any] = {}
        self._program: Optional[vm_rt.Program] = None

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Values of parameters of `main`, which become constants."""
        self._params = dict(params)

    def get_params(self) -> Dict[str, NDArray]:
        """The values of parameters."""
        from ...runtime import ndarray

        return {
            name: value if isinstance(value, NDArray) else ndarray.array(value) for name, value in self._params.items()
        }

    def lower(self, mod: Any, target: Any = None, target_host: Any = None) -> None:
        """Takes a module. Raises RelayError for one with errors."""
        from ..transform import InferType

        current_cpu_targets(target, target_host)
        self._program = vm_rt.Program(InferType()(self._bound(mod)), PassContext.current().opt_level)

    def _bound(self, mod: Any) -> Any:
        from ...ir import IRModule
        from ..build_module import with_params
        from ..function import Function

        if isinstance(mod, Function):
            mod = IRModule.from_expr(mod)
        return with_params(mod, self._params)

    def codegen(self) -> None:
        """Nothing: code is made while the program runs."""

    def optimize(
        self, mod: Any, target: Any = None, target_host: Any = None, params: Optional[Mapping[str, Any]] = None
    ) -> Tuple[Any, Dict[str, NDArray]]:
        """The module after the passes of the current level, and its parameters."""
        from ..build_module import _optimized

        current_cpu_targets(target, target_host)
        if params:
            self.set_params(params)
        return _optimized(self._bound(mod), {}), self.get_params()

    def get_exec(self) -> vm_rt.Executable:
        """The executable."""
        assert self._program is not None, "lower a module first"
        return vm_rt.Executable(vm_rt.ProgramModule(self._program))


class VMExecutor(Executor):
    """Evaluates on the virtual machine."""

    def __init__(self, mod: Any, device: Any, target: Any) -> None:
        if mod is None:
            raise RuntimeError("Must provide module to get VM executor.")
        self.mod = mod
        self.device = device
        self.target = target
        self.executable: Any = None
        self.vm: Any = None

    def _make_executor(self, expr: Any = None) -> Callable[..., Any]:
        if expr is not None:
            self.mod["main"] = expr
        self.executable = compile(self.mod, self.target)
        self.vm = vm_rt.VirtualMachine(self.executable, self.device)

        def run(*args: Any, **kwargs: Any) -> Any:
            return self.vm.run(*self._convert_args(self.mod["main"], args, kwargs))

        return run
