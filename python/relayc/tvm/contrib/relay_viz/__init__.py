"""Drawings of Relay modules: as text for terminals, in the language DOT, or by plotters of your own."""

from __future__ import annotations

from typing import Any, Dict, Optional

from ...ir import IRModule
from ...relay.analysis import post_order_visit
from .dot import DotPlotter, DotVizParser
from .interface import Plotter, VizGraph, VizParser
from .terminal import TermPlotter, TermVizParser

__all__ = [
    "DotPlotter",
    "DotVizParser",
    "Plotter",
    "RelayVisualizer",
    "TermPlotter",
    "TermVizParser",
    "VizGraph",
    "VizParser",
]


class RelayVisualizer:
    """Draws all functions of a module, `main` first.

    Without a plotter and a parser it makes text for terminals. `relay_param` has the parameters by name, which
    tells them from inputs.
    """

    def __init__(
        self,
        relay_mod: IRModule,
        relay_param: Optional[Dict[str, Any]] = None,
        plotter: Optional[Plotter] = None,
        parser: Optional[VizParser] = None,
    ):
        if not isinstance(relay_mod, IRModule):
            raise TypeError(f"a drawing is of an IRModule, not of {type(relay_mod).__name__}: IRModule.from_expr makes one")
        self._plotter = TermPlotter() if plotter is None else plotter
        self._relay_param = {} if relay_param is None else relay_param
        self._parser = TermVizParser() if parser is None else parser
        names = [var.name_hint for var in relay_mod.get_global_vars()]
        first = 0
        # A stable sort: the others keep their order.
        for name in sorted(names, key=lambda name: name != "main"):
            node_to_id: Dict[Any, str] = {}

            def number(node: Any) -> None:
                node_to_id.setdefault(node, str(first + len(node_to_id)))

            post_order_visit(relay_mod[name], number)
            first += len(node_to_id)
            self._add_nodes(self._plotter.create_graph(name), node_to_id)

    def _add_nodes(self, graph: VizGraph, node_to_id: Dict[Any, str]) -> None:
        for node in node_to_id:
            viz_node, viz_edges = self._parser.get_node_edges(node, self._relay_param, node_to_id)
            if viz_node is not None:
                graph.node(viz_node)
            for edge in viz_edges:
                graph.edge(edge)

    def render(self, filename: Optional[str] = None) -> None:
        """Writes the drawing to `filename`; what `None` does is the plotter's."""
        self._plotter.render(filename=filename)
