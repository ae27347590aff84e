"""Operators on images (`python/tvm/relay/op/image/image.py`)."""

from __future__ import annotations

from typing import Any

from ...expr import Call, Constant, Expr, const
from .._call import call
from .._documentation import documented
from .._factory import define

__all__ = [*define("op.image.image", globals()), "resize1d", "resize2d", "resize3d"]


@documented("image.resize1d")
def resize1d(
    data: Expr,
    size: Any,
    roi: Any = None,
    layout: str = "NCW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
    cubic_alpha: float = -0.5,
    cubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: Any = None,
) -> Call:
    """The tensor in another width.

    Parameters
    ----------
    data : Expr
        The tensor.
    size : sequence of ints, or a constant
        The new width.
    roi : sequence of floats, or a constant, optional
        The part that is resized; zeros if None.

    The other parameters are attributes of the operator.

    Raises
    ------
    NotImplementedError
        If the size or the part is an expression and no constant.
    """
    return _resize(1, data, size, roi, _attrs(locals()))


@documented("image.resize2d")
def resize2d(
    data: Expr,
    size: Any,
    roi: Any = None,
    layout: str = "NCHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
    cubic_alpha: float = -0.5,
    cubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: Any = None,
) -> Call:
    """The image in another size.

    Parameters
    ----------
    data : Expr
        The tensor.
    size : sequence of ints, or Expr
        The new height and width. If this or `roi` is an expression and no constant, the call is one of
        `dyn.image.resize2d`.
    roi : sequence of floats, or Expr, optional
        The part that is resized; zeros if None.

    The other parameters are attributes of the operator.
    """
    return _resize(2, data, size, roi, _attrs(locals()))


@documented("image.resize3d")
def resize3d(
    data: Expr,
    size: Any,
    roi: Any = None,
    layout: str = "NCDHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
    cubic_alpha: float = -0.5,
    cubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: Any = None,
) -> Call:
    """The volume in another size.

    Parameters
    ----------
    data : Expr
        The tensor.
    size : sequence of ints, or a constant
        The new depth, height and width.
    roi : sequence of floats, or a constant, optional
        The part that is resized; zeros if None.

    The other parameters are attributes of the operator.

    Raises
    ------
    NotImplementedError
        If the size or the part is an expression and no constant.
    """
    return _resize(3, data, size, roi, _attrs(locals()))


def _attrs(parameters: dict) -> dict:
    """The parameters that are attributes in any case."""
    return {name: value for name, value in parameters.items() if name not in ("data", "size", "roi")}


def _resize(axes: int, data: Expr, size: Any, roi: Any, attrs: dict) -> Call:
    roi = [0.0] * (2 * axes) if roi is None else roi
    if isinstance(size, Constant):
        size = list(size.data.numpy().astype("int32"))
    if isinstance(roi, Constant):
        # As TVM does, which cuts the part to integers but for images.
        roi = list(roi.data.numpy().astype("float32" if axes == 2 else "int32"))
    if not isinstance(size, Expr) and not isinstance(roi, Expr):
        return call(f"image.resize{axes}d", (data,), size=size, roi=roi, **attrs)
    if axes != 2:
        raise NotImplementedError(f"dyn.resize{axes}d is not yet implemented, got size", size, "and roi", roi)
    size = size if isinstance(size, Expr) else const(size, "int64")
    roi = roi if isinstance(roi, Expr) else const(roi, "float32")
    return call("dyn.image.resize2d", (data, size, roi), **attrs)
