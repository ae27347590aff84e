"""`Feature`: the constructs that a program uses."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Optional, Set

from ._walk import operands

__all__ = ["Feature", "detect_feature"]


class Feature(IntEnum):
    """A construct; `fGraph` says that something but an atom is shared, `fLetRec` that a
    binding refers to itself."""

    fVar = 0
    fGlobalVar = 1
    fConstant = 2
    fTuple = 3
    fTupleGetItem = 4
    fFunction = 5
    fOp = 6
    fCall = 7
    fLet = 8
    fIf = 9
    fRefCreate = 10
    fRefRead = 11
    fRefWrite = 12
    fConstructor = 13
    fMatch = 14
    fGraph = 15
    fLetRec = 16


#: Rule of TVM: `IsAtomic` in `src/relay/transforms/pass_utils.h`.
_ATOMS = ("Var", "Op", "GlobalVar", "Constant", "Constructor")


def detect_feature(a: Any, b: Any = None) -> Set[Feature]:
    """The features of an expression or a module; of both, given an expression and a module.

    Functions with the attribute `Primitive` count, but not what is in them.
    """
    from ...ir.module import IRModule

    if isinstance(a, IRModule):
        a, b = b, a
    found: Set[Feature] = set()
    if a is not None:
        found |= _features(a)
    for func in b.functions.values() if b is not None else ():
        found |= _features(func)
    return found


def _features(root: Any) -> Set[Feature]:
    from . import free_vars

    found: Set[Feature] = set()
    seen: Set[int] = set()
    stack = [root]
    while stack:
        expr = stack.pop()
        if id(expr) in seen:
            if expr._kind not in _ATOMS:
                found.add(Feature.fGraph)
            continue
        seen.add(id(expr))
        feature: Optional[Feature] = getattr(Feature, f"f{expr._kind}", None)
        if feature is not None:
            found.add(feature)
        if feature is Feature.fLet and any(var is expr.var for var in free_vars(expr.value)):
            found.add(Feature.fLetRec)
        attrs = expr.attrs if feature is Feature.fFunction else None
        if attrs is None or "Primitive" not in attrs.keys() or not attrs["Primitive"]:
            stack += reversed(operands(expr))
    return found
