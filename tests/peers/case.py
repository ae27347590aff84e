"""What a case is: a call of an operator, its operands, and who else computes it."""
import dataclasses
from typing import Any, Callable

import numpy as np
import onnx

OPSET = 21


@dataclasses.dataclass
class Onnx:
    """Nodes of ONNX. Operands come before the constants, in their order."""

    steps: list
    outputs: list
    constants: dict = dataclasses.field(default_factory=dict)
    opset: int = OPSET

    def nodes(self, inputs):
        whole = {"*": inputs}
        return [
            onnx.helper.make_node(kind, sum((whole.get(name, [name]) for name in names), []), outputs, **attrs)
            for kind, names, outputs, attrs in self.steps
        ]


def node(kind, *constants, outputs=1, opset=OPSET, **attrs):
    """One node that takes the operands, then these constants; `None` leaves one out."""
    named = {f"k{i}": value for i, value in enumerate(constants) if value is not None}
    names = ["*"] + [f"k{i}" if value is not None else "" for i, value in enumerate(constants)]
    out = [f"out{i}" for i in range(outputs)]
    return Onnx([(kind, names, out, attrs)], out, named, opset)


def chain(*kinds):
    """Nodes of one operand each after a first that takes all."""
    names = [["*"]] + [[f"t{i}"] for i in range(len(kinds) - 1)]
    steps = [(kind, names[i], [f"t{i}"], {}) for i, kind in enumerate(kinds)]
    return Onnx(steps, [f"t{len(kinds) - 1}"])


@dataclasses.dataclass
class Case:
    op: str
    # The call, with the operands' names in braces.
    relay: str
    inputs: dict
    onnx: Onnx | None = None
    numpy: Callable | None = None
    # Other tolerances than the usual, by dtype.
    tolerance: dict = dataclasses.field(default_factory=dict)
    # Whether each element has a scale of its own.
    each: bool = False
    # Brings both results to one form.
    adjust: Callable | None = None
    # What a deviation is told by.
    about: dict[str, Any] = dataclasses.field(default_factory=dict)


# What arithmetic stumbles over.
SPECIAL = {
    "f": [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan],
    "i": [0, 1, -1, 2, -2, 7, -7],
    "u": [0, 1, 2, 7],
    "b": [False, True],
}


def special(dtype):
    """The corner values of a dtype."""
    dtype = np.dtype(dtype)
    values = list(SPECIAL[dtype.kind])
    if dtype.kind == "f":
        info = np.finfo(dtype)
        values += [info.max, -info.max, info.tiny, -info.tiny, info.smallest_subnormal, 2.0**10 + 1, -(2.0**10)]
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        values += [info.min, info.max]
    return np.array(values, dtype=dtype)


def draw(rng, dtype, shape, low=-4.0, high=4.0):
    """Ordinary values."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return rng.uniform(low, high, shape).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    info = np.iinfo(dtype)
    return rng.integers(max(info.min, -50), min(info.max, 50), shape, endpoint=True).astype(dtype)
