"""Reductions along axes (`python/tvm/relay/op/reduce.py`)."""

from __future__ import annotations

from typing import Any, Optional

from ..expr import Call, Expr, Tuple, TupleWrapper
from ._call import call
from ._documentation import documented
from ._factory import define
from ._padding import each

__all__ = [
    *define("op.reduce", globals()),
    "logsumexp",
    "mean_std",
    "mean_variance",
    "std",
    "variance",
]


@documented("variance")
def variance(
    data: Expr,
    axis: Any = None,
    keepdims: bool = False,
    exclude: bool = False,
    unbiased: bool = False,
    with_mean: Optional[Expr] = None,
) -> Call:
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
    data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False
) -> Call:
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
    return call("sqrt", (_variance(data, mean, axis, keepdims, exclude, unbiased),))


def mean_variance(
    data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False
) -> TupleWrapper:
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
        mean = call("squeeze", (mean,), axis=each(axis, 1))
    return TupleWrapper(Tuple((mean, spread)), 2)


def mean_std(data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False) -> TupleWrapper:
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
    spread = call("sqrt", (_variance(data, mean, axis, keepdims, exclude, False),))
    if not keepdims:
        mean = call("squeeze", (mean,), axis=None)
    return TupleWrapper(Tuple((mean, spread)), 2)


def logsumexp(data: Expr, axis: Any = None, keepdims: bool = False) -> Call:
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
    axes = each(axis, 1)
    largest = call("max", (data,), axis=axes, keepdims=True)
    powers = call("exp", (call("subtract", (data, largest)),))
    result = call("log", (call("sum", (powers,), axis=axes, keepdims=True),))
    result = call("add", (result, largest))
    return result if keepdims else call("squeeze", (result,), axis=axes)


def _mean(data: Expr, axis: Any, exclude: bool) -> Call:
    return call("mean", (data,), axis=each(axis, 1), keepdims=True, exclude=exclude)


def _variance(data: Expr, mean: Expr, axis: Any, keepdims: bool, exclude: bool, unbiased: bool) -> Call:
    attrs = {"axis": each(axis, 1), "keepdims": keepdims, "exclude": exclude, "unbiased": unbiased}
    return call("variance", (data, mean), **attrs)
