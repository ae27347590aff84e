"""Programs as indented text, for terminals: each node's line is followed by those of what flows into it."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from ...ir import GlobalVar, Op
from ...relay import expr as _expr
from ...relay.function import Function
from .interface import DefaultVizParser, NodeEdges, Plotter, VizEdge, VizGraph, VizNode, VizParser, edges_from


class TermVizParser(VizParser):
    """Makes a node of each expression, operators and global functions among them."""

    def __init__(self) -> None:
        self._default_parser = DefaultVizParser()

    def get_node_edges(
        self, node: _expr.Expr, relay_param: Dict[str, Any], node_to_id: Dict[_expr.Expr, str]
    ) -> NodeEdges:
        """The node of an expression and the edges to it."""
        if isinstance(node, _expr.Call):
            kind, detail, sources = "Call", "", [node.op, *node.args]
        elif isinstance(node, _expr.Let):
            kind, detail, sources = "Let", "(var, val, body)", [node.var, node.value, node.body]
        elif isinstance(node, GlobalVar):
            kind, detail, sources = "GlobalVar", node.name_hint, []
        elif isinstance(node, _expr.If):
            kind, detail = "If", "(cond, true, false)"
            sources = [node.cond, node.true_branch, node.false_branch]
        elif isinstance(node, Op):
            kind, detail, sources = node.name, "", []
        elif isinstance(node, Function):
            detail = f"[{', '.join(_parameter(param) for param in node.params)}]"
            kind, sources = "Func", [node.body]
        else:
            return self._default_parser.get_node_edges(node, relay_param, node_to_id)
        node_id = node_to_id[node]
        return VizNode(node_id, kind, detail), edges_from(sources, node_id, node_to_id)


def _parameter(param: _expr.Var) -> str:
    ty = param.type_annotation
    return f"Var({param.name_hint})" if ty is None else f"Var({param.name_hint}, ty={ty})"


class TermNode:
    """A node as a line."""

    def __init__(self, viz_node: VizNode):
        self.type = viz_node.type_name
        self.other_info = viz_node.detail.replace("\n", ", ")


class TermGraph(VizGraph):
    """The text of one function."""

    def __init__(self, name: str):
        self._name = name
        #: The identities of the nodes that flow into each node.
        self._graph: Dict[str, List[str]] = {}
        self._id_to_term_node: Dict[str, TermNode] = {}
        self._root: Optional[str] = None

    def node(self, viz_node: VizNode) -> None:
        """Adds a node; the last one is the root."""
        self._root = viz_node.identity
        self._graph.setdefault(viz_node.identity, [])
        self._id_to_term_node[viz_node.identity] = TermNode(viz_node)

    def edge(self, viz_edge: VizEdge) -> None:
        """Adds an edge."""
        self._graph.setdefault(viz_edge.end, []).append(viz_edge.start)

    def render(self) -> str:
        """The text. What flows into a shared node is listed where that node first occurs."""
        assert self._root is not None, f"the function {self._name} has no nodes"
        root = self._id_to_term_node[self._root]
        lines = [f"@{self._name}({root.other_info})"]
        listed = {self._root}
        pending = self._entries(self._root, "")
        while pending:
            node_id, indent, is_last = pending.pop()
            node = self._id_to_term_node[node_id]
            again = node_id in listed and self._graph[node_id]
            mark = " (listed above)" if again else ""
            lines.append(f"{indent}{'`--' if is_last else '|--'}{node.type} {node.other_info}{mark}")
            if not again:
                listed.add(node_id)
                pending += self._entries(node_id, indent + ("   " if is_last else "|  "))
        return "\n".join(lines)

    def _entries(self, node_id: str, indent: str) -> List[Any]:
        """What flows into a node, the last first, with the indentation and whether it is the last."""
        sources = self._graph[node_id]
        return [(source, indent, i == 0) for i, source in enumerate(reversed(sources))]


class TermPlotter(Plotter):
    """Writes the texts of all functions, one after another."""

    def __init__(self) -> None:
        self._name_to_graph: Dict[str, TermGraph] = {}

    def create_graph(self, name: str) -> VizGraph:
        """Begins the text of the function `name`."""
        self._name_to_graph[name] = TermGraph(name)
        return self._name_to_graph[name]

    def render(self, filename: Optional[str] = None) -> None:
        """Writes the file `filename`, or prints if it is `None`."""
        text = "\n".join(graph.render() for graph in self._name_to_graph.values())
        if filename is None:
            print(text)
        else:
            with open(filename, "w", encoding="utf-8") as out_file:
                out_file.write(text)
