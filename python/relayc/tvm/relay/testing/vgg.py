"""VGG with 11, 13, 16 or 19 layers."""

from __future__ import annotations

from typing import Any, Dict, Sequence, Tuple

from ..function import Function
from ._zoo import network
from .init import create_workload


def get_net(
    batch_size: int,
    image_shape: Sequence[int],
    num_classes: int,
    dtype: str,
    num_layers: int = 11,
    batch_norm: bool = False,
) -> Function:
    """The network as a function of its input `data` and its parameters."""
    return network(
        "vgg",
        layers=num_layers,
        batch_norm=bool(batch_norm),
        batch=batch_size,
        classes=num_classes,
        image_shape=image_shape,
        dtype=dtype,
    )


def get_workload(
    batch_size: int,
    num_classes: int = 1000,
    image_shape: Sequence[int] = (3, 224, 224),
    dtype: str = "float32",
    num_layers: int = 11,
    batch_norm: bool = False,
) -> Tuple[Any, Dict[str, Any]]:
    """A module of the network, and initial values of its parameters."""
    return create_workload(get_net(batch_size, image_shape, num_classes, dtype, num_layers, batch_norm))
