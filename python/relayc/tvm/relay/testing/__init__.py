"""Networks, and what tests and benchmarks of Relay programs need (`tvm.relay.testing`)."""

from __future__ import annotations

import collections
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

from ..._refused import module_getattr
from ...ir import IRModule, Op
from ...ir.transform import Pass
from ...runtime import ndarray as nd
from ..analysis import post_order_visit
from ..expr import Call
from ..function import Function
from ..prelude import Prelude
from ..transform import InferType, gradient
from . import (
    dcgan as dcgan,
    densenet as densenet,
    dqn as dqn,
    inception_v3 as inception_v3,
    layers as layers,
    lstm as lstm,
    mlp as mlp,
    mobilenet as mobilenet,
    resnet as resnet,
    resnet_3d as resnet_3d,
    squeezenet as squeezenet,
    synthetic as synthetic,
    temp_op_attr as temp_op_attr,
    vgg as vgg,
)
from .init import create_workload as create_workload
from .nat import count as count, make_nat_expr as make_nat_expr, make_nat_value as make_nat_value
from .py_converter import run_as_python as run_as_python, to_python as to_python

__getattr__ = module_getattr(__name__)


def enabled_targets() -> List[Tuple[str, Any]]:
    """The targets that tests run on, with their devices."""
    from ...testing import enabled_targets as targets

    return targets()


def run_opt_pass(expr: Any, opt_pass: Pass, import_prelude: bool = False) -> Any:
    """Runs a pass on a function or an expression, after inference, optionally beside the prelude."""
    assert isinstance(opt_pass, Pass)
    mod = IRModule.from_expr(expr)
    if import_prelude:
        Prelude(mod)
    entry = opt_pass(InferType()(mod))["main"]
    return entry if isinstance(expr, Function) else entry.body


def run_infer_type(expr: Any) -> Any:
    """A function or an expression with types."""
    return run_opt_pass(expr, InferType())


def _np_randn_from_type(ty: Any, scale: float = 1, mean: float = 0) -> np.ndarray:
    """Normally distributed values for a tensor type."""
    return np.asarray(mean + scale * np.random.randn(*(int(dim) for dim in ty.shape))).astype(ty.dtype)


def _numeric_gradient(run: Any, inputs: Sequence[np.ndarray], x: np.ndarray, eps: float) -> np.ndarray:
    """The derivative of the sum of `run(*inputs)` by each element of `x`, which is one of the inputs."""
    gradient_of_x = np.zeros(x.shape)
    for i in np.ndindex(*x.shape):
        kept = x[i]
        x[i] = kept + eps
        above = run(*inputs).numpy().astype("float64")
        x[i] = kept - eps
        below = run(*inputs).numpy().astype("float64")
        x[i] = kept
        gradient_of_x[i] = np.sum((above - below) / (2 * eps))
    return gradient_of_x


def check_grad(
    func: Any,
    inputs: Optional[Sequence[np.ndarray]] = None,
    test_inputs: Optional[Sequence[np.ndarray]] = None,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    scale: Optional[float] = None,
    mean: float = 0,
    mode: str = "higher_order",
    target_devices: Optional[Sequence[Tuple[Any, Any]]] = None,
    executor_kind: str = "debug",
) -> None:
    """Compares the gradient of a function with differences of its values at `x + eps` and `x - eps`.

    `inputs` are random, of the size `scale` around `mean`, unless given; `test_inputs` are those among them whose
    gradients count. Types should be precise: float64.
    """
    from ..build_module import create_executor
    from ..transform import Legalize

    forward = run_infer_type(func)
    backward = run_opt_pass(run_infer_type(gradient(forward, mode=mode)), Legalize())
    if inputs is None:
        size = 10 * eps if scale is None else scale
        inputs = [_np_randn_from_type(param.checked_type, size, mean) for param in forward.params]
    tested = inputs if test_inputs is None else test_inputs
    for target, dev in enabled_targets() if target_devices is None else target_devices:
        run_backward = create_executor(executor_kind, device=dev, target=target).evaluate(backward)
        run_forward = create_executor(executor_kind, device=dev, target=target).evaluate(forward)
        _, found = run_backward(*inputs)
        found = [grad.numpy().astype("float64") for grad in found]
        pairs = [(grad, x) for grad, x in zip(found, inputs) if any(x is t for t in tested)]
        assert pairs, "You must test at least one gradient."
        for grad, x in pairs:
            expected = _numeric_gradient(run_forward, inputs, x, eps)
            np.testing.assert_allclose(grad, expected, atol=atol, rtol=rtol)


def rand(dtype: str, *shape: int) -> nd.NDArray:
    """An array of random numbers from 0 to 1."""
    return nd.array(np.random.rand(*shape).astype(dtype))


def count_ops(expr: Any) -> "collections.Counter[str]":
    """How many calls of each operator an expression has, by the operator's name."""
    counter: "collections.Counter[str]" = collections.Counter()

    def visit(node: Any) -> None:
        if isinstance(node, Call) and isinstance(node.op, Op):
            counter[node.op.name] += 1

    post_order_visit(expr, visit)
    return counter
