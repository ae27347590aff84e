"""`LazyGradientInit`: tensors of zeros or ones that are made only when somebody needs them.

Every tensor becomes a `GradCell` of `std/gradient.rly`: `Zero` and `One` hold a function
that makes it, `Raw` holds the tensor. Sums and products of cells avoid work; other
operators take the tensors out. The function keeps its type: its inputs are put into
cells, and its results taken out. Rules of TVM: `src/relay/transforms/lazy_gradient_init.cc`.
"""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

from ...ir import Op, structural_equal
from ..expr import Call, Constant, Let, TupleGetItem, Var, with_fields
from ..expr import Tuple as RelayTuple
from ..function import Function
from ..ty import FuncType, RefType, TensorType, TupleType, TypeCall
from ._rewrites import rewrite

__all__ = ["lazy_gradient_init"]

#: Operators whose results are known, and the constructor of their cells.
_KNOWN = {"zeros": "Zero", "zeros_like": "Zero", "ones": "One", "ones_like": "One"}
#: Operators that have a function for cells.
_CELLS = {"add": "AddGradCell", "multiply": "MultiplyGradCell"}


def lazy_gradient_init(func: Any, mod: Any, ctx: Any) -> Any:
    """`func`, whose types are tensors and tuples of them, with lazy tensors inside."""
    mod.import_from_std("gradient.rly")
    return _Lazy(mod).run(func)


class _Lazy:
    def __init__(self, mod: Any) -> None:
        self.mod = mod
        cell, *constructors = mod.get_type("GradCell")
        self.cell = cell
        self.constructors: Dict[str, Any] = {c.name_hint: c for c in constructors}

    def run(self, func: Any) -> Any:
        lazy = rewrite(func, self._visit)
        if lazy is func:
            return func
        bound: List[Tuple[Any, Any]] = []
        args = [self._put(param, param.checked_type, bound) for param in func.params]
        result = Var("x")
        bound.append((result, Call(lazy, args)))
        body = self._take(result, lazy.ret_type, bound)
        for var, value in reversed(bound):
            body = Let(var, value, body)
        return Function(func.params, body, func.ret_type)

    def _put(self, value: Any, ty: Any, bound: List[Tuple[Any, Any]]) -> Any:
        """A value in cells."""
        if isinstance(ty, TensorType):
            return self._made("Raw", value, ty)
        if isinstance(ty, TupleType):
            parts = [self._bound(TupleGetItem(value, i), bound) for i in range(len(ty.fields))]
            return RelayTuple([self._put(p, t, bound) for p, t in zip(parts, ty.fields)])
        return value

    def _take(self, value: Any, ty: Any, bound: List[Tuple[Any, Any]]) -> Any:
        """A value out of its cells."""
        if isinstance(ty, TypeCall) and ty.func is self.cell:
            return Call(self.mod.get_global_var("FromGradCell"), [value])
        if isinstance(ty, TupleType):
            parts = [self._bound(TupleGetItem(value, i), bound) for i in range(len(ty.fields))]
            return RelayTuple([self._take(p, t, bound) for p, t in zip(parts, ty.fields)])
        return value

    def _bound(self, value: Any, bound: List[Tuple[Any, Any]]) -> Any:
        var = Var("x")
        bound.append((var, value))
        return var

    def _made(self, constructor: str, value: Any, ty: Any) -> Any:
        return Call(self.constructors[constructor], [value], None, [ty])

    def _type(self, ty: Any) -> Any:
        """A type with cells for tensors."""
        if isinstance(ty, TensorType):
            return TypeCall(self.cell, [ty])
        if isinstance(ty, TupleType):
            return TupleType([self._type(field) for field in ty.fields])
        if isinstance(ty, FuncType):
            args = [self._type(arg) for arg in ty.arg_types]
            return FuncType(args, self._type(ty.ret_type), ty.type_params, ty.type_constraints)
        if isinstance(ty, RefType):
            return RefType(self._type(ty.value))
        if isinstance(ty, TypeCall):
            return TypeCall(ty.func, [self._type(arg) for arg in ty.args])
        return ty

    def _visit(self, pre: Any, post: Any) -> Any:
        if isinstance(pre, Constant):
            return self._made("Raw", pre, pre.checked_type)
        if isinstance(pre, Var):
            annotation = pre.type_annotation
            return pre if annotation is None else Var(pre.name_hint, self._type(annotation))
        if isinstance(pre, Function):
            return with_fields(post, ret_type=self._type(pre.ret_type))
        if isinstance(pre, Call):
            if isinstance(pre.op, Op):
                return self._operator(pre, post)
            return with_fields(post, type_args=[self._type(ty) for ty in pre.type_args])
        return post

    def _operator(self, pre: Any, post: Any) -> Any:
        name, ty = pre.op.name, pre.checked_type
        if name in _CELLS:
            types = [arg.checked_type for arg in pre.args]
            if structural_equal(types[0], types[1]):
                return self._on_cells(pre, post, types[0])
        take = self.mod.get_global_var("FromGradCell")
        args = [Call(take, [p], None, [a.checked_type]) for a, p in zip(pre.args, post.args)]
        result = Call(pre.op, args, pre.attrs)
        if name in _KNOWN:
            return self._made(_KNOWN[name], Function([], result, ty), ty)
        return self._made("Raw", result, ty)

    def _on_cells(self, pre: Any, post: Any, ty: Any) -> Any:
        left, right = Var("lhs", ty), Var("rhs", ty)
        tensors = Function([left, right], Call(pre.op, [left, right]), ty)
        return Call(self.mod.get_global_var(_CELLS[pre.op.name]), [tensors, *post.args], None, [ty])
