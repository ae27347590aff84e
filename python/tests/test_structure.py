"""Structural equality, hashes and JSON of nodes; programs that are very deep."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from typing import Any, Callable

import numpy as np
import pytest
import relayc.tvm as tvm
from relayc.tvm import relay

#: Deeper than the limit that Relay sets for recursion.
DEEP = 12_000


def equal(a: Any, b: Any, map_free_vars: bool = False) -> bool:
    """Equality, which must be symmetric and agree with the hashes."""
    same = tvm.ir.structural_equal(a, b, map_free_vars)
    assert same == tvm.ir.structural_equal(b, a, map_free_vars)
    assert same == (tvm.ir.structural_hash(a, map_free_vars) == tvm.ir.structural_hash(b, map_free_vars))
    return same


def again(node: Any) -> Any:
    return tvm.ir.load_json(tvm.ir.save_json(node))


def vector(name: str = "x") -> relay.Var:
    return relay.var(name, shape=(4,))


def test_variables_are_equal_where_they_are_defined() -> None:
    x, y = vector("x"), vector("y")
    assert not equal(x, y) and equal(x, y, map_free_vars=True)
    assert equal(relay.Function([x], x), relay.Function([y], y))
    assert not equal(relay.Function([x, y], x), relay.Function([y, x], x))
    assert equal(relay.Function([x, y], relay.add(x, y)), relay.Function([y, x], relay.add(y, x)))
    assert equal(relay.Let(x, relay.const(1), x), relay.Let(y, relay.const(1), y))
    wide = relay.var("w", shape=(5,))
    assert not equal(relay.Function([x], x), relay.Function([wide], wide))


def test_sharing_is_structure() -> None:
    x = vector()
    once = relay.nn.relu(x)
    assert not equal(relay.add(once, once), relay.add(relay.nn.relu(x), relay.nn.relu(x)))
    assert equal(relay.add(once, once), relay.add(once, once))
    unit = relay.Tuple([])
    assert equal(relay.Tuple([unit, unit]), relay.Tuple([relay.Tuple([]), relay.Tuple([])]))


def test_constants_by_their_bytes() -> None:
    assert equal(relay.const(1.0), relay.const(1.0)) and not equal(relay.const(1.0), relay.const(2.0))
    assert not equal(relay.const(1, "int32"), relay.const(1, "int64"))
    assert equal(relay.const(np.nan), relay.const(np.nan))
    assert not equal(relay.const(0.0), relay.const(-0.0))


def test_attributes_count() -> None:
    x = relay.var("x", shape=(1, 4, 4, 4))
    assert equal(relay.nn.max_pool2d(x, (2, 2)), relay.nn.max_pool2d(x, (2, 2)))
    assert not equal(relay.nn.max_pool2d(x, (2, 2)), relay.nn.max_pool2d(x, (2, 3)))
    close = relay.nn.leaky_relu(x, alpha=0.25 + 1e-12)
    assert tvm.ir.structural_equal(relay.nn.leaky_relu(x, alpha=0.25), close)
    f = relay.Function([x], x)
    assert not equal(f, f.with_attr("Primitive", 1))
    marked = [relay.Function([y], y).with_attr("of", {y: relay.const(1)}) for y in (vector("a"), vector("b"))]
    assert equal(*marked)


def test_modules_by_names() -> None:
    def module(name: str, order: Callable[[Any], Any]) -> tvm.IRModule:
        g = relay.GlobalVar(name)
        x, y = vector(), vector()
        functions = {g: relay.Function([x], x), relay.GlobalVar("main"): relay.Function([y], g(y))}
        return tvm.IRModule(dict(order(list(functions.items()))))

    assert equal(module("f", list), module("f", lambda items: items[::-1]))
    assert not equal(module("f", list), module("g", list))


def test_a_mismatch_is_named() -> None:
    x = vector()
    a, b = (relay.Function([x], relay.nn.relu(relay.add(x, relay.const(v)))) for v in (1.0, 2.0))
    with pytest.raises(ValueError, match=r"lhs at <root>\.body\.args\[0\]\.args\[1\]\.data"):
        tvm.ir.assert_structural_equal(a, b)
    tvm.ir.assert_structural_equal(a, a)


def test_json_keeps_sharing_and_values() -> None:
    x = relay.var("x", relay.TupleType([relay.TensorType((1, relay.Any()), "float16"), relay.scalar_type("bool")]))
    shared = relay.TupleGetItem(x, 0)
    body = relay.If(relay.TupleGetItem(x, 1), shared, relay.add(shared, relay.const(2.5, "float16")))
    function = relay.Function([x], body).with_attr("k", [1, "two", 3.5])
    back = again(function)
    assert equal(function, back)
    assert back.body.true_branch is back.body.false_branch.args[0]
    assert back.attrs["k"][1] == "two" and back.attrs["k"][2].value == 3.5
    data = json.loads(tvm.ir.save_json(function))
    assert {"root", "nodes", "b64ndarrays", "attrs"} == data.keys() and data["nodes"][0] == {"type_key": ""}


def test_json_of_attributes_types_and_modules() -> None:
    x = relay.var("x", shape=(1, 3, 8, 8))
    call = relay.nn.conv2d(x, relay.var("w"), padding=(1, 1), kernel_size=(3, 3), channels=4)
    assert equal(again(call), call, map_free_vars=True)
    module = relay.Prelude().mod
    back = again(module)
    assert equal(back, module)
    assert back.get_constructor(module.get_type("List")[1].tag).name_hint == "Cons"
    for node in (relay.Span(None, 1, 2, 3, 4), tvm.runtime.String("a\x01"), tvm.runtime.ShapeTuple([1, 2])):
        assert equal(again(node), node)


def test_damaged_json() -> None:
    text = tvm.ir.save_json(relay.Function([], relay.const(1)))
    data = json.loads(text)
    for change in (
        lambda d: d.pop("nodes"),
        lambda d: d.update(root=10**6),
        lambda d: d["nodes"][1].update(type_key="no.Such"),
        lambda d: d["b64ndarrays"].clear(),
        lambda d: d.update(b64ndarrays=["AAAA"]),
        lambda d: d["nodes"][1]["attrs"].update(body="x"),
        lambda d: d["nodes"][1]["attrs"].update(body="-1"),
        lambda d: d["nodes"][1]["attrs"].update(body="1"),
        lambda d: d["nodes"][1]["attrs"].pop("body"),
        lambda d: d["nodes"].append(None),
    ):
        damaged = json.loads(text)
        change(damaged)
        with pytest.raises(tvm.TVMError):
            tvm.ir.load_json(json.dumps(damaged))
    assert data
    with pytest.raises(tvm.TVMError):
        tvm.ir.load_json("no JSON")
    with pytest.raises(tvm.TVMError, match="[Cc]ycl"):
        tvm.ir.load_json('{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "Array", "data": [1]}]}')


def test_json_and_pickles_in_a_process_that_has_not_imported_relay() -> None:
    module = tvm.IRModule.from_expr(relay.Function([vector()], relay.const(1)))
    json_lines = "import relayc.tvm as tvm; print(type(tvm.ir.load_json(sys.stdin.buffer.read().decode())).__name__)"
    pickle_lines = "import pickle; print(type(pickle.loads(sys.stdin.buffer.read())).__name__)"
    for lines, data in ((json_lines, tvm.ir.save_json(module).encode()), (pickle_lines, pickle.dumps(module))):
        done = subprocess.run([sys.executable, "-c", f"import sys; {lines}"], input=data, capture_output=True)
        assert (done.stdout.decode().strip(), done.returncode) == ("IRModule", 0), done.stderr.decode()


def calls(depth: int) -> relay.Function:
    x = y = vector()
    for _ in range(depth):
        y = relay.nn.relu(y)
    return relay.Function([x], y)


def bindings(depth: int) -> relay.Function:
    x = vector()
    variables = [relay.Var("v") for _ in range(depth)]
    body = variables[-1]
    for i in reversed(range(depth)):
        body = relay.Let(variables[i], relay.nn.relu(variables[i - 1] if i else x), body)
    return relay.Function([x], body)


def fields(depth: int) -> relay.Function:
    x = y = vector()
    for _ in range(depth):
        y = relay.TupleGetItem(relay.Tuple([y]), 0)
    return relay.Function([x], y)


def branches(depth: int) -> relay.Function:
    x = y = relay.var("x", shape=(), dtype="bool")
    for _ in range(depth):
        y = relay.If(x, y, x)
    return relay.Function([x], y)


class Renamed(relay.ExprMutator):
    """New variables throughout."""

    def visit_var(self, var: relay.Var) -> relay.Var:
        return relay.Var(var.name_hint, var.type_annotation)


@pytest.mark.parametrize("program", [calls, bindings, fields, branches])
def test_nothing_recurses(program: Callable[[int], relay.Function]) -> None:
    function, other = program(DEEP), program(DEEP)
    assert tvm.ir.structural_equal(function, other)
    assert tvm.ir.structural_hash(function) == tvm.ir.structural_hash(other)
    assert tvm.ir.structural_equal(again(function), function)
    assert not relay.analysis.free_vars(function) and relay.analysis.well_formed(function)
    seen: list = []
    relay.analysis.post_order_visit(function, seen.append)
    assert seen[-1] is function and len(seen) > DEEP
    module = tvm.IRModule.from_expr(function)
    assert module["main"] is function
    if program is not branches:  # whose visitors recurse, as TVM's do
        relay.ExprVisitor().visit(function)
        assert relay.ExprMutator().visit(function) is function
        assert tvm.ir.structural_equal(Renamed().visit(function), function)
    x = function.params[0]
    replaced = relay.bind(function.body, {x: relay.Var("z", x.type_annotation)})
    assert replaced is not function.body


def test_deep_types() -> None:
    types = []
    for _ in range(2):
        ty: relay.Type = relay.scalar_type("int32")
        for _ in range(DEEP):
            ty = relay.TupleType([ty])
        types.append(ty)
    assert types[0] == types[1] and hash(types[0]) == hash(types[1])
