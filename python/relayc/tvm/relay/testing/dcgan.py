"""The generator of DCGAN: from random numbers to a picture of 64 by 64."""

from __future__ import annotations

from typing import Any, Dict, Optional, Sequence, Tuple

from ..analysis import free_vars
from ..expr import bind
from ..function import Function
from ._zoo import network
from .init import create_workload


def get_net(
    batch_size: int,
    random_len: int = 100,
    oshape: Sequence[int] = (3, 64, 64),
    ngf: int = 128,
    code: Optional[Any] = None,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Function:
    """The network as a function of its input and its parameters; `code` stands for the input `data`."""
    if layout not in ("NCHW", "NHWC"):
        raise ValueError("Invalid layout: " + layout)
    net = network(
        "dcgan", batch=batch_size, oshape=oshape, ngf=ngf, random_len=random_len, layout=layout, dtype=dtype
    )
    if code is None:
        return net
    data = next(param for param in net.params if param.name_hint == "data")
    body = bind(net.body, {data: code})
    return Function(free_vars(body), body)


def get_workload(
    batch_size: int,
    oshape: Sequence[int] = (3, 64, 64),
    ngf: int = 128,
    random_len: int = 100,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Tuple[Any, Dict[str, Any]]:
    """A module of the network, and initial values of its parameters."""
    return create_workload(get_net(batch_size, random_len, oshape, ngf, layout=layout, dtype=dtype))
