"""Types of quantized tensors: what real numbers their integers stand for."""

from __future__ import annotations

from typing import Any, Iterable

from .._ffi.registry import register_object
from ..runtime._dtype import dtype_name
from ..runtime.container import Array
from ..runtime.object import DTYPE, INT, NODE
from .base import Node


class AffineType(Node):
    """The base of affine types, which are equal if their structure is."""

    def __eq__(self, other: Any) -> bool:
        from .base import structural_equal

        return self is other or (isinstance(other, AffineType) and structural_equal(self, other))

    def __hash__(self) -> int:
        from .base import structural_hash

        return structural_hash(self)


@register_object("TensorAffineType")
class TensorAffineType(AffineType):
    """A tensor whose element `q` stands for `(q - zero_point) * scale`, for each channel of `axis` its own."""

    _fields = {"scale": NODE, "zero_point": NODE, "dtype": DTYPE, "axis": INT, "span": NODE}
    _compared = ("scale", "zero_point", "dtype", "axis")
    span = None

    def __init__(self, scale: Any, zero_point: Any, dtype: str, axis: int = -1) -> None:
        self.scale = scale
        self.zero_point = zero_point
        self.dtype = dtype_name(dtype)
        self.axis = axis


@register_object("TupleAffineType")
class TupleAffineType(AffineType):
    """The affine types of the fields of a tuple."""

    _fields = {"types": NODE, "span": NODE}
    _compared = ("types",)
    span = None

    def __init__(self, types: Iterable[TensorAffineType]) -> None:
        self.types = Array(types)
