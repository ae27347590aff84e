"""The passes that have TVM's form beside relayc's own: SimplifyExpr, FoldScaleAxis, FuseOps; and operators of the program."""

import numpy as np
import pytest

import relayc.tvm as tvm
from relayc.tvm import relay
from relayc.tvm.relay import transform


def typed(expr):
    return transform.InferType()(tvm.IRModule.from_expr(expr))


def run(step, expr):
    """`main` after a pass over a typed module; it computes what it did."""
    before = typed(expr)
    after = step(before)["main"]
    values = []
    for param in before["main"].params:
        ty = param.type_annotation
        numbers = np.random.RandomState(len(values)).uniform(1, 2, [int(dim) for dim in ty.shape])
        values.append(tvm.nd.array(numbers.astype(ty.dtype)))
    expected, found = (
        relay.create_executor("debug", mod=tvm.IRModule.from_expr(func)).evaluate()(*values).numpy()
        for func in (before["main"], after)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    return after


def assert_becomes(step, expr, expected):
    """A pass makes `expected` of an expression."""
    after = step(typed(expr))["main"]
    tvm.ir.assert_structural_equal(after.body, typed(expected)["main"].body, map_free_vars=True)


def var(name, *shape, dtype="float32"):
    return relay.var(name, shape=shape, dtype=dtype)


X = var("x", 2, 3)
ONES = relay.const(np.ones((2, 3), "float32"))


@pytest.mark.parametrize(
    "before, after",
    [
        (relay.zeros_like(X) + X, X),
        (X + X, X * relay.const(2.0)),
        (relay.const(3.0) / relay.sqrt(X), relay.const(3.0) * relay.rsqrt(X)),
        (relay.reshape(relay.reshape(X, (6,)), (3, -1)), relay.reshape(X, (3, 2))),
        (relay.transpose(relay.transpose(X)), X),
        (relay.layout_transform(X, "NC", "NC"), X),
        (relay.cast(relay.cast(X, "float64"), "float32"), X),
        (relay.cast(relay.clip(var("i", 4, dtype="int32"), 0, 255), "uint8"), None),
        (relay.full(relay.const(2.0), (2, 3)) * X, relay.const(2.0) * X),
        ((X + ONES) * relay.const(2.0), None),
        (relay.broadcast_to_like(X, var("y", 4, 2, 3)), relay.broadcast_to(X, (4, 2, 3))),
    ],
)
def test_simplify_expr(before, after):
    after = before if after is None else after
    if before is not after:
        assert_becomes(transform.SimplifyExpr(), before, after)
    run(transform.SimplifyExpr(), relay.Function(relay.analysis.free_vars(before), before))


def test_simplify_expr_keeps_layouts_that_differ():
    x = var("x", 1, 2, 4, 4, 16)
    there = relay.layout_transform(relay.layout_transform(x, "NCHW16c", "NCHW8c"), "NCHW8c", "NCHW4c")
    assert_becomes(transform.SimplifyExpr(), there, relay.layout_transform(x, "NCHW16c", "NCHW4c"))


def test_simplify_expr_factors_binomials():
    x, y = var("x", 4), var("y", 4)
    square = x * x + relay.const(5.0) * x * y + relay.const(6.0) * (y * y)
    func = run(transform.SimplifyExpr(), relay.Function([x, y], square))
    assert len([e for e in calls(func) if e.op.name == "multiply"]) <= 5


def calls(func):
    found = []
    relay.analysis.post_order_visit(func, lambda e: found.append(e) if isinstance(e, relay.Call) else None)
    return found


def names(func):
    return [call.op.name for call in calls(func) if isinstance(call.op, tvm.ir.Op)]


@pytest.mark.parametrize(
    "layouts",
    [
        ("NCHW", "OIHW", (1, 4, 5, 5), (4, 1, 1), (6, 4, 3, 3)),
        ("NHWC", "HWIO", (1, 5, 5, 4), (4,), (3, 3, 4, 6)),
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_forward_fold_scale_axis(layouts, sign):
    data_layout, kernel_layout, shape, factors, weight = layouts
    x, w = var("x", *shape), var("w", *weight)
    scale = relay.const(sign * np.arange(1, 5, dtype="float32").reshape(factors))
    y = relay.nn.relu(x * scale) if sign > 0 else x * scale
    y = relay.nn.conv2d(y, w, kernel_size=(3, 3), channels=6, data_layout=data_layout, kernel_layout=kernel_layout)
    after = run(transform.ForwardFoldScaleAxis(), relay.Function([x, w], y))
    assert "multiply" in names(after.body.args[1]) and "multiply" not in names(after.body.args[0])


def test_forward_fold_scale_axis_needs_all_users():
    x, w = var("x", 2, 4), var("w", 3, 4)
    scaled = x * relay.const(np.arange(1, 5, dtype="float32"))
    func = relay.Function([x, w], relay.sum(relay.nn.dense(scaled, w)) + relay.sum(scaled))
    after = run(transform.ForwardFoldScaleAxis(), func)
    assert tvm.ir.structural_equal(after, typed(func)["main"])


@pytest.mark.parametrize("steps", ["", "add", "bias", "relu", "both"])
def test_backward_fold_scale_axis(steps):
    x, w, b = var("x", 1, 4, 5, 5), var("w", 6, 4, 3, 3), var("b", 6)
    conv = relay.nn.conv2d(x, w, kernel_size=(3, 3), channels=6)
    y = {
        "": lambda: conv,
        "add": lambda: conv + relay.expand_dims(b, 1, 2),
        "bias": lambda: relay.nn.bias_add(conv, b),
        "relu": lambda: relay.nn.leaky_relu(relay.nn.bias_add(conv, b), 0.1),
        "both": lambda: conv + relay.nn.conv2d(x, w * relay.const(3.0), kernel_size=(3, 3), channels=6),
    }[steps]()
    y = y * relay.const(np.arange(1, 7, dtype="float32").reshape(6, 1, 1))
    after = run(transform.BackwardFoldScaleAxis(), relay.Function(relay.analysis.free_vars(y), y))
    assert after.body.op.name != "multiply"


def test_backward_fold_scale_axis_keeps_negative_factors_behind_relu():
    x, w = var("x", 2, 4), var("w", 3, 4)
    func = relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w)) * relay.const(np.float32([1, -1, 2])))
    after = run(transform.BackwardFoldScaleAxis(), func)
    assert tvm.ir.structural_equal(after, typed(func)["main"])


def groups(func):
    """The operators of each group."""
    return [names(call.op.body) for call in calls(func) if isinstance(call.op, relay.Function)]


def test_fuse_ops_by_classes():
    x, w = var("x", 1, 4, 5, 5), var("w", 4, 4, 1, 1)
    y = relay.nn.conv2d(relay.exp(x), w, kernel_size=(1, 1), channels=4)
    func = relay.Function([x, w], relay.nn.max_pool2d(relay.nn.relu(y + relay.const(1.0)), (2, 2)))
    fused = run(transform.FuseOps(2), func)
    assert groups(fused) == [["exp"], ["nn.conv2d", "add", "nn.relu"], ["nn.max_pool2d"]]
    assert all(len(group) == 1 for group in groups(run(transform.FuseOps(0), func)))
    assert tvm.ir.structural_equal(transform.DefuseOps()(tvm.IRModule.from_expr(fused))["main"], typed(func)["main"])


def test_fuse_ops_counts_operators():
    y = x = var("x", 3)
    for _ in range(6):
        y = relay.tanh(y)
    with tvm.transform.PassContext(config={"relay.FuseOps.max_depth": 4}):
        assert [len(group) for group in groups(run(transform.FuseOps(2), relay.Function([x], y)))] == [4, 2]


def test_fuse_ops_stops_where_it_is_told():
    x = var("x", 3)
    func = relay.Function([x], relay.exp(relay.annotation.stop_fusion(relay.tanh(x))))
    assert groups(run(transform.FuseOps(2), func)) == [["tanh"], ["exp"]]


@pytest.mark.parametrize("link", [False, True])
def test_fuse_ops_links_constants(link):
    x = var("x", 3)
    func = relay.Function([x], x + relay.const(np.float32([1, 2, 3])))
    with tvm.transform.PassContext(config={"relay.FuseOps.link_params": link}):
        (call,) = [c for c in calls(run(transform.FuseOps(2), func)) if isinstance(c.op, relay.Function)]
    assert len(call.args) == (1 if link else 2)


def test_fuse_ops_ends_at_diamonds_with_other_users():
    x = var("x", 3)
    a = relay.tanh(x)
    func = relay.Function([x], relay.sum(relay.sort(relay.exp(a) + relay.sqrt(a))))
    assert groups(run(transform.FuseOps(2), func)) == [["tanh", "exp", "sqrt", "add"], ["sort"], ["sum"]]


def test_own_operators_have_types():
    for name, relation in [
        ("test.identity", ("Identity",)),
        ("test.broadcast", ("Broadcast",)),
        ("test.rows", ("rows", lambda types, attrs: relay.TensorType(types[0].shape[:1], "int32"))),
        ("test.unknown", ("Unknown",)),
    ]:
        relay.op.op.register(name)
        relay.op.op.get(name).add_type_rel(*relation)
    own = lambda name, *args: relay.Call(relay.op.op.get(name), args)  # noqa: E731
    x, y = var("x", 2, 1), var("y", 3)
    sb = relay.ScopeBuilder()
    both = sb.let("both", own("test.broadcast", x, own("test.identity", y)))
    sb.ret(relay.Tuple([own("test.rows", relay.exp(both)), both]))
    main = typed(relay.Function([x, y], sb.get()))["main"]
    assert main.checked_type.ret_type == relay.TupleType([relay.TensorType((2,), "int32"), relay.TensorType((2, 3))])
    assert names(main) == ["test.identity", "test.broadcast", "exp", "test.rows"]
    with pytest.raises(tvm.TVMError, match="no type relation that relayc knows"):
        typed(own("test.unknown", x))
