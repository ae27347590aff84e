"""Programs divided among compilers, and operators combined into one."""

from __future__ import annotations

from typing import Any, List

import numpy as np
import pytest

import relayc.tvm as tvm
from relayc.tvm import relay
from relayc.tvm.relay import transform
from relayc.tvm.relay.dataflow_pattern import is_op, wildcard
from relayc.tvm.relay.testing import run_opt_pass

COMPILER = "relayc_test"


@pytest.fixture(autouse=True)
def _supported_operators() -> Any:
    """The compiler of these tests takes nn.relu and add."""
    names = ("nn.relu", "add")
    for name in names:
        tvm.ir.register_op_attr(name, f"target.{COMPILER}", lambda call: True)
    yield
    for name in names:
        tvm.ir.Op.get(name).reset_attr(f"target.{COMPILER}")


def partitioned(body: Any, *more: Any, **kwargs: Any) -> Any:
    x = relay.var("x", shape=(4,))
    mod = tvm.IRModule.from_expr(relay.Function([x], body(x)))
    passes = [
        transform.AnnotateTarget(COMPILER),
        transform.MergeCompilerRegions(),
        transform.PartitionGraph(**kwargs),
        *more,
    ]
    return tvm.transform.Sequential(passes)(mod)


def regions(mod: Any) -> List[str]:
    return sorted(v.name_hint for v in mod.get_global_vars() if v.name_hint != "main")


def test_neighbours_are_one_region() -> None:
    mod = partitioned(lambda x: relay.add(relay.nn.relu(x), relay.nn.relu(relay.tanh(x))))
    assert len(regions(mod)) == 1
    func = mod[regions(mod)[0]]
    assert func.attrs["Compiler"] == COMPILER and int(func.attrs["Inline"]) == 1
    assert func.attrs["global_symbol"] == regions(mod)[0]
    assert regions(mod)[0].startswith(f"tvmgen_default_{COMPILER}_main_")
    assert func.body.op.name == "add" and len(func.params) == 2


def test_what_leaves_and_comes_back_divides_a_region() -> None:
    def body(x: Any) -> Any:
        y = relay.nn.relu(x)
        return relay.add(relay.nn.relu(y), relay.tanh(y))

    mod = partitioned(body)
    # The sum depends on tanh, which depends on the first relu.
    assert len(regions(mod)) == 2


def test_several_results_are_a_tuple() -> None:
    def body(x: Any) -> Any:
        y = relay.nn.relu(x)
        z = relay.add(y, y)
        return relay.multiply(relay.tanh(y), relay.exp(z))

    mod = partitioned(body)
    (name,) = regions(mod)
    assert isinstance(mod[name].body, relay.Tuple)
    assert mod["main"].body.args[0].args[0].index in (0, 1)


def test_inlined_again_it_computes_the_same() -> None:
    def body(x: Any) -> Any:
        y = relay.nn.relu(x)
        return relay.add(relay.exp(y), relay.add(y, relay.tanh(x)))

    mod = partitioned(body)
    for var in mod.get_global_vars():
        mod.update_func(var, mod[var].without_attr("Compiler") if var.name_hint != "main" else mod[var])
    x = np.linspace(-1, 1, 4, dtype="float32")
    result = relay.create_executor("graph", mod=transform.Inline()(mod)).evaluate()(x)
    y = np.maximum(x, 0)
    np.testing.assert_allclose(result.numpy(), np.exp(y) + (y + np.tanh(x)), rtol=1e-5)


@pytest.mark.parametrize("bind", [True, False])
def test_constants_are_bound_or_passed(bind: bool) -> None:
    constant = relay.const(np.ones(4, "float32"))
    mod = partitioned(lambda x: relay.add(x, constant), bind_constants=bind)
    (name,) = regions(mod)
    assert len(mod[name].params) == (1 if bind else 2)


def test_the_compilers_own_passes_run_on_its_functions() -> None:
    def optimize(mod: Any) -> Any:
        x = mod["main"].params[0]
        return tvm.IRModule.from_expr(relay.Function([x], relay.tanh(x)))

    tvm.register_func(f"relay.ext.{COMPILER}.optimize", optimize)
    try:
        mod = partitioned(relay.nn.relu)
    finally:
        tvm._ffi.registry.remove_global_func(f"relay.ext.{COMPILER}.optimize")
    func = mod[regions(mod)[0]]
    assert func.body.op.name == "tanh"
    assert func.attrs["Compiler"] == COMPILER and func.attrs["global_symbol"] == regions(mod)[0]


@pytest.mark.parametrize("name, begins", [("net", "tvmgen_net_"), ("", "tvmgen_relayc_test_"), (None, "tvmgen_relayc_test_")])
def test_functions_are_named_by_the_module(name: Any, begins: str) -> None:
    assert regions(partitioned(relay.nn.relu, mod_name=name))[0].startswith(begins)
    with pytest.raises(ValueError, match="invalid characters"):
        transform.PartitionGraph(mod_name="a.b")


def test_passes_leave_functions_of_other_compilers_alone() -> None:
    mod = partitioned(lambda x: relay.nn.relu(x), transform.FuseOps())
    assert mod[regions(mod)[0]].body.op.name == "nn.relu"


def test_composite_functions_are_what_patterns_match() -> None:
    pattern = is_op("add")(is_op("nn.relu")(wildcard()), wildcard())
    x = relay.var("x", shape=(4,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.add(relay.nn.relu(x), x)))
    mod = transform.InferType()(mod)
    table = [(f"{COMPILER}.relu_add", pattern, lambda call: int(call.checked_type.shape[0]) == 4)]
    merged = transform.MergeComposite(table)(mod)
    assert merged["main"].body.op.attrs["Composite"] == f"{COMPILER}.relu_add"
    refused = transform.MergeComposite([("name", pattern, lambda call: False)])(mod)
    assert refused["main"].body.op.name == "add"
    annotated = transform.AnnotateTarget(COMPILER)(merged)
    assert annotated["main"].body.attrs.compiler == COMPILER


def test_literals_for_a_compiler_become_global_and_back() -> None:
    x, y = relay.var("x", shape=(4,)), relay.var("y", shape=(4,))
    literal = relay.Function([y], relay.nn.relu(y))
    literal = literal.with_attr("Compiler", COMPILER).with_attr("global_symbol", "taken_out")
    mod = tvm.IRModule.from_expr(relay.Function([x], literal(x)))
    out = transform.OutlineCompilerFunctionsWithExistingGlobalSymbols(COMPILER)(mod)
    assert out["main"].body.op.name_hint == "taken_out"
    extern = transform.MarkCompilerFunctionsAsExtern(COMPILER)(out)
    assert list(extern["taken_out"].attrs.keys()) == ["Extern"]
    back = transform.InlineCompilerFunctionsBoundTo([out.get_global_var("taken_out")])(out)
    assert "taken_out" not in back and back["main"].body.op.name == "nn.relu"


@pytest.mark.parametrize("to_batch", [True, False])
def test_dense_layers_are_combined(to_batch: bool) -> None:
    x = relay.var("x", shape=(2, 3))
    weights = [relay.const(np.full((4, 3), i, "float32")) for i in (1, 2, 3)]
    parts = [relay.add(relay.nn.dense(x, w), relay.const(1.0)) for w in weights]
    func = relay.Function([x], relay.Tuple(parts))
    few = run_opt_pass(func, transform.CombineParallelDense(4, to_batch))
    assert relay.analysis.list_op_freqs(tvm.IRModule.from_expr(few))["nn.dense"] == 3
    combined = run_opt_pass(func, transform.CombineParallelDense(3, to_batch))
    counts = relay.analysis.list_op_freqs(tvm.IRModule.from_expr(combined))
    assert counts.get("nn.batch_matmul" if to_batch else "nn.dense") == 1 and counts["add"] == 1
    data = np.arange(6, dtype="float32").reshape(2, 3)
    results = [
        relay.create_executor("graph", mod=tvm.IRModule.from_expr(f)).evaluate()(data)
        for f in (func, combined)
    ]
    for one, two in zip(*results):
        np.testing.assert_allclose(one.numpy(), two.numpy(), rtol=1e-5)


def test_convolutions_of_one_input_are_combined() -> None:
    x = relay.var("x", shape=(1, 4, 8, 8))
    parts = [relay.nn.relu(relay.nn.conv2d(x, relay.var(f"w{n}", shape=(n, 4, 1, 1)))) for n in (2, 3)]
    joined = relay.concatenate(parts, axis=1)
    func = relay.Function(relay.analysis.free_vars(joined), joined)
    combined = run_opt_pass(func, transform.CombineParallelConv2D(2))
    counts = relay.analysis.list_op_freqs(tvm.IRModule.from_expr(combined))
    assert counts["nn.conv2d"] == 1 and counts["nn.relu"] == 1 and counts["strided_slice"] == 2
