"""Programs in the language DOT of Graphviz.

The DOT text needs no other package. Pictures need the package `graphviz` and the program `dot`.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional

from .interface import DefaultVizParser, Plotter, VizEdge, VizGraph, VizNode

DotVizParser = DefaultVizParser

Attributes = Optional[Dict[str, str]]

#: What `render_kwargs` may hold that only makes sense for a picture.
_PICTURE = ("format", "view", "engine", "renderer", "formatter", "outfile", "quiet_view")


def _quoted(text: str) -> str:
    text = str(text).replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'


def _list(attributes: Attributes) -> str:
    pairs = " ".join(f"{name}={_quoted(value)}" for name, value in (attributes or {}).items())
    return f" [{pairs}]" if pairs else ""


class Digraph:
    """A directed graph as DOT text; the names of its methods are those of `graphviz.Digraph`."""

    def __init__(
        self,
        name: str = "",
        graph_attr: Attributes = None,
        node_attr: Attributes = None,
        edge_attr: Attributes = None,
    ):
        self.name = name
        self.body: List[str] = []
        for kind, attributes in (("graph", graph_attr), ("node", node_attr), ("edge", edge_attr)):
            if attributes:
                self.body.append(f"{kind}{_list(attributes)}")

    def attr(self, **attributes: str) -> None:
        """Sets attributes of the graph."""
        self.body += [f"{name}={_quoted(value)}" for name, value in attributes.items()]

    def node(self, name: str, label: str, **attributes: str) -> None:
        """Adds a node."""
        self.body.append(f"{_quoted(name)}{_list({'label': label, **attributes})}")

    def edge(self, tail_name: str, head_name: str) -> None:
        """Adds an edge."""
        self.body.append(f"{_quoted(tail_name)} -> {_quoted(head_name)}")

    def subgraph(self, graph: "Digraph") -> None:
        """Adds another graph as a part of this one."""
        self.body += [f"subgraph {_quoted(graph.name)} {{", *(f"\t{line}" for line in graph.body), "}"]

    @property
    def source(self) -> str:
        """The DOT text."""
        head = f"digraph {_quoted(self.name)} {{" if self.name else "digraph {"
        return "\n".join([head, *(f"\t{line}" for line in self.body), "}", ""])


class DotGraph(VizGraph):
    """The drawing of one function, a cluster with the function's name."""

    def __init__(
        self,
        name: str,
        graph_attr: Attributes = None,
        node_attr: Attributes = None,
        edge_attr: Attributes = None,
        get_node_attr: Optional[Callable[[VizNode], Dict[str, str]]] = None,
    ):
        self._name = name
        self._get_node_attr = get_node_attr or self._default_get_node_attr
        # Graphviz draws a box around a subgraph if its name begins so.
        self._digraph = Digraph(f"cluster_{name}", graph_attr, node_attr, edge_attr)
        self._digraph.attr(label=name)

    def node(self, viz_node: VizNode) -> None:
        """Adds a node."""
        label = f"{viz_node.type_name}\n{viz_node.detail}"
        self._digraph.node(viz_node.identity, label, **self._get_node_attr(viz_node))

    def edge(self, viz_edge: VizEdge) -> None:
        """Adds an edge."""
        self._digraph.edge(viz_edge.start, viz_edge.end)

    @property
    def digraph(self) -> Digraph:
        """The graph; `digraph.source` is its DOT text."""
        return self._digraph

    @staticmethod
    def _default_get_node_attr(node: VizNode) -> Dict[str, str]:
        return {"shape": "ellipse" if node.type_name.startswith("Var") else "box"}


class DotPlotter(Plotter):
    """Draws all functions in one graph.

    `graph_attr`, `node_attr` and `edge_attr` are attributes of Graphviz for all graphs, nodes and edges,
    `get_node_attr(node)` those of one node. `render_kwargs` go to `graphviz.Source.render`.
    """

    def __init__(
        self,
        graph_attr: Attributes = None,
        node_attr: Attributes = None,
        edge_attr: Attributes = None,
        get_node_attr: Optional[Callable[[VizNode], Dict[str, str]]] = None,
        render_kwargs: Optional[Dict[str, Any]] = None,
    ):
        self._name_to_graph: Dict[str, DotGraph] = {}
        self._graph_attr = graph_attr
        self._node_attr = node_attr
        self._edge_attr = edge_attr
        self._get_node_attr = get_node_attr
        self._render_kwargs = {} if render_kwargs is None else render_kwargs

    def create_graph(self, name: str) -> VizGraph:
        """Begins the drawing of the function `name`."""
        self._name_to_graph[name] = DotGraph(
            name, self._graph_attr, self._node_attr, self._edge_attr, self._get_node_attr
        )
        return self._name_to_graph[name]

    @property
    def source(self) -> str:
        """The DOT text of all functions."""
        root = Digraph()
        for graph in self._name_to_graph.values():
            root.subgraph(graph.digraph)
        return root.source

    def render(self, filename: Optional[str] = None) -> None:
        """Draws the picture `<filename>.pdf`; where Graphviz is not installed, writes DOT text to `filename`.

        Raises ImportError if `render_kwargs` asks for a picture, such as by `format`, and Graphviz is not installed.
        """
        kwargs = {"cleanup": True, **self._render_kwargs}
        if filename is not None:
            kwargs["filename"] = filename
        try:
            import graphviz

            graphviz.version()
        except Exception as missing:  # no package, or no program `dot`: graphviz.ExecutableNotFound
            if any(name in self._render_kwargs for name in _PICTURE):
                raise ImportError(
                    "The graphviz package and its program `dot` are required for pictures. "
                    "Install them, or leave out render_kwargs to get the DOT text."
                ) from missing
            with open(kwargs.get("filename") or "Digraph.gv", "w", encoding="utf-8") as out_file:
                out_file.write(self.source)
            return
        graphviz.Source(self.source).render(**kwargs)
