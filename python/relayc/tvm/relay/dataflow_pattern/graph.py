"""The dataflow of an expression as a graph: what flows where, and what dominates what.

Nodes are numbered in post-order, so data flows from lower to higher numbers. Data also flows from the value
of a `let` to its variable and from the data of a `match` to the variables of its patterns
(`src/relay/ir/indexed_graph.cc`). Nothing recurses; dominators are found on the first question about them.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Tuple

from ...ir import Op
from ..adt import Match
from ..analysis._walk import pattern_vars
from ..expr import Call, If, Let, RefCreate, RefRead, RefWrite, TupleGetItem, Var, with_fields
from ..expr import Tuple as RelayTuple
from ..function import Function


def bound_variables(match: Match) -> List[List[Var]]:
    """The variables that each clause of `match` binds, in the order in which they are written."""
    return [list(pattern_vars(clause.lhs)) for clause in match.clauses]


def _match_children(match: Match) -> List[Any]:
    children = [match.data]
    for variables, clause in zip(bound_variables(match), match.clauses):
        children += variables
        children.append(clause.rhs)
    return children


def _match_rebuild(match: Match, children: List[Any]) -> Match:
    """The variables of patterns stay as they are."""
    clauses = []
    at = 1
    for variables, clause in zip(bound_variables(match), match.clauses):
        at += len(variables)
        clauses.append(with_fields(clause, rhs=children[at]))
        at += 1
    return with_fields(match, data=children[0], clauses=clauses)


#: Class of expressions → its sub-expressions in the order of evaluation, and the same expression with others.
_PARTS: Dict[type, Tuple[Callable[[Any], Any], Callable[[Any, List[Any]], Any]]] = {
    Call: (lambda e: (e.op, *e.args), lambda e, c: with_fields(e, op=c[0], args=c[1:])),
    RelayTuple: (lambda e: e.fields, lambda e, c: with_fields(e, fields=c)),
    TupleGetItem: (lambda e: (e.tuple_value,), lambda e, c: with_fields(e, tuple_value=c[0])),
    Function: (lambda e: (*e.params, e.body), lambda e, c: with_fields(e, params=c[:-1], body=c[-1])),
    Let: (lambda e: (e.value, e.var, e.body), lambda e, c: with_fields(e, value=c[0], var=c[1], body=c[2])),
    If: (
        lambda e: (e.cond, e.true_branch, e.false_branch),
        lambda e, c: with_fields(e, cond=c[0], true_branch=c[1], false_branch=c[2]),
    ),
    RefCreate: (lambda e: (e.value,), lambda e, c: with_fields(e, value=c[0])),
    RefRead: (lambda e: (e.ref,), lambda e, c: with_fields(e, ref=c[0])),
    RefWrite: (lambda e: (e.ref, e.value), lambda e, c: with_fields(e, ref=c[0], value=c[1])),
    Match: (_match_children, _match_rebuild),
}
_LEAF = (lambda e: (), lambda e, c: e)


def _parts(expr: Any) -> Tuple[Callable[[Any], Any], Callable[[Any, List[Any]], Any]]:
    """The functions of `_PARTS` for `expr`; subclasses are known after their first instance."""
    found = _PARTS.get(type(expr))
    if found is None:
        found = next((_PARTS[cls] for cls in type(expr).__mro__ if cls in _PARTS), _LEAF)
        _PARTS[type(expr)] = found
    return found


def children(expr: Any) -> Any:
    """The immediate sub-expressions of `expr` in the order of evaluation, a function's parameters among them."""
    return _parts(expr)[0](expr)


def mutate(root: Any, stop: Callable[[Any], Any], visit: Callable[[Any, Any, Dict[int, Any]], Any]) -> Any:
    """Rewrites `root` from its leaves up; a shared expression is rewritten once.

    `stop(expr)` may return what replaces `expr` without looking into it, or `None`. `visit(pre, post, memo)`
    returns what replaces `pre`, of which `post` is the form with rewritten parts; `memo` has the result of
    each expression so far, by `id`.
    """
    memo: Dict[int, Any] = {}
    stack: List[Tuple[Any, bool]] = [(root, False)]
    while stack:
        expr, parts_done = stack.pop()
        if id(expr) in memo:
            continue
        of, rebuild = _parts(expr)
        if not parts_done:
            replaced = stop(expr)
            if replaced is not None:
                memo[id(expr)] = replaced
                continue
            old = of(expr)
            if old:
                stack.append((expr, True))
                stack.extend([(part, False) for part in reversed(old) if id(part) not in memo])
                continue
            memo[id(expr)] = visit(expr, expr, memo)
            continue
        old = of(expr)
        new = [memo[id(part)] for part in old]
        same = all(a is b for a, b in zip(old, new))
        memo[id(expr)] = visit(expr, expr if same else rebuild(expr, new), memo)
    return memo[id(root)]


class GraphNode:
    """An expression's place in the dataflow."""

    __slots__ = ("expr", "index", "inputs", "outputs", "depth", "dominator")

    def __init__(self, expr: Any, index: int):
        self.expr = expr
        self.index = index
        self.inputs: List[GraphNode] = []
        self.outputs: List[GraphNode] = []
        #: Distance from the root of the tree of dominators; 0 as long as it is unknown.
        self.depth = 0
        #: The first node that all dataflow from here passes through.
        self.dominator: Optional[GraphNode] = None


class ExprGraph:
    """The dataflow graph of `root`; time and memory are linear in the number of expressions."""

    def __init__(self, root: Any):
        self.root = root
        self.nodes: List[GraphNode] = []
        self._by_id: Dict[int, GraphNode] = {}
        self._has_dominators = False
        self._number()
        self._connect()
        #: The names of all operators within the root.
        self.operators = {node.expr.name for node in self.nodes if isinstance(node.expr, Op)}

    def __len__(self) -> int:
        return len(self.nodes)

    def node(self, expr: Any) -> GraphNode:
        """The node of `expr`, which must occur in the root."""
        return self._by_id[id(expr)]

    def _add(self, expr: Any) -> None:
        if id(expr) not in self._by_id:
            self._by_id[id(expr)] = node = GraphNode(expr, len(self.nodes))
            self.nodes.append(node)

    def _number(self) -> None:
        """Numbers all expressions in post-order. Uses of a variable within its own value come before it."""
        bound: Dict[int, Var] = {}
        known = self._by_id
        stack: List[Tuple[Any, str]] = [(self.root, "visit")]
        while stack:
            expr, step = stack.pop()
            if id(expr) in known:
                continue
            if step == "add":
                self._add(expr)
            elif step == "bind":
                bound.pop(id(expr), None)
                self._add(expr)
            elif isinstance(expr, Let):
                bound[id(expr.var)] = expr.var
                stack += [(expr, "add"), (expr.body, "visit"), (expr.var, "bind"), (expr.value, "visit")]
            elif id(expr) not in bound:
                stack.append((expr, "add"))
                stack.extend([(part, "visit") for part in reversed(children(expr)) if id(part) not in known])

    def _connect(self) -> None:
        for node in self.nodes:
            expr = node.expr
            if isinstance(expr, Function):
                self._flow(expr.body, expr)
            elif isinstance(expr, Let):
                self._flow(expr.value, expr.var)
                self._flow(expr.body, expr)
            elif isinstance(expr, Match):
                for variables, clause in zip(bound_variables(expr), expr.clauses):
                    for variable in variables:
                        self._flow(expr.data, variable)
                    self._flow(clause.rhs, expr)
            else:
                for part in children(expr):
                    self._flow(part, expr)

    def _flow(self, source: Any, target: Any) -> None:
        """Adds an edge, unless it closes a cycle: a function that calls itself."""
        start, end = self.node(source), self.node(target)
        if start.index < end.index:
            start.outputs.append(end)
            end.inputs.append(start)

    def dominates(self, above: Any, below: Any) -> bool:
        """Whether all dataflow from `below` passes through `above`, which is another expression."""
        if not self._has_dominators:
            self._has_dominators = True
            for node in reversed(self.nodes):
                # Nobody's dominator depends on a leaf's, and one operator may have all calls as outputs.
                if node.inputs:
                    self._find_dominator(node)
        top, at = self.node(above), self.node(below)
        if at.depth == 0:
            self._find_dominator(at)
        while at is not None and at.index < top.index:
            at = at.dominator
        return at is top and above is not below

    def _find_dominator(self, node: GraphNode) -> None:
        """Sets the least common ancestor of a node's outputs in the tree of dominators."""
        outputs = node.outputs
        common = outputs[0] if outputs and node.expr is not self.root else None
        for other in outputs[1:]:
            while common is not other and common is not None and other is not None:
                if common.depth > other.depth:
                    common = common.dominator
                elif common.depth < other.depth:
                    other = other.dominator
                else:
                    common, other = common.dominator, other.dominator
            if common is not other:
                common = None
            if common is None:
                break
        node.dominator = common
        node.depth = common.depth + 1 if common is not None else 1
