"""The type of tensors."""

from __future__ import annotations

from typing import Any, Optional, Sequence, Tuple

from .._ffi.registry import register_object
from ..error import TVMError
from ..runtime._dtype import dtype_name
from ..runtime.container import Array
from ..runtime.object import DTYPE, NODE
from ..tir.expr import IntImm, as_dimension
from .type import Type


@register_object("relay.TensorType")
class TensorType(Type):
    """A tensor of a shape and a data type. Dimensions are integers, `Any`, variables, or expressions of these."""

    _kind = "TensorType"
    _fields = {"shape": NODE, "dtype": DTYPE, "span": NODE}
    _compared = ("shape", "dtype")

    def __init__(self, shape: Sequence[Any], dtype: Any = "float32") -> None:
        if isinstance(shape, (str, int)):
            raise TVMError(f"expected a list of dimensions, found {shape!r}: write [{shape}]")
        self.shape = Array(map(as_dimension, shape))
        self.dtype = dtype_name(dtype)

    def __eq__(self, other: Any) -> bool:
        # Most types are of sizes that are known; the others are compared by structure.
        if type(other) is TensorType:
            same = self._sizes_equal(other)
            if same is not None:
                return same
        return super().__eq__(other)

    def _sizes_equal(self, other: "TensorType") -> Optional[bool]:
        """Whether two types are equal, if that does not hang on dimensions other than numbers."""
        if self.dtype != other.dtype or len(self.shape) != len(other.shape):
            return False
        for a, b in zip(self.shape, other.shape):
            if type(a) is not IntImm or type(b) is not IntImm:
                return None
            if a.value != b.value or a.dtype != b.dtype:
                return False
        return True

    def __hash__(self) -> int:
        return hash((self.dtype, *[dim.value if type(dim) is IntImm else 0 for dim in self.shape]))

    def __repr__(self) -> str:
        return f"TensorType({self.shape!r}, {self.dtype})"

    def __str__(self) -> str:
        return super().__repr__()

    @property
    def concrete_shape(self) -> Tuple[int, ...]:
        """The sizes as Python integers. Raises TypeError if one is not known."""
        return tuple(int(x) for x in self.shape)

