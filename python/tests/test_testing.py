"""`relay.testing`: networks and their weights, counting, gradients, programs as Python scripts."""

from __future__ import annotations

import ast

import numpy as np
import pytest

import relayc.tvm as tvm
from relayc.tvm import relay
from relayc.tvm.relay import testing
from relayc.tvm.relay.testing import _zoo, layers, mobilenet
from relayc.tvm.relay.testing.init import Constant, Xavier, create_workload
from relayc.tvm.relay.testing.temp_op_attr import TempOpAttr

TENSOR = relay.TensorType((2,), "float32")


class TestNetworks:
    @pytest.mark.parametrize(
        ("build", "shape"),
        [
            (lambda: testing.mlp.get_workload(2), (2, 10)),
            (lambda: testing.resnet.get_workload(num_layers=18, image_shape=(3, 32, 32)), (1, 1000)),
            (lambda: testing.resnet_3d.get_workload(image_shape=(3, 8, 32, 32)), (1, 1000)),
            (lambda: testing.mobilenet.get_workload(image_shape=(3, 32, 32)), (1, 1000)),
            (lambda: testing.squeezenet.get_workload(version="1.1"), (1, 1000)),
            (lambda: testing.dqn.get_workload(1), (1, 18)),
            (lambda: testing.dcgan.get_workload(1, ngf=8), (1, 3, 64, 64)),
            (lambda: testing.lstm.get_workload(2, 3), (1, 3)),
            (lambda: testing.synthetic.get_workload(), (1, 3, 24, 12)),
            (lambda: testing.densenet.get_workload(batch_size=1), (1, 1000)),
        ],
    )
    def test_results(self, build, shape):
        mod, params = build()
        assert [int(dim) for dim in mod["main"].checked_type.ret_type.shape] == list(shape)
        for param in mod["main"].params:
            if param.name_hint != "data":
                assert params[param.name_hint].shape == tuple(int(dim) for dim in param.checked_type.shape)

    def test_python_and_the_zoo_build_the_same(self):
        for name, mine in {
            "mobilenet": testing.mobilenet.mobile_net(),
            "lstm": testing.lstm.get_net(10, 128),
            "synthetic": testing.synthetic.get_net(),
        }.items():
            tvm.ir.assert_structural_equal(mine, _zoo.network(name), map_free_vars=True)

    def test_width_and_depth_of_mobilenet(self):
        shallow = mobilenet.mobile_net(10, (1, 3, 32, 32), alpha=0.5, is_shallow=True)
        deep = mobilenet.mobile_net(10, (1, 3, 32, 32))
        assert testing.count_ops(shallow)["nn.conv2d"] == 17 and testing.count_ops(deep)["nn.conv2d"] == 27
        mod = relay.transform.InferType()(tvm.IRModule.from_expr(shallow))
        weights = {param.name_hint: param.checked_type for param in mod["main"].params}
        assert list(map(int, weights["conv_block_1_conv_weight"].shape)) == [16, 3, 3, 3]

    def test_a_code_of_ones_own(self):
        code = relay.nn.relu(relay.var("noise", shape=(1, 100)))
        net = testing.dcgan.get_net(1, ngf=8, code=code)
        assert net.params[0].name_hint == "noise" and "data" not in [p.name_hint for p in net.params]

    def test_wrong_numbers_are_refused(self):
        with pytest.raises(ValueError, match="18, 34, 50"):
            testing.resnet.get_net(1, 10, num_layers=7)
        with pytest.raises(ValueError, match="no network"):
            _zoo.network("no_such")

    def test_detections_are_not_relay(self):
        with pytest.raises(NotImplementedError, match="images"):
            testing.yolo_detection.do_nms_sort()


class TestWeights:
    def test_by_name(self):
        x, names = relay.var("data", shape=(1, 4)), ("w_weight", "b_bias", "g_gamma", "v_var")
        w, b, g, v = (relay.var(n, shape=(2, 4) if n == "w_weight" else (2,)) for n in names)
        net = relay.Function([x, w, b, g, v], relay.nn.dense(x, w) + b + g + v)
        _, params = create_workload(net, Constant())
        np.testing.assert_array_equal(params["w_weight"].numpy(), np.full((2, 4), 1 / 8, "float32"))
        assert set(params) == set(names)
        assert not params["b_bias"].numpy().any() and params["g_gamma"].numpy().all() and params["v_var"].numpy().all()

    def test_xavier_is_seeded(self):
        net = testing.mlp.get_net(1)
        first, again, other = (create_workload(net, seed=seed)[1]["fc1_weight"].numpy() for seed in (1, 1, 2))
        np.testing.assert_array_equal(first, again)
        assert (first != other).any()
        assert abs(first).max() <= np.sqrt(3 / ((784 + 128) / 2))
        with pytest.raises(ValueError, match="at least 2D"):
            Xavier()("x_weight", np.zeros(3))
        with pytest.raises(ValueError, match="pattern"):
            Xavier()("x", np.zeros(3))


def test_layers_name_their_parameters():
    x = relay.var("data", shape=(1, 4))
    out = layers.dense_add_bias(x, units=3, name="fc")
    assert [var.name_hint for var in relay.analysis.free_vars(out)] == ["data", "fc_weight", "fc_bias"]
    assert layers.conv_kernel_layout("NHWC", True) == "HWOI"


def test_attributes_of_operators_for_a_while():
    op = relay.op.get("nn.relu")
    before = op.get_attr("TOpPattern")
    with TempOpAttr("nn.relu", "TOpPattern", 8):
        assert op.get_attr("TOpPattern") == 8
    assert op.get_attr("TOpPattern") == before


def test_passes_on_expressions():
    x = relay.var("x", TENSOR)
    assert testing.run_infer_type(relay.exp(x)).checked_type == TENSOR
    folded = testing.run_opt_pass(relay.const(1.0) + relay.const(2.0), relay.transform.FoldConstant())
    assert float(folded.data.numpy()) == 3


def test_gradients():
    x = relay.var("x", shape=(2, 2), dtype="float64")
    testing.check_grad(relay.Function([x], relay.exp(x) * x))


class TestScripts:
    def run(self, expr, mod=None):
        return testing.run_as_python(expr, mod)

    def test_arithmetic_and_tuples(self):
        x = relay.const(np.array([1.0, 2.0], "float32"))
        out = self.run(relay.Tuple([x + x, relay.split(x, 2)[1]]))
        np.testing.assert_array_equal(out[0].numpy(), [2, 4])
        np.testing.assert_array_equal(out[1].numpy(), [2])

    def test_recursion_matches_and_closures(self):
        mod = tvm.IRModule()
        prelude = relay.prelude.Prelude(mod)
        _, cons, nil = mod.get_type("List")
        x, y, z = (relay.var(name, shape=(), dtype="int32") for name in "xyz")
        numbers = cons(relay.const(1), cons(relay.const(2), nil()))
        add = relay.Function([x, y], x + y)
        doubled = prelude.map(relay.Function([z], z + z), numbers)
        assert int(self.run(prelude.foldl(add, relay.const(10), doubled), mod).numpy()) == 16
        zipped = self.run(prelude.zip(numbers, numbers), mod)
        assert int(zipped.fields[0][1].numpy()) == 1

    def test_constructors_are_functions(self):
        mod = tvm.IRModule()
        prelude = relay.prelude.Prelude(mod)
        _, cons, nil = mod.get_type("List")
        numbers = cons(relay.const(1), cons(relay.const(2), nil()))
        copied = self.run(prelude.foldr(cons, nil(), numbers), mod)
        assert int(copied.fields[1].fields[0].numpy()) == 2

    def test_a_shared_expression_runs_once(self):
        ref = relay.var("ref")
        one = relay.const(1)
        write = relay.RefWrite(ref, relay.RefRead(ref) + one)
        counted = relay.Let(ref, relay.RefCreate(relay.const(0)), relay.Tuple([write, write, relay.RefRead(ref)]))
        assert int(self.run(counted)[2].numpy()) == 1

    def test_only_one_branch_runs(self):
        ref, x = relay.var("ref"), relay.const(3)
        taken = relay.If(relay.const(True), relay.RefWrite(ref, x), relay.RefWrite(ref, relay.const(4)))
        program = relay.Let(
            ref, relay.RefCreate(relay.const(0)), relay.Let(relay.var("_"), taken, relay.RefRead(ref))
        )
        assert int(self.run(program).numpy()) == 3

    def test_numbers_that_are_none(self):
        values = np.array([np.nan, np.inf, -np.inf], "float32")
        np.testing.assert_array_equal(self.run(relay.const(values)).numpy(), values)

    def test_the_script_is_one(self):
        script = testing.to_python(relay.const(1) + relay.const(2))
        assert isinstance(script, ast.Module) and "get_global_func" in ast.unparse(script)

    def test_deep_programs(self):
        x = expr = relay.const(np.zeros(1, "float32"))
        for _ in range(2000):
            expr = expr + x
        assert self.run(expr).numpy() == [0]
