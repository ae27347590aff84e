"""The deep Q-network for Atari games."""

from __future__ import annotations

from typing import Any, Dict, Sequence, Tuple

from ..function import Function
from ._zoo import network
from .init import create_workload


def get_net(
    batch_size: int,
    num_actions: int = 18,
    image_shape: Sequence[int] = (4, 84, 84),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> Function:
    """The network as a function of its input `data` and its parameters."""
    return network(
        "dqn", batch=batch_size, actions=num_actions, image_shape=image_shape, layout=layout, dtype=dtype
    )


def get_workload(
    batch_size: int,
    num_actions: int = 18,
    image_shape: Sequence[int] = (4, 84, 84),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> Tuple[Any, Dict[str, Any]]:
    """A module of the network, and initial values of its parameters."""
    return create_workload(get_net(batch_size, num_actions, image_shape, dtype, layout))
