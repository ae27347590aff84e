"""`FuseOps` in the groups that TVM makes: by the classes of operators and their post-dominators.

The native pass `fuse-ops` groups for relayc's own kernels, and differs where that serves
them. Programs that call the pass by name compare with TVM's groups, and set its level, how
many operators a group may have, and whether constants stay inside.
Rules of TVM: `src/relay/transforms/fuse_ops.cc`, `src/relay/analysis/graph_partitioner.cc`.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Tuple

from ...ir import Op, TensorType, TupleType, structural_equal
from ..dataflow_pattern.graph import children, mutate
from ..expr import Call, Constant, If, Let, RefCreate, RefRead, RefWrite, TupleGetItem, Var
from ..expr import Tuple as RelayTuple
from ..adt import Match
from ..function import Function
from ..op.op import OpPattern

__all__ = ["MAX_DEPTH", "fuse_ops"]

#: How many operators a group has at most.
MAX_DEPTH = 256

_SCALARS = ("int32", "int64", "float32", "float64", "bool")
_RESHAPES = (
    "batch_flatten contrib_reverse_reshape dyn.expand_dims dyn.reshape dyn.squeeze expand_dims nn.batch_flatten "
    "reshape reshape_like squeeze"
).split()


class _Group:
    """A node of a forest whose trees are the groups; the root's fields hold."""

    def __init__(self, expr: Any, pattern: int) -> None:
        self.parent: Optional[_Group] = None
        self.expr = expr
        self.pattern = pattern
        self.has_anchor = pattern == OpPattern.OUT_ELEMWISE_FUSABLE
        self.size = 1
        self.params: List[Any] = []
        self.args: List[Any] = []

    def root(self) -> "_Group":
        root = self
        while root.parent is not None:
            root = root.parent
        group = self
        while group is not root:
            assert group.parent is not None
            group.parent, group = root, group.parent
        return root

    def join(self, other: "_Group") -> None:
        """Makes this group a part of another."""
        child, parent = self.root(), other.root()
        if child is parent:
            return
        parent.size += child.size
        child.parent = parent
        if child.has_anchor:
            parent.has_anchor = True
            parent.pattern = max(child.pattern, parent.pattern)


class _Node:
    """An expression in the dataflow: its class, its users with the class of each use, and its post-dominator."""

    def __init__(self) -> None:
        self.index = -1
        self.group: Any = None
        self.pattern: int = OpPattern.OPAQUE
        self.users: List[Tuple[_Node, int]] = []
        #: Whether something uses it that no group may contain.
        self.escapes = False
        self.depth = 1
        self.dominator: Optional[_Node] = None
        #: The class of all uses on the way to the dominator.
        self.way: int = OpPattern.OPAQUE


class _Graph:
    """The nodes of a function, in post-order."""

    def __init__(self, func: Any) -> None:
        self.by_id: Dict[int, _Node] = {}
        self.nodes: List[_Node] = []
        self._escape(func)
        stack = [(func, False)]
        entered = set()
        while stack:
            expr, done = stack.pop()
            if done:
                self._add(expr)
            elif id(expr) not in entered:
                entered.add(id(expr))
                self._uses(expr)
                stack.append((expr, True))
                if not _is_foreign(expr):
                    stack.extend((part, False) for part in reversed(children(expr)))

    def _node(self, expr: Any) -> _Node:
        return self.by_id.setdefault(id(expr), _Node())

    def _escape(self, *exprs: Any) -> None:
        for expr in exprs:
            self._node(expr).escapes = True

    def _use(self, expr: Any, user: _Node, pattern: int) -> None:
        self._node(expr).users.append((user, pattern))

    def _uses(self, expr: Any) -> None:
        """Says how an expression uses its parts."""
        node = self._node(expr)
        if isinstance(expr, Call):
            node.pattern = _call_pattern(expr)
            if not isinstance(expr.op, Op):
                self._escape(expr.op)
            for arg in expr.args:
                self._use(arg, node, _use_pattern(expr, arg, node.pattern))
        elif isinstance(expr, RelayTuple):
            node.pattern = OpPattern.TUPLE
            for field in expr.fields:
                if isinstance(field.checked_type, TensorType):
                    self._use(field, node, OpPattern.INJECTIVE)
                else:
                    self._escape(field)
        elif isinstance(expr, TupleGetItem):
            ty = expr.tuple_value.checked_type
            if isinstance(ty, TupleType) and all(isinstance(field, TensorType) for field in ty.fields):
                node.pattern = OpPattern.INJECTIVE
                self._use(expr.tuple_value, node, OpPattern.INJECTIVE)
            else:
                self._escape(expr.tuple_value)
        elif isinstance(expr, Constant):
            if not expr.data.shape and expr.data.dtype in _SCALARS:
                node.pattern = OpPattern.ELEMWISE
        elif isinstance(expr, (Function, Let, If, Match, RefCreate, RefRead, RefWrite)) and not _is_foreign(expr):
            self._escape(*children(expr))

    def _add(self, expr: Any) -> None:
        if isinstance(expr, (Call, Constant, If, Let, Match, RefCreate, RefRead, RefWrite, RelayTuple, TupleGetItem, Var)):
            node = self._node(expr)
            node.index = len(self.nodes)
            node.group = _Group(expr, node.pattern)
            self.nodes.append(node)

    def find_dominators(self) -> None:
        """Finds where all dataflow from each node passes next, and by what uses it comes there."""
        for node in reversed(self.nodes):
            if node.escapes or not node.users:
                continue
            node.way = max(pattern for _, pattern in node.users)
            common: Optional[_Node] = node.users[0][0]
            for user, _ in node.users[1:]:
                common, way = _meet(common, user)
                node.way = max(node.way, way)
            node.dominator = common
            node.depth = common.depth + 1 if common is not None else 1


def _meet(a: Optional[_Node], b: Optional[_Node]) -> Tuple[Optional[_Node], int]:
    """The least common ancestor of two nodes in the tree of dominators, and the class of the ways there."""
    way = OpPattern.ELEMWISE
    while a is not b:
        if a is None or b is None:
            return None, way
        if a.depth >= b.depth:
            way = max(way, a.way)
            lower, a = a, a.dominator
            if lower.depth > b.depth:
                continue
        way = max(way, b.way)
        b = b.dominator
    return a, way


def _is_foreign(expr: Any) -> bool:
    """Whether an expression is a function that another compiler gets."""
    return isinstance(expr, Function) and expr.attrs is not None and expr.attrs.get("Compiler") is not None


def _is_primitive(expr: Any) -> bool:
    return isinstance(expr, Function) and expr.attrs is not None and bool(expr.attrs.get("Primitive"))


def _call_pattern(call: Any) -> int:
    if not isinstance(call.op, Op):
        return OpPattern.OPAQUE
    # Their shapes are values of operands. Of other operators no declaration says so.
    if call.op.name.startswith("dyn.") and not _is_static(call.checked_type):
        return OpPattern.OPAQUE
    pattern = call.op.get_attr("TOpPattern")
    return OpPattern.OPAQUE if pattern is None else int(pattern)


def _is_static(ty: Any) -> bool:
    types = ty.fields if isinstance(ty, TupleType) else [ty]
    return all(
        isinstance(part, TensorType) and all(isinstance(getattr(dim, "value", dim), int) for dim in part.shape)
        for part in types
    )


def _use_pattern(call: Any, arg: Any, pattern: int) -> int:
    """A broadcast is elementwise for an operand of the result's shape."""
    if pattern != OpPattern.BROADCAST:
        return pattern
    own, result = arg.checked_type, call.checked_type
    if isinstance(own, TensorType) and isinstance(result, TensorType) and structural_equal(own.shape, result.shape):
        return OpPattern.ELEMWISE
    return pattern


# ---- groups ---------------------------------------------------------------------------


class _Partition:
    """Joins nodes with their post-dominators where all nodes between may be in one group."""

    def __init__(self, graph: _Graph, max_depth: int) -> None:
        self.max_depth = max_depth
        for phase in range(3):
            for node in graph.nodes:
                sink = node.dominator
                if node.group.pattern != OpPattern.OPAQUE and sink is not None and self._fits(node, sink):
                    if self._may_join(node, sink, phase):
                        for between in _between(node, sink):
                            between.group.join(sink.group)

    def _fits(self, node: _Node, sink: _Node) -> bool:
        size = sum(between.group.size for between in _between(node, sink))
        return bool(sink.group.root().size + size <= self.max_depth)

    def _may_join(self, node: _Node, sink: _Node, phase: int) -> bool:
        pattern, of_sink = node.group.pattern, sink.group.root()
        if phase == 2:
            # Injective operators join a tuple that has joined an injective operator itself.
            fits = pattern <= OpPattern.INJECTIVE and of_sink.pattern <= OpPattern.INJECTIVE
            return fits and sink.group.pattern == OpPattern.TUPLE and _all_between(node, sink, _is_injective)
        if node.group.root() is of_sink or sink.group.pattern == OpPattern.TUPLE:
            return False
        if pattern == OpPattern.OUT_ELEMWISE_FUSABLE:
            return phase == 0 and node.way == OpPattern.ELEMWISE and _all_between(node, sink, _is_broadcast)
        if pattern <= OpPattern.BROADCAST:
            fits = node.way <= OpPattern.INJECTIVE or node.way == OpPattern.COMM_REDUCE
            return fits and _all_between(node, sink, _leads_on)
        if pattern in (OpPattern.INJECTIVE, OpPattern.TUPLE):
            # Products have their groups by then.
            return phase == 1 and _all_between(node, sink, _is_injective)
        return False


def _is_broadcast(pattern: int, is_sink: bool) -> bool:
    return pattern <= OpPattern.BROADCAST


def _is_injective(pattern: int, is_sink: bool) -> bool:
    return pattern <= OpPattern.INJECTIVE


def _leads_on(pattern: int, is_sink: bool) -> bool:
    """Whether an elementwise operator may join what comes behind it; a product has an elementwise sink already."""
    at_most = OpPattern.OUT_ELEMWISE_FUSABLE if is_sink else OpPattern.INJECTIVE
    return pattern <= at_most


def _between(node: _Node, sink: _Node) -> List[_Node]:
    """The nodes on all ways from a node to its dominator, which is not among them."""
    found = {id(node): node}
    stack = [node]
    while stack:
        for user, _ in stack.pop().users:
            if user is not sink and id(user) not in found:
                found[id(user)] = user
                stack.append(user)
    return list(found.values())


def _all_between(node: _Node, sink: _Node, holds: Callable[[int, bool], bool]) -> bool:
    """Whether the groups of all nodes behind a node have a property, up to its dominator and with it."""
    if not holds(sink.group.root().pattern, True):
        return False
    return all(holds(part.group.root().pattern, False) for part in _between(node, sink) if part is not node)


# ---- functions ------------------------------------------------------------------------


def fuse_ops(func: Any, level: int, max_depth: int, link_params: bool) -> Any:
    """`func` with a call of a function marked `Primitive` in the place of each group. At level 0 each operator is alone.

    With `link_params`, all constants stay in the functions, else scalars only.
    """
    graph = _Graph(func)
    if level > 0:
        graph.find_dominators()
        _Partition(graph, max_depth)
    groups = {key: node.group.root() for key, node in graph.by_id.items() if node.group is not None}

    def inner(group: _Group, pre: Any, post: Any) -> Any:
        """An operand as it is inside a group."""
        if groups.get(id(pre)) is group or (link_params and isinstance(post, Constant)):
            return post
        for param, arg in zip(group.params, group.args):
            if arg is post:
                return param
        group.params.append(Var(f"p{len(group.params)}", pre.checked_type))
        group.args.append(post)
        return group.params[-1]

    def visit(pre: Any, post: Any, memo: Dict[int, Any]) -> Any:
        group = groups.get(id(pre))
        if isinstance(pre, Call) and isinstance(pre.op, Op) and pre.op.name != "on_device":
            if pre.op.name == "annotation.stop_fusion":
                return memo[id(pre.args[0])]
            assert group is not None
            args = [inner(group, arg, memo[id(arg)]) for arg in pre.args]
            made: Any = Call(pre.op, args, pre.attrs, pre.type_args, pre.span)
        elif isinstance(pre, RelayTuple) and group is not None and group.expr is not pre:
            return RelayTuple([inner(group, field, memo[id(field)]) for field in pre.fields], pre.span)
        elif isinstance(pre, TupleGetItem):
            assert group is not None
            if group.expr is pre and groups.get(id(pre.tuple_value)) is not group:
                return post
            made = TupleGetItem(inner(group, pre.tuple_value, memo[id(pre.tuple_value)]), pre.index)
        else:
            return post
        return _call_group(group, pre, made) if group.expr is pre else made

    return mutate(func, lambda expr: expr if _is_primitive(expr) or _is_foreign(expr) else None, visit)


def _call_group(group: _Group, root: Any, body: Any) -> Any:
    """The call of the function of a group whose last expression is `root`, now `body`."""
    func = Function(group.params, body, root.checked_type)
    has_call, reshapes = _content(body, group.params)
    func = func.with_attr("Primitive", int(has_call))
    if has_call and reshapes:
        func = func.with_attr("relay.reshape_only", 1)
    return Call(func, group.args)


def _content(body: Any, params: List[Any]) -> Tuple[bool, bool]:
    """Whether a body calls operators, and whether these only reshape."""
    has_call, reshapes = False, all(isinstance(param.type_annotation, TensorType) for param in params)
    stack, seen = [body], set()
    while stack:
        expr = stack.pop()
        if id(expr) in seen:
            continue
        seen.add(id(expr))
        if isinstance(expr, Call):
            has_call = True
            reshapes = reshapes and isinstance(expr.op, Op) and expr.op.name in _RESHAPES
        stack.extend(children(expr))
    return has_call, reshapes
