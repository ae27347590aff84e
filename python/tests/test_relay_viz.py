"""Drawings of modules: text for terminals, DOT, and plotters of one's own."""

from __future__ import annotations

import sys

import pytest

import relayc.tvm as tvm
from relayc.tvm import relay
from relayc.tvm.contrib import relay_viz
from relayc.tvm.contrib.relay_viz.interface import DefaultVizParser, VizEdge, VizNode
from relayc.tvm.contrib.relay_viz.terminal import TermGraph


@pytest.fixture
def module():
    """`main` calls `@AddFunc` twice."""
    a, b = relay.var("a", shape=(2,)), relay.var("b", shape=(2,))
    x, y = relay.var("x", shape=(2, relay.Any())), relay.var("y")
    add = relay.GlobalVar("AddFunc")
    main = relay.Function([x, y], add(y, add(x, y)))
    return tvm.IRModule({add: relay.Function([a, b], a + b), relay.GlobalVar("main"): main})


@pytest.fixture
def no_graphviz(monkeypatch):
    monkeypatch.setitem(sys.modules, "graphviz", None)


def test_text(module, capsys):
    relay_viz.RelayVisualizer(module).render()
    text = capsys.readouterr().out.splitlines()
    assert text[0].startswith("@main([Var(x, ty=Tensor[(2, ?), float32]), Var(y)])")
    assert [line.rstrip() for line in text[1:8]] == [
        "`--Call",
        "   |--GlobalVar AddFunc",
        "   |--Var(Input) name_hint: y",
        "   `--Call",
        "      |--GlobalVar AddFunc",
        "      |--Var(Input) name_hint: x, shape: (2, ?), dtype: float32",
        "      `--Var(Input) name_hint: y",
    ]
    assert text[8].startswith("@AddFunc")


def test_text_of_shared_parts_is_not_repeated(tmp_path):
    expr = relay.var("x", shape=(2,))
    for _ in range(1000):
        expr = expr + expr
    path = tmp_path / "net.txt"
    relay_viz.RelayVisualizer(tvm.IRModule.from_expr(expr)).render(path)
    lines = path.read_text().splitlines()
    assert len(lines) < 4000 and sum("(listed above)" in line for line in lines) == 999


def test_dot_needs_no_package(module, tmp_path, no_graphviz):
    path = tmp_path / "net.dot"
    relay_viz.RelayVisualizer(module, {"y": None}, relay_viz.DotPlotter(), relay_viz.DotVizParser()).render(str(path))
    text = path.read_text()
    assert text.startswith("digraph {") and text.count("subgraph") == 2
    assert 'label="Var(Param)\\nname_hint: y" shape="ellipse"' in text
    assert 'label="Call GlobalVar\\nGlobalVar.name_hint: AddFunc" shape="box"' in text
    assert text.count("->") == 4 + 2 + 2


def test_pictures_need_graphviz(module, no_graphviz):
    plotter = relay_viz.DotPlotter(render_kwargs={"format": "png"})
    with pytest.raises(ImportError, match="DOT text"):
        relay_viz.RelayVisualizer(module, plotter=plotter).render("net")


def test_attributes_of_nodes(module):
    def colour(node):
        return {"color": "red"} if "Call add" in node.type_name else {}

    plotter = relay_viz.DotPlotter(graph_attr={"bgcolor": "grey"}, node_attr={"shape": "box"}, get_node_attr=colour)
    relay_viz.RelayVisualizer(module, plotter=plotter, parser=relay_viz.DotVizParser())
    assert plotter.source.count('color="red"') == 1
    assert 'graph [bgcolor="grey"]' in plotter.source and 'node [shape="box"]' in plotter.source


def test_labels_are_quoted():
    x = relay.var('a"b\\c')
    plotter = relay_viz.DotPlotter()
    relay_viz.RelayVisualizer(tvm.IRModule.from_expr(x), plotter=plotter, parser=relay_viz.DotVizParser())
    assert 'a\\"b' in plotter.source


def test_every_expression_has_a_node():
    x, v, cond = relay.var("x", shape=(2,)), relay.var("v"), relay.var("c", shape=(), dtype="bool")
    pair = relay.Tuple([v, relay.const(1.0)])
    body = relay.If(cond, relay.TupleGetItem(pair, 0), relay.RefRead(relay.RefCreate(x)))
    mod = tvm.IRModule.from_expr(relay.Let(v, relay.exp(x), body))
    plotter = relay_viz.DotPlotter()
    relay_viz.RelayVisualizer(mod, plotter=plotter, parser=relay_viz.DotVizParser())
    for kind in ("Let", "If", "RefRead", "RefCreate", "Tuple", "TupleGetItem", "Const", "Call exp", "Func "):
        assert f'label="{kind}\\n' in plotter.source, kind


def test_parsers_and_plotters_of_ones_own(module, capsys):
    class Parser(relay_viz.VizParser):
        def get_node_edges(self, node, relay_param, node_to_id):
            if isinstance(node, relay.Var):
                return VizNode(node_to_id[node], "Mine", node.name_hint), []
            return DefaultVizParser().get_node_edges(node, relay_param, node_to_id)

    class Graph(TermGraph):
        def node(self, viz_node):
            super().node(viz_node)
            if viz_node.type_name == "Mine":
                super().node(VizNode(f"again {viz_node.identity}", "Again", ""))
                super().edge(VizEdge(f"again {viz_node.identity}", viz_node.identity))

    class Plotter(relay_viz.TermPlotter):
        def create_graph(self, name):
            self._name_to_graph[name] = Graph(name)
            return self._name_to_graph[name]

    relay_viz.RelayVisualizer(module, {}, Plotter(), Parser()).render()
    text = capsys.readouterr().out
    assert "Mine x" in text and "`--Again" in text


def test_a_function_alone_is_refused():
    x = relay.var("x", shape=(2,))
    with pytest.raises(TypeError, match="IRModule.from_expr"):
        relay_viz.RelayVisualizer(relay.Function([x], x))
