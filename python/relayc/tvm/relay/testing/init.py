"""Initial values of a network's parameters, by the ends of their names.

The random numbers are those of NumPy's legacy generator, in the order of the parameters, so that a seed gives the
same weights as in TVM v0.14 (`python/tvm/relay/testing/init.py`) and in `relayc model`.
"""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

import numpy as np

from ...ir import IRModule
from ...runtime import ndarray as nd
from ..transform import InferType


class Initializer:
    """Fills arrays in place. A subclass says in `_init_weight` what weights are."""

    def __init__(self, **kwargs: Any):
        self._kwargs = kwargs

    def __call__(self, desc: str, arr: np.ndarray) -> None:
        """Fills `arr`, the parameter of the name `desc`. Raises ValueError if no rule has its ending."""
        for ending, rule in _RULES:
            if desc.endswith(ending):
                rule(self, desc, arr)
                return
        self._init_default(desc, arr)

    def _init_zero(self, _: str, arr: np.ndarray) -> None:
        arr[:] = 0.0

    def _init_one(self, _: str, arr: np.ndarray) -> None:
        arr[:] = 1.0

    _init_bias = _init_beta = _init_mean = _init_zero
    _init_gamma = _init_var = _init_one

    def _init_weight(self, name: str, arr: np.ndarray) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not say how the weight {name} starts")

    def _init_default(self, name: str, _: np.ndarray) -> None:
        endings = ", ".join(ending for ending, _ in _RULES)
        raise ValueError(f"Unknown initialization pattern for {name}: names end in one of {endings}")


_RULES = (
    ("weight", lambda init, name, arr: init._init_weight(name, arr)),
    ("bias", lambda init, name, arr: init._init_bias(name, arr)),
    ("gamma", lambda init, name, arr: init._init_gamma(name, arr)),
    ("beta", lambda init, name, arr: init._init_beta(name, arr)),
    ("mean", lambda init, name, arr: init._init_mean(name, arr)),
    ("var", lambda init, name, arr: init._init_var(name, arr)),
)


class Xavier(Initializer):
    """Uniform in `[-s, s)`, where `s = sqrt(magnitude / f)` and `f` is the fan-in, the fan-out or their mean."""

    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3):
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        self.rnd_type = rnd_type
        self.factor_type = factor_type
        self.magnitude = float(magnitude)

    def _init_weight(self, name: str, arr: np.ndarray) -> None:
        shape = arr.shape
        if len(shape) < 2:
            raise ValueError(f"Xavier initializer cannot be applied to vector {name}. It requires at least 2D.")
        area = np.prod(shape[2:]) if len(shape) > 2 else 1.0
        fan_in, fan_out = shape[1] * area, shape[0] * area
        factors = {"avg": (fan_in + fan_out) / 2.0, "in": fan_in, "out": fan_out}
        if self.factor_type not in factors:
            raise ValueError("Incorrect factor type")
        # Each channel of a depthwise convolution sees only its own kernel.
        factor = area if "depthwise" in name else factors[self.factor_type]
        scale = np.sqrt(self.magnitude / factor)
        if self.rnd_type != "uniform":
            raise ValueError("Unknown random type")
        arr[:] = np.random.uniform(-scale, scale, size=shape)


class Constant(Initializer):
    """Every element of a weight is 1/n for n elements, so their sum is 1."""

    def _init_weight(self, name: str, arr: np.ndarray) -> None:
        arr[:] = 1.0 / arr.size


def create_workload(
    net: Any, initializer: Optional[Initializer] = None, seed: int = 0
) -> Tuple[IRModule, Dict[str, nd.NDArray]]:
    """The module of the function `net`, and an array for each parameter that is not called `data`."""
    mod = InferType()(IRModule.from_expr(net))
    np.random.seed(seed)
    initializer = initializer or Xavier()
    params = {}
    types = {param.name_hint: param.checked_type for param in mod["main"].params}
    for name, ty in types.items():
        if name != "data":
            value = np.zeros(ty.concrete_shape).astype(ty.dtype)
            initializer(name, value)
            params[name] = nd.array(value)
    return mod, params
