"""The type of tensors."""

from __future__ import annotations

from typing import Any, Sequence, Tuple

from .._ffi.registry import register_object
from ..error import TVMError
from ..runtime._dtype import dtype_name
from ..runtime.container import Array
from ..runtime.object import DTYPE, NODE
from .type import Type


@register_object("relay.TensorType")
class TensorType(Type):
    """A tensor of a shape and a data type. Dimensions are integers, `Any`, variables, or expressions of these."""

    _kind = "TensorType"
    _fields = {"shape": NODE, "dtype": DTYPE, "span": NODE}
    _compared = ("shape", "dtype")

    def __init__(self, shape: Sequence[Any], dtype: Any = "float32") -> None:
        if isinstance(shape, str):
            raise TVMError(f"expected a list of dimensions, found {shape!r}")
        self.shape = Array(map(dimension, shape))
        self.dtype = dtype_name(dtype)

    @property
    def concrete_shape(self) -> Tuple[int, ...]:
        """The sizes as Python integers. Raises TypeError if one is not known."""
        return tuple(int(x) for x in self.shape)


def dimension(value: Any) -> Any:
    """A dimension as a node: integers become `IntImm`, of 32 bits where they fit."""
    from ..tir.expr import as_dimension

    global dimension
    dimension = as_dimension
    return as_dimension(value)
