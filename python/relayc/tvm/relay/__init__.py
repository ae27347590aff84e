"""Relay: expressions, types, operators, passes, and what compiles and runs them."""

from __future__ import annotations

import sys

from .._refused import module_getattr

# Visitors of users recurse over programs. (Below `max` is an operator.)
sys.setrecursionlimit(max(sys.getrecursionlimit(), 10_000))

from . import adt, base, debug, expr, expr_functor, function, loops, param_dict, scope_builder, ty, type_functor
from .adt import (
    Clause,
    Constructor,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    TypeData,
)
from .base import SequentialSpan, SourceName, Span, astext, pretty_print
from .expr import (
    Call,
    Constant,
    GlobalVar,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    bind,
    const,
    var,
)
from .expr import RelayExpr as Expr
from .expr_functor import ExprFunctor, ExprMutator, ExprVisitor
from .function import Function
from .param_dict import load_param_dict, save_param_dict
from .parser import SpanCheck, fromtext, parse, parse_expr
from .scope_builder import ScopeBuilder
from .ty import (
    Any,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    ShapeVar,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeConstraint,
    TypeKind,
    TypeRelation,
    TypeVar,
    scalar_type,
)
from .type_functor import TypeFunctor, TypeMutator, TypeVisitor
from . import analysis
from . import op
from .op import annotation, contrib, dyn, image, nn, random, vision
from .op.algorithm import *
from .op.reduce import *
from .op.tensor import *
from .op.transform import *
from . import qnn
from . import prelude, transform
from .prelude import Prelude
from .transform import build_config


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
