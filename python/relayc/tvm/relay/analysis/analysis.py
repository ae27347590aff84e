"""Analyses that walk over a program's nodes (TVM `src/relay/analysis/util.cc`, `well_formed.cc`)."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Set

from ...ir.module import IRModule
from ...ir.type import Type
from ...runtime.container import Array
from ..adt import Clause, Pattern
from ..expr import Constant, Expr, Tuple
from ._walk import operands, pattern_vars, post_order, type_parts

__all__ = [
    "all_dtypes",
    "all_type_vars",
    "all_vars",
    "bound_type_vars",
    "bound_vars",
    "check_constant",
    "free_type_vars",
    "free_vars",
    "post_order_visit",
    "well_formed",
]


def post_order_visit(expr: Expr, fvisit: Callable[[Expr], Any]) -> None:
    """Calls `fvisit` for each expression once, after those that it is made of."""
    for part in post_order(expr):
        fvisit(part)


class _Vars:
    """Variables in order of occurrence: all, and those that are bound."""

    def __init__(self) -> None:
        self.all: Dict[Any, None] = {}
        self.bound: Dict[Any, None] = {}

    def bind(self, var: Any) -> None:
        self.bound[var] = self.all[var] = None

    def free(self) -> Array:
        return Array(var for var in self.all if var not in self.bound)


def _vars(root: Any) -> _Vars:
    found = _Vars()
    if isinstance(root, Pattern):
        for var in pattern_vars(root):
            found.bind(var)
        return found
    seen: Set[int] = set()
    pending = [root]
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        kind = node._kind
        if kind == "Var":
            found.all[node] = None
        elif kind == "Let":
            found.bind(node.var)
            pending += (node.body, node.value)
        elif kind == "Function":
            for param in node.params:
                found.bind(param)
            pending.append(node.body)
        elif kind == "Match":
            pending += reversed((node.data, *node.clauses))
        elif kind == "Clause":
            for var in pattern_vars(node.lhs):
                found.bind(var)
            pending.append(node.rhs)
        else:
            pending += reversed(operands(node))
    return found


def free_vars(expr: Expr) -> Array:
    """The variables that no function, binding or pattern within the expression binds, in order of occurrence."""
    return _vars(expr).free()


def bound_vars(expr: Any) -> Array:
    """The variables that an expression or a pattern binds, in order of occurrence."""
    return Array(_vars(expr).bound)


def all_vars(expr: Expr) -> Array:
    """All variables of an expression, in order of occurrence."""
    return Array(_vars(expr).all)


def _type_vars(root: Any, mod: Optional[IRModule]) -> _Vars:
    found = _Vars()
    module = mod if mod is not None else IRModule()
    seen: Set[int] = set()
    pending = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, Type):
            _type_vars_of(node, found)
            continue
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        kind = node._kind
        if kind == "Var":
            pending.append(node.type_annotation)
        elif kind == "Call":
            pending += reversed((node.op, *node.args, *node.type_args))
        elif kind == "Let":
            pending += (node.body, node.value, node.var)
        elif kind == "Constructor":
            # A data type's variables are bound where the module defines it.
            for var in module[node.belong_to].type_vars:
                found.bind(var)
            pending += reversed((*node.inputs, node.belong_to))
        else:
            for var in node.type_params if kind == "Function" else ():
                found.bind(var)
            pending += reversed(operands(node))
    return found


def _type_vars_of(ty: Type, found: _Vars) -> None:
    for part in type_parts(ty):
        if part._kind == "TypeVar":
            found.all[part] = None
        elif part._kind == "FuncType":
            for var in part.type_params:
                found.bind(var)


def free_type_vars(expr: Any, mod: Optional[IRModule] = None) -> Array:
    """The type variables of an expression or a type that nothing within it binds, in order of occurrence."""
    return _type_vars(expr, mod).free()


def bound_type_vars(expr: Any, mod: Optional[IRModule] = None) -> Array:
    """The type variables that an expression or a type binds, in order of occurrence."""
    return Array(_type_vars(expr, mod).bound)


def all_type_vars(expr: Any, mod: Optional[IRModule] = None) -> Array:
    """All type variables of an expression or a type, in order of occurrence."""
    return Array(_type_vars(expr, mod).all)


def all_dtypes(expr: Expr) -> Set[str]:
    """The data types of the tensors that inference found in an expression."""
    found: Set[str] = set()
    for part in post_order(expr):
        if part._checked_type is not None:
            found.update(ty.dtype for ty in type_parts(part._checked_type) if ty._kind == "TensorType")
    return found


def check_constant(expr: Expr) -> bool:
    """Whether an expression is a constant, or a tuple of such."""
    return all(isinstance(part, (Constant, Tuple)) for part in post_order(expr))


def well_formed(expr: Expr) -> bool:
    """Whether each variable is bound once, and used only where it is bound, if it is bound at all."""
    return _WellFormed().check(expr)


class _WellFormed:
    """The walk of `well_formed`: which variables are bound at this place, and which were anywhere."""

    def __init__(self) -> None:
        self.here: Set[Any] = set()
        self.anywhere: Set[Any] = set()
        self.free: Set[Any] = set()
        self.good = True

    def bind(self, var: Any) -> None:
        if var in self.anywhere or var in self.free:
            self.good = False
        self.here.add(var)
        self.anywhere.add(var)

    def use(self, var: Any) -> None:
        if var in self.here:
            return
        if var in self.anywhere:
            self.good = False
        self.free.add(var)

    def check(self, root: Expr) -> bool:
        seen: Set[int] = set()
        #: Nodes to visit, and lists of variables whose scope ends.
        pending: List[Any] = [root]
        while pending:
            node = pending.pop()
            if type(node) is list:
                self.here.difference_update(node)
                continue
            kind = node._kind
            if kind == "Var":
                self.use(node)
                continue
            if id(node) in seen:
                continue
            seen.add(id(node))
            bound = _bound_by(node)
            if bound:
                for var in bound:
                    self.bind(var)
                pending.append(bound)
            pending += reversed(_scope(node))
        return self.good


def _bound_by(node: Any) -> List[Any]:
    if node._kind == "Let":
        return [node.var]
    if node._kind == "Function":
        return list(node.params)
    return list(pattern_vars(node.lhs)) if isinstance(node, Clause) else []


def _scope(node: Any) -> Any:
    """The parts in which what a node binds holds; what the other nodes are made of."""
    if node._kind == "Let":
        return (node.value, node.body)
    if node._kind == "Function":
        return (node.body,)
    if isinstance(node, Clause):
        return (node.rhs,)
    return (node.data, *node.clauses) if node._kind == "Match" else operands(node)
