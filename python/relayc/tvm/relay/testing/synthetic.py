"""A small network for tests: dense layers beside convolutions, twice."""

from __future__ import annotations

from typing import Any, Dict, Optional, Sequence, Tuple

from .. import op
from ..analysis import free_vars
from ..expr import var
from ..function import Function
from . import layers
from .init import Constant, create_workload


def _block(data: Any, like: Any, weights: Sequence[Any], width: int) -> Any:
    """Adds a dense layer over the last axis and a convolution, both with as many outputs as inputs."""
    dense = op.nn.relu(op.nn.dense(op.reshape(data, [-1, width]), weights[0]))
    conv = op.nn.softmax(op.nn.conv2d(data, weights[1], padding=1, kernel_size=3))
    return op.add(op.reshape_like(dense, like), conv)


def get_net(
    input_shape: Sequence[int] = (1, 3, 24, 12), dtype: str = "float32", wtype: Optional[str] = None
) -> Function:
    """The network as a function of its input `data` and its parameters, which are of the type `wtype`."""
    wtype = wtype or dtype
    _, channels, _, width = input_shape

    def weights(suffix: str) -> Tuple[Any, Any]:
        return (
            var(f"dense{suffix}_weight", shape=[width, width], dtype=wtype),
            var(f"conv{suffix}_weight", shape=[channels, channels, 3, 3], dtype=wtype),
        )

    data = var("data", shape=input_shape, dtype=dtype)
    first = op.nn.bias_add(_block(data, data, weights(""), width), var("bias", dtype=wtype))
    net = _block(layers.batch_norm_infer(first, name="batch_norm"), data, weights("2"), width)
    return Function(free_vars(net), net)


def get_workload(
    input_shape: Sequence[int] = (1, 3, 24, 12), dtype: str = "float32", wtype: Optional[str] = None
) -> Tuple[Any, Dict[str, Any]]:
    """A module of the network, and initial values of its parameters: weights that sum to 1."""
    return create_workload(get_net(input_shape, dtype, wtype), initializer=Constant())
