"""Operators that move, select and convert elements (`python/tvm/relay/op/transform.py`)."""

from __future__ import annotations

from typing import Any, Optional, Sequence, Union

from ...tir.expr import IntImm
from ..expr import Call, Constant, Expr, Tuple, TupleWrapper, const
from ._call import call, results
from ._constants import constant, integers, values
from ._documentation import documented
from ._factory import define
from ._sparse import segment_sum, sparse_fill_empty_rows, sparse_to_dense

__all__ = [
    *define("op.transform", globals()),
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


@documented("expand_dims")
def expand_dims(data: Expr, axis: Union[int, Expr], num_newaxis: int = 1) -> Call:
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
        return call("expand_dims", (data,), axis=axis, num_newaxis=num_newaxis)
    if isinstance(axis, Expr):
        return call("dyn.expand_dims", (data, axis), num_newaxis=num_newaxis)
    raise ValueError(f"Unknown type for axis: {type(axis)}")


@documented("transpose")
def transpose(data: Expr, axes: Optional[Sequence[int]] = None) -> Call:
    """The axes in another order.

    Parameters
    ----------
    data : Expr
        The tensor.
    axes : sequence of ints, optional
        The axis of `data` for each axis of the result; reversed if None.
    """
    return call("transpose", (data,), axes=None if axes is None else list(axes))


@documented("squeeze")
def squeeze(data: Expr, axis: Any = None) -> Call:
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
    if isinstance(axis, Constant):
        axis = axis.data.numpy().reshape(-1).tolist()
    if isinstance(axis, Expr):
        return call("dyn.squeeze", (data, axis))
    if isinstance(axis, int):
        axis = [axis]
    if isinstance(axis, (tuple, list)):
        axis = [_as_int(item, "axis") for item in axis]
    return call("squeeze", (data,), axis=axis)


@documented("reshape")
def reshape(data: Expr, newshape: Any, allowzero: bool = False) -> Call:
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
    newshape = values(newshape)
    if isinstance(newshape, Expr):
        return call("dyn.reshape", (data, newshape), allowzero=allowzero)
    if isinstance(newshape, int):
        newshape = [newshape]
    if isinstance(newshape, (tuple, list)):
        newshape = [_as_int(item, "shape") for item in newshape]
    return call("reshape", (data,), newshape=list(newshape), allowzero=allowzero)


def _as_int(item: Any, what: str) -> int:
    if isinstance(item, IntImm):
        return item.value
    try:
        return int(item)
    except ValueError as error:
        raise RuntimeError(f"Unrecognized {what} type: {error}") from None


@documented("full")
def full(fill_value: Expr, shape: Any = (), dtype: str = "") -> Call:
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
    shape = integers(shape)
    if isinstance(shape, Expr):
        return call("dyn.full", (fill_value, shape), dtype=dtype)
    return call("full", (fill_value,), shape=shape, dtype=dtype)


@documented("arange")
def arange(start: Expr, stop: Optional[Expr] = None, step: Optional[Expr] = None, dtype: str = "float32") -> Call:
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
        step = const(1, dtype=dtype)
    if stop is None:
        start, stop = const(0, dtype=dtype), start
    return call("arange", (start, stop, step), start=start, stop=stop, step=step, dtype=dtype)


@documented("meshgrid")
def meshgrid(data: Sequence[Expr], indexing: str = "ij") -> TupleWrapper:
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
    return results(call("meshgrid", (Tuple(fields),), indexing=indexing), len(fields))


@documented("tile")
def tile(data: Expr, reps: Any) -> Call:
    """The tensor repeated along its axes.

    Parameters
    ----------
    data : Expr
        The tensor.
    reps : sequence of ints, or Expr
        How often, for each axis. An expression makes a call of `dyn.tile`, unless it is a constant.
    """
    reps = values(reps)
    if isinstance(reps, Expr):
        return call("dyn.tile", (data, reps))
    return call("tile", (data,), reps=reps)


@documented("broadcast_to")
def broadcast_to(data: Expr, shape: Any) -> Call:
    """The tensor repeated until it has a shape.

    Parameters
    ----------
    data : Expr
        The tensor.
    shape : int, sequence of ints, or Expr
        The dimensions. An expression makes a call of `dyn.broadcast_to`, unless it is a constant.
    """
    shape = integers(shape)
    if isinstance(shape, Expr):
        return call("dyn.broadcast_to", (data, shape))
    return call("broadcast_to", (data,), shape=shape)


@documented("collapse_sum_to")
def collapse_sum_to(data: Expr, shape: Any) -> Call:
    """The sums along the axes that broadcasting to `data`'s shape would repeat.

    Parameters
    ----------
    data : Expr
        The tensor.
    shape : sequence of ints, or Expr
        The dimensions of the result.
    """
    if isinstance(shape, (list, tuple)):
        shape = const(list(shape), "int32")
    known = shape.data.numpy().reshape(-1).tolist() if isinstance(shape, Constant) else None
    return call("collapse_sum_to", (data, shape), shape=known)


@documented("split")
def split(data: Expr, indices_or_sections: Union[int, Sequence[int]], axis: int = 0) -> TupleWrapper:
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
    return results(call("split", (data,), indices_or_sections=indices_or_sections, axis=axis), count)


@documented("strided_slice")
def strided_slice(
    data: Expr, begin: Any, end: Any, strides: Any = None, axes: Optional[Sequence[int]] = None, slice_mode: str = "end"
) -> Call:
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
    begin, end, strides = values(begin), values(end), values(strides or [1])
    if not any(isinstance(bound, Expr) for bound in (begin, end, strides)):
        attrs = {"begin": begin, "end": end, "strides": strides, "slice_mode": slice_mode, "axes": axes}
        return call("strided_slice", (data,), **attrs)
    assert axes is None, "Axes argument for dynamic parameter slicing is not supported yet."
    begin, end, strides = (_bound(bound) for bound in (begin, end, strides))
    # Negative begins count from the end, and those behind the end are the end.
    shape = call("cast_like", (call("shape_of", (data,), dtype="int32"), begin))
    shape = call("slice_like", (shape, begin), axes=None)
    negative = call("less", (begin, call("cast_like", (const(0), begin))))
    begin = call("where", (negative, call("add", (begin, shape)), begin))
    begin = call("where", (call("greater_equal", (begin, shape)), shape, begin))
    return call("dyn.strided_slice", (data, begin, end, strides), slice_mode=slice_mode)


def _bound(value: Any) -> Any:
    return const(list(value)) if isinstance(value, (tuple, list)) else value


@documented("strided_set")
def strided_set(data: Expr, v: Expr, begin: Any, end: Any, strides: Any = None) -> Call:
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
    strides = strides or const([1], dtype="int32")
    return call("strided_set", (data, v, _bound(begin), _bound(end), _bound(strides)))


@documented("contrib_reverse_reshape")
def reverse_reshape(data: Expr, newshape: Union[int, Sequence[int]]) -> Call:
    """The elements in another shape, whose codes are read from right to left.

    Parameters
    ----------
    data : Expr
        The tensor.
    newshape : int or sequence of ints
        The dimensions.
    """
    newshape = [newshape] if isinstance(newshape, int) else list(newshape)
    return call("contrib_reverse_reshape", (data,), newshape=newshape)


@documented("one_hot")
def one_hot(indices: Expr, on_value: Expr, off_value: Expr, depth: Any, axis: int, dtype: str) -> Call:
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
    if isinstance(depth, Constant):
        depth = depth.data.numpy().item()
    if isinstance(depth, Expr):
        return call("dyn.one_hot", (indices, on_value, off_value, depth), axis=axis, dtype=dtype)
    return call("one_hot", (indices, on_value, off_value), depth=depth, axis=axis, dtype=dtype)


@documented("matrix_set_diag")
def matrix_set_diag(
    data: Expr, diagonal: Expr, k: Union[int, Sequence[int]] = 0, align: str = "RIGHT_LEFT"
) -> Call:
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
    return call(
        "matrix_set_diag",
        (data, diagonal),
        k1=first,
        k2=last,
        super_diag_right_align=align[:5] == "RIGHT",
        sub_diag_right_align=align[-5:] == "RIGHT",
    )


@documented("adv_index")
def adv_index(inputs: Sequence[Expr]) -> Call:
    """Elements by their indices, as NumPy's advanced indexing.

    Parameters
    ----------
    inputs : sequence of Expr
        The tensor, then the indices for its first axes.
    """
    return call("adv_index", (Tuple(inputs),))


@documented("unique")
def unique(data: Expr, is_sorted: bool = True, return_counts: bool = False) -> TupleWrapper:
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
    found = call("unique", (data,), sorted=is_sorted, return_counts=return_counts)
    return results(found, 5 if return_counts else 4)


@documented("stft")
def stft(
    data: Expr,
    n_fft: int,
    hop_length: Optional[int] = None,
    win_length: Optional[int] = None,
    window: Optional[Expr] = None,
    normalized: bool = False,
    onesided: bool = True,
) -> Call:
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
        window = call("ones", (), shape=[n_fft], dtype="int32")
    return call(
        "stft",
        (data, window),
        n_fft=n_fft,
        hop_length=n_fft // 4 if hop_length is None else hop_length,
        win_length=n_fft if win_length is None else win_length,
        normalized=normalized,
        onesided=onesided,
    )


@documented("trilu")
def trilu(data: Expr, k: Union[int, Expr], upper: bool = True) -> Call:
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
    return call("trilu", (data, constant(k, "int32")), upper=upper)
