"""Operators on sparse tensors and segments (`python/tvm/relay/op/transform.py`)."""

from __future__ import annotations

from typing import Any, Optional

from ..expr import Call, Expr, Tuple, const
from ._call import call, results
from ._documentation import documented

__all__ = ["segment_sum", "sparse_fill_empty_rows", "sparse_to_dense"]


@documented("sparse_to_dense")
def sparse_to_dense(sparse_indices: Expr, output_shape: Any, sparse_values: Expr, default_value: Any = 0) -> Call:
    """A dense tensor with values at some places and a default everywhere else.

    Parameters
    ----------
    sparse_indices : Expr
        The places.
    output_shape : sequence of ints, or Expr
        The dimensions of the result. An expression makes a call of `dyn.sparse_to_dense`.
    sparse_values : Expr
        The values, one for each place or one for all.
    default_value : Expr or 0
        The value elsewhere.
    """
    if not isinstance(default_value, Expr) and default_value == 0:
        default_value = const(0)
    if isinstance(output_shape, Expr):
        return call("dyn.sparse_to_dense", (sparse_indices, sparse_values, default_value, output_shape))
    return call("sparse_to_dense", (sparse_indices, sparse_values, default_value), output_shape=output_shape)


@documented("sparse_fill_empty_rows")
def sparse_fill_empty_rows(
    sparse_indices: Expr, sparse_values: Expr, dense_shape: Expr, default_value: Expr
) -> Tuple:
    """A sparse matrix whose empty rows have a default in column 0.

    Parameters
    ----------
    sparse_indices, sparse_values, dense_shape : Expr
        The places, the values and the dimensions of the matrix.
    default_value : Expr
        The value for empty rows.

    Returns
    -------
    result : Tuple
        The new places and values, in the dtypes of the old ones, and a bool for each row: whether it was empty.
    """
    filled = results(call("sparse_fill_empty_rows", (sparse_indices, sparse_values, dense_shape, default_value)), 3)
    indices = call("cast_like", (filled[0], sparse_indices))
    values = call("cast_like", (filled[1], sparse_values))
    return Tuple((indices, values, call("cast", (filled[2],), dtype="bool")))


def segment_sum(data: Expr, segment_ids: Expr, num_segments: Optional[Any] = None) -> Call:
    """The sums of the rows of each segment.

    Parameters
    ----------
    data : Expr
        A tensor.
    segment_ids : Expr
        The segment of each row of `data`, 1-D.
    num_segments : int or Expr, optional
        The number of segments; by default one more than the largest of `segment_ids`.

    Returns
    -------
    result : Call
        A tensor as `data` with a row for each segment.
    """
    one = call("cast_like", (const([1]), segment_ids))
    if num_segments:
        count = const([num_segments]) if isinstance(num_segments, int) else num_segments
        count = call("cast_like", (count, segment_ids))
    else:
        largest = call("max", (segment_ids,), axis=[0])
        count = call("add", (call("reshape", (largest,), newshape=[-1]), one))
    shape = call("shape_of", (data,), dtype="int32")
    row_shape = call("strided_slice", (shape,), begin=[1], end=[-1], strides=[1], slice_mode="size")
    row_shape = call("cast_like", (row_shape, count))
    new_shape = call("concatenate", (Tuple([count, row_shape]),), axis=0)
    reversed_row = call("reverse", (row_shape,), axis=0)
    repeats = call("concatenate", (Tuple([reversed_row, one]),), axis=0)
    indices = call("transpose", (call("dyn.tile", (segment_ids, repeats)),), axes=None)
    zeros = call("cast_like", (call("dyn.zeros", (new_shape,), dtype="float64"), data))
    return call("scatter_elements", (zeros, indices, data), axis=0, reduction="add")
