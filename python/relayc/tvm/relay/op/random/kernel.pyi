"""Made by `python/tools/stubs.py`: edit the table of signatures, or the module."""

from relayc.tvm.relay.expr import Call, Constant, Expr
from relayc.tvm.relay.op._types import Int, Ints
from typing import Any, Sequence

__all__ = [
    "multinomial",
    "normal",
    "threefry_generate",
    "threefry_key",
    "threefry_split",
    "uniform",
]

def multinomial(key: Expr, probs: Expr, num_samples: Int) -> Call: ...
def normal(key: Expr, shape: Sequence[int], dtype: str = "float32", mean: Any = 0.0, scale: Any = 1.0) -> Call: ...
def threefry_generate(key: Expr, shape: Ints) -> Call: ...
def threefry_key(seed: int) -> Constant: ...
def threefry_split(key: Expr) -> Call: ...
def uniform(key: Expr, shape: Sequence[int], dtype: str = "float32", low: Any = 0.0, high: Any = 1.0) -> Call: ...
