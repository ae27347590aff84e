"""Scalar expressions: those of dimensions and attributes. Everything else of TIR is refused."""

from __future__ import annotations

from ..ir.expr import PrimExpr
from ..runtime.object_generic import const
from . import expr
from .data_layout import BijectiveLayout, Layout, bijective_layout, layout
from .expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Any,
    Call,
    Cast,
    Div,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    SizeVar,
    StringImm,
    Sub,
    Var,
)
from .op import (
    abs,
    add,
    all,
    any,
    ceildiv,
    div,
    floordiv,
    floormod,
    indexdiv,
    indexmod,
    max,
    max_value,
    min,
    min_value,
    multiply,
    subtract,
    truncdiv,
    truncmod,
)
from .._refused import module_getattr

__getattr__ = module_getattr(__name__)
