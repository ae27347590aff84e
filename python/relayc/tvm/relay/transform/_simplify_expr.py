"""`SimplifyExpr` in the form that TVM gives it: patterns and what replaces them, tried in TVM's order until none applies.

The native pass `simplify-expr` changes no bit of a result. The rules here may: they join constants and write
`x / sqrt(y)` as `x * rsqrt(y)`, because programs that ask for the pass by name expect the forms of TVM.
Rules of TVM: `src/relay/transforms/simplify_expr.cc`.
"""

from __future__ import annotations

import math
from typing import Any, Callable, List, Optional

import numpy as np

from ...ir import Op, structural_equal
from ...tir.data_layout import Layout
from ..dataflow_pattern import DFPatternCallback, is_constant, is_op, rewrite, wildcard
from ..expr import Call, Constant, const

__all__ = ["simplify_expr"]


def simplify_expr(func: Any, mod: Any, ctx: Any) -> Any:
    """`func` with all rules applied until none changes it."""
    return rewrite([_Rule(make) for make in _RULES], func, mod)


class _Rule(DFPatternCallback):
    """A rule `replace(pre, post, matched)`, where `matched(pattern)` is what a pattern matched. `None` keeps the match."""

    def __init__(self, make: Callable[[], Any]) -> None:
        super().__init__(require_type=True)
        self.pattern, self.replace = make()

    def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
        replaced = self.replace(pre, post, lambda pattern: node_map[pattern][0] if pattern in node_map else None)
        return post if replaced is None else replaced


def _call(name: str, *args: Any) -> Any:
    return Call(Op.get(name), list(args))


def _static_shape(expr: Any) -> Optional[List[int]]:
    """The shape of a typed expression, if all of its sizes are known."""
    shape = getattr(expr.checked_type, "shape", None)
    if shape is None:
        return None
    sizes = [getattr(dim, "value", dim) for dim in shape]
    return sizes if all(isinstance(size, int) for size in sizes) else None


# ---- operators that read the shape or the type of another value --------------------


def _like(name: str, operands: int, make: Callable[..., Any]) -> Callable[[], Any]:
    """An operator that is `make(operands, shape, dtype)` where the shape is known."""

    def rule() -> Any:
        args = [wildcard() for _ in range(operands)]

        def replace(pre: Any, post: Any, matched: Any) -> Any:
            shape = _static_shape(pre)
            return None if shape is None else make(post.args, shape, pre.checked_type.dtype)

        return is_op(name)(*args), replace

    return rule


def _zeros(args: Any, shape: Any, dtype: str) -> Any:
    from ..op import zeros

    return zeros(shape, dtype)


def _ones(args: Any, shape: Any, dtype: str) -> Any:
    from ..op import ones

    return ones(shape, dtype)


def _full(args: Any, shape: Any, dtype: str) -> Any:
    from ..op import full

    return full(args[1], shape, dtype)


def _reshape(args: Any, shape: Any, dtype: str) -> Any:
    from ..op import reshape

    return reshape(args[0], shape)


def _collapse_sum(args: Any, shape: Any, dtype: str) -> Any:
    from ..op import collapse_sum_to

    return collapse_sum_to(args[0], shape)


def _broadcast(args: Any, shape: Any, dtype: str) -> Any:
    from ..op import broadcast_to

    return broadcast_to(args[0], shape)


def _cast(data: Any, dtype: str) -> Any:
    from ..op import cast

    return cast(data, dtype)


def _cast_like() -> Any:
    data = wildcard()
    pattern = is_op("cast_like")(data, wildcard())
    return pattern, lambda pre, post, matched: _cast(matched(data), pre.checked_type.dtype)


# ---- arithmetic ---------------------------------------------------------------------


def _double() -> Any:
    x, y = wildcard(), wildcard()

    def replace(pre: Any, post: Any, matched: Any) -> Any:
        if matched(x) is not matched(y):
            return None
        return _call("multiply", matched(x), const(2, pre.checked_type.dtype))

    return is_op("add")(x, y), replace


def _rsqrt() -> Any:
    x, numerator = wildcard(), wildcard()
    pattern = is_op("divide")(numerator, is_op("sqrt")(x))
    return pattern, lambda pre, post, matched: _call("multiply", matched(numerator), _call("rsqrt", matched(x)))


def _identity() -> Any:
    x, constant = wildcard(), is_constant()
    zeros = is_op("zeros")() | is_op("zeros_like")(wildcard()) | constant
    ones = is_op("ones")() | is_op("ones_like")(wildcard()) | constant
    sums = is_op("add")(x, zeros) | is_op("subtract")(x, zeros)
    pattern = sums | is_op("multiply")(x, ones) | is_op("divide")(x, ones)

    def replace(pre: Any, post: Any, matched: Any) -> Any:
        neutral = matched(constant)
        if neutral is not None:
            value = 0 if pre.op.name in ("add", "subtract") else 1
            if neutral.data.shape or neutral.data.numpy() != value:
                return None
        return matched(x) if _keeps_type(pre, post, matched(x)) else None

    return pattern, replace


def _keeps_type(pre: Any, post: Any, x: Any) -> bool:
    """Whether operand `x` of a binary call has the type of the result."""
    operand = pre.args[1] if post.args[1] is x else pre.args[0]
    return bool(structural_equal(operand.checked_type, pre.checked_type))


def _full_elementwise() -> Any:
    x, data, value = wildcard(), wildcard(), is_constant()
    full = is_op("full")(value) | is_op("full_like")(data, value)
    ones = is_op("ones")() | is_op("ones_like")(data)
    zeros = is_op("zeros")() | is_op("zeros_like")(data)
    op = wildcard().has_attr({"TOpPattern": 1})
    filled = full | ones | zeros
    pattern = op(filled, x) | op(x, filled)

    def replace(pre: Any, post: Any, matched: Any) -> Any:
        other = matched(x)
        if not _keeps_type(pre, post, other):
            return None
        if matched(full) is not None:
            scalar = matched(value)
        else:
            scalar = const(0 if matched(ones) is None else 1, pre.checked_type.dtype)
        args = [scalar, other] if post.args[1] is other else [other, scalar]
        return Call(post.op, args, post.attrs, post.type_args, post.span)

    return pattern, replace


def _product_first() -> Any:
    """`(x + a) * b` is `x * b + a * b`, so that `FoldScaleAxis` finds the product."""
    x, a, b = wildcard(), is_constant(), is_constant()

    def replace(pre: Any, post: Any, matched: Any) -> Any:
        if isinstance(matched(x), Constant):
            return None
        return _call("add", _call("multiply", matched(x), matched(b)), _folded("multiply", matched(a), matched(b)))

    return (x + a) * b, replace


def _two_constants() -> Any:
    """`(x * a) * b` is `x * (a * b)`, and so for sums."""
    x, a, b = wildcard(), is_constant(), is_constant()

    def replace(pre: Any, post: Any, matched: Any) -> Any:
        if isinstance(matched(x), Constant):
            return None
        return _call(pre.op.name, matched(x), _folded(pre.op.name, matched(a), matched(b)))

    return (x * a * b) | (x + a + b), replace


def _folded(name: str, a: Any, b: Any) -> Any:
    from ...ir.module import IRModule
    from .transform import FoldConstantExpr

    return FoldConstantExpr(_call(name, a, b), IRModule())


def _binomial() -> Any:
    """`a*x*x + b*x*y + c*y*y` is `a * (x + p*y) * (x + q*y)` where `p` and `q` are real."""
    x, y, a, b, c = wildcard(), wildcard(), is_constant(), is_constant(), is_constant()
    add, mul = is_op("add"), is_op("multiply")
    xx = mul(a, mul(x, x)) | mul(x, mul(a, x)) | mul(x, x)
    xy = mul(b, mul(x, y)) | mul(x, mul(b, y)) | mul(y, mul(b, x)) | mul(x, y)
    yy = mul(c, mul(y, y)) | mul(y, mul(c, y)) | mul(y, y)
    pattern = add(add(xy, xx), yy) | add(add(xy, yy), xx) | add(add(xx, yy), xy)

    def replace(pre: Any, post: Any, matched: Any) -> Any:
        dtype = pre.checked_type.dtype
        factors = [_factor(matched(constant), dtype) for constant in (a, b, c)]
        if None in factors:
            return None
        first, second = matched(x), matched(y)
        if factors[2] == 1 and factors[0] > 1:
            first, second = second, first
            factors.reverse()
        square = factors[1] ** 2 - 4 * factors[0] * factors[2]
        if square < 0 or factors[0] == 0:
            return None
        ends = [(factors[1] + sign * math.sqrt(square)) / (2 * factors[0]) for sign in (1, -1)]
        if dtype == "int32" and any(end != int(end) for end in ends):
            return None
        left = right = _call("add", first, _call("multiply", second, const(ends[0], dtype)))
        if square >= 1e-4:
            right = _call("add", first, _call("multiply", second, const(ends[1], dtype)))
        return _call("multiply", const(factors[0], dtype), _call("multiply", left, right))

    return pattern, replace


def _factor(constant: Any, dtype: str) -> Optional[float]:
    """The value of a factor, 1 where there is none; `None` if it is no scalar of a type that the rule knows."""
    if dtype not in ("int32", "float32", "float64"):
        return None
    if constant is None:
        return 1.0
    return float(constant.data.numpy().reshape(())) if constant.data.numpy().size == 1 else None


# ---- movement -----------------------------------------------------------------------


def _two_reshapes() -> Any:
    x = wildcard()
    inner = is_op("reshape") | is_op("contrib_reverse_reshape")
    outer = is_op("reshape") | is_op("contrib_reverse_reshape")

    def replace(pre: Any, post: Any, matched: Any) -> Any:
        shape = _static_shape(pre)
        return None if shape is None else _reshape([matched(x)], shape, "")

    return outer(inner(x)), replace


def _axes(call: Any, rank: int) -> List[int]:
    if call.attrs.axes is None:
        return list(range(rank))[::-1]
    return [int(axis) % rank for axis in call.attrs.axes]


def _order(call: Any, rank: int) -> Optional[List[int]]:
    """The source axis of each axis of the result; `None` if a layout transform splits or joins axes."""
    if call.op.name == "transpose":
        return _axes(call, rank)
    source, result = Layout(call.attrs.src_layout), Layout(call.attrs.dst_layout)
    if sorted(source.axes) != sorted(result.axes):
        return None
    return [source.index_of(letter) for letter, _ in result.axes]


def _two_transposes() -> Any:
    x = wildcard()
    inner = is_op("transpose") | is_op("layout_transform")
    outer = is_op("transpose") | is_op("layout_transform")

    def replace(pre: Any, post: Any, matched: Any) -> Any:
        from ..op import layout_transform, transpose

        second, first = post, post.args[0]
        middle = len(pre.args[0].checked_type.shape)
        orders = [_order(first, middle), _order(second, middle)]
        if None not in orders:
            return transpose(matched(x), [orders[0][axis] for axis in orders[1]])
        layouts = _joined_layouts(first, second, orders)
        if layouts is None:
            return None
        return matched(x) if layouts[0] == layouts[1] else layout_transform(matched(x), *layouts)

    return outer(inner(x)), replace


def _joined_layouts(first: Any, second: Any, orders: List[Any]) -> Optional[List[str]]:
    """The layouts of the one transform that does what two do, at least one of which splits or joins axes."""
    if orders[0] is not None:
        source, result = second.attrs.src_layout, second.attrs.dst_layout
        inverse = np.argsort(orders[0])
        return [_permuted(source, inverse), result] if len(source) == len(inverse) else None
    if orders[1] is not None:
        source, result = first.attrs.src_layout, first.attrs.dst_layout
        return [source, _permuted(result, orders[1])] if len(result) == len(orders[1]) else None
    if first.attrs.dst_layout != second.attrs.src_layout:
        return None
    return [first.attrs.src_layout, second.attrs.dst_layout]


def _permuted(layout: str, order: Any) -> str:
    return "".join(layout[axis] for axis in order)


def _idle_transpose() -> Any:
    x = wildcard()

    def replace(pre: Any, post: Any, matched: Any) -> Any:
        rank = len(pre.checked_type.shape)
        return matched(x) if _order(post, rank) == list(range(rank)) else None

    return (is_op("transpose") | is_op("layout_transform"))(x), replace


# ---- casts and clips ----------------------------------------------------------------


def _idle_cast() -> Any:
    data = wildcard()

    def replace(pre: Any, post: Any, matched: Any) -> Any:
        same = pre.args[0].checked_type.dtype == pre.checked_type.dtype
        return matched(data) if same else None

    return is_op("cast_like")(data, wildcard()) | is_op("cast")(data), replace


def _two_casts() -> Any:
    data = wildcard()
    inner = is_op("cast_like")(data, wildcard()) | is_op("cast")(data)
    outer = is_op("cast_like")(inner, wildcard()) | is_op("cast")(inner)

    def replace(pre: Any, post: Any, matched: Any) -> Any:
        between = pre.args[0]
        if not _widens(between.args[0].checked_type.dtype, between.checked_type.dtype):
            return None
        return _cast(matched(data), pre.checked_type.dtype)

    return outer, replace


_CODES = ("int", "uint", "float", "bfloat")


def _code_and_bits(dtype: str) -> Any:
    if dtype == "bool":
        return "uint", 1
    code = dtype.rstrip("0123456789")
    return code, int(dtype[len(code) :] or 0)


def _widens(before: str, after: str) -> bool:
    """Whether a cast loses nothing, by the order int, uint, float that TVM gives types."""
    (code, bits), (wider, wide) = _code_and_bits(before), _code_and_bits(after)
    if bits > wide:
        return False
    if code == wider:
        return True
    return "bfloat" not in (code, wider) and _CODES.index(code) < _CODES.index(wider)


def _range(dtype: str) -> Any:
    code, bits = _code_and_bits(dtype)
    if code == "bfloat":
        return -3.38953138925e38, 3.38953138925e38
    if code == "float":
        return float(np.finfo(dtype).min), float(np.finfo(dtype).max)
    if code == "uint":
        return 0.0, float(2**bits - 1)
    return -float(2 ** (bits - 1)), float(2 ** (bits - 1) - 1)


def _clip_and_casts() -> Any:
    """Casts after a clip, without those to types that hold the whole range of the clip."""

    def replace(pre: Any, post: Any, matched: Any) -> Any:
        casts = []
        clip = post
        while isinstance(clip, Call) and clip.op == Op.get("cast"):
            casts.append(clip.attrs.dtype)
            clip = clip.args[0]
        if not isinstance(clip, Call) or clip.op != Op.get("clip"):
            return None
        source = pre
        while source.op == Op.get("cast"):
            source = source.args[0]
        needed = [dtype for dtype in casts if not _holds(dtype, clip.attrs.a_min, clip.attrs.a_max)]
        last = needed[0] if needed else source.checked_type.dtype
        if last != casts[0]:
            needed.insert(0, casts[0])
        if needed == casts:
            return None
        for dtype in reversed(needed):
            clip = _cast(clip, dtype)
        return clip

    return is_op("cast")(wildcard()), replace


def _holds(dtype: str, low: float, high: float) -> bool:
    least, most = _range(dtype)
    return bool(low >= least and high <= most)


def _idle_clip() -> Any:
    x = wildcard()

    def replace(pre: Any, post: Any, matched: Any) -> Any:
        operand = matched(x)
        # Compilers for other libraries look for these before a clip.
        if isinstance(operand, Call) and operand.op in (Op.get("qnn.requantize"), Op.get("qnn.add")):
            return None
        least, most = _range(pre.checked_type.dtype)
        return operand if post.attrs.a_max >= most and post.attrs.a_min <= least else None

    return is_op("clip")(x), replace


def _dequantized(name: str) -> Callable[[], Any]:
    """The order of elements is that of the quantized ones."""

    def rule() -> Any:
        x = wildcard()
        pattern = is_op(name)(is_op("qnn.dequantize")(x, wildcard(), wildcard()))
        return pattern, lambda pre, post, matched: Call(Op.get(name), [matched(x)], post.attrs)

    return rule


#: The rules in the order in which they are tried: each gives a pattern and what replaces it.
_RULES = [
    _like("zeros_like", 1, _zeros),
    _like("ones_like", 1, _ones),
    _like("full_like", 2, _full),
    _like("reshape_like", 2, _reshape),
    _like("collapse_sum_like", 2, _collapse_sum),
    _like("broadcast_to_like", 2, _broadcast),
    _cast_like,
    _double,
    _rsqrt,
    _identity,
    _two_reshapes,
    _two_transposes,
    _idle_transpose,
    _idle_cast,
    _two_casts,
    _full_elementwise,
    _product_first,
    _two_constants,
    _dequantized("argmax"),
    _dequantized("argmin"),
    _dequantized("argsort"),
    _clip_and_casts,
    _idle_clip,
    _binomial,
]
