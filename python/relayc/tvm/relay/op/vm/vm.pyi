"""Made by `python/tools/stubs.py`: edit the table of signatures, or the module."""

from relayc.tvm.relay.expr import Call, Expr
from relayc.tvm.relay.op._types import Ints
from typing import Any

__all__ = [
    "invoke_tvm_op",
    "reshape_tensor",
    "shape_func",
    "shape_of",
]

def invoke_tvm_op(func: Expr, inputs: Expr, outputs: Expr) -> Call: ...
def reshape_tensor(data: Expr, shape: Expr, newshape: Ints) -> Call: ...
def shape_func(func: Any, inputs: Any, outputs: Any, is_inputs: Any) -> Any: ...
def shape_of(expr: Expr) -> Call: ...
