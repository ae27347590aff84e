"""What all of a program's nodes share: types, expressions, modules, attributes, passes."""

from __future__ import annotations

from . import _test_attrs, container as container, diagnostics as diagnostics
from .adt import Constructor as Constructor, TypeData as TypeData
from .affine_type import TensorAffineType as TensorAffineType, TupleAffineType as TupleAffineType
from .attrs import Attrs as Attrs, DictAttrs as DictAttrs, make_node as make_node
from .base import (
    EnvFunc as EnvFunc,
    Node as Node,
    SequentialSpan as SequentialSpan,
    SourceMap as SourceMap,
    SourceName as SourceName,
    Span as Span,
    assert_structural_equal as assert_structural_equal,
    load_json as load_json,
    save_json as save_json,
    structural_equal as structural_equal,
    structural_hash as structural_hash,
)
from .container import Array as Array, Map as Map
from .expr import (
    BaseExpr as BaseExpr,
    GlobalVar as GlobalVar,
    PrimExpr as PrimExpr,
    Range as Range,
    RelayExpr as RelayExpr,
)
from .function import BaseFunc as BaseFunc, CallingConv as CallingConv
from .module import IRModule as IRModule
from .op import (
    Op as Op,
    register_intrin_lowering as register_intrin_lowering,
    register_op_attr as register_op_attr,
)
from .tensor_type import TensorType as TensorType
from .type import (
    FuncType as FuncType,
    GlobalTypeVar as GlobalTypeVar,
    IncompleteType as IncompleteType,
    PointerType as PointerType,
    PrimType as PrimType,
    RelayRefType as RelayRefType,
    TupleType as TupleType,
    Type as Type,
    TypeConstraint as TypeConstraint,
    TypeKind as TypeKind,
    TypeVar as TypeVar,
)
from .type_relation import TypeCall as TypeCall, TypeRelation as TypeRelation

from . import instrument as instrument, transform as transform
from .._refused import module_getattr

__getattr__ = module_getattr(__name__)
