"""For each operator, the layouts of its inputs and outputs, and its attributes with them.

A rule gets the attributes, the layouts that the producers of the inputs have now
(`new`, or `None` before anything changes), those they had (`old`) and the types they
had. It returns layouts of inputs and outputs, of which `None` means that none can be
told, and the attributes. Rules of TVM: `FInferCorrectLayout` in `src/relay/op`.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from ...ir.attrs import changed
from ...tir.data_layout import Layout

__all__ = ["RULES"]

_Layouts = Sequence[Optional[Layout]]
_Found = Tuple[_Layouts, _Layouts, Any]
_Rule = Callable[[Any, Optional[_Layouts], _Layouts, Sequence[Any]], _Found]

_C = Layout("C")


def _shape(ty: Any) -> Tuple[int, ...]:
    return tuple(int(dim) if isinstance(getattr(dim, "value", dim), int) else -1 for dim in ty.shape)


def _any(attrs: Any, new: Optional[_Layouts], old: _Layouts, types: Sequence[Any]) -> _Found:
    if new is not None:
        layout = new[0]
    else:
        layout = next((known for known in old if known is not None), None)
    return [layout] * len(old), [layout], attrs


def _broadcast(attrs: Any, new: Optional[_Layouts], old: _Layouts, types: Sequence[Any]) -> _Found:
    unknown: _Found = [None, None], [None], attrs
    shapes = [_shape(ty) for ty in types[:2]]
    layouts = list(old[:2])
    large_before = 0 if len(shapes[0]) >= len(shapes[1]) else 1
    if layouts[0] is None or layouts[1] is None:
        known = 1 if layouts[0] is None else 0
        layout = layouts[known]
        if layout is None or len(shapes[known]) < len(shapes[1 - known]):
            return unknown
        start = len(shapes[known]) - len(shapes[1 - known])
        layouts[1 - known] = layout.part(start, len(shapes[1 - known]))
        out = layout
    else:
        out = layouts[large_before]
    if new is None:
        return layouts, [out], attrs
    assert new[0] is not None and new[1] is not None
    large = 0 if new[0].n_primal >= new[1].n_primal else 1
    small = 1 - large
    small_layout, large_layout, large_new = layouts[small], layouts[large], new[large]
    assert small_layout is not None and large_layout is not None and large_new is not None
    target = small_layout.like(large_layout, large_new)
    if target is None:
        return unknown
    layouts[large] = large_new
    layouts[small] = target.broadcast(small_layout, shapes[small])
    return layouts, [new[large_before]], attrs


def _convolution(attrs: Any, new: Any, old: Any, types: Any) -> _Found:
    data, kernel = Layout(str(attrs.data_layout)), Layout(str(attrs.kernel_layout))
    return [data, kernel], [Layout(str(attrs.out_layout)) if attrs.out_layout else data], attrs


def _deformable(attrs: Any, new: Any, old: Any, types: Any) -> _Found:
    (data, kernel), out, _ = _convolution(attrs, new, old, types)
    return [data, data, kernel], out, attrs


def _with_channels(rule: _Rule, n_data: int, n_more: int, more: Layout = _C) -> _Rule:
    """A rule for an operator with scales and zero points behind its data."""

    def quantized(attrs: Any, new: Any, old: Any, types: Any) -> _Found:
        inputs, outputs, attrs = rule(attrs, new and new[:n_data], old[:n_data], types)
        return [*inputs, *[more] * n_more], outputs, attrs

    return quantized


def _pool(attrs: Any, new: Any, old: Any, types: Any) -> _Found:
    if not attrs.out_layout and new is not None:
        attrs = changed(attrs, layout=new[0].name)
    layout = Layout(str(attrs.layout))
    return [layout], [layout], attrs


def _quantized_pool(attrs: Any, new: Any, old: Any, types: Any) -> _Found:
    layouts, outputs, _ = _pool(attrs, new and new[:1], old[:1], types)
    return [*layouts, None, None, None, None], outputs, attrs


def _pad(attrs: Any, new: Any, old: Any, types: Any) -> _Found:
    layout = old[0]
    if new is not None:
        widths = dict(zip((a for a, _ in old[0].axes), attrs.pad_width))
        split = [a for a, _ in new[0].axes if a.islower() or a not in widths]
        # Padding of a dimension that is split now would be padding of blocks.
        if all(int(width) == 0 for a in split for width in widths[a.upper()]):
            layout = new[0]
            attrs = changed(attrs, pad_width=[widths[a.upper()] for a, _ in layout.axes])
    return [layout, Layout("1")], [layout], attrs


def _dense(attrs: Any, new: Any, old: Any, types: Any) -> _Found:
    return [Layout("NC"), Layout("NC")], [Layout("NC")], attrs


def _prelu(attrs: Any, new: Any, old: Any, types: Any) -> _Found:
    return [old[0], _C], [old[0]], attrs


def _moved_axis(attrs: Any, new: Any, old: Any, types: Any) -> Tuple[Optional[Layout], Any]:
    """The layout of the data, and the attributes with `axis` where its dimension is now."""
    if new is None or old[0] is None:
        return old[0], attrs
    axis = int(attrs.axis) % len(types[0].shape)
    return new[0], changed(attrs, axis=new[0].index_of(old[0][axis]))


def _batch_norm(attrs: Any, new: Any, old: Any, types: Any) -> _Found:
    layout, attrs = _moved_axis(attrs, new, old, types)
    return [layout, _C, _C, _C, _C], [layout, _C, _C], attrs


def _normalization(attrs: Any, new: Any, old: Any, types: Any) -> _Found:
    layout, attrs = _moved_axis(attrs, new, old, types)
    return [layout, _C, _C], [layout], attrs


def _topk(attrs: Any, new: Any, old: Any, types: Any) -> _Found:
    layout, attrs = _moved_axis(attrs, new, old, types)
    return [layout], [layout, layout], attrs


def _l2_normalize(attrs: Any, new: Any, old: Any, types: Any) -> _Found:
    layout = old[0]
    if new is not None and layout is not None:
        rank = len(types[0].shape)
        axes = [new[0].index_of(layout[int(axis) % rank]) for axis in attrs.axis]
        layout, attrs = new[0], changed(attrs, axis=axes)
    return [layout], [layout], attrs


def _concatenate(attrs: Any, new: Any, old: Any, types: Any) -> _Found:
    axis = int(attrs.axis) % len(types[0].fields[0].shape)
    if new is not None and all(layout == new[0] for layout in new):
        attrs = changed(attrs, axis=new[0].index_of(old[0][axis]))
        return [new[0]] * len(old), [new[0]], attrs
    layout = next((known for known in old if known is not None), None)
    if layout is None or len(layout) <= axis or layout[axis].islower():
        return [None] * len(old), [None], attrs
    return [layout] * len(old), [layout], attrs


def _quantized_concatenate(attrs: Any, new: Any, old: Any, types: Any) -> _Found:
    n = len(types[0].fields)
    inputs, outputs, attrs = _concatenate(attrs, new and new[:n], old[:n], types[:1])
    return [*inputs, *[_C] * (2 * n + 2)], outputs, attrs


def _transpose(attrs: Any, new: Any, old: Any, types: Any) -> _Found:
    layout = old[0]
    if layout is None:
        return [None], [None], attrs
    axes = [int(axis) % len(layout) for axis in attrs.axes or ()] or list(range(len(layout)))[::-1]
    if new is not None and new[0] is not None:
        moved = [new[0].index_of(layout[axis]) for axis in axes]
        if -1 not in moved and len(moved) == len(new[0]):
            layout, axes = new[0], moved
    if any(layout[axis].islower() for axis in axes):
        return [None], [None], attrs
    return [layout], [Layout("".join(layout[a] for a in axes))], changed(attrs, axes=axes)


def _squeeze(attrs: Any, new: Any, old: Any, types: Any) -> _Found:
    layout = old[0] if new is None else new[0]
    if layout is None:
        return [None], [None], attrs
    if attrs.axis is None:
        axes = [i for i, dim in enumerate(_shape(types[0])) if dim == 1]
    else:
        axes = [int(axis) for axis in attrs.axis]
    if new is not None and old[0] is not None:
        axes = [layout.index_of(old[0][axis]) for axis in axes]
        attrs = changed(attrs, axis=axes)
    dropped = {axis % len(layout) for axis in axes}
    kept = [axis for i, axis in enumerate(layout.axes) if i not in dropped]
    return [layout], [Layout.of(kept)], attrs


def _strided_slice(attrs: Any, new: Any, old: Any, types: Any) -> _Found:
    layout = old[0]
    # Begin, end and strides may be inputs; only the data has a layout.
    rest: List[Optional[Layout]] = [None] * (len(old) - 1)
    if layout is None or new is None or layout == new[0]:
        return [layout, *rest], [layout], attrs
    found = _sliced(attrs, new[0], layout, _shape(types[0]))
    return ([None], [None], attrs) if found is None else ([new[0], *rest], [new[0]], found)


def _sliced(attrs: Any, new: Layout, old: Layout, shape: Tuple[int, ...]) -> Any:
    """The attributes of a slice in another layout; `None` if there are none."""
    sizes = str(attrs.slice_mode) == "size"
    begin, end, strides = ([int(x) for x in attrs[n]] for n in ("begin", "end", "strides"))
    axes = list(range(len(begin))) if attrs.axes is None else [int(axis) for axis in attrs.axes]
    if attrs.axes is None:
        axes += range(len(axes), len(strides))
    steps = {axis: 1 if sizes or i >= len(strides) else strides[i] for i, axis in enumerate(axes)}
    blocked = new.name.startswith(old.name)
    if not blocked and len(old.name) != len(new.name):
        return None
    if not blocked and attrs.axes is None:
        order = [old.index_of(letter) for letter, _ in new.axes]
        if -1 in order:
            return None
        return changed(
            attrs,
            begin=[begin[i] if i < len(begin) else 0 for i in order],
            end=[end[i] if i < len(end) else shape[i] for i in order],
            strides=[steps.get(i, 1) for i in order],
        )
    ends = list(end)
    for i, axis in enumerate(axes[: len(begin)]):
        factor = new.factor_of(old[axis])
        if factor < 0:
            continue
        if sizes:
            ends[i] = shape[axis] if ends[i] < 0 else begin[i] + ends[i]
        if steps[axis] != 1 or begin[i] % factor or ends[i] % factor:
            return None
        begin[i], ends[i] = begin[i] // factor, ends[i] // factor
    moved = {} if attrs.axes is None else {"axes": [new.index_of(old[axis]) for axis in axes]}
    return changed(attrs, begin=begin, end=ends, **moved)


def _split(attrs: Any, new: Any, old: Any, types: Any) -> _Found:
    layout = old[0]
    sections = attrs.indices_or_sections
    indices = None if isinstance(getattr(sections, "value", sections), int) else [int(i) for i in sections]
    n = int(sections) if indices is None else len(indices) + 1
    if new is not None and layout is not None:
        letter = layout[int(attrs.axis) % len(types[0].shape)]
        factor = max(new[0].factor_of(letter), 1)
        axis = new[0].index_of(letter)
        if indices is None or all(index % factor == 0 for index in indices):
            layout = new[0]
            places = {} if indices is None else {"indices_or_sections": [i // factor for i in indices]}
            attrs = changed(attrs, axis=axis, **places)
        else:
            attrs = changed(attrs, axis=axis)
    return [layout], [layout] * n, attrs


def _slice_like(attrs: Any, new: Any, old: Any, types: Any) -> _Found:
    if new is not None and old[0] is not None and new[0] == new[1]:
        axes = [new[0].index_of(old[0][int(axis)]) for axis in attrs.axes or ()]
        if axes and -1 not in axes:
            return [new[0], new[0]], [new[0]], changed(attrs, axes=axes)
    return [old[0], old[1]], [old[1]], attrs


def _reduce(attrs: Any, new: Any, old: Any, types: Any) -> _Found:
    n_inputs = len(old)
    if old[0] is None:
        return [None] * n_inputs, [None], attrs
    rank = len(types[0].shape)
    exclude, keep = bool(attrs.exclude), bool(attrs.keepdims)
    given = attrs.axis
    given = [given] if isinstance(given, int) else given
    named = [int(axis) % rank for axis in given] if given else []
    reduced = [i for i in range(rank) if (i in named) != exclude] if named else list(range(rank))
    letters = {old[0][axis] for axis in reduced}
    layout = new[0] if new is not None and reduced else old[0]
    out, axes = "", []
    for at, (letter, factor) in enumerate(layout.axes):
        gone = letter.upper() in letters
        if gone != exclude:
            axes.append(at)
        text = f"{factor}{letter}" if letter.islower() else letter
        if not gone:
            out += text
        elif keep:
            out += f"1{letter}" if letter.islower() else letter
    if new is not None and reduced:
        attrs = changed(attrs, axis=axes)
    # What has no dimension left has no layout to tell.
    return [layout] * n_inputs, [Layout(out) if out else None], attrs


def _resize(attrs: Any, new: Any, old: Any, types: Any) -> _Found:
    if new is not None and old[0] is not None and new[0] != old[0]:
        if Layout(str(attrs.layout)) == old[0] and len(new[0]) == len(old[0]):
            attrs = changed(attrs, layout=new[0].name)
    layout = Layout(str(attrs.layout))
    return [layout], [layout], attrs


def _upsampling(attrs: Any, new: Any, old: Any, types: Any) -> _Found:
    raw = Layout(str(attrs.layout))
    if new is not None:
        found = new[0]
        same = all(found.index_of(x) == raw.index_of(x) and found.index_of(x.lower()) < 0 for x in "HW")
        if same and (found.index_of("D") < 0 or found.index_of("D") == raw.index_of("D")):
            if found.index_of("d") < 0:
                attrs = changed(attrs, layout=found.name)
    layout = Layout(str(attrs.layout))
    return [layout], [layout], attrs


def _roi(attrs: Any, new: Any, old: Any, types: Any) -> _Found:
    layout = Layout(str(attrs.layout))
    return [layout, Layout("N")], [layout], attrs


def _dilation(attrs: Any, new: Any, old: Any, types: Any) -> _Found:
    data = Layout(str(attrs.data_layout))
    return [data, Layout(str(attrs.kernel_layout))], [data], attrs


def _requantize(attrs: Any, new: Any, old: Any, types: Any) -> _Found:
    layout = old[0]
    if new is not None and layout is not None:
        rank = len(types[0].shape)
        letter = layout[int(attrs.axis) % rank]
        scalars = len(types[1].shape) == 0 and len(types[2].shape) == 0
        name, axis = "", 0
        for at, (axis_letter, factor) in enumerate(new[0].axes):
            axis = at if axis_letter == letter else axis
            if axis_letter.isupper():
                name += axis_letter
            elif scalars:
                name += f"{factor}{axis_letter}"
        layout, attrs = Layout(name), changed(attrs, axis=axis)
    return [layout, _C, _C, _C, _C], [layout], attrs


_UNARY = """abs acos acosh asin asinh atan atanh bitwise_not cast cast_like ceil clip copy cos cosh
erf exp fast_erf fast_exp fast_tanh fixed_point_multiply floor isfinite isinf isnan log log10 log2
logical_not negative nn.dropout nn.leaky_relu nn.relu ones_like reinterpret round rsqrt sigmoid sign
sin sinh sqrt tan tanh trunc zeros_like annotation.stop_fusion annotation.cast_hint
annotation.compiler_begin annotation.compiler_end on_device device_copy"""
_BINARY = """add bitwise_and bitwise_or bitwise_xor divide equal floor_divide floor_mod greater
greater_equal left_shift less less_equal logical_and logical_or logical_xor maximum minimum mod
multiply not_equal power right_shift subtract trunc_divide trunc_mod"""
_POOLS = """nn.adaptive_avg_pool1d nn.adaptive_avg_pool2d nn.adaptive_avg_pool3d
nn.adaptive_max_pool1d nn.adaptive_max_pool2d nn.adaptive_max_pool3d nn.avg_pool1d nn.avg_pool2d
nn.avg_pool3d nn.global_avg_pool2d nn.global_max_pool2d nn.max_pool1d nn.max_pool2d nn.max_pool3d"""
_CONVOLUTIONS = """nn.conv1d nn.conv1d_transpose nn.conv2d nn.conv2d_transpose nn.conv3d
nn.conv3d_transpose nn.contrib_conv2d_NCHWc nn.contrib_conv2d_gemm_without_weight_transform
nn.contrib_conv2d_winograd_without_weight_transform nn.contrib_depthwise_conv2d_NCHWc"""

#: The rules by operator.
RULES: Dict[str, _Rule] = {
    **dict.fromkeys(_UNARY.split(), _any),
    **dict.fromkeys(_BINARY.split(), _broadcast),
    **dict.fromkeys(_POOLS.split(), _pool),
    **dict.fromkeys(_CONVOLUTIONS.split(), _convolution),
    **dict.fromkeys(("all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "sum", "variance"), _reduce),
    **dict.fromkeys(("image.resize1d", "image.resize2d"), _resize),
    **dict.fromkeys(("nn.upsampling", "nn.upsampling3d"), _upsampling),
    **dict.fromkeys(("vision.roi_align", "vision.roi_pool"), _roi),
    "concatenate": _concatenate,
    "image.dilation2d": _dilation,
    "nn.batch_norm": _batch_norm,
    "nn.deformable_conv2d": _deformable,
    "nn.dense": _dense,
    "nn.instance_norm": _normalization,
    "nn.l2_normalize": _l2_normalize,
    "nn.layer_norm": _normalization,
    "nn.pad": _pad,
    "nn.prelu": _prelu,
    "qnn.avg_pool2d": _quantized_pool,
    "qnn.concatenate": _quantized_concatenate,
    "qnn.conv2d": _with_channels(_convolution, 2, 4),
    "qnn.conv2d_transpose": _with_channels(_convolution, 2, 4),
    "qnn.dense": _with_channels(_dense, 2, 4, Layout("N")),
    "qnn.requantize": _requantize,
    **{f"qnn.{name}": _with_channels(_broadcast, 2, 6) for name in ("add", "mul", "subtract")},
    "slice_like": _slice_like,
    "split": _split,
    "squeeze": _squeeze,
    "strided_slice": _strided_slice,
    "topk": _topk,
    "transpose": _transpose,
}
