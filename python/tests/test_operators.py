"""Operator functions build the calls that text describes, and document themselves."""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path

import numpy as np
import pytest

import relayc.tvm as tvm
from relayc.tvm import TVMError, ir, relay, tir
from relayc.tvm import _operators as declared
from relayc.tvm.relay.op import _factory
from relayc.tvm.relay.op._signatures import NAMESPACES

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

#: Operators without a function, and why.
WITHOUT_FUNCTION = {
    "annotation.bitpack_end": "TVM has no function for it",
    "annotation.bitpack_start": "TVM has no function for it",
    "annotation.cast_hint": "TVM's quantizer writes it",
    "annotation.with_funcid": "TVM's partial evaluator writes it",
    "auto_scheduler_layout_transform": "TVM's auto-scheduler writes it",
    "call_lowered": "TVM's lowering writes it",
    "fast_erf": "the pass FastMath writes it",
    "fast_exp": "the pass FastMath writes it",
    "fast_tanh": "the pass FastMath writes it",
    "fixed_point_multiply_per_axis": "the lowering of requantize writes it",
    "hardswish": "TVM has no function for it",
    "memory.alloc_storage": "TVM's function lacks an operand and fails",
    "memory.kill": "TVM's memory planner writes it",
    "meta_schedule_layout_transform": "TVM's meta-schedule writes it",
    "nn.internal.sparse_dense_padded": "a pass for GPUs writes it",
    "nn.sparse_conv2d": "a pass on sparse weights writes it",
    "parser.MetaRef": "the parser writes it",
    "relay.op.annotation.simulated_quantize": "TVM's quantizer writes it",
    "scatter": "TVM v0.14 calls it scatter_elements",
}

#: A value of an attribute by its kind, and the same value in text.
SAMPLES = {
    "Int": (1, "1"),
    "IndexExpr": (7, "7"),
    "OptInt": (1, "1"),
    "Ints": ([2, 1], "[2, 1]"),
    "IntsOrNone": ([2, 1], "[2, 1]"),
    "OptInts": ([2, 1], "[2, 1]"),
    "IntLists": ([[1, 2], [0, 1]], "[[1, 2], [0, 1]]"),
    "Float": (0.25, "0.25f"),
    "Numbers": ([0.5, 2.0], "[0.5f, 2f]"),
    "Bool": (True, "True"),
    "OptBool": (True, "True"),
    "Str": ("NCHW", '"NCHW"'),
    "StdStr": ("NCHW", '"NCHW"'),
    "DType": ("int16", '"int16"'),
}


def generated():
    """The functions made from signatures: module path, line of the table, parameters."""
    return [
        pytest.param(path, line, id=f"{path}.{line.name}")
        for path in NAMESPACES
        for line in _factory._lines(path)
    ]


def function_of(path, name):
    return getattr(importlib.import_module(f"relayc.tvm.relay.{path}"), name)


def parsed(text):
    """The function that the text of its parameters and body describes."""
    return relay.parse_expr(text)


def assert_same(names, body, text):
    """The call, as a function of the variables it uses, is what the text says."""
    expected = parsed(f"fn ({', '.join('%' + name for name in names)}) {{ {text} }}")
    variables = {var.name_hint: var for var in relay.analysis.free_vars(body)}
    found = relay.Function([variables.get(name, relay.var(name)) for name in names], body)
    ir.assert_structural_equal(found, expected)


@pytest.mark.parametrize("path, line", generated())
def test_generated_function_builds_the_call_of_text(path, line):
    parameters = _factory._parameters(line)
    operands = [parameter.name for parameter in parameters if parameter.field is None]
    samples = {}
    for parameter in parameters:
        if parameter.field is not None:
            value, text = SAMPLES[parameter.field.type]
            if parameter.value.startswith("pad("):
                axes = int(parameter.value[-2])
                value, text = 3, str([3] * (2 * axes))
            elif parameter.value.startswith("each("):
                value, text = 3, str([3] * int(parameter.value[-2]))
            samples[parameter.name] = (value, f"{parameter.field.name}={text}")
    arguments = {
        parameter.name: relay.var(parameter.name) if parameter.field is None else samples[parameter.name][0]
        for parameter in parameters
    }
    result = function_of(path, line.name)(**arguments)
    body = result.tuple_value if isinstance(result, relay.expr.TupleWrapper) else result
    # Fields that no parameter sets have a value of their own in text.
    set_here = {parameter.field.name for parameter in parameters if parameter.field is not None}
    unset = [field.name for field in declared.declaration(line.operator).fields if field.name not in set_here]
    extra = [f'{name}=""' for name in unset]
    operator = declared.declaration(line.operator)
    if operator.fields and not operator.attrs_declared:
        extra.append(f'attrs_type_key="{operator.attrs_type_key}"')
    attrs = [text for _, text in samples.values()] + extra
    assert_same(operands, body, f"{line.operator}({', '.join(['%' + name for name in operands] + attrs)})")
    assert line.fields == 0 or len(result) == line.fields


@pytest.mark.parametrize("path, line", generated())
def test_generated_function_is_a_function_of_its_module(path, line):
    function = function_of(path, line.name)
    assert inspect.isfunction(function)
    assert function.__name__ == line.name
    assert function.__module__ == f"relayc.tvm.relay.{path}"
    assert declared.declaration(line.operator).doc.split()[0] in function.__doc__
    for name in inspect.signature(function).parameters:
        assert f"\n{name} : " in function.__doc__
    assert "Example\n-------\n" in function.__doc__


def test_help_of_conv2d_has_arguments_shapes_rules_and_an_example():
    doc = relay.nn.conv2d.__doc__
    assert "out[n, o, y, x] = sum over" in doc
    assert "\nkernel_size : a list of integers or `None`\n" in doc
    assert "\n- C3: data and weight have the axes of their layouts" in doc
    assert "nn.conv2d(%x, %w)" in doc
    assert list(inspect.signature(relay.nn.conv2d).parameters)[:4] == ["data", "weight", "strides", "padding"]
    assert inspect.signature(relay.nn.conv2d).parameters["strides"].default == (1, 1)


def test_attributes_are_complete_and_in_order():
    call = relay.nn.conv2d(relay.var("x"), relay.var("w"), padding=(1, 2), kernel_size=3)
    assert isinstance(call.attrs, relay.op.op_attrs.Conv2DAttrs)
    assert call.attrs.type_key == "relay.attrs.Conv2DAttrs"
    assert call.attrs.keys() == [field.name for field in declared.declaration("nn.conv2d").fields]
    assert list(call.attrs.padding) == [1, 2, 1, 2]
    assert all(isinstance(size, tir.IntImm) and size.dtype == "int32" for size in call.attrs.kernel_size)
    assert call.attrs.channels is None
    assert call.attrs.groups == 1 and isinstance(call.attrs.groups, int)
    assert call.attrs.out_dtype == ""
    assert relay.add(relay.var("x"), relay.var("y")).attrs is None


def test_integers_of_numpy_keep_their_width():
    call = relay.zeros(relay.const([2, 3], "int64"), "float32")
    assert [size.dtype for size in call.attrs.shape] == ["int64", "int64"]
    assert relay.zeros([2, 1 << 40], "float32").attrs.shape[1].dtype == "int64"


def test_attributes_are_made_by_type_key_with_defaults():
    attrs = ir.make_node("relay.attrs.Conv2DAttrs", strides=[2, 2])
    assert list(attrs.strides) == [2, 2] and list(attrs.padding) == [0, 0]
    with pytest.raises(TVMError, match="no field `stride`"):
        ir.make_node("relay.attrs.Conv2DAttrs", stride=[2, 2])
    with pytest.raises(TVMError, match="`shape` must be given"):
        ir.make_node("relay.attrs.InitOpAttrs", dtype="float32")


def test_registry_knows_every_operator():
    assert set(ir.Op.list_op_names()) >= set(declared.declarations())
    op = relay.op.get("nn.conv2d")
    assert op is ir.Op.get("nn.conv2d")
    assert (op.num_inputs, op.attrs_type_key) == (2, "relay.attrs.Conv2DAttrs")
    assert [argument.name for argument in op.arguments] == ["data", "weight"]
    assert op.get_attr("TOpPattern") == relay.op.OpPattern.OUT_ELEMWISE_FUSABLE
    with pytest.raises(AttributeError, match="not registered"):
        relay.op.get("nn.conv9d")


@pytest.mark.parametrize(
    "build, error, message",
    [
        (lambda x: relay.add(x, 1), TVMError, "operand 1 must be an expression"),
        (lambda x: relay.nn.softmax(x, axis="last"), TVMError, "`axis` expects an integer"),
        (lambda x: relay.cast(x, 8), TVMError, "`dtype` expects a dtype"),
        (lambda x: relay.nn.conv2d(x, x, padding=(1, 2, 3)), ValueError, "Size of padding can only be 2 or 4"),
        (lambda x: relay.nn.conv1d(x, x, padding="SAME"), ValueError, "Unknown padding option SAME"),
        (lambda x: relay.concatenate([], axis=0), ValueError, "non-empty"),
        (lambda x: relay.stack([x], axis=None), ValueError, "integer axis"),
        (lambda x: relay.expand_dims(x, "0"), ValueError, "Unknown type for axis"),
        (lambda x: relay.reshape(x, ["a"]), RuntimeError, "Unrecognized shape type"),
        (lambda x: relay.nn.relu(), TypeError, "missing 1 required positional argument"),
        (lambda x: relay.image.resize1d(x, x), NotImplementedError, "dyn.resize1d"),
        (lambda x: relay.op.strategy.conv2d_strategy(x), NotImplementedError, "not part of Relay"),
    ],
)
def test_wrong_arguments_are_errors(build, error, message):
    with pytest.raises(error, match=message):
        build(relay.var("x"))


#: Begins the attribute that names the type of those that TVM does not declare.
KEY = 'attrs_type_key="relay.attrs.'

#: Calls of functions written by hand, with their text; `x`, `y`, `z` and `w` are variables, `c` makes a constant.
BY_HAND = [
    (lambda v: relay.zeros(3, "int8"), 'zeros(shape=[3], dtype="int8")'),
    (lambda v: relay.zeros(v.x, "int8"), 'dyn.zeros(%x, shape=None, dtype="int8")'),
    (lambda v: relay.ones((2, 3), "float32"), 'ones(shape=[2, 3], dtype="float32")'),
    (lambda v: relay.ones(v.x, "float32"), 'dyn.ones(%x, shape=None, dtype="float32")'),
    (lambda v: relay.concatenate([v.x, v.y], 1), "%0 = (%x, %y); concatenate(%0, axis=1)"),
    (lambda v: relay.stack([v.x, v.y], 1), "%0 = (%x, %y); stack(%0, axis=1)"),
    (lambda v: relay.einsum([v.x, v.y], "ij,jk->ik"), '%0 = (%x, %y); einsum(%0, equation="ij,jk->ik")'),
    (lambda v: relay.expand_dims(v.x, 1, 2), "expand_dims(%x, axis=1, num_newaxis=2)"),
    (lambda v: relay.expand_dims(v.x, v.y), f'dyn.expand_dims(%x, %y, num_newaxis=1, {KEY}DynExpandDimsAttrs")'),
    (lambda v: relay.transpose(v.x), "transpose(%x, axes=None)"),
    (lambda v: relay.transpose(v.x, (1, 0)), "transpose(%x, axes=[1, 0])"),
    (lambda v: relay.squeeze(v.x), "squeeze(%x, axis=None)"),
    (lambda v: relay.squeeze(v.x, relay.const(1)), "squeeze(%x, axis=[1])"),
    (lambda v: relay.squeeze(v.x, v.y), "dyn.squeeze(%x, %y, axis=[])"),
    (lambda v: relay.reshape(v.x, (2, np.int64(-1))), "reshape(%x, newshape=[2, -1])"),
    (lambda v: relay.reshape(v.x, relay.const([2, -1])), "reshape(%x, newshape=[2, -1])"),
    (lambda v: relay.reshape(v.x, v.y), "dyn.reshape(%x, %y, newshape=[])"),
    (lambda v: relay.reverse_reshape(v.x, [0, -1]), "contrib_reverse_reshape(%x, newshape=[0, -1])"),
    (lambda v: relay.full(v.x, (2,), "int32"), 'full(%x, shape=[2], dtype="int32")'),
    (lambda v: relay.full(v.x, v.y, "int32"), 'dyn.full(%x, %y, shape=None, dtype="int32")'),
    (lambda v: relay.meshgrid([v.x, v.y], "xy"), '%0 = (%x, %y); meshgrid(%0, indexing="xy")'),
    (lambda v: relay.tile(v.x, (2, 1)), "tile(%x, reps=[2, 1])"),
    (lambda v: relay.tile(v.x, v.y), "dyn.tile(%x, %y, reps=[])"),
    (lambda v: relay.broadcast_to(v.x, (2, 1)), "broadcast_to(%x, shape=[2, 1])"),
    (lambda v: relay.broadcast_to(v.x, v.y), "dyn.broadcast_to(%x, %y, shape=None)"),
    (lambda v: relay.split(v.x, 3, 1), "split(%x, indices_or_sections=3, axis=1)"),
    (lambda v: relay.split(v.x, (1, 4)), "split(%x, indices_or_sections=[1, 4])"),
    (lambda v: relay.strided_slice(v.x, [0], [3]), "strided_slice(%x, begin=[0], end=[3], strides=[1], axes=None)"),
    (lambda v: relay.strided_set(v.x, v.y, v.z, v.w, v.z), "strided_set(%x, %y, %z, %w, %z)"),
    (lambda v: relay.one_hot(v.x, v.y, v.z, 3, -1, "int8"), 'one_hot(%x, %y, %z, depth=3, axis=-1, dtype="int8")'),
    (lambda v: relay.one_hot(v.x, v.y, v.z, v.w, -1, "int8"), 'dyn.one_hot(%x, %y, %z, %w, depth=0, dtype="int8")'),
    (lambda v: relay.sparse_to_dense(v.x, [4], v.y, v.z), "sparse_to_dense(%x, %y, %z, output_shape=[4])"),
    (lambda v: relay.sparse_to_dense(v.x, v.w, v.y, v.z), "dyn.sparse_to_dense(%x, %y, %z, %w)"),
    (lambda v: relay.adv_index([v.x, v.y]), "%0 = (%x, %y); adv_index(%0)"),
    (lambda v: relay.unique(v.x), f'unique(%x, sorted=True, return_counts=False, {KEY}UniqueAttrs")'),
    (lambda v: relay.trilu(v.x, v.y, False), f'trilu(%x, %y, upper=False, {KEY}TriluAttrs")'),
    (lambda v: relay.variance(v.x, 1, with_mean=v.y), "variance(%x, %y, axis=[1])"),
    (lambda v: relay.std(v.x, 1), "%0 = mean(%x, axis=[1], keepdims=True); %1 = variance(%x, %0, axis=[1]); sqrt(%1)"),
    (lambda v: relay.topk(v.x, 2), f'topk(%x, k=2, dtype="int32", {KEY}TopkAttrs")'),
    (lambda v: relay.topk(v.x, v.y), f'dyn.topk(%x, %y, k=None, dtype="int32", {KEY}TopkAttrs")'),
    (lambda v: relay.nn.matmul(v.x, v.y, transpose_b=True), "nn.dense(%x, %y, units=None)"),
    (lambda v: relay.nn.matmul(v.x, v.y, units=3), "nn.matmul(%x, %y, units=3)"),
    (lambda v: relay.nn.pad(v.x, ((0, 1), (2, 3)), v.y), "nn.pad(%x, %y, pad_width=[[0, 1], [2, 3]])"),
    (lambda v: relay.nn.pad(v.x, v.y, v.z), "dyn.nn.pad(%x, %y, %z, pad_width=[])"),
    (lambda v: relay.nn.upsampling(v.x, 2, 3), "nn.upsampling(%x, scale_h=2f, scale_w=3f)"),
    (lambda v: relay.nn.upsampling(v.x, v.y, v.z), "dyn.nn.upsampling(%x, %y, %z, scale_h=0f, scale_w=0f)"),
    (lambda v: relay.nn.upsampling3d(v.x, 2, 3, 4), "nn.upsampling3d(%x, scale_d=2f, scale_h=3f, scale_w=4f)"),
    (
        lambda v: relay.nn.upsampling3d(v.x, v.y, v.z, v.w),
        "dyn.nn.upsampling3d(%x, %y, %z, %w, scale_d=0f, scale_h=0f, scale_w=0f)",
    ),
    (lambda v: relay.nn.dropout(v.x, 0.25), "%0 = nn.dropout(%x, rate=0.25f); %0.0"),
    (lambda v: relay.nn.sparse_dense(v.x, (v.y, v.z, v.w)), "nn.sparse_dense(%x, %y, %z, %w, sparse_lhs=False)"),
    (lambda v: relay.nn.sparse_add(v.x, (v.y, v.z, v.w)), "nn.sparse_add(%x, %y, %z, %w)"),
    (lambda v: relay.nn.global_max_pool1d(v.x), 'nn.adaptive_max_pool1d(%x, output_size=[1], layout="NCW")'),
    (lambda v: relay.nn.max_pool2d_grad(v.x, v.y, (2, 2)), "nn.max_pool2d_grad(%x, %y, pool_size=[2, 2])"),
    (
        lambda v: relay.image.resize2d(v.x, (4, 5), [0.0, 0.5, 1.0, 1.0]),
        'image.resize2d(%x, size=[4, 5], roi=[0f, 0.5f, 1f, 1f], rounding_method="")',
    ),
    (
        lambda v: relay.image.resize2d(v.x, v.y, v.z),
        'dyn.image.resize2d(%x, %y, %z, size=[], roi=[], rounding_method="")',
    ),
    (
        lambda v: relay.random.uniform(v.x, (2,), low=v.y, high=v.z),
        f'random.uniform(%x, %y, %z, out_shape=[2], out_dtype="float32", {KEY}UniformAttrs")',
    ),
    (
        lambda v: relay.random.normal(v.x, (2,), mean=v.y, scale=v.z),
        f'random.normal(%x, %y, %z, out_shape=[2], out_dtype="float32", {KEY}NormalAttrs")',
    ),
    (
        lambda v: relay.vision.get_valid_counts(v.x, v.y),
        f'vision.get_valid_counts(%x, %y, id_index=0, score_threshold=None, {KEY}GetValidCountsAttrs")',
    ),
    (
        lambda v: relay.vision.non_max_suppression(v.x, v.y, v.z, v.w, v.w),
        f'vision.non_max_suppression(%x, %y, %z, %w, %w, {KEY}NonMaximumSuppressionAttrs")',
    ),
    (
        lambda v: relay.vision.all_class_non_max_suppression(v.x, v.y, v.z, v.w, v.w),
        f'vision.all_class_non_max_suppression(%x, %y, %z, %w, %w, {KEY}AllClassNonMaximumSuppressionAttrs")',
    ),
    (
        lambda v: relay.qnn.op.batch_matmul(v.x, v.y, v.z, v.w, v.z, v.w),
        'qnn.batch_matmul(%x, %y, %z, %w, %z, %w, out_dtype="int32", transpose_b=True)',
    ),
    (
        lambda v: relay.qnn.op.concatenate([v.x, v.y], [v.z, v.z], [v.w, v.w], v.z, v.w, 1),
        "%0 = (%x, %y); %1 = (%z, %z); %2 = (%w, %w); qnn.concatenate(%0, %1, %2, %z, %w, axis=1)",
    ),
]


class Variables:
    """The variables of a call."""

    def __init__(self):
        for name in "xyzw":
            setattr(self, name, relay.var(name))


@pytest.mark.parametrize("build, text", [pytest.param(build, text, id=text) for build, text in BY_HAND])
def test_function_by_hand_builds_the_call_of_text(build, text):
    result = build(Variables())
    body = result.tuple_value if isinstance(result, relay.expr.TupleWrapper) else result
    assert_same([name for name in "xyzw" if f"%{name}" in text], body, text)


#: Calls of the other functions written by hand.
NOT_COMPARED = [
    lambda v: relay.arange(v.x),
    lambda v: relay.collapse_sum_to(v.x, (2, 3)),
    lambda v: relay.device_copy(v.x, "cpu", tvm.cpu(1)),
    lambda v: relay.image.resize1d(v.x, [4]),
    lambda v: relay.image.resize3d(v.x, [4, 4, 4]),
    lambda v: relay.logsumexp(v.x, axis=1),
    lambda v: relay.matrix_set_diag(v.x, v.y, (-1, 1)),
    lambda v: relay.mean_std(v.x, axis=1),
    lambda v: relay.mean_variance(v.x, axis=1),
    lambda v: relay.nn.avg_pool2d_grad(v.x, v.y, count_include_pad=True),
    lambda v: relay.nn.global_avg_pool3d(v.x),
    lambda v: relay.nn.sparse_transpose((v.x, v.y, v.z)),
    lambda v: relay.annotation.on_device(v.x, "cpu"),
    lambda v: relay.op.debug(v.x),
    lambda v: relay.op.memory.alloc_tensor(v.x, v.y, relay.const([2, 3])),
    lambda v: relay.op.vm.invoke_tvm_op(v.x, v.y, v.z),
    lambda v: relay.op.vm.shape_of(v.x),
    lambda v: relay.qnn.op.simulated_dequantize(v.x, v.y, v.z),
    lambda v: relay.qnn.op.simulated_quantize(v.x, v.y, v.z),
    lambda v: relay.segment_sum(v.x, v.y),
    lambda v: relay.sparse_fill_empty_rows(v.x, v.y, v.z, v.w),
    lambda v: relay.stft(v.x, 8),
    lambda v: relay.strided_slice(v.x, v.y, [4], [1]),
]


def operators_in(expression):
    """The names of the operators of an expression."""
    found = set()

    def note(node):
        if isinstance(node, ir.Op):
            found.add(node.name)

    relay.analysis.post_order_visit(expression, note)
    return found


def test_every_operator_has_a_function_or_a_reason():
    reached = {line.operator for path in NAMESPACES for line in _factory._lines(path)}
    for build in [build for build, _ in BY_HAND] + NOT_COMPARED:
        result = build(Variables())
        wrapped = isinstance(result, relay.expr.TupleWrapper)
        reached |= operators_in(result.tuple_value if wrapped else result)
    assert reached & set(WITHOUT_FUNCTION) == set()
    assert reached | set(WITHOUT_FUNCTION) == set(declared.declarations())
    assert relay.op._make.fast_exp(relay.var("x")).op.name == "fast_exp"


def test_sharing_of_parts_made_by_functions():
    x = relay.var("x")
    mean, spread = relay.mean_variance(x, axis=1).tuple_value.fields
    assert spread.args[1].same_as(mean.args[0])
    result = relay.strided_slice(x, relay.var("b"), [4], [1])
    assert result.op.name == "dyn.strided_slice"
    with pytest.raises(AssertionError, match="not supported yet"):
        relay.strided_slice(x, relay.var("b"), [4], axes=[0])


def test_marks_of_devices():
    x = relay.var("x")
    attrs = relay.annotation.on_device(x, "cpu", constrain_result=True).attrs
    assert attrs.virtual_device.device_type_int == 1 and attrs.constrain_result and attrs.constrain_body
    free = relay.annotation.on_device(x, "cpu", constrain_body=False).attrs
    assert free.virtual_device.device_type_int == -1
    with pytest.raises(ValueError):
        relay.annotation.on_device(x, 3)


def test_tuple_types_are_flattened_and_rebuilt():
    tensor = relay.TensorType((1,), "float32")
    ty = relay.TupleType([tensor, relay.TupleType([tensor, relay.TupleType([])]), tensor])
    assert list(relay.op.memory.flatten_tuple_type(ty)) == [tensor] * 3
    parts = relay.op.memory.from_tuple_type(ty, relay.var("t"))
    assert [part.index for part in parts] == [0, 0, 2]
    rebuilt = relay.op.memory.to_tuple_type(ty, parts)
    assert rebuilt.fields[1].fields[0].same_as(parts[1]) and len(rebuilt.fields[1].fields[1].fields) == 0


def test_requantize_configurations_nest():
    assert relay.qnn.op.current_requantize_config().is_default
    with relay.qnn.op.requantize_config(rounding="TONEAREST") as outer:
        with relay.qnn.op.requantize_config(compute_dtype="float32"):
            assert relay.qnn.op.current_requantize_config().rounding == "UPWARD"
        assert relay.qnn.op.current_requantize_config() is outer
        with pytest.raises(AttributeError):
            outer.rounding = "UPWARD"


def test_requantize_configuration_holds_when_it_is_built():
    zero, sixteen = relay.const(0), relay.const(16.0)
    x = relay.var("x", shape=(3,), dtype="int32")
    body = relay.qnn.op.requantize(x, relay.const(1.0), zero, sixteen, zero)
    run = relay.create_executor("graph", ir.IRModule.from_expr(relay.Function([x], body))).evaluate
    numbers = np.array([-8, 8, -24], dtype="int32")
    assert run()(numbers).numpy().tolist() == [0, 1, -1]
    with relay.qnn.op.requantize_config(rounding="TONEAREST"):
        assert run()(numbers).numpy().tolist() == [-1, 1, -2]
    assert body.attrs.rounding == "None"


def test_pattern_tables_are_kept_by_compiler():
    @relay.op.contrib.register_pattern_table("test_operators")
    def table():
        return [("test.add", "pattern")]

    assert relay.op.contrib.get_pattern_table("test_operators") == [("test.add", "pattern")]
    assert relay.op.contrib.get_pattern_table("nobody") is None


def test_stubs_are_up_to_date():
    import stubs

    for path, text in stubs.stubs():
        assert path.read_text() == text, f"{path}: run python/tools/stubs.py"


def test_tensors_are_joined_from_a_variable_that_holds_a_tuple():
    ty = relay.TensorType((2,), "float32")
    pair = relay.var("pair", relay.TupleType([ty, ty]))
    for joined, shape in ((relay.concatenate(pair, 0), (4,)), (relay.stack(pair, 0), (2, 2))):
        mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([pair], joined)))
        assert tuple(mod["main"].ret_type.shape) == shape
