"""A perceptron of three dense layers: 128, 64 and the number of classes."""

from __future__ import annotations

from typing import Any, Dict, Sequence, Tuple

from ..function import Function
from ._zoo import network
from .init import create_workload


def get_net(
    batch_size: int, num_classes: int = 10, image_shape: Sequence[int] = (1, 28, 28), dtype: str = "float32"
) -> Function:
    """The network as a function of its input `data` and its parameters."""
    return network("mlp", batch=batch_size, classes=num_classes, image_shape=image_shape, dtype=dtype)


def get_workload(
    batch_size: int, num_classes: int = 10, image_shape: Sequence[int] = (1, 28, 28), dtype: str = "float32"
) -> Tuple[Any, Dict[str, Any]]:
    """A module of the network, and initial values of its parameters."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
