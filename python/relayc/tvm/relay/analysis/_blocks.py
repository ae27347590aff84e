"""`check_basic_block_normal_form`: whether each value is bound in the block of its users.

A block is a branch of `if`, a clause of `match`, the body of a function or what follows
a `let`. Rules of TVM: `src/relay/analysis/dependency_graph.cc` and `CalcScope` in
`src/relay/transforms/to_a_normal_form.cc`.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

from ...error import TVMError
from ._walk import operands

__all__ = ["check_basic_block_normal_form"]


class _Scope:
    """A block within a block."""

    def __init__(self, parent: Optional["_Scope"] = None) -> None:
        self.parent = parent
        self.level: int = 0 if parent is None else parent.level + 1


def _common(a: _Scope, b: _Scope) -> _Scope:
    """The innermost block around two."""
    while a is not b:
        if a.level < b.level:
            a, b = b, a
        assert a.parent is not None
        a = a.parent
    return a


class _Node:
    """An expression, or a block of one: those who use it, first the first."""

    def __init__(self, expr: Any = None) -> None:
        self.expr = expr
        self.users: List["_Node"] = []


def _steps(expr: Any, node: _Node) -> Tuple[List[Tuple[_Node, Any]], List[_Node]]:
    """Who uses which part of an expression, and the blocks, inner ones first."""
    blocks: List[_Node] = []

    def block() -> _Node:
        blocks.append(_Node())
        blocks[-1].users.append(node)
        return blocks[-1]

    kind = expr._kind
    if kind == "If":
        true, false = block(), block()
        uses = [(node, expr.cond), (true, expr.true_branch), (false, expr.false_branch)]
    elif kind == "Function":
        body = block()
        uses = [(body, part) for part in (*expr.params, expr.body)]
    elif kind == "Let":
        rest = block()
        uses = [(rest, part) for part in (expr.var, expr.value, expr.body)]
    elif kind == "Match":
        uses = [(node, expr.data)] + [(block(), clause.rhs) for clause in expr.clauses]
    else:
        uses = [(node, part) for part in operands(expr)]
    return uses, blocks[::-1]


def _post_order(root: Any) -> List[_Node]:
    """The expressions and blocks, each after what it uses."""
    order: List[_Node] = []
    nodes: Dict[int, _Node] = {}
    stack: List[Tuple[str, Any, Any]] = [("enter", root, None)]
    while stack:
        step, one, other = stack.pop()
        if step == "finish":
            order.append(one)
        elif step == "use":
            nodes[id(other)].users.append(one)
        elif id(one) not in nodes:
            node = nodes[id(one)] = _Node(one)
            uses, blocks = _steps(one, node)
            stack.append(("finish", node, None))
            stack += [("finish", block, None) for block in reversed(blocks)]
            for user, part in reversed(uses):
                stack += [("use", user, part), ("enter", part, None)]
    return order


def check_basic_block_normal_form(expr: Any) -> bool:
    """Whether an expression is in basic block normal form. Raises `TVMError` if it is not."""
    scopes: Dict[int, _Scope] = {}
    for node in reversed(_post_order(expr)):
        if not node.users:
            scope = first = _Scope()
        else:
            scope = first = scopes[id(node.users[0])]
            for user in node.users[1:]:
                scope = _common(scope, scopes[id(user)])
        if scope is not first and node.expr is not None and node.expr._kind != "Op":
            raise TVMError(
                "The expression below violates the basic block normal form in that its scope "
                f"should be lifted:\n{node.expr}"
            )
        scopes[id(node)] = _Scope(scope) if node.expr is None else scope
    return True
