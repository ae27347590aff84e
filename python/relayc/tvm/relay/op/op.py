"""The registry of operators (`python/tvm/relay/op/op.py`).

The table behind `Op.get` is filled from the operators' declarations when it is first
read. Functions registered for TVM's own code generator (compute, schedule, strategy,
shape function) are kept as attributes of the operator and have no other effect: relayc
writes its kernels itself.
"""

from __future__ import annotations

from typing import Any, Callable, List, Optional, Tuple

from ... import _operators
from ..._ffi.registry import register_func
from ...ir.base import EnvFunc
from ...ir.op import Argument, Op, register_op_attr
from ...runtime.object import Object
from ._call import call
from ._levels import SUPPORT_LEVELS

__all__ = [
    "OpPattern",
    "OpStrategy",
    "debug",
    "get",
    "register",
    "register_alter_op_layout",
    "register_broadcast_schedule",
    "register_compute",
    "register_convert_op_layout",
    "register_external_compiler",
    "register_fake_quantization_to_integer",
    "register_gradient",
    "register_infer_correct_layout",
    "register_injective_schedule",
    "register_legalize",
    "register_mixed_precision_conversion",
    "register_optional_fake_quantization_to_integer",
    "register_pattern",
    "register_reduce_schedule",
    "register_schedule",
    "register_shape_func",
    "register_stateful",
    "register_strategy",
]

_Function = Optional[Callable[..., Any]]


class OpPattern:
    """How an operator may be fused with its neighbours (`include/tvm/relay/op_attr_types.h`)."""

    ELEMWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_ELEMWISE_FUSABLE = 4
    TUPLE = 7
    OPAQUE = 8


_PATTERNS = {
    "ElemWise": OpPattern.ELEMWISE,
    "Broadcast": OpPattern.BROADCAST,
    "Injective": OpPattern.INJECTIVE,
    "CommReduce": OpPattern.COMM_REDUCE,
    "OutEWiseFusable": OpPattern.OUT_ELEMWISE_FUSABLE,
    "Opaque": OpPattern.OPAQUE,
}


def _fill_table() -> None:
    for declared in _operators.declarations().values():
        op = Op._make(
            declared.name,
            declared.doc,
            [Argument(arg.name, arg.kind, "") for arg in declared.args],
            declared.attrs_type_key if declared.attrs_type_key and declared.attrs_declared else "",
            len(declared.args),
            SUPPORT_LEVELS.get(declared.name, 10),
        )
        if declared.fusion is not None:
            op.set_attr("TOpPattern", _PATTERNS[declared.fusion])


Op._load = staticmethod(_fill_table)


def get(op_name: str) -> Op:
    """The operator of that name; TVMError if there is none."""
    return Op.get(op_name)


def register(op_name: str, describe: str = "") -> None:
    """Adds an operator of the caller's own, for programs that are built and rewritten but not compiled.

    Raises
    ------
    TVMError
        If there is an operator of that name.
    """
    Op._ensure_loaded()
    Op._make(op_name, describe)


def register_stateful(op_name: str, stateful: bool, level: int = 10) -> Any:
    """Says whether calls of the operator have an effect."""
    return register_op_attr(op_name, "TOpIsStateful", stateful, level)


class OpStrategy(Object):
    """The implementations of an operator in TVM's code generator, kept by name."""

    def __init__(self) -> None:
        self.specializations: List[Tuple[str, int, Any, Any]] = []

    def add_implementation(self, compute: Any, schedule: Any, name: str = "default", plevel: int = 10) -> None:
        """Adds an implementation."""
        self.specializations.append((name, plevel, compute, schedule))


def register_compute(op_name: str, compute: _Function = None, level: int = 10) -> Any:
    """Keeps the compute function of an operator; also a decorator."""
    return register_op_attr(op_name, "FTVMCompute", compute, level)


def register_strategy(op_name: str, fstrategy: _Function = None, level: int = 10) -> Any:
    """Keeps the strategy function of an operator."""
    return register_op_attr(op_name, "FTVMStrategy", fstrategy, level)


def register_schedule(op_name: str, schedule: Any, level: int = 10) -> Any:
    """Keeps the schedule function of an operator."""
    return register_op_attr(op_name, "FTVMSchedule", schedule, level)


def register_injective_schedule(op_name: str, level: int = 10) -> Any:
    """Marks an operator as scheduled like an injective one."""
    return register_schedule(op_name, "injective", level)


def register_broadcast_schedule(op_name: str, level: int = 10) -> Any:
    """Marks an operator as scheduled like a broadcasting one."""
    return register_schedule(op_name, "broadcast", level)


def register_reduce_schedule(op_name: str, level: int = 10) -> Any:
    """Marks an operator as scheduled like a reduction."""
    return register_schedule(op_name, "reduce", level)


def register_alter_op_layout(op_name: str, alter_layout: _Function = None, level: int = 10) -> Any:
    """Registers how `AlterOpLayout` rewrites a call: `f(attrs, inputs, tinfos, out_type)`; also a decorator."""
    return register_op_attr(op_name, "FTVMAlterOpLayout", alter_layout, level)


def register_convert_op_layout(op_name: str, convert_layout: _Function = None, level: int = 10) -> Any:
    """Registers how `ConvertLayout` rewrites a call: `f(attrs, inputs, tinfos, desired_layouts)`; also a decorator."""
    return register_op_attr(op_name, "FTVMConvertOpLayout", convert_layout, level)


def register_infer_correct_layout(op_name: str, infer_layout: _Function = None, level: int = 10) -> Any:
    """Registers how a call adapts to the layouts of its operands; also a decorator."""
    return register_op_attr(op_name, "FInferCorrectLayout", infer_layout, level)


def register_legalize(op_name: str, legal_op: _Function = None, level: int = 10) -> Any:
    """Registers how `Legalize` rewrites a call: `f(attrs, inputs, types)`; also a decorator."""
    return register_op_attr(op_name, "FTVMLegalize", legal_op, level)


def register_pattern(op_name: str, pattern: int, level: int = 10) -> Any:
    """Registers how an operator may be fused, an `OpPattern`."""
    return register_op_attr(op_name, "TOpPattern", pattern, level)


def register_gradient(op_name: str, fgradient: _Function = None, level: int = 10) -> Any:
    """Registers the gradient of an operator: `f(call, grad)` gives one for each operand; also a decorator."""
    return register_op_attr(op_name, "FPrimalGradient", fgradient, level)


def register_shape_func(
    op_name: str, data_dependent: Any, shape_func: _Function = None, level: int = 10
) -> Any:
    """Keeps the shape function of an operator, and whether it reads the operands' values; also a decorator."""
    flags = data_dependent if isinstance(data_dependent, list) else [data_dependent]
    get(op_name).set_attr("TShapeDataDependent", flags, level)
    return register_op_attr(op_name, "FShapeFunc", shape_func, level)


def register_external_compiler(op_name: str, fexternal: _Function = None, level: int = 10) -> Any:
    """Registers the compiler of functions made for another library."""
    return register_op_attr(op_name, "FTVMExternalCompiler", fexternal, level)


def register_fake_quantization_to_integer(op_name: str, func: _Function = None, level: int = 10) -> Any:
    """Registers how `FakeQuantizationToInteger` rewrites a call; also a decorator."""
    return register_op_attr(op_name, "FTVMFakeQuantizationToInteger", func, level)


def register_optional_fake_quantization_to_integer(
    op_name: str, func: _Function = None, level: int = 10
) -> Any:
    """Registers how `FakeQuantizationToInteger` rewrites a call that may stay as it is; also a decorator."""
    return register_op_attr(op_name, "FTVMOptionalFakeQuantizationToInteger", func, level)


def register_mixed_precision_conversion(op_name: str, func: _Function = None, level: int = 10) -> Any:
    """Registers how `ToMixedPrecision` treats a call: `f(call, dtype)` gives category and dtypes; also a decorator."""
    return register_op_attr(op_name, "FTVMMixedPrecisionConversionType", func, level)


_debug_functions = 0


def debug(expr: Any, debug_func: _Function = None) -> Any:
    """The expression, shown when it is evaluated.

    Parameters
    ----------
    expr : Expr
        The expression.
    debug_func : callable, optional
        What to call with the value; by default the debugger is entered.
    """
    global _debug_functions
    function = None
    if debug_func is not None:
        name = f"debugger_func{_debug_functions}"
        register_func(name, debug_func)
        _debug_functions += 1
        function = EnvFunc.get(name)
    return call("debug", (expr,), debug_func=function)
