"""What all of a program's nodes share: types, expressions, modules, attributes, passes."""

from __future__ import annotations

from . import _test_attrs, container, diagnostics
from .adt import Constructor, TypeData
from .attrs import Attrs, DictAttrs, make_node
from .base import (
    EnvFunc,
    Node,
    SequentialSpan,
    SourceMap,
    SourceName,
    Span,
    assert_structural_equal,
    load_json,
    save_json,
    structural_equal,
    structural_hash,
)
from .container import Array, Map
from .expr import BaseExpr, GlobalVar, PrimExpr, Range, RelayExpr
from .function import BaseFunc, CallingConv
from .module import IRModule
from .op import Op, register_intrin_lowering, register_op_attr
from .tensor_type import TensorType
from .type import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    PointerType,
    PrimType,
    RelayRefType,
    TupleType,
    Type,
    TypeConstraint,
    TypeKind,
    TypeVar,
)
from .type_relation import TypeCall, TypeRelation

from . import instrument, transform
from .._refused import module_getattr

__getattr__ = module_getattr(__name__)
