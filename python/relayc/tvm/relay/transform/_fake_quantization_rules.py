"""The rules of `FakeQuantizationToInteger`.

Rules of TVM: `python/tvm/relay/transform/fake_quantization_to_integer.py`. A rule takes
a call whose operands are integers already and the map of affine types, in which the
call itself has the type that its region's `qnn.quantize` wants.
"""

from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, Tuple

import numpy as np

from ...ir import TensorAffineType, TupleAffineType, structural_equal
from ...runtime.ndarray import array
from ..expr import Constant
from ..expr import Tuple as RelayTuple

__all__ = ["OPTIONAL_RULES", "QAT_OPERATORS", "RULES"]

Rule = Callable[[Any, Any], Tuple[Any, Any]]
_FLOATS = ("float16", "float32", "float64", "bfloat16")

#: The operators that `use_qat` converts one by one.
QAT_OPERATORS = frozenset(
    "broadcast_to clip expand_dims max maximum min minimum nn.avg_pool2d nn.batch_flatten nn.batch_matmul "
    "nn.bias_add nn.conv2d nn.conv2d_transpose nn.dense nn.depth_to_space nn.global_avg_pool2d nn.max_pool2d "
    "nn.pad nn.relu reshape split squeeze strided_slice transpose".split()
)


def _folded(expr: Any) -> Any:
    if isinstance(expr, Constant):
        return expr
    from ...ir.module import IRModule
    from .transform import FoldConstantExpr

    return FoldConstantExpr(expr, IRModule())


def _const(values: Any, dtype: Any = None) -> Any:
    return Constant(array(np.asarray(values, dtype)))


def _product(a: Any, b: Any) -> Any:
    if isinstance(a, Constant) and isinstance(b, Constant):
        left, right = a.data.numpy(), b.data.numpy()
        return _const(left * right, left.dtype)
    return _folded(a * b)


def _zeros_of(scale: Any) -> Any:
    if isinstance(scale, Constant):
        return _const(np.zeros(scale.data.shape), "int32")
    from ..op import cast, zeros_like

    return _folded(cast(zeros_like(scale), "int32"))


def _close(a: Any, b: Any) -> bool:
    a, b = _folded(a), _folded(b)
    if isinstance(a, Constant) and isinstance(b, Constant):
        return bool(np.allclose(a.data.numpy(), b.data.numpy()))
    return bool(structural_equal(a, b))


def _same(a: Any, b: Any) -> bool:
    return a.dtype == b.dtype and _close(a.scale, b.scale) and _close(a.zero_point, b.zero_point)


def _shape(expr: Any) -> Any:
    from ._local import infer_type_local

    if isinstance(expr, Constant):
        return expr.data.shape
    return [dim for dim in infer_type_local(expr).shape]


def _called(function: Callable[..., Any], *args: Any, **attrs: Any) -> Any:
    """A call with those attributes that the function takes."""
    known = inspect.signature(function).parameters
    return function(*args, **{name: value for name, value in attrs.items() if name in known})


def _attrs(expr: Any, *without: str) -> Dict[str, Any]:
    return {key: expr.attrs[key] for key in expr.attrs.keys() if key not in without}


def _requantized(expr: Any, old: Any, new: Any, dtype: Any = None, axis: Any = None) -> Any:
    from ..qnn.op import requantize

    return requantize(
        expr,
        _folded(old.scale),
        _folded(old.zero_point),
        _folded(new.scale),
        _folded(new.zero_point),
        out_dtype=dtype or new.dtype,
        axis=old.axis if axis is None else axis,
    )


def _quantized(expr: Any, like: Any, **more: Any) -> Any:
    from ..qnn.op import quantize

    if not isinstance(expr, Constant) or str(expr.data.dtype) not in _FLOATS:
        raise ValueError("only constants of a float type are quantized")
    return quantize(expr, like.scale, like.zero_point, **more)


def _dequantize(expr: Any, types: Any) -> Tuple[Any, Any]:
    return expr.args[0], types[expr]


def _quantize(expr: Any, types: Any) -> Tuple[Any, Any]:
    out = expr.args[0]
    wanted = TensorAffineType(expr.args[1], expr.args[2], expr.attrs.out_dtype, expr.attrs.axis)
    if not _same(types[out], wanted):
        out = _requantized(out, types[out], wanted)
    return out, wanted


def _identity(expr: Any, types: Any) -> Tuple[Any, Any]:
    """The operator moves or chooses elements."""
    return expr, types[expr.args[0]]


def _avg_pool2d(expr: Any, types: Any) -> Tuple[Any, Any]:
    from ..qnn.op import avg_pool2d

    old = new = types[expr.args[0]]
    root = getattr(types, "root", None)
    last = root is not None and root.args[0]
    if last and last._kind == "Call" and last.op == expr.op and structural_equal(last.attrs, expr.attrs):
        new = types[expr]
    out = _called(
        avg_pool2d, expr.args[0], old.scale, old.zero_point, new.scale, new.zero_point, **_attrs(expr)
    )
    return out, new


def _mean_in_int32(name: str) -> Rule:
    def rule(expr: Any, types: Any) -> Tuple[Any, Any]:
        from ..op import nn
        from ..op import cast

        value, old, new = expr.args[0], types[expr.args[0]], types[expr]
        value = cast(value, "int32") if _same(old, new) else _requantized(value, old, new, "int32")
        out = _called(getattr(nn, name), value, **_attrs(expr))
        return out, TensorAffineType(new.scale, new.zero_point, "int32", new.axis)

    return rule


def _bias_add(expr: Any, types: Any) -> Tuple[Any, Any]:
    from ..op.nn import bias_add

    value, bias = expr.args
    ty = types[value]
    if bias not in types:
        bias = _quantized(bias, ty, axis=0, out_dtype=ty.dtype)
    elif not _same(ty, types[bias]):
        bias = _requantized(bias, types[bias], ty, axis=0)
    return _called(bias_add, value, bias, **_attrs(expr)), ty


def _weighted(name: str) -> Rule:
    """Sums of products with weights."""

    def rule(expr: Any, types: Any) -> Tuple[Any, Any]:
        from ..qnn import op

        value, weight = expr.args
        x, w = types[value], types[weight]
        scale = _product(x.scale, w.scale)
        attrs = _attrs(expr, "out_dtype")
        function = getattr(op, name)
        out = _called(function, value, weight, x.zero_point, w.zero_point, x.scale, w.scale, **attrs)
        axis = 1
        if name != "dense":
            axis = (attrs["out_layout"] or attrs["data_layout"]).index("C")
        return out, TensorAffineType(scale, _zeros_of(scale), out.attrs.out_dtype, axis)

    return rule


def _batch_matmul(expr: Any, types: Any) -> Tuple[Any, Any]:
    from ..qnn.op import batch_matmul

    a, b = expr.args
    x, y = types[a], types[b]
    out = batch_matmul(a, b, x.zero_point, y.zero_point, x.scale, y.scale)
    return out, TensorAffineType(_product(x.scale, y.scale), _const(0, "int32"), out.attrs.out_dtype, x.axis)


def _concatenate(expr: Any, types: Any) -> Tuple[Any, Any]:
    from ..qnn.op import concatenate

    parts = types[expr.args[0]].types
    new = types[expr]
    scales = RelayTuple([part.scale for part in parts])
    zero_points = RelayTuple([part.zero_point for part in parts])
    out = concatenate(expr.args[0], scales, zero_points, new.scale, new.zero_point, **_attrs(expr))
    return out, new


def _topk(expr: Any, types: Any) -> Tuple[Any, Any]:
    if expr.attrs.ret_type != "values":
        raise ValueError("topk: indices are no quantized values")
    return expr, types[expr.args[0]]


def _split(expr: Any, types: Any) -> Tuple[Any, Any]:
    parts = expr.attrs.indices_or_sections
    count = len(parts) + 1 if hasattr(parts, "__len__") else int(parts)
    return expr, TupleAffineType([types[expr.args[0]]] * count)


def _per_channel(value: Any, count: Any, expr: Any, axis: int) -> Any:
    """A value for each channel in the shape that broadcasts along an axis of `expr`."""
    from ..op import broadcast_to, reshape

    shape = [1] * len(_shape(expr))
    shape[axis] = -1
    return reshape(broadcast_to(value, [int(dim) for dim in count]), shape)


def _clip(expr: Any, types: Any) -> Tuple[Any, Any]:
    from ..op import clip, maximum, minimum
    from ..qnn.op import quantize

    value, ty = expr.args[0], types[expr.args[0]]
    scale, zero_point = _folded(ty.scale), _folded(ty.zero_point)
    low, high = expr.attrs.a_min, expr.attrs.a_max
    constant = isinstance(scale, Constant) and isinstance(zero_point, Constant)
    if constant and scale.data.numpy().size == 1 and zero_point.data.numpy().size == 1:
        factor, zero = scale.data.numpy().item(), zero_point.data.numpy().item()
        return clip(value, int(low / factor + zero), int(high / factor + zero)), ty
    count = _shape(scale)
    limits = []
    for limit in (low, high):
        bound = _const(limit, "float32")
        if len(count) > 0 and int(count[0]) > 1:
            bound = _per_channel(bound, count, value, ty.axis)
        limits.append(_folded(quantize(bound, scale, zero_point, ty.axis, ty.dtype)))
    return minimum(maximum(value, limits[0]), limits[1]), ty


def _relu(expr: Any, types: Any) -> Tuple[Any, Any]:
    from ..op import cast, maximum

    value, ty = expr.args[0], types[expr.args[0]]
    zero = ty.zero_point
    count = _shape(ty.scale)
    if len(count) == 1 and int(count[0]) > 1:
        zero = _per_channel(zero, count, value, ty.axis)
    return maximum(value, _folded(cast(zero, ty.dtype))), ty


def _leaky_relu(expr: Any, types: Any) -> Tuple[Any, Any]:
    from ..qnn.op import leaky_relu

    value, old, new = expr.args[0], types[expr.args[0]], types[expr]
    out = leaky_relu(value, expr.attrs.alpha, old.scale, old.zero_point, new.scale, new.zero_point)
    return out, new


def _pad(expr: Any, types: Any) -> Tuple[Any, Any]:
    from ..op.nn import pad

    value, filler = expr.args
    ty = types[value]
    if filler not in types:
        filler = _quantized(filler, ty, out_dtype=ty.dtype)
    elif not _same(ty, types[filler]):
        filler = _requantized(filler, types[filler], ty)
    return _called(pad, value, pad_value=filler, **_attrs(expr)), ty


def _mean(expr: Any, types: Any) -> Tuple[Any, Any]:
    from ..op import cast, mean

    value, ty = expr.args[0], types[expr.args[0]]
    return cast(_called(mean, cast(value, "int32"), **_attrs(expr)), ty.dtype), ty


def _operands(expr: Any, types: Any) -> Tuple[Any, Any, Any, Any, Any]:
    """Both operands as integers, their types, and the type of the result."""
    left, right = expr.args
    left_type = types[left] if left in types else None
    right_type = types[right] if right in types else None
    if left_type is None and right_type is None:
        raise TypeError("neither input is quantized!")
    if left_type is None:
        left_type = right_type
        left = _quantized(left, left_type, out_dtype=left_type.dtype)
    if right_type is None:
        right_type = left_type
        right = _quantized(right, right_type, out_dtype=right_type.dtype)
    new = types[expr]
    return left, right, left_type, right_type, left_type if left_type.dtype != new.dtype else new


def _scalar(expr: Any, what: str) -> None:
    if not isinstance(expr, Constant) or len(expr.data.shape) != 0:
        raise ValueError(f"The output {what} needs to be a scalar")


def _binary(name: str) -> Rule:
    def rule(expr: Any, types: Any) -> Tuple[Any, Any]:
        from ..op import add
        from ..qnn import op

        left, right, x, y, new = _operands(expr, types)
        if name == "add" and x.dtype == "int32" and _same(x, y):
            # A bias: no operator of `qnn` takes its scales, and int32 has room for the sum.
            unmoved = _close(x.zero_point, new.zero_point) and not np.any(_folded(new.zero_point).data.numpy())
            if unmoved and _close(x.scale, new.scale):
                return add(left, right), x
        _scalar(_folded(new.scale), "scale")
        _scalar(_folded(new.zero_point), "zero point")
        numbers = (x.scale, x.zero_point, y.scale, y.zero_point, new.scale, new.zero_point)
        return getattr(op, name)(left, right, *numbers, x.axis, y.axis), new

    return rule


def _choice(name: str) -> Rule:
    """One of two elements."""

    def rule(expr: Any, types: Any) -> Tuple[Any, Any]:
        from .. import op

        left, right, x, y, new = _operands(expr, types)
        left = left if _same(x, new) else _requantized(left, x, new)
        right = right if _same(y, new) else _requantized(right, y, new)
        return getattr(op, name)(left, right), new

    return rule


def _unary(name: str) -> Rule:
    def rule(expr: Any, types: Any) -> Tuple[Any, Any]:
        from ..qnn import op

        old, new = types[expr.args[0]], types[expr]
        return getattr(op, name)(expr.args[0], old.scale, old.zero_point, new.scale, new.zero_point), new

    return rule


def _softmax(expr: Any, types: Any) -> Tuple[Any, Any]:
    from ..qnn.op import softmax

    old, new = types[expr.args[0]], types[expr]
    numbers = (old.scale, old.zero_point, new.scale, new.zero_point)
    return softmax(expr.args[0], *numbers, **_attrs(expr)), new


#: The rules by operator.
RULES: Dict[str, Rule] = {
    "qnn.dequantize": _dequantize,
    "qnn.quantize": _quantize,
    **dict.fromkeys(
        "reshape squeeze strided_slice transpose expand_dims nn.max_pool2d nn.batch_flatten nn.depth_to_space "
        "max min image.resize2d broadcast_to take".split(),
        _identity,
    ),
    "nn.avg_pool2d": _avg_pool2d,
    "nn.adaptive_avg_pool1d": _mean_in_int32("adaptive_avg_pool1d"),
    "nn.global_avg_pool2d": _mean_in_int32("global_avg_pool2d"),
    "nn.bias_add": _bias_add,
    "nn.conv2d": _weighted("conv2d"),
    "nn.conv2d_transpose": _weighted("conv2d_transpose"),
    "nn.dense": _weighted("dense"),
    "nn.batch_matmul": _batch_matmul,
    "concatenate": _concatenate,
    "topk": _topk,
    "split": _split,
    "clip": _clip,
    "nn.relu": _relu,
    "nn.leaky_relu": _leaky_relu,
    "nn.pad": _pad,
    "mean": _mean,
    "add": _binary("add"),
    "multiply": _binary("mul"),
    "subtract": _binary("subtract"),
    "minimum": _choice("minimum"),
    "maximum": _choice("maximum"),
    **{name: _unary(name) for name in "sqrt rsqrt exp erf sigmoid hardswish tanh abs log".split()},
}
#: Those that `optional_qnn_ops` asks for.
OPTIONAL_RULES: Dict[str, Rule] = {"nn.softmax": _softmax}
