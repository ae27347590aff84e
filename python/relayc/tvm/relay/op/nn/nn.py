"""Operators of neural networks (`python/tvm/relay/op/nn/nn.py`)."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence

from ...expr import Call, Constant, Expr, TupleGetItem, TupleWrapper
from .._call import call, results
from .._constants import constant
from .._documentation import documented
from .._factory import define

__all__ = [
    *define("op.nn.nn", globals()),
    "avg_pool2d_grad",
    "dropout",
    "global_avg_pool1d",
    "global_avg_pool3d",
    "global_max_pool1d",
    "global_max_pool3d",
    "matmul",
    "max_pool2d_grad",
    "pad",
    "sparse_add",
    "sparse_dense",
    "sparse_transpose",
    "upsampling",
    "upsampling3d",
]


@documented("nn.matmul")
def matmul(
    tensor_a: Expr,
    tensor_b: Expr,
    units: Optional[int] = None,
    out_dtype: str = "",
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> Call:
    """The product of two matrices; with only the second transposed, a call of `nn.dense`.

    Parameters
    ----------
    tensor_a, tensor_b : Expr
        The matrices.
    units : int, optional
        The columns of the result.
    out_dtype : str
        The dtype of the result; that of `tensor_a` if empty.
    transpose_a, transpose_b : bool
        Whether a matrix is transposed.
    """
    if transpose_b and not transpose_a:
        return call("nn.dense", (tensor_a, tensor_b), units=units, out_dtype=out_dtype)
    attrs = {"units": units, "out_dtype": out_dtype, "transpose_a": transpose_a, "transpose_b": transpose_b}
    return call("nn.matmul", (tensor_a, tensor_b), **attrs)


@documented("nn.pad")
def pad(data: Expr, pad_width: Any, pad_value: Any = 0, pad_mode: str = "constant") -> Call:
    """The tensor with more elements around it.

    Parameters
    ----------
    data : Expr
        The tensor.
    pad_width : sequence of pairs of ints, or Expr
        The number of elements before and after, for each axis. An expression makes a call of `dyn.nn.pad`, unless it
        is a constant.
    pad_value : number or Expr
        Their value.
    pad_mode : str
        `"constant"`, or `"edge"` or `"reflect"` for elements of `data`.
    """
    if isinstance(pad_width, Constant):
        pad_width = [list(widths) for widths in pad_width.data.numpy()]
    pad_value = constant(pad_value)
    if isinstance(pad_width, Expr):
        return call("dyn.nn.pad", (data, pad_width, pad_value), pad_mode=pad_mode)
    return call("nn.pad", (data, pad_value), pad_width=pad_width, pad_mode=pad_mode)


@documented("nn.upsampling")
def upsampling(
    data: Expr,
    scale_h: Any = 1,
    scale_w: Any = 1,
    layout: str = "NCHW",
    method: str = "nearest_neighbor",
    align_corners: bool = False,
) -> Call:
    """The tensor, larger along height and width.

    Parameters
    ----------
    data : Expr
        The tensor.
    scale_h, scale_w : number or Expr
        The factors. An expression makes a call of `dyn.nn.upsampling`, unless it is a constant.
    layout : str
        The axes of `data`.
    method : str
        `"nearest_neighbor"`, `"bilinear"` or `"bicubic"`.
    align_corners : bool
        Whether the corners of `data` stay at the corners.
    """
    attrs = {"layout": layout, "method": method, "align_corners": align_corners}
    return _scaled("nn.upsampling", data, {"scale_h": scale_h, "scale_w": scale_w}, attrs)


@documented("nn.upsampling3d")
def upsampling3d(
    data: Expr,
    scale_d: Any = 1,
    scale_h: Any = 1,
    scale_w: Any = 1,
    layout: str = "NCDHW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "half_pixel",
) -> Call:
    """The tensor, larger along depth, height and width.

    Parameters
    ----------
    data : Expr
        The tensor.
    scale_d, scale_h, scale_w : number or Expr
        The factors. An expression makes a call of `dyn.nn.upsampling3d`, unless it is a constant.
    layout : str
        The axes of `data`.
    method : str
        `"nearest_neighbor"` or `"trilinear"`.
    coordinate_transformation_mode : str
        `"half_pixel"`, `"align_corners"` or `"asymmetric"`.
    """
    attrs = {
        "layout": layout,
        "method": method,
        "coordinate_transformation_mode": coordinate_transformation_mode,
    }
    scales = {"scale_d": scale_d, "scale_h": scale_h, "scale_w": scale_w}
    return _scaled("nn.upsampling3d", data, scales, attrs)


def _scaled(name: str, data: Expr, scales: dict, attrs: dict) -> Call:
    """A call with scales as attributes, or as operands of the dynamic form if one is an expression."""
    scales = {key: _item(scale) for key, scale in scales.items()}
    if any(isinstance(scale, Expr) for scale in scales.values()):
        operands = [constant(scale, "float64") for scale in scales.values()]
        return call(f"dyn.{name}", (data, *operands), **attrs)
    return call(name, (data,), **scales, **attrs)


def _item(value: Any) -> Any:
    return value.data.numpy().item() if isinstance(value, Constant) else value


@documented("nn.dropout")
def dropout(data: Expr, rate: float = 0.5) -> TupleGetItem:
    """The tensor with elements dropped while training; `data` when it runs here.

    Parameters
    ----------
    data : Expr
        The tensor.
    rate : float
        The part that is dropped.
    """
    return results(call("nn.dropout", (data,), rate=rate), 2)[0]


def _sparse(matrix: Any) -> List[Expr]:
    """The operands of a sparse matrix: data, indices and indptr."""
    if hasattr(matrix, "indices"):
        return [matrix.data, matrix.indices, matrix.indptr]
    return [matrix[0], matrix[1], matrix[2]]


@documented("nn.sparse_dense")
def sparse_dense(dense_mat: Expr, sparse_mat: Any, sparse_lhs: bool = False) -> Call:
    """The product of a dense matrix and a transposed sparse one.

    Parameters
    ----------
    dense_mat : Expr
        The dense matrix.
    sparse_mat : tuple of three Exprs, or an object with `data`, `indices` and `indptr`
        The sparse matrix, in the format CSR or BSR.
    sparse_lhs : bool
        Whether the sparse matrix is the left factor.
    """
    return call("nn.sparse_dense", (dense_mat, *_sparse(sparse_mat)), sparse_lhs=sparse_lhs)


@documented("nn.sparse_transpose")
def sparse_transpose(x: Any) -> TupleWrapper:
    """A square sparse matrix, transposed.

    Parameters
    ----------
    x : tuple of three Exprs, or an object with `data`, `indices` and `indptr`
        The sparse matrix, in the format CSR.

    Returns
    -------
    result : TupleWrapper
        The data, the indices and the indptr of the transposed matrix.
    """
    return results(call("nn.sparse_transpose", _sparse(x)), 3)


@documented("nn.sparse_add")
def sparse_add(dense_mat: Expr, sparse_mat: Any) -> Call:
    """The sum of a dense and a sparse matrix.

    Parameters
    ----------
    dense_mat : Expr
        The dense matrix.
    sparse_mat : tuple of three Exprs, or an object with `data`, `indices` and `indptr`
        The sparse matrix, in the format CSR.
    """
    return call("nn.sparse_add", (dense_mat, *_sparse(sparse_mat)))


def global_max_pool1d(data: Expr, layout: str = "NCW", out_layout: str = "") -> Call:
    """The largest element along the axis `W` of `layout`, which stays with dimension 1."""
    return call("nn.adaptive_max_pool1d", (data,), output_size=[1], layout=layout, out_layout=out_layout)


def global_avg_pool1d(data: Expr, layout: str = "NCW", out_layout: str = "") -> Call:
    """The mean along the axis `W` of `layout`, which stays with dimension 1."""
    return call("nn.adaptive_avg_pool1d", (data,), output_size=[1], layout=layout, out_layout=out_layout)


def global_max_pool3d(data: Expr, layout: str = "NCDHW", out_layout: str = "") -> Call:
    """The largest element along the axes `D`, `H` and `W` of `layout`, which stay with dimension 1."""
    return call("nn.adaptive_max_pool3d", (data,), output_size=[1, 1, 1], layout=layout, out_layout=out_layout)


def global_avg_pool3d(data: Expr, layout: str = "NCDHW", out_layout: str = "") -> Call:
    """The mean along the axes `D`, `H` and `W` of `layout`, which stay with dimension 1."""
    return call("nn.adaptive_avg_pool3d", (data,), output_size=[1, 1, 1], layout=layout, out_layout=out_layout)


@documented("nn.max_pool2d_grad")
def max_pool2d_grad(
    out_grad: Expr,
    data: Expr,
    pool_size: Sequence[int] = (1, 1),
    strides: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    layout: str = "NCHW",
    out_layout: str = "",
    ceil_mode: bool = False,
) -> Call:
    """The gradient of `max_pool2d` with respect to its operand.

    Parameters
    ----------
    out_grad : Expr
        The gradient with respect to the result.
    data : Expr
        The operand.

    The other parameters are attributes of the operator.
    """
    attrs: Dict[str, Any] = {"pool_size": pool_size, "strides": strides, "padding": padding, "dilation": (1, 1)}
    attrs.update(layout=layout, out_layout=out_layout, ceil_mode=ceil_mode)
    return call("nn.max_pool2d_grad", (out_grad, data), **attrs)


@documented("nn.avg_pool2d_grad")
def avg_pool2d_grad(
    out_grad: Expr,
    data: Expr,
    pool_size: Sequence[int] = (1, 1),
    strides: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    layout: str = "NCHW",
    out_layout: str = "",
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Call:
    """The gradient of `avg_pool2d` with respect to its operand.

    Parameters
    ----------
    out_grad : Expr
        The gradient with respect to the result.
    data : Expr
        The operand.
    count_include_pad : bool
        Whether padding counts among the elements of a window.

    The other parameters are attributes of the operator.
    """
    attrs: Dict[str, Any] = {"pool_size": pool_size, "strides": strides, "padding": padding, "dilation": (1, 1)}
    attrs.update(layout=layout, out_layout=out_layout, ceil_mode=ceil_mode, count_include_pad=count_include_pad)
    return call("nn.avg_pool2d_grad", (out_grad, data), **attrs)
