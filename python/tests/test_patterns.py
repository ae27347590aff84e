"""The dataflow pattern language: what matches, what is rewritten, what becomes a function, at any size."""

from __future__ import annotations

import time

import numpy as np
import pytest

import relayc.tvm as tvm
from relayc.tvm import TVMError, relay
from relayc.tvm.relay import dataflow_pattern as dp
from relayc.tvm.relay.dataflow_pattern import is_op, rewrite, wildcard
from relayc.tvm.relay.dataflow_pattern.graph import ExprGraph


def equal(a, b):
    return tvm.ir.structural_equal(a, b, map_free_vars=True)


def names(partitioned):
    return partitioned.op.attrs["PartitionedFromPattern"]


class Replace(dp.DFPatternCallback):
    """Replaces matches of a pattern by what a function makes of them."""

    def __init__(self, pattern, function, **options):
        super().__init__(**options)
        self.pattern = pattern
        self.function = function

    def callback(self, pre, post, node_map):
        return self.function(pre, post, node_map)


@pytest.fixture
def xyz():
    return [relay.var(name, shape=(2, 3)) for name in "xyz"]


class TestMatch:
    def test_one_pattern_twice_is_one_expression(self, xyz):
        x, y, _ = xyz
        same = wildcard()
        assert (same - same).match(x - x)
        assert not (same - same).match(x - y)

    def test_add_and_multiply_commute(self, xyz):
        x, y, _ = xyz
        for op, matches in (("add", True), ("multiply", True), ("subtract", False)):
            pattern = is_op(op)(dp.is_var("x"), dp.is_var("y"))
            assert pattern.match(getattr(relay, op)(x, y))
            assert pattern.match(getattr(relay, op)(y, x)) is matches

    def test_products_and_quotients_associate(self, xyz):
        x, y, z = xyz
        a, b, c = (dp.is_var(name) for name in "xyz")
        assert ((a * b) / c).match(x * (y / z))
        assert ((a * b) / c).match(y * (x / z))
        assert (a * (b / c)).match((x * y) / z)
        assert not ((a * b) / c).match(z * (x / y))

    def test_a_failed_alternative_leaves_no_trace(self, xyz):
        x, y, _ = xyz
        a, b = wildcard(), wildcard()
        first = is_op("subtract")(a, is_op("exp")(b))
        second = is_op("subtract")(b, a)
        seen = {}
        rewrite(Replace(first | second, lambda pre, post, found: seen.update(found.items()) or post), x - y)
        assert seen[a][0] is y and seen[b][0] is x and first not in seen

    def test_attributes_of_operators_calls_and_functions(self, xyz):
        x, y, _ = xyz
        pool = relay.nn.max_pool2d(relay.var("i", shape=(1, 1, 4, 4)), pool_size=(2, 2))
        any_call = wildcard()(None)
        assert any_call.has_attr({"pool_size": [2, 2], "layout": "NCHW"}).match(pool)
        assert not any_call.has_attr({"pool_size": [2, 3]}).match(pool)
        assert not any_call.has_attr({"pool_size": [2, 2], "no_such": 1}).match(pool)
        assert is_op("add").has_attr({"TOpPattern": 1})(None).match(x + y)
        assert not is_op("add").has_attr({"TOpPattern": 0})(None).match(x + y)
        function = relay.Function([x], x).with_attr("Composite", "id")
        assert wildcard().has_attr({"Composite": "id"}).match(function)
        assert not wildcard().has_attr({"Composite": "other"}).match(function)

    def test_types(self, xyz):
        x, y, _ = xyz
        total = relay.sum(x + y, axis=1)
        assert dp.has_shape((2,)).match(total)
        assert not dp.has_shape((2, 3)).match(total)
        assert is_op("sum")(dp.has_shape((2, 3))).has_dtype("float32").match(total)
        assert dp.has_type(relay.TensorType((2,), "float32")).match(total)
        assert not dp.has_dtype("int32").match(total)

    def test_binders_conditions_and_functions(self, xyz):
        x, y, _ = xyz
        v, cond = relay.var("v"), relay.var("c", shape=(), dtype="bool")
        let = relay.Let(v, x + y, relay.exp(v))
        bound = dp.is_var("v")
        assert dp.is_let(bound, wildcard() + wildcard(), is_op("exp")(bound)).match(let)
        assert dp.is_if(dp.is_var("c"), wildcard(), dp.is_var("y")).match(relay.If(cond, x, y))
        assert not dp.is_if(dp.is_var("c"), wildcard(), dp.is_var("x")).match(relay.If(cond, x, y))
        a = wildcard()
        assert dp.FunctionPattern([a, wildcard()], is_op("exp")(a)).match(relay.Function([x, y], relay.exp(x)))
        assert not dp.FunctionPattern([a], is_op("exp")(a)).match(relay.Function([x, y], relay.exp(x)))

    def test_tuples(self, xyz):
        x, y, _ = xyz
        pair = relay.Tuple([x, y])
        assert dp.is_tuple([dp.is_var("x"), wildcard()]).match(pair)
        assert not dp.is_tuple([wildcard()]).match(pair)
        assert dp.is_tuple(None).match(pair)
        assert dp.is_tuple_get_item(dp.is_tuple(None), 1).match(relay.TupleGetItem(pair, 1))
        assert not dp.is_tuple_get_item(dp.is_tuple(None), 1).match(relay.TupleGetItem(pair, 0))

    def test_dominators_lead_to_one_parent(self, xyz):
        x, y, _ = xyz
        unary = wildcard().has_attr({"TOpPattern": 0})(wildcard())
        pattern = dp.dominates(is_op("nn.dense")(wildcard(), wildcard()), unary, wildcard() + wildcard())
        w = relay.var("w", shape=(3, 3))
        parent = relay.nn.dense(x, w)
        assert pattern.match(relay.exp(parent) + relay.tanh(relay.exp(parent)))
        assert not pattern.match(relay.exp(parent) + relay.exp(relay.nn.dense(y, w)))
        assert not pattern.match(relay.exp(parent) + relay.exp(x))
        assert not pattern.match(relay.exp(parent) + relay.exp(parent + x))

    def test_text_of_shared_and_recursive_patterns_ends(self):
        again = wildcard()
        pattern = is_op("exp")(again) | (again + again)
        again.redirect_to(pattern)
        text = str(pattern)
        assert "exp" in text and "add" in text and len(text) < 200


class TestRewrite:
    def test_the_callback_sees_rewritten_inputs(self, xyz):
        x, y, z = xyz
        a, b = wildcard(), wildcard()
        out = rewrite(Replace(a + b, lambda pre, post, found: found[a][0] - found[b][0]), (x + y) + z)
        assert equal(out, (x - y) - z)

    def test_an_unchanged_program_is_the_same_object(self, xyz):
        x, y, _ = xyz
        program = relay.Function([x, y], relay.exp(x + y))
        assert rewrite(Replace(is_op("tanh")(wildcard()), lambda *_: x), program) is program

    def test_shared_expressions_are_rewritten_once(self, xyz):
        x, y, _ = xyz
        shared = relay.exp(x + y)
        times = Replace(wildcard() + wildcard(), lambda pre, post, _: post.args[0] * post.args[1])
        out = rewrite(times, shared - shared)
        assert out.args[0] is out.args[1]

    def test_callbacks_run_until_nothing_changes(self, xyz):
        x = xyz[0]
        zero = dp.is_expr(relay.const(0.0))
        a = wildcard()
        twice = (x + relay.const(0.0)) + relay.const(0.0)
        out = rewrite(Replace(a + zero, lambda pre, post, found: found[a][0]), twice)
        assert out is x

    def test_a_callback_without_an_end_is_an_error(self, xyz):
        x = xyz[0]

        def count(pre, post, _):
            return post.args[0] + relay.const(float(post.args[1].data.numpy()) + 1)

        with pytest.raises(TVMError, match="100 rewrite passes"):
            rewrite(Replace(wildcard() + dp.is_constant(), count), x + relay.const(0.0))

    def test_once(self, xyz):
        x = xyz[0]
        grow = Replace(is_op("exp")(wildcard()), lambda pre, post, _: relay.exp(post), rewrite_once=True)
        assert equal(rewrite(grow, relay.exp(x)), relay.exp(relay.exp(x)))

    def test_types_are_there_if_required(self, xyz):
        x, y, _ = xyz
        seen = []
        look = Replace(
            wildcard() + wildcard(), lambda pre, post, _: seen.append(pre.checked_type) or pre, require_type=True
        )
        rewrite(look, relay.exp(x + y))
        assert seen[0] == relay.TensorType((2, 3), "float32")

    def test_inside_of_binders_matches_and_recursion(self, xyz):
        mod = tvm.IRModule()
        prelude = relay.prelude.Prelude(mod)
        _, cons, nil = mod.get_type("List")
        f, item, rest = relay.var("f"), relay.var("item"), relay.var("rest")
        items = relay.var("items", mod.get_global_type_var("List")(relay.TensorType((), "float32")))
        cases = [
            relay.Clause(relay.PatternConstructor(nil), nil()),
            relay.Clause(
                relay.PatternConstructor(cons, [relay.PatternVar(item), relay.PatternVar(rest)]),
                cons(item + item, f(rest)),
            ),
        ]
        program = relay.Let(f, relay.Function([items], relay.Match(items, cases)), f)
        out = rewrite(Replace(wildcard() + wildcard(), lambda pre, post, _: post.args[0] * post.args[1]), program)
        assert prelude.mod is mod
        new_cons = out.value.body.clauses[1].rhs
        assert new_cons.args[0].op.name == "multiply" and new_cons.args[1].op is out.var


class TestPartition:
    def test_inputs_in_the_order_of_the_pattern(self, xyz):
        x, y, z = xyz
        out = (wildcard() + (wildcard() * wildcard())).partition(x + (y * z), {"Composite": "fma"})
        assert [arg.name_hint for arg in out.args] == ["x", "y", "z"]
        assert names(out) == "multiply_add_" and out.op.attrs["Composite"] == "fma"
        assert [param.name_hint for param in out.op.params] == ["FunctionVar_0_0", "FunctionVar_0_1", "FunctionVar_0_2"]

    def test_constants_stay_where_the_pattern_asks_for_one(self, xyz):
        x, two = xyz[0], relay.const(2.0)
        assert len((wildcard() * wildcard()).partition(x * two).args) == 2
        assert len((wildcard() * dp.is_constant()).partition(x * two).args) == 1
        assert len((wildcard() * (dp.is_var() | dp.is_constant())).partition(x * two).args) == 1

    def test_no_cycle_is_made(self, xyz):
        x, y, _ = xyz
        inner = relay.exp(x)
        pattern = is_op("tanh")(is_op("exp")(wildcard()))
        escaping = relay.tanh(inner) + inner
        assert pattern.partition(escaping) is escaping
        # What leads back to the root may use the inside.
        product = (wildcard() + wildcard()) * wildcard()
        total = x + y
        returning = total * relay.sigmoid(total)
        assert names(product.partition(returning)) == "add_multiply_"

    def test_groups_do_not_overlap_and_the_largest_wins(self, xyz):
        x, y, _ = xyz
        chain = is_op("exp")(wildcard()).optional(is_op("tanh"))
        out = chain.partition(relay.tanh(relay.exp(x)))
        assert names(out) == "exp_tanh_" and out.args[0] is x

    def test_the_predicate_decides(self, xyz):
        x, y, _ = xyz
        program = relay.exp(x) + relay.exp(y)
        out = is_op("exp")(wildcard()).partition(program, check=lambda pre: pre.args[0] is x)
        assert isinstance(out.args[0].op, relay.Function) and out.args[1] is program.args[1]

    def test_partitions_are_left_alone(self, xyz):
        x = xyz[0]
        once = is_op("exp")(wildcard()).partition(relay.exp(x))
        assert is_op("exp")(wildcard()).partition(once) is once


class TestSize:
    """10,000 operators take a second or so, and deep programs no deep stack."""

    N = 10_000

    def chain(self):
        x = expr = relay.var("x", shape=(4,))
        for _ in range(self.N // 2):
            expr = relay.exp(expr + x)
        return x, expr

    def test_rewrite_and_partition(self):
        x, expr = self.chain()
        a = wildcard()
        start = time.process_time()
        out = rewrite(Replace(is_op("exp")(a + wildcard()), lambda pre, post, found: relay.tanh(found[a][0])), expr)
        is_op("exp")(wildcard() + wildcard()).partition(expr)
        assert time.process_time() - start < 15
        depth = 0
        while out is not x:
            out, depth = out.args[0], depth + 1
        assert depth == self.N // 2

    def test_a_pattern_as_deep_as_the_program(self):
        _, expr = self.chain()
        again = wildcard()
        pattern = is_op("exp")((again | dp.is_var()) + dp.is_var())
        again.redirect_to(pattern)
        assert pattern.match(expr)
        assert not pattern.match(relay.tanh(expr))

    def test_a_chain_of_bindings(self):
        x = value = relay.var("x", shape=(4,))
        bindings = []
        for i in range(self.N):
            var = relay.var(f"v{i}")
            bindings.append((var, relay.exp(value)))
            value = var
        body = value
        for var, bound in reversed(bindings):
            body = relay.Let(var, bound, body)
        out = rewrite(Replace(is_op("exp")(wildcard()), lambda pre, post, _: relay.tanh(post.args[0])), body)
        count = 0
        while isinstance(out, relay.Let):
            assert out.value.op.name == "tanh"
            out, count = out.body, count + 1
        assert count == self.N

    def test_paths_that_multiply(self):
        parent = expr = relay.exp(relay.var("x", shape=(4,)))
        for _ in range(500):
            expr = expr * expr
        pattern = dp.dominates(is_op("exp")(wildcard()), wildcard() * wildcard(), wildcard() * wildcard())
        assert pattern.match(expr) and not pattern.match(parent)


def test_dominators_of_a_graph():
    x = relay.var("x", shape=(4,))
    fork = relay.exp(x)
    left, right = relay.tanh(fork), relay.sigmoid(fork)
    join = left + right
    graph = ExprGraph(relay.negative(join))
    assert graph.dominates(join, fork) and graph.dominates(join, x) and graph.dominates(fork, x)
    assert not graph.dominates(left, fork) and not graph.dominates(fork, join) and not graph.dominates(join, join)


def test_constants_match_by_value():
    eps = relay.const(np.float32(1e-5))
    assert dp.is_expr(relay.const(np.float32(1e-5))).match(eps)
    assert not dp.is_expr(relay.const(np.float32(2e-5))).match(eps)


def test_callbacks_that_do_not_end_or_return_nothing_are_errors():
    pattern, expr = is_op("nn.relu")(wildcard()), relay.nn.relu(relay.var("x", shape=(2,)))
    with pytest.raises(TVMError, match="Replace makes more of what it matches .* rewrite_once"):
        Replace(pattern, lambda pre, post, found: relay.nn.relu(post)).rewrite(expr)
    with pytest.raises(TypeError, match="Replace.callback returned None"):
        Replace(pattern, lambda pre, post, found: None).rewrite(expr)
