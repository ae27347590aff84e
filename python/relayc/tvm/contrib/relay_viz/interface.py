"""What drawings of programs are made of: nodes, edges, parsers of expressions, graphs, plotters.

`RelayVisualizer` asks a parser for the node and the edges of each expression and hands them to the graphs of a
plotter. Parsers and plotters of your own derive from these classes.
"""

from __future__ import annotations

import abc
from typing import Any, Dict, List, Optional, Tuple

from ...ir import GlobalVar, Op
from ...relay import expr as _expr
from ...relay.dataflow_pattern.graph import children
from ...relay.function import Function

UNKNOWN_TYPE = "unknown"


class VizNode:
    """A node of a drawing."""

    def __init__(self, node_id: str, node_type: str, node_detail: str):
        self._id = node_id
        self._type = node_type
        self._detail = node_detail

    @property
    def identity(self) -> str:
        """What tells this node from all others."""
        return self._id

    @property
    def type_name(self) -> str:
        """The kind of the node: `Call nn.dense`, `Var(Input)`."""
        return self._type

    @property
    def detail(self) -> str:
        """What else is known, in lines: attributes, types."""
        return self._detail

    def __repr__(self) -> str:
        detail = self._detail.replace("\n", ", ")
        return f"VizNode(identity: {self._id}, type_name: {self._type}, detail: {detail})"


class VizEdge:
    """An edge of a drawing, by the identities of its ends; data flows from `start` to `end`."""

    def __init__(self, start_node: str, end_node: str):
        self._start_node = start_node
        self._end_node = end_node

    @property
    def start(self) -> str:
        """The identity of the node where data comes from."""
        return self._start_node

    @property
    def end(self) -> str:
        """The identity of the node where data goes."""
        return self._end_node


#: What a parser returns: a node, or `None` for an expression that has none in the drawing, and edges.
NodeEdges = Tuple[Optional[VizNode], List[VizEdge]]


class VizParser(abc.ABC):
    """Makes a node and its edges of an expression."""

    @abc.abstractmethod
    def get_node_edges(
        self, node: _expr.Expr, relay_param: Dict[str, Any], node_to_id: Dict[_expr.Expr, str]
    ) -> NodeEdges:
        """The node of the expression `node` and the edges to it.

        `relay_param` has the parameters by name, `node_to_id` the identity of each expression of the function.
        """


class VizGraph(abc.ABC):
    """The drawing of one function."""

    @abc.abstractmethod
    def node(self, viz_node: VizNode) -> None:
        """Adds a node; nodes come in post-order."""

    @abc.abstractmethod
    def edge(self, viz_edge: VizEdge) -> None:
        """Adds an edge."""


class Plotter(abc.ABC):
    """Draws the functions of a module."""

    @abc.abstractmethod
    def create_graph(self, name: str) -> VizGraph:
        """Begins the drawing of the function `name`."""

    @abc.abstractmethod
    def render(self, filename: str) -> None:
        """Writes all drawings."""


def attr_lines(attrs: Any) -> List[str]:
    """`name: value` for each attribute."""
    return [] if attrs is None else [f"{name}: {attrs[name]}" for name in attrs.keys()]


def edges_from(sources: Any, node_id: str, node_to_id: Dict[_expr.Expr, str]) -> List[VizEdge]:
    """Edges from expressions to one node."""
    return [VizEdge(node_to_id[source], node_id) for source in sources]


class DefaultVizParser(VizParser):
    """Calls are named after what they call; operators and global functions have no nodes of their own."""

    def get_node_edges(
        self, node: _expr.Expr, relay_param: Dict[str, Any], node_to_id: Dict[_expr.Expr, str]
    ) -> NodeEdges:
        """The node of an expression and the edges to it."""
        if isinstance(node, (GlobalVar, Op)):
            return None, []
        node_id = node_to_id[node]
        sources = [part for part in children(node) if part in node_to_id]
        if isinstance(node, Function):
            kind, detail = f"Func {_composite(node.attrs) or ''}", attr_lines(node.attrs)
            sources = (node.body,)
        elif isinstance(node, _expr.Call):
            kind, detail = _call(node)
            sources = node.args
        elif isinstance(node, _expr.Var):
            kind = "Var(Param)" if node.name_hint in relay_param else "Var(Input)"
            detail = [f"name_hint: {node.name_hint}", *_type_lines(node.type_annotation)]
        elif isinstance(node, _expr.TupleGetItem):
            kind, detail = "TupleGetItem", [f"idx: {node.index}"]
        elif isinstance(node, _expr.Constant):
            kind, detail = "Const", [f"shape: {node.data.shape}, dtype: {node.data.dtype}"]
        else:
            kind, detail = type(node).__name__, []
        return VizNode(node_id, kind, "\n".join(detail)), edges_from(sources, node_id, node_to_id)


def _composite(attrs: Any) -> Optional[str]:
    """The name that `MergeComposite` gave to a function."""
    return attrs["Composite"] if attrs is not None and "Composite" in attrs.keys() else None


def _call(call: _expr.Call) -> Tuple[str, List[str]]:
    """The kind and the details of a call."""
    callee = call.op
    if isinstance(callee, Op):
        return f"Call {callee.name}", attr_lines(call.attrs)
    if isinstance(callee, Function):
        return f"Call {_composite(callee.attrs) or 'Anonymous Func'}", attr_lines(callee.attrs)
    if isinstance(callee, GlobalVar):
        return "Call GlobalVar", [f"GlobalVar.name_hint: {callee.name_hint}"]
    return f"Call {type(callee).__name__}", []


def _type_lines(annotation: Any) -> List[str]:
    """The lines for a variable's type."""
    if annotation is None:
        return []
    if not hasattr(annotation, "shape"):
        return [f"type_annotation: {annotation}"]
    dims = [str(dim) for dim in annotation.shape]
    return [f"shape: ({', '.join(dims)}{',' if len(dims) == 1 else ''})", f"dtype: {annotation.dtype}"]
