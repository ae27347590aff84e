"""Types of parameters of the operator functions, for annotations and stubs."""

from __future__ import annotations

from typing import Sequence, Union

from ...ir.expr import PrimExpr
from ..expr import Expr

__all__ = ["DType", "Expr", "Int", "IntLists", "IntOrInts", "Ints", "Number", "Numbers"]

#: An integer, or an expression that is one, such as `relay.Any()`.
Int = Union[int, PrimExpr]
Ints = Sequence[Int]
#: One integer for all axes, or one for each.
IntOrInts = Union[Int, Ints]
IntLists = Sequence[Ints]
Number = Union[float, PrimExpr]
Numbers = Sequence[Number]
#: The name of a dtype: `"float32"`.
DType = str
