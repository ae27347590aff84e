"""Operators whose operands are constants: those of `dyn` become static, division becomes a product.

Rules of TVM: `src/relay/transforms/{dynamic_to_static,div_to_mul}.cc`.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Tuple

import numpy as np

from ...ir import Op
from ...runtime.ndarray import array
from ..expr import Call, Constant, TupleWrapper
from ..function import Function
from ._rewrites import rewrite

__all__ = ["div_to_mul", "dynamic_to_static"]


def dynamic_to_static(func: Any, mod: Any, ctx: Any) -> Any:
    """`func` with operators of `dyn` written with attributes, wherever constants are folded to say them."""
    from .transform import FoldConstant, InferType

    var = next(var for var, own in mod.functions.items() if own is func)
    mod = mod._copy()
    func = rewrite(func, _static)
    while True:
        # Types of results may be known better than before.
        mod[var] = rewrite(func, _without_result_type)
        mod = FoldConstant()(InferType()(mod))
        func = rewrite(mod[var], _static)
        if func is mod[var]:
            return rewrite(func, _without_result_type)


def _without_result_type(pre: Any, post: Any) -> Any:
    if isinstance(post, Function) and post.ret_type is not None:
        return Function(post.params, post.body, None, post.type_params, post.attrs, post.span)
    return post


def _static(pre: Any, post: Any) -> Any:
    if not isinstance(post, Call) or not isinstance(post.op, Op):
        return post
    rule = _RULES.get(post.op.name)
    if rule is None:
        return post
    operands, make = rule
    args = list(post.args)
    for index in operands:
        arg = args[index]
        if not isinstance(arg, Constant):
            return post
        args[index] = arg.data.numpy().tolist()
    made = make(post.attrs, *args)
    return made.tuple_value if isinstance(made, TupleWrapper) else made


def _reshape(attrs: Any, data: Any, shape: Any) -> Any:
    from ..op import reshape

    return reshape(data, shape)


def _squeeze(attrs: Any, data: Any, axis: Any) -> Any:
    from ..op import squeeze

    return squeeze(data, axis)


def _tile(attrs: Any, data: Any, reps: Any) -> Any:
    from ..op import tile

    return tile(data, reps)


def _topk(attrs: Any, data: Any, k: Any) -> Any:
    from ..op import topk

    return topk(data, _scalar(k), attrs.axis, attrs.ret_type, attrs.is_ascend, attrs.dtype)


def _broadcast_to(attrs: Any, data: Any, shape: Any) -> Any:
    from ..op import broadcast_to

    return broadcast_to(data, shape)


def _zeros(attrs: Any, shape: Any) -> Any:
    from ..op import zeros

    return zeros(shape, attrs.dtype)


def _ones(attrs: Any, shape: Any) -> Any:
    from ..op import ones

    return ones(shape, attrs.dtype)


def _full(attrs: Any, value: Any, shape: Any) -> Any:
    from ..op import full

    return full(value, shape, attrs.dtype)


def _one_hot(attrs: Any, indices: Any, on: Any, off: Any, depth: Any) -> Any:
    from ..op import one_hot

    return one_hot(indices, on, off, _scalar(depth), attrs.axis, attrs.dtype)


def _resize2d(attrs: Any, data: Any, size: Any, roi: Any) -> Any:
    from ..op.image import resize2d

    return resize2d(
        data,
        [int(dim) for dim in size],
        roi,
        attrs.layout,
        attrs.method,
        attrs.coordinate_transformation_mode,
        attrs.rounding_method,
        attrs.cubic_alpha,
        attrs.cubic_exclude,
        attrs.extrapolation_value,
        attrs.out_dtype,
    )


def _upsampling(attrs: Any, data: Any, height: Any, width: Any) -> Any:
    from ..op.nn import upsampling

    return upsampling(data, height, width, attrs.layout, attrs.method, attrs.align_corners)


def _upsampling3d(attrs: Any, data: Any, depth: Any, height: Any, width: Any) -> Any:
    from ..op.nn import upsampling3d

    return upsampling3d(
        data,
        depth,
        height,
        width,
        attrs.layout,
        attrs.method,
        attrs.coordinate_transformation_mode,
    )


def _pad(attrs: Any, data: Any, width: Any, value: Any) -> Any:
    from ..op.nn import pad

    return pad(data, width, value, attrs.pad_mode)


def _strided_slice(attrs: Any, data: Any, begin: Any, end: Any, strides: Any) -> Any:
    from ..op import strided_slice

    return strided_slice(data, begin, end, strides, slice_mode=attrs.slice_mode)


def _sparse_to_dense(attrs: Any, indices: Any, values: Any, default: Any, shape: Any) -> Any:
    from ..op import sparse_to_dense

    return sparse_to_dense(indices, shape, values, default)


def _scalar(value: Any) -> int:
    return int(value[0] if isinstance(value, list) else value)


#: By operator: the operands that have to be constants, and what makes the static call
#: of its attributes and operands, these as lists.
_RULES: Dict[str, Tuple[Tuple[int, ...], Callable[..., Any]]] = {
    "dyn.reshape": ((1,), _reshape),
    "dyn.squeeze": ((1,), _squeeze),
    "dyn.tile": ((1,), _tile),
    "dyn.topk": ((1,), _topk),
    "dyn.broadcast_to": ((1,), _broadcast_to),
    "dyn.zeros": ((0,), _zeros),
    "dyn.ones": ((0,), _ones),
    "dyn.full": ((1,), _full),
    "dyn.one_hot": ((3,), _one_hot),
    "dyn.image.resize2d": ((1, 2), _resize2d),
    "dyn.nn.upsampling": ((1, 2), _upsampling),
    "dyn.nn.upsampling3d": ((1, 2, 3), _upsampling3d),
    "dyn.nn.pad": ((1,), _pad),
    "dyn.strided_slice": ((1, 2, 3), _strided_slice),
    "dyn.sparse_to_dense": ((3,), _sparse_to_dense),
}


def div_to_mul(func: Any, mod: Any, ctx: Any) -> Any:
    """`func` with products by the inverse in place of division by constants of a float type without a zero."""
    divide = Op.get("divide")

    def visit(pre: Any, post: Any) -> Any:
        if not isinstance(post, Call) or post.op is not divide:
            return post
        inverse = _inverse(post.args[1])
        return post if inverse is None else Call(Op.get("multiply"), [post.args[0], inverse])

    return rewrite(func, visit)


def _inverse(divisor: Any) -> Optional[Any]:
    if not isinstance(divisor, Constant):
        return None
    values = divisor.data.numpy()
    if values.dtype.kind != "f" or not np.all(values):
        return None
    return Constant(array(np.asarray(1 / values.astype("float64")).astype(values.dtype)))
