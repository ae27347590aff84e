"""Matching on algebraic data types: patterns, clauses, `Match`."""

from __future__ import annotations

from typing import Iterable, Optional

from .._ffi.registry import register_object
from ..ir.adt import Constructor, TypeData
from ..ir.base import Span
from ..ir.expr import RelayExpr
from ..runtime.container import Array
from ..runtime.object import BOOL, NODE
from .base import RelayNode
from .expr import ExprWithOp, Var

__all__ = [
    "Clause",
    "Constructor",
    "Match",
    "Pattern",
    "PatternConstructor",
    "PatternTuple",
    "PatternVar",
    "PatternWildcard",
    "TypeData",
]


class Pattern(RelayNode):
    """The base of patterns."""

    span: Optional[Span] = None


@register_object("relay.PatternWildcard")
class PatternWildcard(Pattern):
    """Matches anything and binds nothing."""

    _kind = "PatternWildcard"
    _fields = {"span": NODE}


@register_object("relay.PatternVar")
class PatternVar(Pattern):
    """Matches anything and binds it to a variable."""

    _kind = "PatternVar"
    _fields = {"var": NODE, "span": NODE}
    _compared = ("var",)
    _defines = ("var",)

    def __init__(self, var: Var) -> None:
        self.var = var


@register_object("relay.PatternConstructor")
class PatternConstructor(Pattern):
    """Matches a value of a constructor whose fields match the patterns; none stand for any fields."""

    _kind = "PatternConstructor"
    _fields = {"constructor": NODE, "patterns": NODE, "span": NODE}
    _compared = ("constructor", "patterns")

    def __init__(self, constructor: Constructor, patterns: Optional[Iterable[Pattern]] = None) -> None:
        self.constructor = constructor
        self.patterns = Array(patterns or ())


@register_object("relay.PatternTuple")
class PatternTuple(Pattern):
    """Matches a tuple whose fields match the patterns."""

    _kind = "PatternTuple"
    _fields = {"patterns": NODE, "span": NODE}
    _compared = ("patterns",)

    def __init__(self, patterns: Optional[Iterable[Pattern]] = None) -> None:
        self.patterns = Array(patterns or ())


@register_object("relay.Clause")
class Clause(RelayNode):
    """A case of a match: a pattern, and the expression for values that match it."""

    _kind = "Clause"
    _fields = {"lhs": NODE, "rhs": NODE}
    _compared = ("lhs", "rhs")

    def __init__(self, lhs: Pattern, rhs: RelayExpr) -> None:
        self.lhs = lhs
        self.rhs = rhs


@register_object("relay.Match")
class Match(ExprWithOp):
    """The first clause that matches a value. `complete` asks inference for an error where a case is missing."""

    _kind = "Match"
    _fields = {"data": NODE, "clauses": NODE, "complete": BOOL, **RelayExpr._expr_fields}
    _compared = ("data", "clauses", "complete")
    _graph = True

    def __init__(self, data: RelayExpr, clauses: Iterable[Clause], complete: bool = True) -> None:
        self.data = data
        self.clauses = Array(clauses)
        self.complete = bool(complete)
