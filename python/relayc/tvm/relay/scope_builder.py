"""`ScopeBuilder`: nested bindings and conditionals, written as Python's `with` blocks."""

from __future__ import annotations

from typing import Any, Callable, List, Optional, Tuple

from ..ir.expr import RelayExpr
from ..ir.type import Type
from . import expr as _expr
from . import ty as _ty


class WithScope:
    """A block of a builder: gives `enter_value`, and calls `exit_cb` when it is left without an error."""

    def __init__(self, enter_value: Any, exit_cb: Callable[[], None]) -> None:
        self._enter_value = enter_value
        self._exit_cb = exit_cb

    def __enter__(self) -> Any:
        return self._enter_value

    def __exit__(self, ptype: Any, value: Any, trace: Any) -> None:
        if value:
            raise value
        self._exit_cb()


def _make_lets(bindings: List[Tuple[_expr.Var, RelayExpr]], ret_value: Optional[RelayExpr]) -> RelayExpr:
    if ret_value is None:
        raise RuntimeError("ret is not called in this scope")
    if isinstance(ret_value, _expr.If) and ret_value.false_branch is None:
        raise RuntimeError("Creating an If expression without else.")
    for var, value in reversed(bindings):
        ret_value = _expr.Let(var, value, ret_value)
    return ret_value


class ScopeBuilder:
    """Builds an expression step by step.

    Examples
    --------
    .. code-block:: python

        sb = relay.ScopeBuilder()
        with sb.if_scope(cond):
            one = sb.let("one", relay.const(1.0))
            sb.ret(relay.add(x, one))
        with sb.else_scope():
            sb.ret(x)
        body = sb.get()
    """

    def __init__(self) -> None:
        self._bindings: List[List[Tuple[_expr.Var, RelayExpr]]] = [[]]
        self._ret_values: List[Optional[RelayExpr]] = [None]

    def _enter_scope(self) -> None:
        self._bindings.append([])
        self._ret_values.append(None)

    def _exit_scope(self) -> RelayExpr:
        return _make_lets(self._bindings.pop(), self._ret_values.pop())

    def let(self, var: Any, value: RelayExpr) -> _expr.Var:
        """Binds a value to a variable, a name, or a name and a type; gives the variable."""
        if isinstance(var, (tuple, list)):
            if len(var) > 2:
                raise ValueError("Expect var to be Tuple[str, relay.Type]")
            var = _expr.var(*var)
        elif isinstance(var, str):
            var = _expr.var(var)
        self._bindings[-1].append((var, value))
        return var

    def if_scope(self, cond: RelayExpr) -> WithScope:
        """The block for when a condition holds; an `else_scope` must follow."""
        self._enter_scope()

        def leave() -> None:
            true_branch = self._exit_scope()
            if self._ret_values[-1] is not None:
                raise RuntimeError("result already returned before if scope")
            self._ret_values[-1] = _expr.If(cond, true_branch, None)

        return WithScope(None, leave)

    def else_scope(self) -> WithScope:
        """The block for when the condition of the `if_scope` before does not hold."""
        self._enter_scope()

        def leave() -> None:
            false_branch = self._exit_scope()
            partial = self._ret_values[-1]
            if not isinstance(partial, _expr.If) or partial.false_branch is not None:
                raise RuntimeError("else scope must follows")
            self._ret_values[-1] = _expr.If(partial.cond, partial.true_branch, false_branch)

        return WithScope(None, leave)

    def type_of(self, expr: RelayExpr) -> Optional[Type]:
        """The type of a variable, or one that inference finds for an expression."""
        if isinstance(expr, _expr.Var):
            return expr.type_annotation
        ty = _ty.IncompleteType()
        self.let(_expr.var("unify", ty), expr)
        return ty

    def ret(self, value: RelayExpr) -> None:
        """Sets the value of the block."""
        if self._ret_values[-1] is not None:
            raise RuntimeError("ret value is already set in this scope.")
        self._ret_values[-1] = value

    def get(self) -> RelayExpr:
        """The expression."""
        if len(self._bindings) != 1:
            raise RuntimeError("can only call get at the outmost scope")
        return _make_lets(self._bindings[-1], self._ret_values[-1])
