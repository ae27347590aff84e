"""Functions registered for passes on quantized operators (`python/tvm/relay/qnn/op/op.py`)."""

from __future__ import annotations

from typing import Any, Callable, Optional

from ....ir.op import register_op_attr

__all__ = ["register_qnn_canonicalize", "register_qnn_legalize"]


def register_qnn_legalize(op_name: str, legal_op: Optional[Callable[..., Any]] = None, level: int = 10) -> Any:
    """Registers how `qnn.transform.Legalize` rewrites a call: `f(attrs, inputs, types)`; also a decorator."""
    return register_op_attr(op_name, "FTVMQnnLegalize", legal_op, level)


def register_qnn_canonicalize(op_name: str, legal_op: Optional[Callable[..., Any]] = None, level: int = 10) -> Any:
    """Registers how `qnn.transform.CanonicalizeOps` rewrites a call: `f(attrs, inputs, types)`; also a decorator."""
    return register_op_attr(op_name, "FTVMQnnCanonicalize", legal_op, level)
