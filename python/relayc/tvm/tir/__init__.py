"""Scalar expressions: those of dimensions and attributes. Everything else of TIR is refused."""

from __future__ import annotations

from ..ir.expr import PrimExpr as PrimExpr
from ..runtime.object_generic import const as const
from . import expr as expr
from .data_layout import (
    BijectiveLayout as BijectiveLayout,
    Layout as Layout,
    bijective_layout as bijective_layout,
    layout as layout,
)
from .expr import (
    EQ as EQ,
    GE as GE,
    GT as GT,
    LE as LE,
    LT as LT,
    NE as NE,
    Add as Add,
    And as And,
    Any as Any,
    Call as Call,
    Cast as Cast,
    Div as Div,
    FloatImm as FloatImm,
    FloorDiv as FloorDiv,
    FloorMod as FloorMod,
    IntImm as IntImm,
    Max as Max,
    Min as Min,
    Mod as Mod,
    Mul as Mul,
    Not as Not,
    Or as Or,
    SizeVar as SizeVar,
    StringImm as StringImm,
    Sub as Sub,
    Var as Var,
)
from .op import (
    abs as abs,
    add as add,
    all as all,
    any as any,
    ceildiv as ceildiv,
    div as div,
    floordiv as floordiv,
    floormod as floormod,
    indexdiv as indexdiv,
    indexmod as indexmod,
    max as max,
    max_value as max_value,
    min as min,
    min_value as min_value,
    multiply as multiply,
    subtract as subtract,
    truncdiv as truncdiv,
    truncmod as truncmod,
)
from .._refused import module_getattr

__getattr__ = module_getattr(__name__)
