"""Made by `python/tools/stubs.py`: edit the table of signatures, or the module."""

from relayc.tvm.relay.expr import Call, Expr
from relayc.tvm.relay.op._types import Int

__all__ = [
    "yolo_reorg",
]

def yolo_reorg(data: Expr, stride: Int) -> Call: ...
