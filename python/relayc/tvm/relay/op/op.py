"""The registry of operators (`python/tvm/relay/op/op.py`).

The table behind `Op.get` is filled from the operators' declarations when it is first
read. What TVM registers for its own code generator and gradients (compute, schedule,
strategy, shape function, …) is refused: nothing here would read it.
"""

from __future__ import annotations

from typing import Any, Callable, Optional

from ... import _operators
from ..._refused import refuse
from ...ir.op import Argument, Op, register_op_attr
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
    """Adds an operator of the caller's own, for nodes that are made and rewritten.

    What compiles a program knows relayc's operators alone, and raises an error for others. `InferType` types calls
    of an operator with a relation (`Op.add_type_rel`).

    Raises
    ------
    TVMError
        If there is an operator of that name.
    """
    Op._ensure_loaded()
    Op._make(op_name, describe)


def register_stateful(op_name: str, stateful: bool, level: int = 10) -> Any:
    """Keeps whether calls of the operator have an effect, as its attribute `TOpIsStateful`.

    `FoldConstant` leaves such calls. Native passes know the effects of relayc's own operators alone.
    """
    return register_op_attr(op_name, "TOpIsStateful", stateful, level)


OpStrategy = refuse("relay.op.OpStrategy")
register_broadcast_schedule = refuse("relay.op.register_broadcast_schedule")
register_compute = refuse("relay.op.register_compute")
register_external_compiler = refuse("relay.op.register_external_compiler")
register_gradient = refuse("relay.op.register_gradient")
register_injective_schedule = refuse("relay.op.register_injective_schedule")
register_reduce_schedule = refuse("relay.op.register_reduce_schedule")
register_schedule = refuse("relay.op.register_schedule")
register_shape_func = refuse("relay.op.register_shape_func")
register_strategy = refuse("relay.op.register_strategy")


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
    """Keeps an `OpPattern` as the operator's attribute `TOpPattern`, which `FuseOps` and patterns (`has_attr`) read.

    `relay.build` goes by the operator's own declaration, which this does not change.
    """
    return register_op_attr(op_name, "TOpPattern", pattern, level)


def register_fake_quantization_to_integer(op_name: str, func: _Function = None, level: int = 10) -> Any:
    """Refuses: `FakeQuantizationToInteger` calls no Python."""
    raise NotImplementedError(
        f"FakeQuantizationToInteger calls no rules of Python: write `{op_name}` with operators that have rules, "
        "or declare its rule in crates/ops/src/fake_quantization.rs"
    )


def register_optional_fake_quantization_to_integer(
    op_name: str, func: _Function = None, level: int = 10
) -> Any:
    """Refuses: `FakeQuantizationToInteger` calls no Python."""
    return register_fake_quantization_to_integer(op_name, func, level)


def register_mixed_precision_conversion(op_name: str, func: _Function = None, level: int = 10) -> Any:
    """Registers how `ToMixedPrecision` treats a call: `f(call, dtype)` gives category and dtypes; also a decorator."""
    return register_op_attr(op_name, "FTVMMixedPrecisionConversionType", func, level)


def debug(expr: Any, debug_func: _Function = None) -> Any:
    """A call of `debug`, which is the expression's value: nothing stops there. Raises NotImplementedError for a function."""
    if debug_func is not None:
        raise NotImplementedError(
            "compiled code calls no function of Python: `relayc run --save-steps` writes the values inside of a program"
        )
    return call("debug", (expr,), debug_func=None)
