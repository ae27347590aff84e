"""Counts over a module's `main`: operators, multiplications."""

from __future__ import annotations

from typing import Any, Dict, List, Set

from ...error import InternalError
from ...ir.op import Op
from ._walk import is_call, operands, post_order

__all__ = ["get_total_mac_number", "list_fake_quantized_op_freqs", "list_op_freqs"]


def list_op_freqs(mod: Any) -> Dict[str, int]:
    """How many calls of each operator `main` has."""
    counts: Dict[str, int] = {}
    for node in post_order(mod["main"]):
        if node._kind == "Call" and isinstance(node.op, Op):
            counts[node.op.name] = counts.get(node.op.name, 0) + 1
    return counts


def list_fake_quantized_op_freqs(mod: Any) -> Dict[str, int]:
    """How many calls of each operator stand between `qnn.dequantize` and `qnn.quantize`."""
    from ..transform import InferType

    counts: Dict[str, int] = {}
    inferred = InferType()(mod)
    for node in post_order(inferred["main"]):
        if is_call(node, "qnn.quantize"):
            for call in _fake_quantized(node):
                counts[call.op.name] = counts.get(call.op.name, 0) + 1
    return counts


def _fake_quantized(quantize: Any) -> List[Any]:
    """The calls between a quantize and its dequantizes; empty if something else is there too."""
    calls: List[Any] = []
    seen: Set[int] = set()
    stack = [quantize.args[0]]
    while stack:
        expr = stack.pop()
        if id(expr) in seen or is_call(expr, "qnn.dequantize"):
            continue
        seen.add(id(expr))
        if expr._kind == "Call" and isinstance(expr.op, Op):
            if expr.op.name == "qnn.quantize":
                return []
            calls.append(expr)
            stack += expr.args
        elif expr._kind in ("Tuple", "TupleGetItem"):
            stack += operands(expr)
        elif expr._kind != "Constant":
            return []
    return calls


def get_total_mac_number(expr: Any) -> int:
    """The multiplications and additions of conv2d, conv2d_transpose, dense and batch_matmul.

    Types have been inferred. Rule of TVM: `src/relay/analysis/mac_count.cc`.
    """
    counters = {
        "nn.conv2d": _conv2d,
        "nn.conv2d_transpose": _conv2d,
        "nn.dense": _dense,
        "nn.batch_matmul": _batch_matmul,
    }
    total = 0
    for node in post_order(expr):
        if node._kind == "Call" and isinstance(node.op, Op) and node.op.name in counters:
            total += counters[node.op.name](node)
    return total


def _shape(expr: Any) -> List[int]:
    return [int(dim) for dim in expr.checked_type.shape]


def _product(sizes: Any) -> int:
    total = 1
    for size in sizes:
        total *= int(size)
    return total


def _conv2d(call: Any) -> int:
    layout = str(call.attrs.data_layout)
    axes = [letter for letter in layout if letter.isalpha()]
    data = _shape(call.args[0])
    if "C" not in axes:
        raise InternalError("There is no input channel dimension.")
    channels = _product(data[i] for i, axis in enumerate(axes) if axis in "Cc")
    kernel, groups = call.attrs.kernel_size or (), int(call.attrs.groups)
    output = _shape(call)
    if len(kernel) != 2:
        raise InternalError("The dimension of the kernel in Conv 2D should be 2.")
    if len(output) not in (4, 5):
        raise InternalError("The dimension of the output tensor in Conv 2D should be 4 or 5.")
    if channels % groups:
        raise InternalError("The number of input channels is not divisble by groups.")
    return _product(output) * _product(kernel) * (channels // groups)


def _dense(call: Any) -> int:
    data, weight = _shape(call.args[0]), _shape(call.args[1])
    if len(data) != 2 or len(weight) != 2:
        raise InternalError("The dimension of an input tensor to Dense node should be 2.")
    if data[1] != weight[1]:
        raise InternalError("The dimensions of input arguments do not match.")
    return data[0] * data[1] * weight[0]


def _batch_matmul(call: Any) -> int:
    x, y = _shape(call.args[0]), _shape(call.args[1])
    return x[0] * x[1] * x[2] * y[1]
