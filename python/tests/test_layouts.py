"""Layouts: their names, `ConvertLayout`, `AlterOpLayout`."""

from __future__ import annotations

from typing import Any, Callable, List

import numpy as np
import pytest

import relayc.tvm as tvm
from relayc.tvm import relay
from relayc.tvm.relay import transform
from relayc.tvm.relay.testing import run_infer_type, run_opt_pass
from relayc.tvm.relay.testing.temp_op_attr import TempOpAttr
from relayc.tvm.tir import bijective_layout, layout
from relayc.tvm.tir.data_layout import Layout


def ops(func: Any) -> List[str]:
    """The operators of a function in the order of computing, transforms with their layouts."""
    names: List[str] = []

    def visit(node: Any) -> None:
        if isinstance(node, relay.Call):
            name = node.op.name
            if name == "layout_transform":
                name = f"{node.attrs.src_layout}->{node.attrs.dst_layout}"
            names.append(name)

    relay.analysis.post_order_visit(func, visit)
    return names


def conv_relu(then: Callable[[Any], Any] = lambda y: y) -> Any:
    x = relay.var("x", shape=(1, 8, 8, 16))
    w = relay.var("w", shape=(3, 3, 16, 32))
    y = relay.nn.conv2d(
        x, w, channels=32, kernel_size=(3, 3), padding=(1, 1), data_layout="NHWC", kernel_layout="HWIO"
    )
    return relay.Function([x, w], then(relay.nn.relu(y)))


def converted(func: Any, **kwargs: Any) -> Any:
    return run_opt_pass(func, transform.ConvertLayout({"nn.conv2d": ["NCHW", "default"]}, **kwargs))


def test_names() -> None:
    known = layout("NCHW16c")
    assert known is not None and len(known) == 5 and str(known) == "NCHW16c"
    assert (known.index_of("C"), known.factor_of("C"), "c" in known, known[4]) == (1, 16, True, "c")
    assert layout("") is None
    for wrong in ("NCc", "NN"):
        with pytest.raises(ValueError):
            layout(wrong)


def test_layouts_change_alike() -> None:
    assert Layout("HW").like(Layout("NCHW"), Layout("NCHW4c")) == Layout("NCHW4c")
    assert Layout("C").like(Layout("NHWC"), Layout("NCHW")) == Layout("NCHW")
    assert Layout("NHWC").like(Layout("NCHW"), Layout("NCHW4h")) == Layout("NHWC4w")
    assert Layout("NCHW4c").like(Layout("NCHW"), Layout("NHWC")) is None


def test_shapes_and_positions_convert_both_ways() -> None:
    both = bijective_layout("NCHW", "NCHW4c")
    assert list(both.forward_shape([2, 10, 3, 3])) == [2, 3, 3, 3, 4]
    assert list(both.forward_index([1, 6, 2, 0])) == [1, 1, 2, 0, 2]
    assert list(both.backward_index([1, 1, 2, 0, 2])) == [1, 6, 2, 0]
    unknown = both.forward_shape([relay.Any(), relay.Any(), 3, 3])
    assert isinstance(unknown[0], relay.Any) and unknown[4] == 4
    with pytest.raises(ValueError, match="different dimensions"):
        bijective_layout("NCHW", "NCD")


def test_convolutions_take_the_wanted_layout_and_others_follow() -> None:
    result = converted(conv_relu(lambda y: relay.sum(y, axis=3, keepdims=True)))
    assert ops(result) == ["NHWC->NCHW", "HWIO->OIHW", "nn.conv2d", "nn.relu", "sum", "NCHW->NHWC"]
    assert list(result.body.args[0].attrs.axis) == [1]


@pytest.mark.parametrize(
    ("then", "check"),
    [
        (lambda y: relay.concatenate([y, y], axis=3), lambda c: int(c.attrs.axis) == 1),
        (lambda y: relay.nn.pad(y, ((0, 0), (1, 1), (2, 2), (0, 0))), None),
        (lambda y: relay.strided_slice(y, [0, 1], [1, 5, 8]), None),
        (lambda y: relay.add(y, relay.const(np.ones(32, "float32"))), None),
        (lambda y: relay.split(y, 2, axis=3)[0], None),
        (lambda y: relay.transpose(y, [0, 3, 1, 2]), None),
        (lambda y: relay.squeeze(relay.mean(y, axis=[1, 2], keepdims=True), [1, 2]), None),
        (lambda y: relay.nn.batch_flatten(y), None),
    ],
)  # fmt: skip
def test_conversion_keeps_what_is_computed(then: Any, check: Any) -> None:
    func = run_infer_type(conv_relu(then))
    result = converted(func)
    assert result.checked_type == func.checked_type
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal(p.type_annotation.concrete_shape).astype("float32") for p in func.params]
    before, after = (
        relay.create_executor("graph", mod=tvm.IRModule.from_expr(f)).evaluate()(*inputs)
        for f in (func, result)
    )
    np.testing.assert_allclose(before.numpy(), after.numpy(), rtol=1e-4, atol=1e-4)
    if check is not None:
        assert check(result.body.args[0])


def test_one_value_is_converted_once() -> None:
    result = converted(conv_relu(lambda y: relay.add(relay.nn.batch_flatten(y), relay.nn.batch_flatten(y))))
    assert ops(result).count("NCHW->NHWC") == 1


def test_layers_can_be_left_out() -> None:
    with transform.LayoutConfig(skip_layers=[0]):
        assert ops(converted(conv_relu())) == ["nn.conv2d", "nn.relu"]


def test_a_layout_without_a_rule_is_refused() -> None:
    with pytest.raises(ValueError, match="Layout NWHC is not yet supported"):
        run_opt_pass(conv_relu(), transform.ConvertLayout({"nn.conv2d": ["NWHC", "default"]}))


def test_registered_functions_alter_operators() -> None:
    def alter(attrs: Any, inputs: Any, types: Any, out_type: Any) -> Any:
        assert [int(d) for d in types[0].shape] == [1, 8, 8, 16] and int(out_type.shape[3]) == 32
        return relay.nn.conv2d(*inputs, **{**dict(attrs), "data_layout": "NCHW", "kernel_layout": "OIHW"})

    with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", alter):
        result = run_opt_pass(conv_relu(), transform.AlterOpLayout())
    assert ops(result)[-2:] == ["nn.relu", "NCHW->NHWC"]
    with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", lambda attrs, inputs, types, out_type: inputs[0]):
        with pytest.raises(tvm.TVMError, match="another call node"):
            run_opt_pass(conv_relu(), transform.AlterOpLayout())
