"""Operators of the virtual machine (`python/tvm/relay/op/vm/vm.py`)."""

from __future__ import annotations

from typing import Any

from ...expr import Call, Expr
from .._call import call
from .._documentation import documented
from .._factory import define

__all__ = [*define("op.vm.vm", globals()), "invoke_tvm_op", "shape_func", "shape_of"]


@documented("vm.shape_of")
def shape_of(expr: Expr) -> Call:
    """The shape of a tensor, as a vector of int64.

    Parameters
    ----------
    expr : Expr
        The tensor.
    """
    return call("vm.shape_of", (expr,), dtype="int64")


@documented("vm.invoke_tvm_op")
def invoke_tvm_op(func: Expr, inputs: Expr, outputs: Expr) -> Call:
    """Runs a primitive function on tensors, into tensors.

    Parameters
    ----------
    func : Expr
        The function.
    inputs, outputs : Expr
        Tuples of the tensors that it reads and writes.
    """
    return call("vm.invoke_tvm_op", (func, inputs, outputs))


def shape_func(func: Any, inputs: Any, outputs: Any, is_inputs: Any) -> Any:
    """Refuses: TVM v0.14 has no operator behind this name either."""
    raise NotImplementedError("vm.shape_func does not exist in TVM v0.14: relayc computes shapes while it runs")
