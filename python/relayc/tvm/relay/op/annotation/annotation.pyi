"""Made by `python/tools/stubs.py`: edit the table of signatures, or the module."""

from relayc.tvm.relay.expr import Call, Expr
from typing import Any

__all__ = [
    "checkpoint",
    "compiler_begin",
    "compiler_end",
    "function_on_device",
    "on_device",
    "stop_fusion",
]

def checkpoint(data: Expr) -> Call: ...
def compiler_begin(data: Expr, compiler: str) -> Call: ...
def compiler_end(data: Expr, compiler: str) -> Call: ...
def function_on_device(function: Any, param_devices: Any, result_device: Any) -> Any: ...
def on_device(body: Expr, device: Any, constrain_result: bool = False, constrain_body: bool = True) -> Call: ...
def stop_fusion(data: Expr) -> Call: ...
