"""`ForwardFoldScaleAxis` and `BackwardFoldScaleAxis` in the form that TVM gives them.

A multiplication of channels moves into the weight of the products behind it (forward) or
before it (backward). Scales and weights may be any expressions: what moves is written as
`squeeze`, `expand_dims` or `reshape` of the scale, which constant folding then computes.
The native pass `fold-scale-axis` moves constants into constants only, and further.

Both directions ask first: demands say along which axes a value may be scaled, and whether
only by positive numbers. Rules of TVM: `src/relay/transforms/fold_scale_axis.cc`.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from ...ir import Op
from ...tir.data_layout import Layout
from ..dataflow_pattern.graph import children, mutate
from ..analysis._walk import post_order
from ..expr import Call, Constant

__all__ = ["backward_fold_scale_axis", "forward_fold_scale_axis"]


class _Demand(NamedTuple):
    """The axes along which a value may be scaled, and whether the scale has to be positive."""

    axes: Tuple[int, ...]
    positive: bool


class _Scaled(NamedTuple):
    """A value that still has to be multiplied by `scale` along `axes`."""

    value: Any
    axes: Tuple[int, ...]
    scale: Any


_RELU = ("nn.relu", "nn.leaky_relu")
_SUMS = ("add", "subtract")
_CONVS = ("nn.conv2d", "nn.conv3d")


def _name(expr: Any) -> str:
    """The operator that an expression calls, or nothing."""
    return expr.op.name if isinstance(expr, Call) and isinstance(expr.op, Op) else ""


def _call(name: str, *args: Any) -> Any:
    return Call(Op.get(name), list(args))


def _with_args(call: Any, args: List[Any]) -> Any:
    return Call(call.op, args, call.attrs, call.type_args)


def _shape(expr: Any) -> Optional[List[Any]]:
    """The sizes of a tensor, `None` in the place of unknown ones; `None` for a value that is none."""
    shape = getattr(expr.checked_type, "shape", None)
    if shape is None:
        return None
    sizes = [getattr(dim, "value", dim) for dim in shape]
    return [size if isinstance(size, int) else None for size in sizes]


# ---- scales ---------------------------------------------------------------------------


def _matches(data: Any, other: Any, axes: Tuple[int, ...]) -> bool:
    """Whether `other` has the sizes of `data` along `axes`, and 1 or nothing elsewhere."""
    shape, sizes = _shape(data), _shape(other)
    if shape is None or sizes is None or len(sizes) > len(shape):
        return False
    base = len(shape) - len(sizes)
    for axis, size in enumerate(shape):
        if axis in axes:
            if axis < base or size is None or sizes[axis - base] != size:
                return False
        elif axis >= base and sizes[axis - base] != 1:
            return False
    return True


def _scale(data: Any, other: Any, axes: Tuple[int, ...]) -> Optional[Any]:
    """`other` as one factor for each place along `axes` of `data`, if it is that."""
    from ..op import expand_dims, repeat, squeeze

    shape, sizes = _shape(data), _shape(other)
    if shape is None or sizes is None:
        return None
    if not sizes:
        if any(shape[axis] is None for axis in axes):
            return None
        scale = expand_dims(other, 0, len(axes))
        for at, axis in enumerate(axes):
            scale = repeat(scale, shape[axis], at)
        return scale
    if not _matches(data, other, axes):
        return None
    base = len(shape) - len(sizes)
    units = [axis - base for axis in range(base, len(shape)) if axis not in axes]
    return squeeze(other, units) if units else other


def _is_positive(scale: Any) -> bool:
    while _name(scale) in ("squeeze", "expand_dims", "repeat", "reshape", "transpose"):
        scale = scale.args[0]
    return isinstance(scale, Constant) and bool(np.all(scale.data.numpy() > 0))


def _spread(scale: Any, rank: int, axes: Tuple[int, ...]) -> Any:
    """A scale along `axes` as it broadcasts to a tensor of `rank` axes."""
    from ..op import expand_dims

    ends = (*axes, rank)
    for at in reversed(range(len(axes))):
        missing = ends[at + 1] - ends[at] - 1
        if missing > 0:
            scale = expand_dims(scale, at + 1, missing)
    return scale


def _reshaped(scale: Any, shape: List[Any], axes: Tuple[int, ...]) -> Any:
    from ..op import reshape

    return reshape(scale, [size if axis in axes else 1 for axis, size in enumerate(shape)])


def _beside(scale: Any, data: Any, axes: Tuple[int, ...]) -> Any:
    """A scale along `axes` as an operand beside `data`."""
    shape = _shape(data)
    assert shape is not None
    return _spread(scale, len(shape), axes) if len(axes) == 1 else _reshaped(scale, shape, axes)


# ---- products -------------------------------------------------------------------------


def _conv_axes(call: Any, layout: str) -> Optional[Tuple[int, ...]]:
    """The axes of channels in a layout, where the weight of a convolution may be scaled."""
    kernel, data = Layout(call.attrs.kernel_layout), Layout(layout)
    blocked = [letters.index_of(letter) >= 0 for letters, letter in ((kernel, "o"), (kernel, "i"), (data, "c"))]
    if len(set(blocked)) > 1 or min(kernel.index_of("O"), kernel.index_of("I"), data.index_of("C")) < 0:
        return None
    shape = _shape(call.args[1])
    if shape is None or None in shape or not (call.attrs.groups == 1 or _is_depthwise(call, kernel, shape)):
        return None
    return (data.index_of("C"), data.index_of("c")) if blocked[0] else (data.index_of("C"),)


def _is_depthwise(call: Any, kernel: Layout, shape: List[int]) -> bool:
    def channels(letter: str) -> int:
        return int(np.prod([size for (axis, _), size in zip(kernel.axes, shape) if axis.upper() == letter]))

    return channels("O") == call.attrs.groups and channels("I") == 1


def _scaled_conv(call: Any, scale: Any, letter: str) -> Any:
    """The weight of a convolution times a scale of its inputs (`I`) or outputs (`O`)."""
    kernel = Layout(call.attrs.kernel_layout)
    big, small = kernel.index_of(letter), kernel.index_of(letter.lower())
    shape = _shape(call.args[1])
    assert shape is not None
    return _spread(scale, len(kernel), (big,)) if small < 0 else _reshaped(scale, shape, (big, small))


# ---- forward --------------------------------------------------------------------------


def forward_fold_scale_axis(func: Any) -> Any:
    """`func` with multiplications moved into the weights of all products behind them."""
    demands = _forward_demands(func)
    if not any(demands.values()):
        return func
    scaled: Dict[int, _Scaled] = {}

    def visit(pre: Any, post: Any, memo: Dict[int, Any]) -> Any:
        rule = _FORWARD.get(_name(pre))
        if rule is None:
            return post
        made = rule(pre, post, demands.get(id(pre)), [scaled.get(id(arg)) for arg in pre.args])
        if isinstance(made, _Scaled):
            # Whoever takes no scale finds the value that is multiplied already.
            scaled[id(pre)] = made
            return post
        return post if made is None else made

    return mutate(func, lambda _: None, visit)


def _forward_demands(func: Any) -> Dict[int, Optional[_Demand]]:
    demands: Dict[int, Optional[_Demand]] = {}
    for expr in reversed(list(post_order(func, children))):
        parts = children(expr)
        asked: List[Optional[_Demand]] = [None] * len(parts)
        if _name(expr) in _FORWARD and _name(expr) != "multiply":
            asked = [None, *_forward_demand(expr, demands.get(id(expr)))]
        for part, demand in zip(parts, asked):
            both = demands.get(id(part), demand)
            if both is None or demand is None:
                demands[id(part)] = None
            else:
                axes = tuple(axis for axis in both.axes if axis in demand.axes)
                demands[id(part)] = _Demand(axes, both.positive or demand.positive)
    return demands


def _forward_demand(call: Any, out: Optional[_Demand]) -> List[Optional[_Demand]]:
    """What a call asks of its arguments."""
    name = _name(call)
    if name in _RELU:
        return [out and _Demand(out.axes, True)]
    if name in _SUMS:
        lhs, rhs = call.args
        if out and _matches(lhs, rhs, out.axes):
            return [out, None]
        return [None, out if out and _matches(rhs, lhs, out.axes) else None]
    if name in _CONVS:
        axes = _conv_axes(call, call.attrs.data_layout)
        return [axes and _Demand(axes, False), None]
    return [_Demand((1,), False), None]


def _multiply_forward(pre: Any, post: Any, demand: Optional[_Demand], scaled: List[Any]) -> Any:
    if demand is None or not demand.axes:
        return None
    for data, other in ((0, 1), (1, 0)):
        scale = _scale_of(pre, data, other, demand, post.args[other])
        if scale is not None:
            return _Scaled(post.args[data], demand.axes, scale)
    return None


def _scale_of(call: Any, data: int, other: int, demand: _Demand, value: Any) -> Optional[Any]:
    """Argument `other` of a multiplication, now `value`, as the scale that a demand on argument `data` allows."""
    scale = _scale(call.args[data], call.args[other], demand.axes)
    if scale is None or (demand.positive and not _is_positive(scale)):
        return None
    return scale if value is call.args[other] else _replaced(scale, call.args[other], value)


def _replaced(expr: Any, old: Any, new: Any) -> Any:
    """`expr`, movements of `old`, over `new`."""
    return mutate(expr, lambda part: new if part is old else None, lambda pre, post, memo: post)


def _relu_forward(pre: Any, post: Any, demand: Any, scaled: List[Any]) -> Any:
    return scaled[0] and scaled[0]._replace(value=_with_args(pre, [scaled[0].value]))


def _sum_forward(pre: Any, post: Any, demand: Any, scaled: List[Any]) -> Any:
    for at, operand in enumerate(scaled):
        if operand is not None:
            other = _call("divide", post.args[1 - at], _beside(operand.scale, pre.args[at], operand.axes))
            args = [operand.value, other] if at == 0 else [other, operand.value]
            return operand._replace(value=_with_args(pre, args))
    return None


def _conv_forward(pre: Any, post: Any, demand: Any, scaled: List[Any]) -> Any:
    if scaled[0] is None:
        return None
    shape = _shape(pre.args[1])
    assert shape is not None
    depthwise = _is_depthwise(pre, Layout(pre.attrs.kernel_layout), shape)
    factors = _scaled_conv(pre, scaled[0].scale, "O" if depthwise else "I")
    return _with_args(pre, [scaled[0].value, _call("multiply", post.args[1], factors)])


def _dense_forward(pre: Any, post: Any, demand: Any, scaled: List[Any]) -> Any:
    if scaled[0] is None:
        return None
    return _with_args(pre, [scaled[0].value, _call("multiply", post.args[1], scaled[0].scale)])


_FORWARD: Dict[str, Callable[..., Any]] = {
    "multiply": _multiply_forward,
    "nn.dense": _dense_forward,
    **{name: _relu_forward for name in _RELU},
    **{name: _sum_forward for name in _SUMS},
    **{name: _conv_forward for name in _CONVS},
}


# ---- backward -------------------------------------------------------------------------


def backward_fold_scale_axis(func: Any) -> Any:
    """`func` with multiplications moved into the weights of the products before them."""
    order = list(post_order(func, children))
    demands = _backward_demands(order)
    if not demands:
        return func
    #: Scales of values, and the multiplications that go with the argument that stays.
    scales: Dict[int, _Scaled] = {}
    gone: Dict[int, Any] = {}
    for expr in reversed(order):
        if _name(expr) == "multiply":
            data = next((arg for arg in expr.args if id(arg) in demands), None)
            if data is not None:
                at = 0 if data is expr.args[0] else 1
                demand = demands[id(data)]
                scale = _scale_of(expr, at, 1 - at, demand, expr.args[1 - at])
                if scale is not None:
                    gone[id(expr)] = data
                    scales[id(data)] = _Scaled(None, demand.axes, scale)
        elif id(expr) in scales and _name(expr) not in (*_CONVS, "nn.dense"):
            scales.update((id(arg), scales[id(expr)]) for arg in expr.args if id(arg) in demands)

    def visit(pre: Any, post: Any, memo: Dict[int, Any]) -> Any:
        if id(pre) in gone:
            return memo[id(gone[id(pre)])]
        scaled = scales.get(id(pre))
        if scaled is None:
            return post
        return _with_args(pre, _scaled_args(pre, post, scaled, demands))

    return mutate(func, lambda _: None, visit)


def _scaled_args(pre: Any, post: Any, scaled: _Scaled, demands: Dict[int, _Demand]) -> List[Any]:
    """The arguments of a call whose result is scaled; those with a demand are scaled already."""
    name, args = _name(pre), list(post.args)
    if name in _CONVS:
        args[1] = _call("multiply", args[1], _scaled_conv(pre, scaled.scale, "O"))
    elif name == "nn.dense":
        args[1] = _call("multiply", args[1], _spread(scaled.scale, 2, (0,)))
    elif name == "nn.bias_add":
        args[1] = _call("multiply", args[1], scaled.scale)
    elif name in _SUMS:
        for at, arg in enumerate(pre.args):
            if id(arg) not in demands:
                args[at] = _call("multiply", args[at], _beside(scaled.scale, pre.args[1 - at], scaled.axes))
    return args


def _backward_demands(order: List[Any]) -> Dict[int, _Demand]:
    users: Dict[int, int] = {id(order[-1]): 1}
    for expr in order:
        for part in children(expr):
            users[id(part)] = users.get(id(part), 0) + 1
    demands: Dict[int, _Demand] = {}
    for expr in order:
        if isinstance(expr, Call) and users[id(expr)] == 1:
            demand = _backward_demand(expr, [demands.get(id(arg)) for arg in expr.args])
            if demand is not None:
                demands[id(expr)] = demand
    return demands


def _backward_demand(call: Any, of_args: List[Optional[_Demand]]) -> Optional[_Demand]:
    """How the result of a call may be scaled, by way of its arguments."""
    name = _name(call)
    if name in _RELU:
        return of_args[0] and _Demand(of_args[0].axes, True)
    if name in _SUMS:
        (lhs, rhs), (left, right) = call.args, of_args
        if left and right:
            same = left.axes == right.axes and _shape(lhs) == _shape(rhs) and None not in (_shape(lhs) or [None])
            return _Demand(left.axes, left.positive or right.positive) if same else None
        if left and _matches(lhs, rhs, left.axes):
            return left
        return right if right and _matches(rhs, lhs, right.axes) else None
    if name == "nn.bias_add":
        data = of_args[0]
        axis = int(call.attrs.axis) % len(_shape(call) or [None])
        return data if data and data.axes == (axis,) else None
    if name in _CONVS:
        axes = _conv_axes(call, call.attrs.out_layout or call.attrs.data_layout)
        return axes and _Demand(axes, False)
    return _Demand((1,), False) if name == "nn.dense" else None
