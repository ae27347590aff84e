"""Visitors and mutators of expressions, for users to derive from.

They call a method for each kind of expression. The inherited methods for calls and bindings walk over
long chains without recursion: what is below is visited before, from the bottom up.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List

from ..ir.adt import Constructor
from ..ir.expr import RelayExpr
from ..ir.op import Op
from .adt import Clause, Match
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
)
from .function import Function, FunctionWithFields

#: The method of each class of expressions.
_METHODS: Dict[type, str] = {
    Function: "visit_function",
    Call: "visit_call",
    Let: "visit_let",
    Var: "visit_var",
    GlobalVar: "visit_global_var",
    If: "visit_if",
    Tuple: "visit_tuple",
    TupleGetItem: "visit_tuple_getitem",
    Constant: "visit_constant",
    Op: "visit_op",
    RefCreate: "visit_ref_create",
    RefRead: "visit_ref_read",
    RefWrite: "visit_ref_write",
    Constructor: "visit_constructor",
    Match: "visit_match",
}


def _method(cls: type) -> str:
    name = _METHODS.get(cls)
    if name is None:
        name = next((_METHODS[base] for base in cls.__mro__ if base in _METHODS), "")
        if not name:
            raise Exception(f"warning unhandled case: {cls}")
        _METHODS[cls] = name
    return name


class ExprFunctor:
    """Calls the method of an expression's kind. Each expression is visited once; the result is kept."""

    def __init__(self) -> None:
        self.memo_map: Dict[RelayExpr, Any] = {}

    def visit(self, expr: RelayExpr) -> Any:
        """The result for an expression."""
        if expr in self.memo_map:
            return self.memo_map[expr]
        result = self.memo_map[expr] = getattr(self, _method(type(expr)))(expr)
        return result

    def visit_type(self, typ: Any) -> Any:
        """The result for a type: itself."""
        return typ


def _abstract(name: str) -> Callable[[Any, Any], Any]:
    def method(self: Any, _: Any) -> Any:
        raise NotImplementedError()

    method.__name__ = name
    method.__doc__ = "To be defined by derived classes."
    return method


for _name in _METHODS.values():
    setattr(ExprFunctor, _name, _abstract(_name))


class _Chains(ExprFunctor):
    """Visits what is below a call, a tuple, a field or a binding first, where the method is the inherited one.

    A derived class that has a method of its own for a kind decides itself what is visited below it.
    """

    def visit(self, expr: RelayExpr) -> Any:
        if expr in self.memo_map:
            return self.memo_map[expr]
        below = self._below(expr)
        if below:
            self._visit_below(expr, below)
        return super().visit(expr)

    def _inherited(self, name: str) -> bool:
        return getattr(type(self), name) in _PLAIN

    def _below(self, expr: Any) -> List[RelayExpr]:
        """What the method of the expression visits, in its order; nothing where that is not known or not deep."""
        if type(self).visit is not _Chains.visit:
            return []
        kind = type(expr)
        if kind is Call and self._inherited("visit_call"):
            return [expr.op, *expr.args]
        if kind is Let and self._inherited("visit_let"):
            return [expr.var, expr.value, expr.body]
        if kind is Tuple and self._inherited("visit_tuple"):
            return list(expr.fields)
        if kind is TupleGetItem and self._inherited("visit_tuple_getitem"):
            return [expr.tuple_value]
        return []

    def _visit_below(self, root: RelayExpr, below: List[RelayExpr]) -> None:
        stack = [(root, iter(below))]
        while stack:
            expr, rest = stack[-1]
            for part in rest:
                if part not in self.memo_map:
                    parts = self._below(part)
                    if parts:
                        stack.append((part, iter(parts)))
                        break
                    ExprFunctor.visit(self, part)
            else:
                stack.pop()
                if stack:
                    ExprFunctor.visit(self, expr)


class ExprVisitor(_Chains):
    """Visits all that an expression is made of."""

    def visit_tuple(self, tup: Tuple) -> Any:
        """Visits the fields."""
        for field in tup.fields:
            self.visit(field)

    def visit_call(self, call: Call) -> Any:
        """Visits the function, then the arguments."""
        self.visit(call.op)
        for arg in call.args:
            self.visit(arg)

    def visit_var(self, var: Var) -> Any:
        """Does nothing."""

    def visit_let(self, let: Let) -> Any:
        """Visits variable, value and body."""
        self.visit(let.var)
        self.visit(let.value)
        self.visit(let.body)

    def visit_function(self, fn: Function) -> Any:
        """Visits the parameters, then the body."""
        for param in fn.params:
            self.visit(param)
        self.visit(fn.body)

    def visit_if(self, i: If) -> Any:
        """Visits the condition, then both branches."""
        self.visit(i.cond)
        self.visit(i.true_branch)
        self.visit(i.false_branch)

    def visit_global_var(self, gv: GlobalVar) -> Any:
        """Does nothing."""

    def visit_constructor(self, c: Constructor) -> Any:
        """Does nothing."""

    def visit_op(self, op: Op) -> Any:
        """Does nothing."""

    def visit_constant(self, const: Constant) -> Any:
        """Does nothing."""

    def visit_ref_create(self, r: RefCreate) -> Any:
        """Visits the value."""
        self.visit(r.value)

    def visit_ref_read(self, r: RefRead) -> Any:
        """Visits the reference."""
        self.visit(r.ref)

    def visit_ref_write(self, r: RefWrite) -> Any:
        """Visits the reference, then the value."""
        self.visit(r.ref)
        self.visit(r.value)

    def visit_tuple_getitem(self, t: TupleGetItem) -> Any:
        """Visits the tuple."""
        self.visit(t.tuple_value)

    def visit_match(self, m: Match) -> Any:
        """Visits the value, then the results of the clauses."""
        self.visit(m.data)
        for clause in m.clauses:
            self.visit(clause.rhs)


class ExprMutator(_Chains):
    """Rebuilds an expression from the results for its parts; one whose parts stay is the same node."""

    def visit_function(self, fn: Function) -> Any:
        """The function with new parameters and body."""
        params = [self.visit(param) for param in fn.params]
        return FunctionWithFields(fn, params, self.visit(fn.body))

    def visit_let(self, let: Let) -> Any:
        """The binding with new parts."""
        var, value, body = self.visit(let.var), self.visit(let.value), self.visit(let.body)
        if var is let.var and value is let.value and body is let.body:
            return let
        return Let(var, value, body)

    def visit_call(self, call: Call) -> Any:
        """The call with new function and arguments."""
        op, args = self.visit(call.op), [self.visit(arg) for arg in call.args]
        if op is call.op and _same(args, call.args):
            return call
        return Call(op, args, call.attrs, call.type_args, call.span)

    def visit_var(self, var: Var) -> Any:
        """The variable."""
        return var

    def visit_global_id(self, global_var: GlobalVar) -> Any:
        """The global variable."""
        return global_var

    def visit_if(self, ite: If) -> Any:
        """The conditional with new parts."""
        cond = self.visit(ite.cond)
        true_branch, false_branch = self.visit(ite.true_branch), self.visit(ite.false_branch)
        if cond is ite.cond and true_branch is ite.true_branch and false_branch is ite.false_branch:
            return ite
        return If(cond, true_branch, false_branch)

    def visit_tuple(self, tup: Tuple) -> Any:
        """The tuple of the new fields."""
        fields = [self.visit(field) for field in tup.fields]
        return tup if _same(fields, tup.fields) else Tuple(fields, tup.span)

    def visit_tuple_getitem(self, op: TupleGetItem) -> Any:
        """The field of the new tuple."""
        value = self.visit(op.tuple_value)
        return op if value is op.tuple_value else TupleGetItem(value, op.index)

    def visit_global_var(self, gvar: GlobalVar) -> Any:
        """The global variable."""
        return gvar

    def visit_op(self, op: Op) -> Any:
        """The operator."""
        return op

    def visit_constant(self, const: Constant) -> Any:
        """The constant."""
        return const

    def visit_constructor(self, con: Constructor) -> Any:
        """The constructor."""
        return con

    def visit_match(self, m: Match) -> Any:
        """The match with new value and results."""
        data = self.visit(m.data)
        results = [self.visit(clause.rhs) for clause in m.clauses]
        if data is m.data and all(new is clause.rhs for new, clause in zip(results, m.clauses)):
            return m
        clauses = [Clause(clause.lhs, new) for clause, new in zip(m.clauses, results)]
        return Match(data, clauses, complete=m.complete)

    def visit_ref_create(self, r: RefCreate) -> Any:
        """The reference to the new value."""
        value = self.visit(r.value)
        return r if value is r.value else RefCreate(value)

    def visit_ref_write(self, r: RefWrite) -> Any:
        """The write with new parts."""
        ref, value = self.visit(r.ref), self.visit(r.value)
        return r if ref is r.ref and value is r.value else RefWrite(ref, value)

    def visit_ref_read(self, r: RefRead) -> Any:
        """The read of the new reference."""
        ref = self.visit(r.ref)
        return r if ref is r.ref else RefRead(ref)


def _same(new: List[Any], old: Any) -> bool:
    return len(new) == len(old) and all(a is b for a, b in zip(new, old))


#: The methods whose visits are known.
_PLAIN = frozenset(
    getattr(cls, name)
    for cls in (ExprVisitor, ExprMutator)
    for name in ("visit_call", "visit_let", "visit_tuple", "visit_tuple_getitem")
)
