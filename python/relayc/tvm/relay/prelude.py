"""The Prelude: lists, options, trees and tensor arrays for programs that are built from Python.

`Prelude(mod)` adds the definitions of `std/prelude.rly` to `mod`, and for each element type a type of tensors of any
rank with the operations of tensor arrays. `StaticTensorArrayOps` adds the same for tensors of one shape. The names are
those of `python/tvm/relay/prelude.py`.
"""

from __future__ import annotations

from typing import Any, Optional, Sequence, Tuple

from ..ir import IRModule, TypeCall
from ..tir import Any as AnyDim
from ._tensor_array import StaticTensorArrayOps, TensorArrayOps, static_name
from .analysis import free_vars
from .function import Function

__all__ = ["Prelude", "StaticTensorArrayOps", "TensorArrayOps", "get_tensor_array_shape"]

_FUNCTIONS = (
    "id compose flip hd tl nth update map foldl foldr foldr1 concat filter zip rev map_accuml map_accumr "
    "unfoldl unfoldr sum length tmap size iterate"
).split()

_DTYPES = "float32 float16 float64 int32 uint8 int8 int16 uint16 int64".split()


def get_tensor_array_shape(expr: Any, dtype: str, prelude: "Prelude") -> Optional[Tuple[Any, ...]]:
    """The shape of the tensors in the static tensor array `expr`; `None` if their shapes may differ."""
    from .transform import InferType

    mod = prelude.mod
    mod["main"] = Function(free_vars(expr), expr)
    checked_type = InferType()(mod)["main"].body.checked_type
    assert isinstance(checked_type, TypeCall), "Input must be a tensor array."
    name = checked_type.args[0].func.name_hint
    prefix = f"static_tensor_{dtype}_"
    if not name.startswith(prefix):
        return None
    dims = name[len(prefix) :].rsplit("_t", 1)[0]
    if dims == "scalar":
        return ()
    return tuple(AnyDim() if dim in ("?", "any") else int(dim) for dim in dims.split("_"))


class Prelude:
    """The standard definitions, as members of `mod`; each function is also an attribute: `prelude.map`."""

    def __init__(self, mod: Optional[IRModule] = None):
        self.mod = IRModule() if mod is None else mod
        self.load_prelude()

    def get_name(self, canonical: str, dtype: str) -> str:
        """The name of a definition for tensors of `dtype` and any rank."""
        return f"tensor_{dtype}_t" if canonical == "tensor_t" else f"{canonical}_{dtype}"

    def get_global_var(self, canonical: str, dtype: str) -> Any:
        """The function `canonical` for tensors of `dtype` and any rank."""
        return self.mod.get_global_var(self.get_name(canonical, dtype))

    def get_type(self, canonical: str, dtype: str) -> Any:
        """The type `canonical` for tensors of `dtype` and any rank."""
        return self.mod.get_global_type_var(self.get_name(canonical, dtype))

    def get_ctor(self, ty_name: str, canonical: str, dtype: str) -> Any:
        """The constructor `canonical` of the type `ty_name`."""
        return self._member(ty_name, self.get_name(canonical, dtype))

    def get_tensor_ctor(self, canonical: str, dtype: str) -> Any:
        """The constructor `canonical` of tensors of `dtype` and any rank."""
        return self.get_ctor(self.get_type("tensor_t", dtype).name_hint, canonical, dtype)

    def get_name_static(
        self, canonical: str, dtype: str, shape: Sequence[Any], batch_dim: Optional[int] = None
    ) -> str:
        """The name of a definition for tensors of one shape."""
        return static_name(canonical, dtype, shape, batch_dim)

    def get_global_var_static(
        self, canonical: str, dtype: str, shape: Sequence[Any], batch_dim: Optional[int] = None
    ) -> Any:
        """The function `canonical` for tensors of one shape."""
        return self.mod.get_global_var(self.get_name_static(canonical, dtype, shape, batch_dim))

    def get_type_static(self, canonical: str, dtype: str, shape: Sequence[Any]) -> Any:
        """The type `canonical` for tensors of one shape."""
        return self.mod.get_global_type_var(self.get_name_static(canonical, dtype, shape))

    def get_ctor_static(self, ty_name: str, name: str, dtype: str, shape: Sequence[Any]) -> Any:
        """The constructor `name` of the type `ty_name` for tensors of one shape."""
        return self._member(
            self.get_name_static(ty_name, dtype, shape), self.get_name_static(name, dtype, shape)
        )

    def get_tensor_ctor_static(self, name: str, dtype: str, shape: Sequence[Any]) -> Any:
        """The constructor `name` of tensors of one shape."""
        return self.get_ctor_static("tensor_t", name, dtype, shape)

    def _member(self, ty_name: str, name: str) -> Any:
        """The type `ty_name` itself or one of its constructors, by name."""
        for member in self.mod.get_type(ty_name):
            if member.name_hint == name:
                return member
        raise Exception(f"could not find {name}")

    def load_prelude(self) -> None:
        """Adds all definitions to the module."""
        self.mod.import_from_std("prelude.rly")
        for name in _FUNCTIONS:
            setattr(self, name, self.mod.get_global_var(name))
        for dtype in _DTYPES:
            TensorArrayOps(self, dtype).register()
