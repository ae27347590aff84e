"""What importers share: types and values of expressions, places in models, types of networks, refusals."""

from __future__ import annotations

import json
import sys
import types

import numpy as np
import pytest

import relayc.tvm as tvm
from relayc.tvm import relay
from relayc.tvm.relay.frontend import common


class Symbol:
    """Stands for an `mxnet.Symbol`: a dense layer with a relu."""

    def tojson(self):
        names = ["data", "fc_weight", "fc_bias"]
        nodes = [{"op": "null", "name": name, "inputs": []} for name in names]
        dense = {"op": "FullyConnected", "name": "fc", "attrs": {"num_hidden": "3"}}
        nodes.append({**dense, "inputs": [[0, 0, 0], [1, 0, 0], [2, 0, 0]]})
        nodes.append({"op": "Activation", "name": "relu", "attrs": {"act_type": "relu"}, "inputs": [[3, 0, 0]]})
        return json.dumps({"nodes": nodes, "arg_nodes": [0, 1, 2], "heads": [[4, 0, 0]], "attrs": {}})


class Weight:
    """Stands for an `mxnet.nd.NDArray`."""

    def __init__(self, value):
        self.value = value

    def asnumpy(self):
        return self.value


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_networks_of_any_float(dtype):
    weight = np.arange(12, dtype=dtype).reshape(3, 4) - 5
    arrays = {"fc_weight": Weight(weight), "fc_bias": Weight(np.ones(3, dtype))}
    mod, params = relay.frontend.from_mxnet(Symbol(), {"data": (2, 4)}, dtype, arrays)
    assert {value.dtype for value in params.values()} == {dtype}
    assert mod["main"].checked_type.ret_type == relay.TensorType((2, 3), dtype)
    x = np.arange(8, dtype=dtype).reshape(2, 4)
    found = relay.create_executor("graph", mod).evaluate()(x, **params).numpy()
    np.testing.assert_allclose(found, np.maximum(x @ weight.T + 1, 0))


def test_weights_of_two_types_are_refused():
    arrays = {"fc_weight": Weight(np.ones((3, 4), "float64")), "fc_bias": Weight(np.ones(3, "float32"))}
    with pytest.raises(NotImplementedError, match="float32, float64"):
        relay.frontend.from_mxnet(Symbol(), {"data": (2, 4)}, "float32", arrays)


def test_other_formats_say_how_to_come_here():
    for name in ("from_keras", "from_tflite", "from_tensorflow", "from_paddle", "from_coreml"):
        with pytest.raises(NotImplementedError, match="export the model to ONNX"):
            getattr(relay.frontend, name)(object())
    with pytest.raises(NotImplementedError, match="relayc import"):
        relay.frontend.from_darknet(object())


def test_pytorch_goes_through_its_own_exporter(monkeypatch):
    """A module called `torch` whose exporter writes what it was asked for."""
    seen = {}

    def export(module, args, file, **options):
        seen.update(options, shapes=[arg.shape for arg in args])
        raise RuntimeError("exported")

    torch = types.ModuleType("torch")
    torch.zeros = lambda shape, dtype: np.zeros(shape, dtype)
    torch.int64, torch.float32 = "int64", "float32"
    torch.onnx = types.SimpleNamespace(export=export)
    monkeypatch.setitem(sys.modules, "torch", torch)
    with pytest.raises(RuntimeError, match="exported"):
        relay.frontend.from_pytorch(object(), [("x", (1, 2)), ("n", ((3,), "long"))])
    assert seen["input_names"] == ["x", "n"] and seen["shapes"] == [(1, 2), (3,)]
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError):
        relay.frontend.from_pytorch(object(), [("x", (1, 2))])


class TestCommon:
    def test_types_and_shapes(self):
        x = relay.var("x", shape=(2, relay.Any()))
        assert common.infer_shape(relay.sum(x, axis=1)) == (2,)
        assert common.infer_type(x).checked_type.dtype == "float32"
        assert common.infer_channels(relay.var("w", shape=(4, 3, 1, 1))) == 4
        assert common.infer_channels(relay.var("w", shape=(4, 3, 1, 1)), transpose=True) == 3
        assert isinstance(common.infer_shape(relay.Tuple([x])), relay.TupleType)

    def test_values(self):
        x = relay.var("x", shape=(2,))
        params = {"x": tvm.nd.array(np.array([1, 2], "float32"))}
        np.testing.assert_array_equal(common.infer_value(x + x, params).numpy(), [2, 4])
        assert common.infer_value_simulated(x + x, {}).shape == (2,)
        assert common.try_infer_value(x + x)[1] is False
        value, known = common.try_infer_value(x + x, parameters=params)
        assert known and list(value) == [2, 4]
        assert float(common.fold_constant(relay.const(1.0) + relay.const(2.0)).data.numpy()) == 3

    def test_shapes_as_expressions(self):
        known = common.shape_of(relay.var("x", shape=(2, 3, 4)), start=1)
        assert list(known.data.numpy()) == [3, 4]
        assert common.shape_of(relay.var("x", shape=(relay.Any(),))).op.name == "shape_of"

    def test_operators_by_name(self):
        assert common.get_relay_op("relu") is relay.nn.relu
        assert common.get_relay_op("nn.dense") is relay.nn.dense
        with pytest.raises(tvm.error.OpNotImplemented, match="no_such"):
            common.get_relay_op("no_such")

    def test_places_fill_what_has_none(self):
        inner = common.set_span(relay.exp(relay.var("x", shape=(2,))), "first")
        outer = common.set_span(relay.tanh(inner) + relay.const(1.0), "second")
        assert outer.span.source_name.name == "second" and outer.args[0].span.source_name.name == "second"
        assert outer.args[0].args[0] is inner and inner.args[0].span.source_name.name == "first"
        pair = common.set_span([relay.var("a"), relay.split(relay.var("b", shape=(2,)), 2)], b"pair")
        assert pair[0].span.source_name.name == "pair" and pair[1].tuple_value.span.source_name.name == "pair"
        with tvm.transform.PassContext(config={"relay.frontend.fill_span": False}):
            assert common.set_span(relay.var("x"), "x").span is None
        with pytest.raises(RuntimeError, match="unsupported"):
            common.set_span(1, "x")
