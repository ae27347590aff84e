"""Reductions along axes (`python/tvm/relay/op/reduce.py`)."""

from __future__ import annotations

from typing import Any, Optional

from ..expr import Call as _Call
from ..expr import Expr as _Expr
from ..expr import Tuple as _Tuple
from ..expr import TupleWrapper as _TupleWrapper
from ._call import call as _call
from ._documentation import documented as _documented
from ._factory import define as _define
from ._padding import each as _each

__all__ = [
    *_define("op.reduce", globals()),
    "logsumexp",
    "mean_std",
    "mean_variance",
    "std",
    "variance",
]


@_documented("variance")
def variance(
    data: _Expr,
    axis: Any = None,
    keepdims: bool = False,
    exclude: bool = False,
    unbiased: bool = False,
    with_mean: Optional[_Expr] = None,
) -> _Call:
    """The variance along axes.

    Parameters
    ----------
    data : Expr
        The tensor.
    axis : int or sequence of ints, optional
        The axes; all if None.
    keepdims : bool
        Whether the axes stay, with dimension 1.
    exclude : bool
        Whether the axes are those not named.
    unbiased : bool
        Whether the sum is divided by the number of elements less 1.
    with_mean : Expr, optional
        The mean, with the axes; computed if None.
    """
    mean = _mean(data, axis, exclude) if with_mean is None else with_mean
    return _variance(data, mean, axis, keepdims, exclude, unbiased)


def std(
    data: _Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False
) -> _Call:
    """The standard deviation along axes: the square root of `variance`.

    Parameters
    ----------
    data : Expr
        The tensor.
    axis : int or sequence of ints, optional
        The axes; all if None.
    keepdims : bool
        Whether the axes stay, with dimension 1.
    exclude : bool
        Whether the axes are those not named.
    unbiased : bool
        Whether the sum is divided by the number of elements less 1.
    """
    mean = _mean(data, axis, exclude)
    return _call("sqrt", (_variance(data, mean, axis, keepdims, exclude, unbiased),))


def mean_variance(
    data: _Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False
) -> _TupleWrapper:
    """The mean and the variance along axes.

    Parameters
    ----------
    data : Expr
        The tensor.
    axis : int or sequence of ints, optional
        The axes; all if None.
    keepdims : bool
        Whether the axes stay, with dimension 1.
    exclude : bool
        Whether the axes are those not named.
    unbiased : bool
        Whether the sum is divided by the number of elements less 1.

    Returns
    -------
    result : TupleWrapper
        The mean and the variance.
    """
    mean = _mean(data, axis, exclude)
    spread = _variance(data, mean, axis, keepdims, exclude, unbiased)
    if not keepdims:
        mean = _call("squeeze", (mean,), axis=_each(axis, 1))
    return _TupleWrapper(_Tuple((mean, spread)), 2)


def mean_std(data: _Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False) -> _TupleWrapper:
    """The mean and the standard deviation along axes.

    Parameters
    ----------
    data : Expr
        The tensor.
    axis : int or sequence of ints, optional
        The axes; all if None.
    keepdims : bool
        Whether the axes stay, with dimension 1; else the mean loses all axes of dimension 1.
    exclude : bool
        Whether the axes are those not named.

    Returns
    -------
    result : TupleWrapper
        The mean and the standard deviation.
    """
    mean = _mean(data, axis, exclude)
    spread = _call("sqrt", (_variance(data, mean, axis, keepdims, exclude, False),))
    if not keepdims:
        mean = _call("squeeze", (mean,))
    return _TupleWrapper(_Tuple((mean, spread)), 2)


def logsumexp(data: _Expr, axis: Any = None, keepdims: bool = False) -> _Call:
    """The logarithm of the sum of exponentials along axes, without overflow.

    Parameters
    ----------
    data : Expr
        The tensor.
    axis : int or sequence of ints, optional
        The axes; all if None.
    keepdims : bool
        Whether the axes stay, with dimension 1.
    """
    axes = _each(axis, 1)
    largest = _call("max", (data,), axis=axes, keepdims=True)
    powers = _call("exp", (_call("subtract", (data, largest)),))
    result = _call("log", (_call("sum", (powers,), axis=axes, keepdims=True),))
    result = _call("add", (result, largest))
    return result if keepdims else _call("squeeze", (result,), axis=axes)


def _mean(data: _Expr, axis: Any, exclude: bool) -> _Call:
    return _call("mean", (data,), axis=_each(axis, 1), keepdims=True, exclude=exclude)


def _variance(data: _Expr, mean: _Expr, axis: Any, keepdims: bool, exclude: bool, unbiased: bool) -> _Call:
    attrs = {"axis": _each(axis, 1), "keepdims": keepdims, "exclude": exclude, "unbiased": unbiased}
    return _call("variance", (data, mean), **attrs)
