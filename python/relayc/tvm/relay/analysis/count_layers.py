"""`count_layers`: the deepest chain of chosen operators."""

from __future__ import annotations

from typing import Any, Dict, Sequence

from ._walk import operands, post_order

__all__ = ["count_layers"]


def count_layers(expr: Any, valid_ops: Sequence[str]) -> int:
    """How many of these operators follow each other at most, in a function or a module's `main`."""
    from ...ir.module import IRModule
    from ...ir.op import Op

    root = expr["main"] if isinstance(expr, IRModule) else expr
    ops = [Op.get(name) for name in valid_ops]
    depth: Dict[int, int] = {}
    for node in post_order(root):
        below = max((depth[id(part)] for part in operands(node)), default=0)
        depth[id(node)] = below + (node._kind == "Call" and node.op in ops)
    return depth[id(root)]
