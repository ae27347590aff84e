"""Nodes: how they are made, what they are equal to, how they are written and changed."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import relayc.tvm as tvm
from relayc.tvm import relay, tir
from relayc.tvm.runtime.container import Array, Map, String


def vector(name: str = "x") -> relay.Var:
    return relay.var(name, shape=(4,))


def test_a_node_has_the_fields_it_was_made_of() -> None:
    x = vector()
    call = relay.Call(relay.op.get("nn.relu"), [x])
    assert call.op.name == "nn.relu"
    assert call.args == (x,) and isinstance(call.args, Array)
    assert call.attrs is None and call.type_args == () and call.span is None
    assert x.name_hint == "x" and x.vid.name_hint == "x"
    assert x.type_annotation.shape[0].value == 4


def test_expressions_are_equal_if_they_are_the_same() -> None:
    assert vector() != vector()
    x = vector()
    assert x == x and x.same_as(x) and {x: 1}[x] == 1
    assert relay.op.get("add") is relay.op.get("add")


def test_types_are_equal_if_their_structure_is() -> None:
    ty = relay.TensorType((1, 2), "float32")
    assert ty == relay.TensorType([1, 2]) and hash(ty) == hash(relay.TensorType([1, 2]))
    assert ty != relay.TensorType((1, 3)) and ty != relay.TensorType((1, 2), "int32")
    assert relay.TypeVar("a") != relay.TypeVar("a")
    a, b = relay.TypeVar("a"), relay.TypeVar("b")
    assert relay.FuncType([a], a, [a]) == relay.FuncType([b], b, [b])


def test_a_type_without_inference_is_an_error() -> None:
    with pytest.raises(ValueError, match="checked_type"):
        vector().checked_type


def test_arguments_must_be_expressions() -> None:
    with pytest.raises(tvm.TVMError, match="relay.const"):
        relay.Call(relay.op.get("nn.relu"), [1.0])
    with pytest.raises(tvm.TVMError, match="relay.const"):
        relay.Constant(np.ones(2))
    with pytest.raises(tvm.TVMError, match="shape="):
        relay.var("x", (1, 2))
    with pytest.raises(tvm.TVMError, match="relay.var"):
        relay.Function([relay.const(1)], relay.const(1))
    with pytest.raises(tvm.TVMError, match="astuple"):
        relay.Function([], relay.split(vector(), 2))
    with pytest.raises(TypeError, match="const"):
        vector() + 1.0
    with pytest.raises(ValueError, match="scalar or NDArray"):
        relay.const("text")


def test_numbers_of_python_become_32_bits() -> None:
    assert relay.const(1).data.dtype == "int32"
    assert relay.const(1.5).data.dtype == "float32"
    assert relay.const(np.ones(2)).data.dtype == "float32"
    assert relay.const(1, "int64").data.dtype == "int64"
    assert relay.const(True).data.dtype == "bool"
    assert relay.const([1, 2]).data.shape == (2,)
    tensor = tvm.nd.array(np.ones(2))
    assert relay.const(tensor).data is tensor and tensor.dtype == "float64"


def test_operators_of_python_make_calls() -> None:
    x, y = vector("x"), vector("y")
    names = {
        "add": x + y,
        "subtract": x - y,
        "multiply": x * y,
        "divide": x / y,
        "negative": -x,
        "less": x < y,
        "greater_equal": x >= y,
        "cast": x.astype("int8"),
    }
    for name, call in names.items():
        assert call.op.name == name
    assert relay.Tuple([x, y])[1] is y
    assert x(y).op is x


def test_a_changed_copy_leaves_the_node_as_it_is() -> None:
    x, y = vector("x"), vector("y")
    function = relay.Function([x], x)
    marked = function.with_attr("Compiler", "a")
    assert function.attrs is None and marked.attrs["Compiler"] == "a"
    assert marked.with_attr({"k": 1}).attrs["k"].value == 1
    assert "Compiler" not in marked.without_attr("Compiler").attrs
    call = relay.nn.relu(x)
    assert relay.expr.CallWithFields(call, args=[x]) is call
    other = relay.expr.CallWithFields(call, args=[y])
    assert other.args[0] is y and call.args[0] is x


def test_the_array_of_a_constant_may_be_written_to() -> None:
    module = relay.parse('#[version = "0.0.5"]\ndef @main() { 1f }')
    constant = module["main"].body
    constant.data.copyfrom(np.array(2.0, "float32"))
    assert constant.data.numpy() == 2.0 and "2f" in str(module)
    other = relay.expr.ConstantWithFields(relay.parse_expr("1f"), data=tvm.nd.array(np.float32(3)))
    assert "3f" in str(other)


def test_variables_are_replaced() -> None:
    x, y = vector("x"), vector("y")
    function = relay.Function([x, y], relay.add(x, y))
    bound = relay.bind(function, {x: relay.const(1.0)})
    assert bound.params == (y,)
    z = vector("z")
    renamed = relay.bind(function, {x: z})
    assert renamed.params == (y, z)
    assert relay.bind(function, {}) is function
    with pytest.raises(tvm.TVMError, match="defined within"):
        relay.bind(relay.Let(x, y, x), {x: y})
    tv = relay.TypeVar("a")
    assert relay.bind(relay.TupleType([tv]), {tv: relay.scalar_type("int8")}).fields[0].dtype == "int8"


def test_containers() -> None:
    array = tvm.runtime.convert([1, [2, "three"]])
    assert array[0].value == 1 and array[1][1] == "three" and isinstance(array[1][1], String)
    assert array[0:1] == [1] and isinstance(array[0:1], list)
    table = tvm.runtime.convert({"a": 1})
    assert isinstance(table, Map) and table["a"] == 1 and table.get("b", 5) == 5 and list(table) == ["a"]
    with pytest.raises(ValueError, match="convert"):
        tvm.runtime.convert(object())


@pytest.mark.parametrize(
    "made, folded",
    [
        (tir.IntImm("int32", 7) + 1, 8),
        (tir.IntImm("int32", -7) // 2, -4),
        (tir.IntImm("int32", -7) % 2, 1),
        (tir.truncdiv(-7, 2), -3),
        (tir.truncmod(-7, 2), -1),
        (tir.max(3, tir.IntImm("int32", 5)), 5),
        (tir.ceildiv(7, 2), 4),
        (-tir.IntImm("int64", 3), -3),
        (tir.IntImm("int32", 2) * 0, 0),
    ],
)
def test_constants_fold(made: tir.PrimExpr, folded: int) -> None:
    assert isinstance(made, tir.IntImm) and made == folded and int(made) == folded


def test_dimensions() -> None:
    n = tvm.te.size_var("n")
    assert n + 0 is n and n * 1 is n and 1 * n is n and (n * 0) == 0
    grown = n + 1
    assert isinstance(grown, tir.Add) and grown.a is n and grown.b.value == 1
    assert (n == n) and not (n == tvm.te.size_var("n"))
    shape = relay.TensorType((n, relay.Any(), np.int64(3))).shape
    assert shape[0] is n and isinstance(shape[1], tir.Any) and shape[2].value == 3
    with pytest.raises(TypeError, match="dimensions are integers"):
        relay.TensorType((1.5,))
    with pytest.raises(ZeroDivisionError):
        n // 0
    with pytest.raises(RuntimeError, match="floordiv"):
        n / 2
    with pytest.raises(ValueError, match="tvm.tir.all"):
        bool(n < 3)


def test_text_of_nodes() -> None:
    x = vector()
    assert str(relay.TensorType((1, relay.Any()))) == "Tensor[(1, ?), float32]"
    assert repr([x]) == "[Var(x, ty=TensorType([4], float32))]"
    assert str(relay.Function([x], x)).startswith("fn (%x: Tensor[(4), float32]")
    module = tvm.IRModule.from_expr(relay.Function([x], x))
    assert str(module).startswith("def @main") and module.astext().startswith("#[version")
    assert str(relay.GlobalVar("f")) == "@f"


def test_nodes_pickle() -> None:
    x = vector()
    function = relay.Function([x], relay.add(x, relay.const(np.arange(4.0))))
    back = pickle.loads(pickle.dumps(function))
    assert tvm.ir.structural_equal(function, back)
    assert back.params[0] is back.body.args[0]


def test_unknown_names() -> None:
    with pytest.raises(AttributeError, match="no.such"):
        relay.op.get("no.such")
    with pytest.raises(AttributeError, match="no attribute"):
        relay.nn.softmax(vector()).attrs.no_such
    with pytest.raises(tvm.TVMError, match="no.Such"):
        tvm.ir.make_node("no.Such")


def test_wrong_arguments_say_what_is_wanted() -> None:
    x = vector()
    ways = [
        (lambda: relay.Function(x, x), TypeError, "expected a list of expressions, found one Var"),
        (lambda: relay.Call(relay.op.get("nn.relu"), x), TypeError, "write it in brackets"),
        (lambda: relay.Tuple(x), TypeError, "expected a list of expressions"),
        (lambda: tvm.IRModule.from_expr(3), TypeError, "a module is made of an expression, not of int"),
        (lambda: relay.var("x", shape=3), tvm.TVMError, r"expected a list of dimensions, found 3: write \[3\]"),
        (lambda: relay.op.get("conv2d"), AttributeError, "not registered: there is `nn.conv2d`"),
        (lambda: relay.op.get("nn.rleu"), AttributeError, "not registered: there is `nn.relu`"),
        (lambda: tvm.transform.Sequential([relay.transform.FoldConstant]), TypeError, r"write FoldConstant\(\)"),
        (lambda: tvm.transform.Sequential([3]), TypeError, "3 is no pass"),
        (lambda: relay.transform.FoldConstant()(relay.Function([x], x)), TypeError, "IRModule.from_expr makes one"),
    ]
    for way, error, words in ways:
        with pytest.raises(error, match=words):
            way()
