"""ResNet v2 over volumes."""

from __future__ import annotations

from typing import Any, Dict, Sequence, Tuple

from ..function import Function
from ._zoo import network
from .init import create_workload


def get_net(
    batch_size: int,
    num_classes: int,
    num_layers: int = 50,
    image_shape: Sequence[int] = (3, 16, 112, 112),
    layout: str = "NCDHW",
    dtype: str = "float32",
    **kwargs: Any,
) -> Function:
    """The network as a function of its input `data` and its parameters.

    Other keywords are ignored, as in TVM.
    """
    return network(
        "resnet_3d",
        layers=num_layers,
        batch=batch_size,
        classes=num_classes,
        image_shape=image_shape,
        layout=layout,
        dtype=dtype,
    )


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    num_layers: int = 18,
    image_shape: Sequence[int] = (3, 16, 112, 112),
    layout: str = "NCDHW",
    dtype: str = "float32",
    **kwargs: Any,
) -> Tuple[Any, Dict[str, Any]]:
    """A module of the network, and initial values of its parameters."""
    return create_workload(get_net(batch_size, num_classes, num_layers, image_shape, layout, dtype))
