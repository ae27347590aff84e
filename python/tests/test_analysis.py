"""Analyses that are more than a walk: features, kinds, cases, counts, regions, calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relayc.tvm as tvm
from relayc.tvm import relay
from relayc.tvm.relay import analysis
from relayc.tvm.relay.analysis import Feature


def parse(text: str) -> Any:
    return relay.fromtext('#[version = "0.0.5"]\n' + text)


def test_features_name_sharing_and_recursion() -> None:
    x = relay.var("x", shape=(2,))
    shared = relay.nn.relu(x)
    found = analysis.detect_feature(relay.Function([x], shared + shared))
    wanted = {Feature.fVar, Feature.fOp, Feature.fCall, Feature.fFunction, Feature.fGraph}
    assert found == wanted
    f = relay.var("f")
    y = relay.var("y", shape=(2,))
    loop = relay.Let(f, relay.Function([y], f(y)), f(x))
    assert Feature.fLetRec in analysis.detect_feature(loop)
    assert Feature.fGraph not in analysis.detect_feature(loop)
    primitive = relay.Function([x], shared).with_attr("Primitive", 1)
    assert analysis.detect_feature(primitive) == {Feature.fFunction}


def test_kinds_of_types_are_checked() -> None:
    shape = relay.TypeVar("s", relay.TypeKind.ShapeVar)
    tensor = relay.TensorType((2,), "float32")
    assert analysis.check_kind(tensor) == relay.TypeKind.Type
    assert analysis.check_kind(shape) == relay.TypeKind.ShapeVar
    for wrong in (
        relay.TupleType([tensor, shape]),
        relay.FuncType([shape], tensor),
        relay.FuncType([tensor], relay.TupleType([shape])),
        relay.RefType(shape),
        relay.TypeCall(relay.GlobalTypeVar("unknown"), [tensor]),
    ):
        with pytest.raises(tvm.TVMError):
            analysis.check_kind(wrong)


def test_type_calls_are_checked_against_the_module() -> None:
    mod = parse("type Box[A] { Put(A), Empty }")
    box = mod.get_global_type_var("Box")
    tensor = relay.TensorType((2,), "float32")
    assert analysis.check_kind(relay.TypeCall(box, [tensor]), mod) == relay.TypeKind.Type
    with pytest.raises(tvm.TVMError, match="Expected 1 arguments"):
        analysis.check_kind(relay.TypeCall(box, [tensor, tensor]), mod)


def test_cases_that_no_clause_takes() -> None:
    mod = parse("type Tree[A] { Leaf(A), Node(Tree[A], Tree[A]) }")
    _, leaf, node = mod.get_type("Tree")
    wild = relay.PatternWildcard()

    def cases(*patterns: Any) -> Any:
        clauses = [relay.Clause(p, relay.const(0)) for p in patterns]
        return analysis.unmatched_cases(relay.Match(relay.var("t"), clauses), mod)

    some_leaf = relay.PatternConstructor(leaf, [wild])
    assert cases(wild) == []
    assert cases(some_leaf, relay.PatternConstructor(node, [wild, wild])) == []
    left_leaf = relay.PatternConstructor(node, [some_leaf, wild])
    (missing,) = cases(some_leaf, left_leaf)
    assert missing.constructor.name_hint == "Node"
    assert missing.patterns[0].constructor.name_hint == "Node"
    pair = relay.PatternTuple([some_leaf, some_leaf])
    assert len(cases(pair)) == 3


def test_counts() -> None:
    x = relay.var("x", shape=(1, 8, 6, 6))
    w = relay.var("w", shape=(4, 8, 3, 3))
    conv = relay.nn.conv2d(x, w, padding=(1, 1), kernel_size=(3, 3))
    flat = relay.nn.batch_flatten(relay.nn.relu(relay.nn.relu(conv)))
    dense = relay.nn.dense(flat, relay.var("v", shape=(10, 144)))
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(dense))
    assert analysis.list_op_freqs(mod)["nn.relu"] == 2
    macs = 4 * 6 * 6 * 8 * 3 * 3 + 10 * 144
    assert analysis.get_total_mac_number(mod["main"]) == macs
    assert analysis.count_layers(mod, ["nn.conv2d", "nn.dense"]) == 2


def test_single_expressions_have_the_numbers_of_the_printed_text() -> None:
    mod = parse("def @main(%x: Tensor[(2), float32]) { add(tanh(%x), exp(%x)) }")
    names = [analysis.extract_intermdeiate_expr(mod, i)["main"].body.op.name for i in range(3)]
    assert names == ["tanh", "exp", "add"]
    with pytest.raises(tvm.TVMError, match="number 3"):
        analysis.extract_intermdeiate_expr(mod, 3)


def test_blocks() -> None:
    x, c = relay.var("x", shape=(2,)), relay.var("c", shape=(), dtype="bool")
    shared = relay.nn.relu(x)
    branches = relay.If(c, relay.tanh(shared), relay.exp(shared))
    with pytest.raises(tvm.TVMError, match="should be lifted"):
        analysis.check_basic_block_normal_form(relay.Function([x, c], branches))
    v = relay.var("v")
    bound = relay.Let(v, shared, relay.If(c, relay.tanh(v), relay.exp(v)))
    assert analysis.check_basic_block_normal_form(relay.Function([x, c], bound))


def test_call_graphs() -> None:
    text = """
    def @main(%x: int32) { @f(%x) + @f(%x) + @g(%x) }
    def @f(%x: int32) { @g(%x) }
    def @g(%x: int32) -> int32 { @g(%x) }
    """
    graph = analysis.CallGraph(parse(text))
    assert [graph.ref_count(n) for n in ("main", "f", "g")] == [0, 1, 3]
    assert [graph.global_call_count(n) for n in ("main", "f", "g")] == [2, 1, 1]
    assert graph.is_recursive("g") and not graph.is_recursive("f")
    assert "#refs = 3" in graph.print_var(graph.module.get_global_var("g"))
    assert str(graph).index("node: main") < str(graph).index("node: f") < str(graph).index("node: g")
    with pytest.raises(tvm.TVMError):
        graph.ref_count("missing")
    with pytest.raises(TypeError):
        graph.ref_count(3)  # type: ignore[arg-type]


def test_regions() -> None:
    from relayc.tvm.relay.op.annotation import compiler_begin, compiler_end

    x = relay.var("x", shape=(2,))
    begin = compiler_begin(x, "a")
    one, two = relay.nn.relu(begin), relay.tanh(begin)
    both = relay.add(one, two)
    end = compiler_end(both, "a")
    other = compiler_end(relay.exp(compiler_begin(end, "b")), "b")
    ops = [tvm.ir.Op.get(f"annotation.compiler_{name}") for name in ("begin", "end")]
    regions = analysis.AnnotatedRegionSet(relay.Function([x], other), *ops)
    assert len(regions) == 2 and regions.get_region(x) is None
    region = regions.get_region(both)
    assert region is not None and region.target == "a"
    assert (region.args, region.rets) == ([begin], [end])
    assert set(map(id, region.nodes)) == set(map(id, (begin, one, two, both, end)))
    with pytest.raises(tvm.TVMError):
        analysis.AnnotatedRegionSet(compiler_end(x, "a"), *ops)


def test_sparse_weights_become_blocks() -> None:
    from relayc.tvm.relay.analysis import sparse_dense

    weight = np.zeros((4, 8), "float32")
    weight[2, 5] = 3.0
    func = relay.Function(
        [x := relay.var("x", shape=(1, 8)), w := relay.var("w", shape=(4, 8))], relay.nn.dense(x, w)
    )
    params = {"w": tvm.nd.array(weight)}
    found = sparse_dense.process_params(func, params, (2, 4), 0.5)
    assert found.weight_name == ["w"] and sorted(params) == ["w.data", "w.indices", "w.indptr"]
    assert found.weight_shape == [[1, 2, 4, 1, 3]]
    assert params["w.indices"].numpy().tolist() == [1]
    assert params["w.indptr"].numpy().tolist() == [0, 0, 1]
    assert params["w.data"].numpy()[0, 0].tolist() == [0, 3, 0, 0]
