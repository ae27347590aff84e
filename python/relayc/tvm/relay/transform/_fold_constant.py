"""`FoldConstant` as TVM does it: which calls it computes, and what becomes of `let` and of operators of `qnn`.

The native pass `fold-constants` computes the values. It folds more than TVM, and leaves bindings
where they are. Rules of TVM: `src/relay/transforms/fold_constant.cc`.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional

import numpy as np

from ... import _native
from ...ir import IRModule, Op
from ...runtime.ndarray import array
from ..dataflow_pattern.graph import children, mutate
from ..expr import Call, Constant, If, Let, Tuple, TupleGetItem, Var
from ..function import Function

__all__ = ["fold_constant"]

#: Calls that are left to a run, though their operands are known.
_KEPT = ("debug", "device_copy", "nn.dropout", "ndarray_size", "on_device", "shape_of", "vm.shape_of")
_KEPT_FAMILIES = ("annotation.", "memory.", "random.", "vm.")


def fold_constant(func: Any, mod: Any, fold_qnn: bool) -> Any:
    """`func` with the values of what depends on constants only; calls of `qnn` are computed with `fold_qnn`."""
    while True:
        fold = _Fold(fold_qnn)
        func = fold.run(func)
        values = _values(fold.roots(func), mod)
        if not values:
            return func
        func = mutate(func, lambda expr: values.get(id(expr)), lambda pre, post, memo: post)


class _Fold:
    """One round: finds the calls to compute, with constants in the place of variables bound to them."""

    def __init__(self, fold_qnn: bool) -> None:
        self.fold_qnn = fold_qnn
        #: The calls whose operands are constants, or such calls.
        self.known: Dict[int, Any] = {}
        self.bound: Dict[int, Any] = {}

    def run(self, func: Any) -> Any:
        """`func` without the bindings of constants and the branches that are not taken."""

        def enter(expr: Any) -> Optional[Any]:
            if isinstance(expr, Let):
                self.bound[id(expr.var)] = expr.value
            return expr if _is_primitive(expr) else None

        return mutate(func, enter, self._visit)

    def _visit(self, pre: Any, post: Any, memo: Dict[int, Any]) -> Any:
        if isinstance(pre, Var) and id(pre) in self.bound:
            value = memo.get(id(self.bound[id(pre)]))
            return value if _constant(value) is not None else post
        if isinstance(pre, Let):
            return memo[id(pre.body)] if _constant(memo[id(pre.value)]) is not None else post
        if isinstance(pre, If):
            condition = _constant(post.cond)
            if condition is None:
                return post
            return post.true_branch if condition.data.numpy() else post.false_branch
        if isinstance(pre, TupleGetItem):
            return self._field(post)
        if isinstance(pre, Call) and isinstance(post.op, Op):
            shape = _shape_of(pre)
            if shape is not None:
                return shape
            if post.args and self._may_compute(post.op) and all(self._is_known(arg) for arg in post.args):
                self.known[id(post)] = post
        return post

    def _field(self, post: Any) -> Any:
        whole, marks = post.tuple_value, []
        while _is_on_device(whole):
            marks.append(whole)
            whole = whole.args[0]
        if not isinstance(whole, Tuple):
            if id(whole) in self.known:
                self.known[id(post)] = post
            return post
        field = whole.fields[post.index]
        for mark in reversed(marks):
            field = Call(mark.op, [field], mark.attrs, None, mark.span)
        return field

    def _may_compute(self, op: Any) -> bool:
        if op.name in _KEPT or op.name.startswith(_KEPT_FAMILIES) or op.get_attr("TOpIsStateful"):
            return False
        return self.fold_qnn or not op.name.startswith("qnn.")

    def _is_known(self, expr: Any) -> bool:
        stack = [expr]
        while stack:
            part = stack.pop()
            if _is_on_device(part):
                stack.append(part.args[0])
            elif isinstance(part, Tuple):
                stack.extend(part.fields)
            elif not isinstance(part, Constant) and id(part) not in self.known:
                return False
        return True

    def roots(self, func: Any) -> List[Any]:
        """The calls to compute that others than such calls use."""
        found: Dict[int, Any] = {}
        seen = set()
        stack = [func]
        while stack:
            expr = stack.pop()
            if id(expr) in seen or _is_primitive(expr):
                continue
            seen.add(id(expr))
            if id(expr) in self.known:
                found[id(expr)] = expr
            else:
                stack.extend(children(expr))
        return list(found.values())


def _is_primitive(expr: Any) -> bool:
    return isinstance(expr, Function) and expr.attrs is not None and bool(expr.attrs.get("Primitive"))


def _is_on_device(expr: Any) -> bool:
    return isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name == "on_device"


def _constant(expr: Any) -> Optional[Any]:
    """The constant that an expression is, on whichever device."""
    while _is_on_device(expr):
        expr = expr.args[0]
    return expr if isinstance(expr, Constant) else None


def _shape_of(call: Any) -> Optional[Any]:
    """The value of `shape_of` and `ndarray_size` of a tensor whose sizes are known."""
    if call.op.name not in ("shape_of", "vm.shape_of", "ndarray_size"):
        return None
    shape = getattr(call.args[0]._checked_type_, "shape", None)
    if shape is None:
        return None
    sizes = [getattr(dim, "value", dim) for dim in shape]
    if not all(isinstance(size, int) for size in sizes) or not (sizes or call.op.name == "ndarray_size"):
        return None
    value = np.prod(sizes) if call.op.name == "ndarray_size" else sizes
    return Constant(array(np.asarray(value).astype(call.attrs.dtype)))


def _values(roots: List[Any], mod: Any) -> Dict[int, Any]:
    """The values of calls, by the calls' `id`; without those that the native pass leaves."""
    if not roots:
        return {}

    def unmarked(pre: Any, post: Any, memo: Dict[int, Any]) -> Any:
        return post.args[0] if _is_on_device(pre) else post

    all_roots = Function([], mutate(Tuple(roots), lambda _: None, unmarked))
    scratch = IRModule._from_nodes({}, mod.type_definitions, None)
    scratch["main"] = all_roots
    fields = _native.run_pass(scratch, "fold-constants", {})["main"].body.fields
    return {id(root): field for root, field in zip(roots, fields) if _is_value(field)}


def _is_value(expr: Any) -> bool:
    parts = expr.fields if isinstance(expr, Tuple) else [expr]
    return all(isinstance(part, Constant) for part in parts)
