"""Relay: expressions, types, operators, passes, and what compiles and runs them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .._refused import module_getattr

# Visitors of users recurse over programs. (Below `max` is an operator.)
sys.setrecursionlimit(max(sys.getrecursionlimit(), 10_000))

from . import (
    adt as adt,
    base as base,
    expr as expr,
    expr_functor as expr_functor,
    function as function,
    loops as loops,
    param_dict as param_dict,
    scope_builder as scope_builder,
    ty as ty,
    type_functor as type_functor,
)
from .adt import (
    Clause as Clause,
    Constructor as Constructor,
    Match as Match,
    Pattern as Pattern,
    PatternConstructor as PatternConstructor,
    PatternTuple as PatternTuple,
    PatternVar as PatternVar,
    PatternWildcard as PatternWildcard,
    TypeData as TypeData,
)
from .base import (
    SequentialSpan as SequentialSpan,
    SourceName as SourceName,
    Span as Span,
    astext as astext,
    pretty_print as pretty_print,
)
from .expr import (
    Call as Call,
    Constant as Constant,
    GlobalVar as GlobalVar,
    If as If,
    Let as Let,
    RefCreate as RefCreate,
    RefRead as RefRead,
    RefWrite as RefWrite,
    Tuple as Tuple,
    TupleGetItem as TupleGetItem,
    TupleWrapper as TupleWrapper,
    Var as Var,
    bind as bind,
    const as const,
    var as var,
)
from .expr_functor import (
    ExprFunctor as ExprFunctor,
    ExprMutator as ExprMutator,
    ExprVisitor as ExprVisitor,
)
from .function import Function as Function
from .param_dict import load_param_dict as load_param_dict, save_param_dict as save_param_dict
from .parser import (
    SpanCheck as SpanCheck,
    fromtext as fromtext,
    parse as parse,
    parse_expr as parse_expr,
)
from .scope_builder import ScopeBuilder as ScopeBuilder
from .ty import (
    Any as Any,
    FuncType as FuncType,
    GlobalTypeVar as GlobalTypeVar,
    IncompleteType as IncompleteType,
    RefType as RefType,
    ShapeVar as ShapeVar,
    TensorType as TensorType,
    TupleType as TupleType,
    Type as Type,
    TypeCall as TypeCall,
    TypeConstraint as TypeConstraint,
    TypeKind as TypeKind,
    TypeRelation as TypeRelation,
    TypeVar as TypeVar,
    scalar_type as scalar_type,
)
from .type_functor import (
    TypeFunctor as TypeFunctor,
    TypeMutator as TypeMutator,
    TypeVisitor as TypeVisitor,
)
from . import analysis as analysis
from . import op as op
from .op import (
    annotation as annotation,
    contrib as contrib,
    dyn as dyn,
    image as image,
    nn as nn,
    random as random,
    vision as vision,
)
from .op.algorithm import *
from .op.reduce import *
from .op.tensor import *
from .op.transform import *
from . import qnn as qnn
from . import prelude as prelude, transform as transform
from .prelude import Prelude as Prelude
from .transform import build_config as build_config

Expr = expr.RelayExpr

#: What compiles and runs programs, and what reads other formats: loaded when it is first asked for.
_LATER = {
    "backend": ("backend", None),
    "build": ("build_module", "build"),
    "build_module": ("build_module", None),
    "create_executor": ("build_module", "create_executor"),
    "data_dep_optimization": ("data_dep_optimization", None),
    "dataflow_pattern": ("dataflow_pattern", None),
    "frontend": ("frontend", None),
    "optimize": ("build_module", "optimize"),
    "quantize": ("quantize", None),
    "testing": ("testing", None),
    "vm": ("backend.vm", None),
}


if TYPE_CHECKING:
    from . import backend as backend, build_module as build_module, data_dep_optimization as data_dep_optimization
    from . import dataflow_pattern as dataflow_pattern, frontend as frontend, quantize as quantize, testing as testing
    from .backend import vm as vm
    from .build_module import build as build, create_executor as create_executor, optimize as optimize


def __getattr__(name: str) -> object:
    import importlib

    if name not in _LATER:
        return _refused(name)
    module, attribute = _LATER[name]
    found: object = importlib.import_module(f"{__name__}.{module}")
    if attribute is not None:
        found = getattr(found, attribute)
    globals()[name] = found
    return found


_refused = module_getattr(__name__)
