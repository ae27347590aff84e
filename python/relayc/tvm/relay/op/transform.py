"""Operators that move, select and convert elements (`python/tvm/relay/op/transform.py`)."""

from __future__ import annotations

from typing import Any, Optional, Sequence, Union

from ...tir import IntImm
from ..expr import Call as _Call
from ..expr import Constant as _Constant
from ..expr import Expr as _Expr
from ..expr import Tuple as _Tuple
from ..expr import TupleWrapper as _TupleWrapper
from ..expr import const as _const
from ._call import call as _call
from ._call import results as _results
from ._constants import constant as _constant
from ._constants import integers as _integers
from ._constants import values as _values
from ._documentation import documented as _documented
from ._factory import define as _define
from ._sparse import segment_sum, sparse_fill_empty_rows, sparse_to_dense

__all__ = [
    *_define("op.transform", globals()),
    "adv_index",
    "arange",
    "broadcast_to",
    "collapse_sum_to",
    "expand_dims",
    "full",
    "matrix_set_diag",
    "meshgrid",
    "one_hot",
    "reshape",
    "reverse_reshape",
    "segment_sum",
    "sparse_fill_empty_rows",
    "sparse_to_dense",
    "split",
    "squeeze",
    "stft",
    "strided_set",
    "strided_slice",
    "tile",
    "transpose",
    "trilu",
    "unique",
]


@_documented("expand_dims")
def expand_dims(data: _Expr, axis: Union[int, _Expr], num_newaxis: int = 1) -> _Call:
    """New axes of dimension 1.

    Parameters
    ----------
    data : Expr
        The tensor.
    axis : int or Expr
        Where they are inserted. An expression makes a call of `dyn.expand_dims`.
    num_newaxis : int
        How many there are.

    Raises
    ------
    ValueError
        If the axis is neither an int nor an expression.
    """
    if isinstance(axis, int):
        return _call("expand_dims", (data,), axis=axis, num_newaxis=num_newaxis)
    if isinstance(axis, _Expr):
        return _call("dyn.expand_dims", (data, axis), num_newaxis=num_newaxis)
    raise ValueError(f"Unknown type for axis: {type(axis)}")


@_documented("transpose")
def transpose(data: _Expr, axes: Optional[Sequence[int]] = None) -> _Call:
    """The axes in another order.

    Parameters
    ----------
    data : Expr
        The tensor.
    axes : sequence of ints, optional
        The axis of `data` for each axis of the result; reversed if None.
    """
    return _call("transpose", (data,), axes=None if axes is None else list(axes))


@_documented("squeeze")
def squeeze(data: _Expr, axis: Any = None) -> _Call:
    """Removes axes of dimension 1.

    Parameters
    ----------
    data : Expr
        The tensor.
    axis : int, sequence of ints, or Expr, optional
        The axes; all of dimension 1 if None. An expression makes a call of `dyn.squeeze`, unless it is a constant.

    Raises
    ------
    RuntimeError
        If an axis is no integer.
    """
    if isinstance(axis, _Constant):
        axis = axis.data.numpy().reshape(-1).tolist()
    if isinstance(axis, _Expr):
        return _call("dyn.squeeze", (data, axis))
    if isinstance(axis, int):
        axis = [axis]
    if isinstance(axis, (tuple, list)):
        axis = [_as_int(item, "axis") for item in axis]
    return _call("squeeze", (data,), axis=axis)


@_documented("reshape")
def reshape(data: _Expr, newshape: Any, allowzero: bool = False) -> _Call:
    """The elements in another shape.

    Parameters
    ----------
    data : Expr
        The tensor.
    newshape : int, sequence of ints, or Expr
        The dimensions, with the codes of the operator for those below 1. An expression makes a call of `dyn.reshape`,
        unless it is a constant.
    allowzero : bool
        Whether a 0 means an empty axis and not the dimension of `data`.

    Raises
    ------
    RuntimeError
        If a dimension is no integer.
    """
    newshape = _values(newshape)
    if isinstance(newshape, _Expr):
        return _call("dyn.reshape", (data, newshape), allowzero=allowzero)
    if isinstance(newshape, int):
        newshape = [newshape]
    if isinstance(newshape, (tuple, list)):
        newshape = [_as_int(item, "shape") for item in newshape]
    return _call("reshape", (data,), newshape=list(newshape), allowzero=allowzero)


def _as_int(item: Any, what: str) -> int:
    if isinstance(item, IntImm):
        return item.value
    try:
        return int(item)
    except ValueError as error:
        raise RuntimeError(f"Unrecognized {what} type: {error}") from None


@_documented("full")
def full(fill_value: _Expr, shape: Any = (), dtype: str = "") -> _Call:
    """A tensor filled with one value.

    Parameters
    ----------
    fill_value : Expr
        The value, a scalar.
    shape : int, sequence of ints, or Expr
        The dimensions. An expression makes a call of `dyn.full`, unless it is a constant.
    dtype : str
        The dtype; that of the value if empty.
    """
    shape = _integers(shape)
    if isinstance(shape, _Expr):
        return _call("dyn.full", (fill_value, shape), dtype=dtype)
    return _call("full", (fill_value,), shape=shape, dtype=dtype)


@_documented("arange")
def arange(start: _Expr, stop: Optional[_Expr] = None, step: Optional[_Expr] = None, dtype: str = "float32") -> _Call:
    """Numbers at even distances.

    Parameters
    ----------
    start : Expr
        The first number. If it stands alone it is the end, and the numbers begin at 0.
    stop : Expr, optional
        The end, which is not reached.
    step : Expr, optional
        The distance; 1 if None.
    dtype : str
        The dtype of the result.
    """
    if step is None:
        step = _const(1, dtype=dtype)
    if stop is None:
        start, stop = _const(0, dtype=dtype), start
    return _call("arange", (start, stop, step), start=start, stop=stop, step=step, dtype=dtype)


@_documented("meshgrid")
def meshgrid(data: Sequence[_Expr], indexing: str = "ij") -> _TupleWrapper:
    """A grid of the coordinates in vectors.

    Parameters
    ----------
    data : sequence of Expr
        Vectors or scalars.
    indexing : str
        `"ij"` or `"xy"`: the order of the first two axes.

    Returns
    -------
    result : TupleWrapper
        A tensor for each vector.
    """
    fields = list(data)
    return _results(_call("meshgrid", (_Tuple(fields),), indexing=indexing), len(fields))


@_documented("tile")
def tile(data: _Expr, reps: Any) -> _Call:
    """The tensor repeated along its axes.

    Parameters
    ----------
    data : Expr
        The tensor.
    reps : sequence of ints, or Expr
        How often, for each axis. An expression makes a call of `dyn.tile`, unless it is a constant.
    """
    reps = _values(reps)
    if isinstance(reps, _Expr):
        return _call("dyn.tile", (data, reps))
    return _call("tile", (data,), reps=reps)


@_documented("broadcast_to")
def broadcast_to(data: _Expr, shape: Any) -> _Call:
    """The tensor repeated until it has a shape.

    Parameters
    ----------
    data : Expr
        The tensor.
    shape : int, sequence of ints, or Expr
        The dimensions. An expression makes a call of `dyn.broadcast_to`, unless it is a constant.
    """
    shape = _integers(shape)
    if isinstance(shape, _Expr):
        return _call("dyn.broadcast_to", (data, shape))
    return _call("broadcast_to", (data,), shape=shape)


@_documented("collapse_sum_to")
def collapse_sum_to(data: _Expr, shape: Any) -> _Call:
    """The sums along the axes that broadcasting to `data`'s shape would repeat.

    Parameters
    ----------
    data : Expr
        The tensor.
    shape : sequence of ints, or Expr
        The dimensions of the result.
    """
    if isinstance(shape, (list, tuple)):
        shape = _const(list(shape), "int32")
    known = shape.data.numpy().reshape(-1).tolist() if isinstance(shape, _Constant) else None
    return _call("collapse_sum_to", (data, shape), shape=known)


@_documented("split")
def split(data: _Expr, indices_or_sections: Union[int, Sequence[int]], axis: int = 0) -> _TupleWrapper:
    """The tensor in pieces along an axis.

    Parameters
    ----------
    data : Expr
        The tensor.
    indices_or_sections : int or sequence of ints
        The number of equal pieces, or where the pieces after the first begin.
    axis : int
        The axis.

    Returns
    -------
    result : TupleWrapper
        The pieces.
    """
    if isinstance(indices_or_sections, int):
        count = indices_or_sections
    else:
        count = len(indices_or_sections) + 1
    return _results(_call("split", (data,), indices_or_sections=indices_or_sections, axis=axis), count)


@_documented("strided_slice")
def strided_slice(
    data: _Expr, begin: Any, end: Any, strides: Any = None, axes: Optional[Sequence[int]] = None, slice_mode: str = "end"
) -> _Call:
    """A part of the tensor.

    Parameters
    ----------
    data : Expr
        The tensor.
    begin, end : sequence of ints, or Expr
        Where it begins and ends along each axis. If one of these or `strides` is an expression and no constant, the
        call is one of `dyn.strided_slice`.
    strides : sequence of ints, or Expr, optional
        The distance of its elements; 1 if None.
    axes : sequence of ints, optional
        The axes that are cut; the first ones if None.
    slice_mode : str
        `"end"`, or `"size"` if `end` has the dimensions of the part.

    Raises
    ------
    AssertionError
        If `axes` are given with an expression.
    """
    begin, end, strides = _values(begin), _values(end), _values(strides or [1])
    if not any(isinstance(bound, _Expr) for bound in (begin, end, strides)):
        attrs = {"begin": begin, "end": end, "strides": strides, "slice_mode": slice_mode, "axes": axes}
        return _call("strided_slice", (data,), **attrs)
    assert axes is None, "Axes argument for dynamic parameter slicing is not supported yet."
    begin, end, strides = (_bound(bound) for bound in (begin, end, strides))
    # Negative begins count from the end, and those behind the end are the end.
    shape = _call("cast_like", (_call("shape_of", (data,), dtype="int32"), begin))
    shape = _call("slice_like", (shape, begin))
    negative = _call("less", (begin, _call("cast_like", (_const(0), begin))))
    begin = _call("where", (negative, _call("add", (begin, shape)), begin))
    begin = _call("where", (_call("greater_equal", (begin, shape)), shape, begin))
    return _call("dyn.strided_slice", (data, begin, end, strides), slice_mode=slice_mode)


def _bound(value: Any) -> Any:
    return _const(list(value)) if isinstance(value, (tuple, list)) else value


@_documented("strided_set")
def strided_set(data: _Expr, v: _Expr, begin: Any, end: Any, strides: Any = None) -> _Call:
    """The tensor with new values in a part of it.

    Parameters
    ----------
    data : Expr
        The tensor.
    v : Expr
        The values.
    begin, end : sequence of ints, or Expr
        Where the part begins and ends along each axis.
    strides : sequence of ints, or Expr, optional
        The distance of its elements; 1 if None.
    """
    strides = strides or _const([1], dtype="int32")
    return _call("strided_set", (data, v, _bound(begin), _bound(end), _bound(strides)))


@_documented("contrib_reverse_reshape")
def reverse_reshape(data: _Expr, newshape: Union[int, Sequence[int]]) -> _Call:
    """The elements in another shape, whose codes are read from right to left.

    Parameters
    ----------
    data : Expr
        The tensor.
    newshape : int or sequence of ints
        The dimensions.
    """
    newshape = [newshape] if isinstance(newshape, int) else list(newshape)
    return _call("contrib_reverse_reshape", (data,), newshape=newshape)


@_documented("one_hot")
def one_hot(indices: _Expr, on_value: _Expr, off_value: _Expr, depth: Any, axis: int, dtype: str) -> _Call:
    """A new axis along which one element is `on_value`.

    Parameters
    ----------
    indices : Expr
        Which element it is.
    on_value, off_value : Expr
        Its value, and that of the others.
    depth : int or Expr
        The dimension of the new axis. An expression makes a call of `dyn.one_hot`, unless it is a constant.
    axis : int
        The new axis.
    dtype : str
        The dtype of the result.
    """
    if isinstance(depth, _Constant):
        depth = depth.data.numpy().item()
    if isinstance(depth, _Expr):
        return _call("dyn.one_hot", (indices, on_value, off_value, depth), axis=axis, dtype=dtype)
    return _call("one_hot", (indices, on_value, off_value), depth=depth, axis=axis, dtype=dtype)


@_documented("matrix_set_diag")
def matrix_set_diag(
    data: _Expr, diagonal: _Expr, k: Union[int, Sequence[int]] = 0, align: str = "RIGHT_LEFT"
) -> _Call:
    """The matrices with new diagonals.

    Parameters
    ----------
    data : Expr
        The matrices.
    diagonal : Expr
        The diagonals.
    k : int or sequence of two ints
        The diagonal, or the first and the last: 0 is the main one, those above it are positive.
    align : str
        On which side the diagonals above and below the main one are filled up: `"RIGHT_LEFT"`, `"LEFT_RIGHT"`,
        `"LEFT_LEFT"` or `"RIGHT_RIGHT"`.
    """
    first, last = (k[0], k[1] if len(k) >= 2 else k[0]) if isinstance(k, (tuple, list)) else (k, k)
    return _call(
        "matrix_set_diag",
        (data, diagonal),
        k1=first,
        k2=last,
        super_diag_right_align=align[:5] == "RIGHT",
        sub_diag_right_align=align[-5:] == "RIGHT",
    )


@_documented("adv_index")
def adv_index(inputs: Sequence[_Expr]) -> _Call:
    """Elements by their indices, as NumPy's advanced indexing.

    Parameters
    ----------
    inputs : sequence of Expr
        The tensor, then the indices for its first axes.
    """
    return _call("adv_index", (_Tuple(inputs),))


@_documented("unique")
def unique(data: _Expr, is_sorted: bool = True, return_counts: bool = False) -> _TupleWrapper:
    """The values of a vector without repetition.

    Parameters
    ----------
    data : Expr
        A vector.
    is_sorted : bool
        Whether the values are sorted, else they are in the order of their first occurrences.
    return_counts : bool
        Whether the result also has how often each occurs.

    Returns
    -------
    result : TupleWrapper
        The values, where each first occurs, the index of the value of each element, how many values there are, and
        the counts if asked for.
    """
    found = _call("unique", (data,), sorted=is_sorted, return_counts=return_counts)
    return _results(found, 5 if return_counts else 4)


@_documented("stft")
def stft(
    data: _Expr,
    n_fft: int,
    hop_length: Optional[int] = None,
    win_length: Optional[int] = None,
    window: Optional[_Expr] = None,
    normalized: bool = False,
    onesided: bool = True,
) -> _Call:
    """The Fourier transforms of short overlapping parts of a signal.

    Parameters
    ----------
    data : Expr
        The signal, or a batch of signals.
    n_fft : int
        The length of a transform.
    hop_length : int, optional
        The distance of the parts; `n_fft // 4` if None.
    win_length : int, optional
        The length of the window; `n_fft` if None.
    window : Expr, optional
        The window; ones if None.
    normalized : bool
        Whether the results are divided by the square root of `n_fft`.
    onesided : bool
        Whether the results lack the half that follows by symmetry.
    """
    if window is None:
        window = _call("ones", (), shape=[n_fft], dtype="int32")
    return _call(
        "stft",
        (data, window),
        n_fft=n_fft,
        hop_length=n_fft // 4 if hop_length is None else hop_length,
        win_length=n_fft if win_length is None else win_length,
        normalized=normalized,
        onesided=onesided,
    )


@_documented("trilu")
def trilu(data: _Expr, k: Union[int, _Expr], upper: bool = True) -> _Call:
    """The upper or lower triangles of matrices, with zeros elsewhere.

    Parameters
    ----------
    data : Expr
        The matrices.
    k : int or Expr
        The diagonal that bounds the triangle: 0 is the main one, those above it are positive.
    upper : bool
        Whether it is the upper triangle.
    """
    return _call("trilu", (data, _constant(k, "int32")), upper=upper)
