"""`VirtualMachine` and its `Executable` (TVM `python/tvm/runtime/vm.py`).

A machine runs any function of a module with any values: its dataflow is compiled where that pays, the rest is
interpreted. There is no bytecode; what `save` gives is the program.
"""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from ..error import TVMError
from . import container, ndarray
from .module import BenchmarkResult, Module, ModulePropertyMask
from .ndarray import NDArray
from .object import Object
from .params import load_param_dict, save_param_dict

__all__ = ["Executable", "VirtualMachine", "convert"]


def _convert(arg: Any, cargs: List[Any]) -> None:
    """Appends an argument as a run-time value. Raises TypeError for an object that is none."""
    if isinstance(arg, Object):
        cargs.append(arg)
    elif arg is None:
        cargs.append(ndarray.array([]))
    elif isinstance(arg, np.ndarray):
        cargs.append(ndarray.array(arg))
    elif isinstance(arg, (tuple, list)):
        fields: List[Any] = []
        for field in arg:
            _convert(field, fields)
        cargs.append(container.tuple_object(fields))
    elif isinstance(arg, np.float16):
        cargs.append(ndarray.array(np.array(arg, dtype="float16")))
    elif isinstance(arg, (bool, int, np.integer)):
        cargs.append(ndarray.array(np.array(arg, dtype="int32")))
    elif isinstance(arg, (float, np.floating)):
        cargs.append(ndarray.array(np.array(arg, dtype="float32")))
    elif isinstance(arg, str):
        cargs.append(arg)
    else:
        raise TypeError(f"Unsupported type: {type(arg)}")


def convert(args: Sequence[Any]) -> List[Any]:
    """Arguments as run-time values: arrays and numbers as tensors, lists as tuples."""
    cargs: List[Any] = []
    for arg in args:
        _convert(arg, cargs)
    return cargs


def _values(args: Sequence[Any]) -> List[Any]:
    """Arguments as `convert` makes them, but numbers as they are: they take the types of the parameters."""
    found: List[Any] = []
    for arg in args:
        if isinstance(arg, (tuple, list)):
            found.append(tuple(_values(arg)))
        elif isinstance(arg, (bool, int, float, np.generic)):
            found.append(arg)
        else:
            _convert(arg, found)
    return found


def _fitting(value: Any, ty: Any) -> Any:
    """An argument; the field of a tuple of one where a tensor is wanted."""
    from ..ir.tensor_type import TensorType

    is_tuple = isinstance(value, tuple) or isinstance(value, container.ADT) and value.tag == 0
    return value[0] if isinstance(ty, TensorType) and is_tuple and len(value) == 1 else value


def _type_of(value: Any, ty: Any) -> Any:
    """The type of an argument, where its shape differs from the parameter's."""
    from ..ir.tensor_type import TensorType
    from ..ir.type import TupleType

    if isinstance(ty, TensorType) and isinstance(value, NDArray):
        return TensorType(value.shape, ty.dtype)
    if isinstance(ty, TupleType) and isinstance(value, (tuple, container.ADT)):
        return TupleType([_type_of(field, known) for field, known in zip(value, ty.fields)])
    return ty


class Program:
    """A module of Relay for the machine, with constants that may be given later."""

    def __init__(self, mod: Any, level: int) -> None:
        self.mod = mod
        self.level = level
        self.late: Dict[str, Optional[NDArray]] = {}
        self._runners: Dict[str, Any] = {}

    def parameters(self, name: str) -> List[str]:
        """The parameters of a function that a call gives. Raises TVMError if there is no such function."""
        if name not in {var.name_hint for var in self.mod.get_global_vars()}:
            raise TVMError(f"there is no function `{name}` in the program")
        return [param.name_hint for param in self.mod[name].params if param.name_hint not in self.late]

    def run(self, name: str, args: Sequence[Any]) -> Any:
        """The value of a call. Shapes of arguments count, where the program has types with them as well."""
        params = self.mod[name].params
        own = [param for param in params if param.name_hint not in self.late]
        given = [_fitting(value, param.checked_type) for value, param in zip(args, own)]
        late = [self._late(param.name_hint) for param in params if param.name_hint in self.late]
        try:
            return self._runner(self.mod, name, "")(*given, *late)
        except TVMError as error:
            types = [_type_of(value, param.checked_type) for value, param in zip(given, own)]
            if not isinstance(error.__cause__, ValueError):
                raise
            try:
                runner = self._runner(self._at(name, types), name, str(types))
            except TVMError:
                raise error from None
            return runner(*given, *late)

    def _runner(self, mod: Any, name: str, types: str) -> Any:
        from ..relay.backend._evaluator import evaluator

        key = f"{name} {types}"
        if key not in self._runners:
            self._runners[key] = evaluator(mod, mod.get_global_var(name), values=False, compiled=True, level=self.level)
        return self._runners[key]

    def _at(self, name: str, types: List[Any]) -> Any:
        """The module with parameters of other types in a function. Raises RelayError if it has no types then."""
        from ..relay import expr as relay_expr
        from ..relay.transform import InferType

        old = self.mod[name]
        found = iter(types)
        params = [
            param if param.name_hint in self.late else relay_expr.Var(param.name_hint, next(found)) for param in old.params
        ]
        body = relay_expr.bind(old.body, dict(zip(old.params, params)))
        return InferType()(self._with(name, params, body, None))

    def _late(self, name: str) -> NDArray:
        value = self.late[name]
        if value is None:
            raise TVMError(f"the constant `{name}` was moved out of the executable: load the late-bound constants first")
        return value

    def split(self, byte_limit: int) -> Dict[str, NDArray]:
        """Moves constants of at least so many bytes out of `main`, to be given later. Returns them by name."""
        from ..ir._rewrite import rewrite
        from ..relay import expr as relay_expr

        found: Dict[str, NDArray] = {}
        variables: List[Any] = []

        def replaced(node: Any) -> Any:
            if not isinstance(node, relay_expr.Constant) or node.data._array.nbytes < byte_limit:
                return None
            name = f"const_{len(found)}"
            found[name] = node.data
            variables.append(relay_expr.var(name, shape=node.data.shape, dtype=node.data.dtype))
            return variables[-1]

        main = self.mod["main"]
        body = rewrite(main.body, replaced)
        if found:
            self.mod = self._with("main", [*main.params, *variables], body, main.ret_type)
            self.late = {name: None for name in found}
            self._runners = {}
        return found

    def _with(self, name: str, params: List[Any], body: Any, ret_type: Any) -> Any:
        """The module with another function in the place of one."""
        from ..relay.function import Function

        old = self.mod[name]
        changed = self.mod._copy()
        changed[changed.get_global_var(name)] = Function(params, body, ret_type, old.type_params, old.attrs)
        return changed

    def move(self, path: str, byte_limit: int) -> None:
        """As `split`, with the constants in a file."""
        with open(path, "wb") as file:
            file.write(save_param_dict(self.split(byte_limit)))

    def load(self, path: str) -> None:
        """Takes back the constants in a file."""
        with open(path, "rb") as file:
            self.take(load_param_dict(file.read()))

    def take(self, constants: Mapping[str, NDArray]) -> None:
        """Takes back constants by name."""
        for name in self.late:
            if name in constants:
                self.late[name] = constants[name]


def read_program(data: bytes) -> Program:
    """The program of bytes that `Executable.save` gave. Raises TVMError for other bytes."""
    from .. import relay

    try:
        text, level, late = json.loads(data)
    except (TypeError, ValueError):
        raise TVMError("these are no bytes of a program of the virtual machine") from None
    program = Program(relay.parse(text), level)
    program.late = {name: None for name in late}
    return program


def _written(program: Program) -> bytes:
    return json.dumps([program.mod.astext(show_meta_data=True), program.level, list(program.late)]).encode()


class ProgramModule(Module):
    """A program of the machine as a module."""

    type_key = "VMExecutable"

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.program = program
        self._functions = {
            "vm_load_executable": lambda: MachineModule(program),
            "get_late_bound_consts": program.split,
            "load_late_bound_consts": program.load,
            "load_late_bound_consts_from_map": program.take,
            "move_late_bound_consts": program.move,
        }

    def get_property_mask(self) -> int:
        """It can be written."""
        return ModulePropertyMask.BINARY_SERIALIZABLE | ModulePropertyMask.DSO_EXPORTABLE

    def get_source(self, fmt: str = "") -> str:
        """The text of the program."""
        return self.program.mod.astext()

    def _write(self, file_name: str) -> None:
        """Writes the program, which is compiled where it is loaded."""
        from ..relay.backend._library import PROGRAM

        with open(file_name, "wb") as file:
            file.write(PROGRAM + _written(self.program))


class MachineModule(Module):
    """A machine's state and functions."""

    type_key = "VirtualMachine"

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.program = program
        self._given: Dict[str, List[Any]] = {}
        self._room: Dict[str, Sequence[NDArray]] = {}
        self._result: Any = None
        for name in _MACHINE:
            self._functions[name] = getattr(self, f"_{name}")

    def _init(self, *devices: Any) -> None:
        pass

    def _set_input(self, name: str, *args: Any) -> None:
        wanted = self.program.parameters(name)
        if len(args) != len(wanted):
            raise TVMError(f"`{name}` takes {len(wanted)} arguments, found {len(args)}")
        self._given[name] = list(args)

    def _set_one_input(self, name: str, key: Any, value: Any) -> None:
        wanted = self.program.parameters(name)
        at = wanted.index(key) if isinstance(key, str) else int(key)
        given = self._given.setdefault(name, [None] * len(wanted))
        (given[at],) = _values([value])

    def _set_outputs(self, name: str, *room: NDArray) -> None:
        self._room[name] = room

    def _invoke(self, name: str) -> Any:
        given = self._given.get(name, [])
        wanted = self.program.parameters(name)
        missing = [param for param, value in zip(wanted, given) if value is None] if given else wanted
        if missing:
            raise TVMError(f"`{name}` lacks arguments: {', '.join(missing)}")
        self._result = self.program.run(name, given)
        room = self._room.pop(name, None)
        if room is not None:
            for value, to in zip(_tensors(self._result), room):
                value.copyto(to)
        return self._result

    def _invoke_stateful(self, name: str) -> None:
        self._invoke(name)

    def _invoke_return_to_device(self, name: str, *device: Any) -> Any:
        return self._invoke(name)

    def _run_from_inputs(self, name: str, device_type: int, device_id: int, *args: Any) -> Any:
        self._set_input(name, *_values(args))
        return self._invoke(name)

    def _get_output(self, index: int) -> NDArray:
        return _tensors(self._result)[index]

    def _get_num_outputs(self) -> int:
        return len(_tensors(self._result))

    def _get_input_index(self, input_name: str, func_name: str) -> int:
        wanted = self.program.parameters(func_name)
        return wanted.index(input_name) if input_name in wanted else -1


_MACHINE = (
    "get_input_index",
    "get_num_outputs",
    "get_output",
    "init",
    "invoke",
    "invoke_return_to_device",
    "invoke_stateful",
    "run_from_inputs",
    "set_input",
    "set_one_input",
    "set_outputs",
)


def _tensors(value: Any) -> List[NDArray]:
    """The tensor, or those of a tuple."""
    return list(value) if isinstance(value, container.ADT) else [value]


class Executable:
    """A program for the machine."""

    def __init__(self, mod: Module) -> None:
        self.mod = mod
        self._program: Program = mod.program  # type: ignore[attr-defined]

    def save(self) -> Tuple[bytearray, Module]:
        """The program as bytes, and its library, which holds the same."""
        return bytearray(_written(self._program)), self.mod

    @staticmethod
    def load_exec(bytecode: Any, lib: Optional[Module]) -> "Executable":
        """The executable of bytes that `save` gave. Raises TypeError for other objects."""
        if isinstance(bytecode, str):
            bytecode = bytecode.encode("latin-1")
        if not isinstance(bytecode, (bytes, bytearray)):
            raise TypeError(
                f"bytecode is expected to be the type of bytearray or TVMByteArray, but received {type(bytecode)}"
            )
        if lib is not None and not isinstance(lib, Module):
            raise TypeError(f"lib is expected to be the type of tvm.runtime.Module, but received {type(lib)}")
        return Executable(ProgramModule(read_program(bytes(bytecode))))

    @property
    def lib(self) -> Module:
        """The library."""
        return self.mod

    @property
    def module(self) -> Module:
        """The executable as a module."""
        return self.mod

    @property
    def globals(self) -> List[str]:
        """The names of the functions."""
        return [var.name_hint for var in self._program.mod.get_global_vars()]

    @property
    def stats(self) -> str:
        """What is in it, in words."""
        return f"Relay VM executable: {len(self.globals)} functions, which are compiled while they run"

    @property
    def bytecode(self) -> str:
        """The text of the program, of which there is no bytecode."""
        return self._program.mod.astext()

    @property
    def constants(self) -> str:
        """The constants of `main` in words."""
        from ..relay.analysis import post_order_visit
        from ..relay.expr import Constant

        found: List[str] = []

        def visit(node: Any) -> None:
            if isinstance(node, Constant):
                found.append(f"VM Const[{len(found)}]: NDArray[{node.data.shape}, {node.data.dtype}]")

        post_order_visit(self._program.mod["main"], visit)
        return "\n".join(found)

    @property
    def primitive_ops(self) -> List[str]:
        """Compiled functions; they are made while the program runs."""
        return []

    def get_function_params(self, func_name: str) -> List[str]:
        """The names of a function's parameters."""
        return self._program.parameters(func_name)

    def move_late_bound_consts(self, path: str, byte_limit: int) -> None:
        """Writes constants of at least so many bytes to a file, and removes them."""
        self._program.move(path, byte_limit)

    def get_late_bound_consts(self, byte_limit: int) -> Dict[str, NDArray]:
        """Removes constants of at least so many bytes, and returns them by name."""
        return self._program.split(byte_limit)

    def load_late_bound_consts(self, path: str) -> None:
        """Reads the constants that `move_late_bound_consts` wrote."""
        self._program.load(path)

    def load_late_bound_consts_from_map(self, map: Mapping[str, NDArray]) -> None:
        """Takes back the constants that `get_late_bound_consts` removed."""
        self._program.take(map)


class VirtualMachine:
    """Runs functions of an executable."""

    NAIVE_ALLOCATOR = 1
    POOLED_ALLOCATOR = 2

    def __init__(self, exe: Any, device: Any, memory_cfg: Any = None) -> None:
        """`exe` is an `Executable` or its module. Raises TypeError for other objects and for what is no device."""
        if not isinstance(exe, (Executable, Module)):
            raise TypeError(f"exe is expected to be the type of Executable, but received {type(exe)}")
        self._exec = exe if isinstance(exe, Executable) else Executable(exe)
        devices = device if isinstance(device, (list, tuple)) else [device]
        if not all(isinstance(found, ndarray.Device) for found in devices):
            raise TypeError("dev is expected to be Device or List[Device]")
        for found in devices:
            ndarray.check_device(found)
        if isinstance(memory_cfg, str):
            assert memory_cfg in ["naive", "pooled"]
        elif memory_cfg is not None and not isinstance(memory_cfg, dict):
            raise TypeError(f"memory_cfg is expected be string or dictionary, but received {type(memory_cfg)}")
        self.module = self._exec.mod["vm_load_executable"]()
        self._invoke = self.module["invoke"]
        self._set_input = self.module["set_input"]

    def _named(self, func_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[Any]:
        """Arguments in the order of the parameters; names that no parameter has are ignored."""
        if not kwargs:
            return args
        params = self._exec.get_function_params(func_name)
        named = [name for name in params if name in kwargs]
        given = ", ".join([*["…"] * len(args), *kwargs])
        assert len(args) + len(named) == len(params), f"`{func_name}` takes ({', '.join(params)}), found ({given})"
        rest = iter(args)
        return [kwargs[name] if name in kwargs else next(rest) for name in params]

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Sets the arguments of a function, by position or name."""
        self._set_input(func_name, *_values(self._named(func_name, args, kwargs)))

    def set_one_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Sets one argument of a function: `set_one_input("main", "x", value)`, or by keyword."""
        if kwargs:
            assert len(kwargs) == 1
            (key,) = kwargs
            params = self._exec.get_function_params(func_name)
            assert key in params, f"`{func_name}` takes ({', '.join(params)}), found {key}"
            value = kwargs[key]
        else:
            assert len(args) == 2
            key, value = args
        self.module["set_one_input"](func_name, key, value)

    def invoke(self, func_name: str, *args: Any, **kwargs: Any) -> Any:
        """Calls a function, with the arguments that were set if none are given.

        Tuples and values of data types are ADT containers.
        """
        if args or kwargs:
            self.set_input(func_name, *args, **kwargs)
        elif not self._exec.get_function_params(func_name):
            self._set_input(func_name)
        return self._invoke(func_name)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Calls `main`."""
        return self.invoke("main", *args, **kwargs)

    def invoke_stateful(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Calls a function; `get_outputs` gives its tensors."""
        self.invoke(func_name, *args, **kwargs)

    def invoke_with_outputs(self, func_name: str, input_args: Mapping[str, Any], output_args: Sequence[Any]) -> None:
        """Calls a function, and copies its tensors into others."""
        if input_args:
            self.set_input(func_name, **input_args)
        self.module["set_outputs"](func_name, *output_args)
        self._invoke(func_name)

    def get_outputs(self) -> List[NDArray]:
        """The tensors of the last result."""
        return [self.module["get_output"](at) for at in range(self.module["get_num_outputs"]())]

    def get_input_index(self, input_name: str, func_name: str = "main") -> int:
        """The number of a parameter; -1 if there is none of the name."""
        return self.module["get_input_index"](input_name, func_name)

    def benchmark(
        self,
        device: Any,
        *args: Any,
        func_name: str = "main",
        repeat: int = 5,
        number: int = 5,
        min_repeat_ms: Optional[float] = None,
        limit_zero_time_iterations: int = 100,
        end_to_end: bool = False,
        cooldown_interval_ms: float = 0,
        repeats_to_cooldown: int = 1,
        **kwargs: Any,
    ) -> BenchmarkResult:
        """The time of a function, called `number` times for each of `repeat` results.

        With `end_to_end` arguments are set each time.
        """
        evaluate = self.module.time_evaluator(
            "run_from_inputs" if end_to_end else "invoke",
            device,
            repeat=repeat,
            number=number,
            min_repeat_ms=0 if min_repeat_ms is None else min_repeat_ms,
            limit_zero_time_iterations=limit_zero_time_iterations,
            cooldown_interval_ms=cooldown_interval_ms,
            repeats_to_cooldown=repeats_to_cooldown,
        )
        if end_to_end:
            given = self._named(func_name, args, kwargs)
            return evaluate(func_name, device.device_type, device.device_id, *given)
        if args or kwargs:
            self.set_input(func_name, *args, **kwargs)
        return evaluate(func_name)
