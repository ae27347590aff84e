"""DenseNet with 121, 161, 169 or 201 layers."""

from __future__ import annotations

from typing import Any, Dict, Sequence, Tuple

from ..function import Function
from ._zoo import network
from .init import create_workload


def get_net(
    densenet_size: int = 121,
    classes: int = 1000,
    batch_size: int = 4,
    image_shape: Sequence[int] = (3, 224, 224),
    dtype: str = "float32",
) -> Function:
    """The network as a function of its input `data` and its parameters."""
    return network(
        "densenet", size=densenet_size, batch=batch_size, classes=classes, image_shape=image_shape, dtype=dtype
    )


def get_workload(
    densenet_size: int = 121,
    classes: int = 1000,
    batch_size: int = 4,
    image_shape: Sequence[int] = (3, 224, 224),
    dtype: str = "float32",
) -> Tuple[Any, Dict[str, Any]]:
    """A module of the network, and initial values of its parameters."""
    return create_workload(get_net(densenet_size, classes, batch_size, image_shape, dtype))
