"""Groups: the matches of a pattern in an expression that can be replaced together.

Groups do not overlap, and what a group computes inside is used outside only where that leads back to its root:
else the replaced program would have a cycle. Large matches come first: the search goes from the root down
(`PatternGrouper` in `src/relay/ir/dataflow_matcher.cc`).
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Set

from ...ir import Op
from ..expr import Call, Constant, If, Let, TupleGetItem, Var
from ..expr import Tuple as RelayTuple
from ..adt import Match
from ..analysis._walk import post_order
from ..function import Function
from .graph import ExprGraph, children, mutate
from .matcher import Matcher, Matches
from .pattern import (
    AltPattern,
    CallPattern,
    ConstantPattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    FunctionPattern,
    TuplePattern,
)

#: The attribute of functions that `partition` makes: the names of what they compute.
PARTITIONED = "PartitionedFromPattern"


class Group:
    """One match: its root, what each pattern matched, and its inputs with a parameter for each."""

    def __init__(self, root: Any, matches: Matches, number: int):
        self.root = root
        self.matches = matches
        self._number = number
        self.args: List[Any] = []
        #: The places of the inputs in `args`, by `id`.
        self.places: Dict[int, int] = {}

    def add_input(self, expr: Any) -> None:
        """Makes `expr` an input, once."""
        if id(expr) not in self.places:
            self.places[id(expr)] = len(self.args)
            self.args.append(expr)

    def function(self) -> Function:
        """The match as a function of its inputs, with the attribute that names what it computes."""
        params = [Var(f"FunctionVar_{self._number}_{i}") for i in range(len(self.args))]
        names: List[str] = []

        def enter(pre: Any) -> Any:
            place = self.places.get(id(pre))
            return None if place is None else params[place]

        def leave(pre: Any, post: Any, memo: Any) -> Any:
            names.append(_name(pre))
            return post

        body = mutate(self.root, enter, leave)
        return Function(params, body).with_attr(PARTITIONED, "".join(names))


def pattern_order(pattern: DFPattern) -> List[DFPattern]:
    """All patterns within `pattern`, each once, after its parts; a recursive one ends at itself."""
    entered: Set[DFPattern] = set()
    order: List[DFPattern] = []
    stack = [(pattern, False)]
    while stack:
        current, done = stack.pop()
        if done:
            order.append(current)
        elif current not in entered:
            entered.add(current)
            stack.append((current, True))
            stack.extend((part, False) for part in reversed(current.sub_patterns()))
    return order


def _parts_that_are_inputs(pattern: DFPattern) -> Optional[str]:
    """The attribute of what `pattern` matches that holds inputs of a group, where the pattern says nothing of them."""
    if isinstance(pattern, TuplePattern) and pattern.fields is None:
        return "fields"
    if isinstance(pattern, CallPattern) and pattern.args is None:
        return "args"
    return None


def _inside(root: Any, inputs: Dict[int, int]) -> Dict[int, Any]:
    """All expressions within `root` down to the inputs, which are not among them."""
    found: Dict[int, Any] = {}
    stack = [root]
    while stack:
        expr = stack.pop()
        if id(expr) not in found and id(expr) not in inputs:
            found[id(expr)] = expr
            stack.extend(children(expr))
    return found


class Query:
    """A pattern with what the search for it asks of it again and again."""

    def __init__(self, pattern: DFPattern):
        self.pattern = pattern
        self.called = _called(pattern)
        order = pattern_order(pattern)
        #: The patterns that match inputs; for some, the inputs are parts of what matched.
        self.sources = [
            (part, _parts_that_are_inputs(part))
            for part in order
            if _parts_that_are_inputs(part) or not part.sub_patterns()
        ]
        self.with_inner = [part for part in order if isinstance(part, (DominatorPattern, FunctionPattern))]

    def groups(self, graph: ExprGraph) -> Dict[int, Group]:
        """The groups of the pattern within the root of a graph, by the `id` of their roots."""
        if self.called is not None and self.called.isdisjoint(graph.operators):
            return {}
        return _Grouper(self, graph).groups()


def _called(pattern: DFPattern) -> Optional[Set[str]]:
    """The operators one of which an expression calls that matches `pattern`; `None` if it may be any expression."""
    names: Set[str] = set()
    todo: List[Any] = [(pattern, False)]
    while todo:
        part, is_callee = todo.pop()
        if isinstance(part, AltPattern):
            todo += ((part.left, is_callee), (part.right, is_callee))
        elif is_callee and isinstance(part, ExprPattern) and isinstance(part.expr, Op):
            names.add(part.expr.name)
        elif not is_callee and isinstance(part, CallPattern):
            todo.append((part.op, True))
        else:
            return None
    # The matcher knows that (a * b) / c is a * (b / c).
    return names | {"multiply", "divide"} if names & {"multiply", "divide"} else names


class _Grouper:
    def __init__(self, query: Query, graph: ExprGraph):
        self._query = query
        self._graph = graph
        self._matcher = Matcher(graph.root, graph)
        self._count = 0
        #: The `id` of each expression of a group.
        self._taken: Set[int] = set()

    def groups(self) -> Dict[int, Group]:
        groups: Dict[int, Group] = {}
        partitioned: Set[int] = set()
        for node in reversed(self._graph.nodes):
            expr = node.expr
            if id(expr) in self._taken:
                continue
            if isinstance(expr, Function) and expr.attrs is not None and PARTITIONED in expr.attrs.keys():
                partitioned.add(id(expr))
                partitioned.update(id(inner) for inner in post_order(expr.body, children))
            if id(expr) in partitioned or not self._may_match(expr):
                continue
            matches = self._matcher.match(self._query.pattern, expr)
            group = None if matches is None else self._group(expr, matches)
            if group is not None:
                groups[id(expr)] = group
        return groups

    def _may_match(self, expr: Any) -> bool:
        if self._query.called is None:
            return True
        return isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name in self._query.called

    def _group(self, root: Any, matches: Matches) -> Optional[Group]:
        """The group of a match, or `None` where it may not be replaced."""
        group = Group(root, matches, self._count)
        self._count += 1
        self._add_inputs(group)
        inside = _inside(root, group.places)
        # A root that is an input itself, as for a wildcard alone, makes no group.
        if not inside or not all(self._may_take(expr, inside, root) for expr in inside.values()):
            return None
        self._taken.update(inside)
        return group

    def _add_inputs(self, group: Group) -> None:
        inner = self._inner(group.matches)
        for pattern, parts in self._query.sources:
            for found in group.matches.get(pattern, ()):
                for expr in (found,) if parts is None else getattr(found, parts):
                    is_input = id(expr) not in inner and not isinstance(expr, (Op, Function))
                    if is_input and not self._embeds(expr, pattern):
                        group.add_input(expr)

    def _inner(self, matches: Matches) -> Set[int]:
        """What matched a path or the parent of a dominator pattern, or lies in a function: never an input."""
        inner: Set[int] = set()
        for pattern in self._query.with_inner:
            if isinstance(pattern, DominatorPattern):
                for part in (pattern.parent, pattern.path):
                    inner.update(id(expr) for expr in matches.get(part, ()))
            else:
                for function in matches.get(pattern, ()):
                    inner.update(id(expr) for expr in post_order(function.body, children))
        return inner

    def _embeds(self, expr: Any, pattern: DFPattern) -> bool:
        """Whether a constant stays in the function: where the pattern asks for a constant."""
        if not isinstance(expr, Constant):
            return False
        while isinstance(pattern, AltPattern):
            left = self._matcher.match(pattern.left, expr) is not None
            pattern = pattern.left if left else pattern.right
        if isinstance(pattern, ExprPattern):
            return isinstance(pattern.expr, Constant)
        return isinstance(pattern, ConstantPattern)

    def _may_take(self, expr: Any, inside: Dict[int, Any], root: Any) -> bool:
        """Whether `expr` is of no other group, and used outside only on ways back to the root."""
        if isinstance(expr, (Op, Function, Constant)):
            return True
        if id(expr) in self._taken:
            return False
        if expr is root:
            return True
        return all(
            id(user.expr) in inside or self._graph.dominates(root, user.expr)
            for user in self._graph.node(expr).outputs
        )


def _name(expr: Any) -> str:
    """What an expression adds to the name of its group."""
    if isinstance(expr, Call):
        return f"{expr.op.name}_" if isinstance(expr.op, Op) else "Call_"
    if isinstance(expr, RelayTuple):
        return "Tuple_"
    if isinstance(expr, Function):
        return "Function"
    if isinstance(expr, TupleGetItem):
        return f"TupleGetItem{expr.index}_"
    if isinstance(expr, Let):
        return "Let_"
    if isinstance(expr, If):
        return "If_"
    if isinstance(expr, Match):
        return "Match_"
    return ""
