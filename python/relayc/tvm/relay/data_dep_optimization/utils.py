"""Running one pass on one function."""

from __future__ import annotations

from typing import Any

from ...ir import IRModule
from ...ir.transform import Pass

__all__ = ["run_opt_pass"]


def run_opt_pass(expr: Any, opt_pass: Pass) -> Any:
    """The function after a pass."""
    assert isinstance(opt_pass, Pass)
    return opt_pass(IRModule.from_expr(expr))["main"]
