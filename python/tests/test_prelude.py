"""The Prelude: its names and types, and the tensor arrays for any type and shape."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import relayc.tvm as tvm
from relayc.tvm import relay
from relayc.tvm.relay.prelude import Prelude, StaticTensorArrayOps, TensorArrayOps, get_tensor_array_shape
from relayc.tvm.relay.testing import count, make_nat_expr, make_nat_value

INT = relay.scalar_type("int32")


@pytest.fixture
def prelude():
    built = Prelude(tvm.IRModule())
    built.mod.import_from_std("nat.rly")
    return built


def run(prelude, expr):
    """The value of an expression beside the prelude."""
    return relay.create_executor("debug", mod=prelude.mod).evaluate(expr)


def list_of(prelude, items):
    _, cons, nil = prelude.mod.get_type("List")
    made = nil()
    for item in reversed(items):
        made = cons(item, made)
    return made


def items_of(value):
    items = []
    while value.constructor.name_hint == "Cons":
        items.append(value.fields[0])
        value = value.fields[1]
    return items


def ints(prelude, numbers):
    return list_of(prelude, [relay.const(n) for n in numbers])


def numbers_of(value):
    return [int(item.numpy()) for item in items_of(value)]


def test_the_text_is_that_of_the_zoo():
    here = Path(relay.prelude.__file__).parent / "std" / "prelude.rly"
    zoo = Path(__file__).parents[2] / "crates" / "zoo" / "src" / "prelude.relay"
    assert here.read_text() == zoo.read_text()


def test_types(prelude):
    mod = relay.transform.InferType()(prelude.mod)
    a, b = relay.TypeVar("a"), relay.TypeVar("b")
    lists = mod.get_global_type_var("List")
    expected = {
        prelude.map: relay.FuncType([relay.FuncType([a], b), lists(a)], lists(b), [a, b]),
        prelude.foldl: relay.FuncType([relay.FuncType([a, b], a), a, lists(b)], a, [a, b]),
        prelude.nth: relay.FuncType([lists(a), INT], a, [a]),
        prelude.length: relay.FuncType([lists(a)], INT, [a]),
        prelude.sum: relay.FuncType([lists(INT)], INT),
        prelude.zip: relay.FuncType([lists(a), lists(b)], lists(relay.TupleType([a, b])), [a, b]),
        prelude.iterate: relay.FuncType([relay.FuncType([a], a), INT], relay.FuncType([a], a), [a]),
    }
    for var, ty in expected.items():
        assert mod[var].checked_type == ty, var.name_hint


def test_functions_on_lists(prelude):
    x, y = relay.var("x", INT), relay.var("y", INT)
    three = ints(prelude, [1, 2, 3])
    double = relay.Function([x], x + x)
    minus = relay.Function([x, y], x - y)
    odd = relay.Function([x], relay.equal(relay.floor_mod(x, relay.const(2)), relay.const(1)))
    assert numbers_of(run(prelude, prelude.map(double, three))) == [2, 4, 6]
    assert numbers_of(run(prelude, prelude.rev(three))) == [3, 2, 1]
    assert numbers_of(run(prelude, prelude.filter(odd, three))) == [1, 3]
    assert numbers_of(run(prelude, prelude.concat(three, three))) == [1, 2, 3, 1, 2, 3]
    assert numbers_of(run(prelude, prelude.update(three, relay.const(1), relay.const(7)))) == [1, 7, 3]
    assert int(run(prelude, prelude.foldl(minus, relay.const(0), three)).numpy()) == -6
    assert int(run(prelude, prelude.foldr(minus, relay.const(0), three)).numpy()) == 2
    assert int(run(prelude, prelude.nth(three, relay.const(2))).numpy()) == 3
    assert int(run(prelude, prelude.length(three)).numpy()) == 3
    assert int(run(prelude, prelude.sum(three)).numpy()) == 6
    assert len(items_of(run(prelude, prelude.zip(three, ints(prelude, [4]))))) == 1


def test_natural_numbers(prelude):
    double = prelude.mod.get_global_var("nat_double")
    update = prelude.mod.get_global_var("nat_update")
    assert count(prelude, run(prelude, double(make_nat_expr(prelude, 3)))) == 6
    assert count(prelude, make_nat_value(prelude, 5)) == 5
    changed = update(ints(prelude, [1, 2, 3]), make_nat_expr(prelude, 1), relay.const(9))
    assert numbers_of(run(prelude, changed)) == [1, 9, 3]


def test_gradient_cells():
    mod = tvm.IRModule()
    mod.import_from_std("gradient.rly")
    cell, raw, one, zero = mod.get_type("GradCell")
    t = relay.TypeVar("t")
    assert relay.transform.InferType()(mod)["FromGradCell"].checked_type == relay.FuncType([cell(t)], t, [t])
    assert [c.name_hint for c in (raw, one, zero)] == ["Raw", "One", "Zero"]


def test_names_of_static_arrays(prelude):
    name = prelude.get_name_static
    assert name("tensor_t", "float32", [2, relay.Any()]) == "static_tensor_float32_2_any_t"
    assert name("tensor_array_read", "int32", []) == "tensor_array_read_int32_scalar"
    assert name("tensor_array_stack", "int32", [3], 1) == "tensor_array_stack_int32_batch1_3"
    assert name("tensor_nil", "int32", [3], 1) == "tensor_nil_int32_3"


@pytest.mark.parametrize("shape", [[], [4], [2, 3], [relay.Any(), 3]])
def test_static_arrays_are_well_typed_and_defined_once(prelude, shape):
    arrays = StaticTensorArrayOps(prelude, "float32", shape)
    arrays.register()
    first = len(prelude.mod.functions)
    StaticTensorArrayOps(prelude, "float32", shape).register()
    assert len(prelude.mod.functions) == first
    relay.transform.InferType()(prelude.mod)
    array = arrays.get_global_var("tensor_array")(relay.const(2))
    found = get_tensor_array_shape(array, "float32", prelude)
    assert [isinstance(dim, tvm.tir.Any) or int(dim) for dim in found] == [
        isinstance(dim, tvm.tir.Any) or dim for dim in shape
    ]


def tensor(value):
    """The array within a value of a tensor type."""
    return value.fields[0].numpy()


@pytest.mark.parametrize("shape", [[], [2, 3]])
def test_static_arrays_compute(prelude, shape):
    arrays = StaticTensorArrayOps(prelude, "float32", shape)
    arrays.register()
    make, empty = arrays.get_ctor("tensor_constructor"), arrays.get_global_var("tensor_array")
    values = [np.random.default_rng(i).random(shape, "float32") for i in range(2)]
    array = empty(relay.const(2))
    for i, value in enumerate(values):
        array = arrays.get_global_var("tensor_array_write")(array, relay.const(i), make(relay.const(value)))
    read = arrays.get_global_var("tensor_array_read")(array, relay.const(1))
    np.testing.assert_array_equal(tensor(run(prelude, read)), values[1])
    data = arrays.get_global_var("tensor_get_data")(read)
    np.testing.assert_array_equal(run(prelude, data).numpy(), values[1])
    stack = arrays.get_global_var("tensor_array_stack")(array)
    np.testing.assert_array_equal(tensor(run(prelude, stack)), np.stack(values))
    places = relay.const(np.array([1, 1, 0], "int32"))
    gather = arrays.get_global_var("tensor_array_gather")(array, places)
    np.testing.assert_array_equal(tensor(run(prelude, gather)), np.stack([values[1], values[1], values[0]]))


def test_arrays_of_any_rank_compute(prelude):
    arrays = TensorArrayOps(prelude, "int32")
    arrays.tensor_type_var = prelude.get_type("tensor_t", "int32")
    rows = np.arange(12, dtype="int32").reshape(4, 3)
    unstack = arrays.get_global_var("tensor_array_unstack_tensor2")(relay.const(rows))
    found = items_of(run(prelude, unstack))
    np.testing.assert_array_equal([tensor(item) for item in found], rows)
    tensor2 = arrays.get_ctor("tensor2")
    empty = arrays.get_global_var("tensor_array")(relay.const(2))
    split = arrays.get_global_var("tensor_array_split")(
        empty, tensor2(relay.const(rows)), relay.const(np.array([1, 3], "int32"))
    )
    parts = items_of(run(prelude, split))
    np.testing.assert_array_equal(tensor(parts[0]), rows[:1])
    np.testing.assert_array_equal(tensor(parts[1]), rows[1:])
    joined = arrays.get_global_var("tensor_array_concat")(split)
    np.testing.assert_array_equal(tensor(run(prelude, joined)), rows)
    scatter = arrays.get_global_var("tensor_array_scatter")(split, relay.const(np.array([1], "int32")), split)
    np.testing.assert_array_equal(tensor(items_of(run(prelude, scatter))[1]), rows[:1])
