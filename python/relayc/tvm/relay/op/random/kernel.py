"""Random numbers from keys (`python/tvm/relay/op/random/kernel.py`)."""

from __future__ import annotations

import sys
from typing import Any, Sequence

import numpy as np

from ....runtime import ndarray as _nd
from ...expr import Constant as _Constant
from ...expr import Expr as _Expr
from ...expr import Call as _Call
from .._call import call as _call
from .._constants import constant as _constant
from .._documentation import documented as _documented
from .._factory import define as _define

__all__ = [*_define("op.random.kernel", globals()), "normal", "threefry_key", "uniform"]


def threefry_key(seed: int) -> _Constant:
    """A key of the generator Threefry.

    Parameters
    ----------
    seed : int
        A number of up to 256 bits.

    Returns
    -------
    key : Constant
        10 numbers of uint64.
    """
    words = np.frombuffer(seed.to_bytes(32, sys.byteorder), dtype="uint64")
    rest = np.array([0, 0, 0, 0, 1 << 63, 0], dtype="uint64")
    return _Constant(_nd.array(np.concatenate((words, rest))))


@_documented("random.uniform")
def uniform(
    key: _Expr, shape: Sequence[int], dtype: str = "float32", low: Any = 0.0, high: Any = 1.0
) -> _Call:
    """Numbers evenly distributed between two bounds.

    Parameters
    ----------
    key : Expr
        The key.
    shape : sequence of ints
        The shape of the result.
    dtype : str
        Its dtype.
    low, high : float or Expr
        The bounds.

    Returns
    -------
    result : Call
        The next key and the numbers.
    """
    operands = (key, _constant(low, dtype), _constant(high, dtype))
    return _call("random.uniform", operands, out_shape=shape, out_dtype=dtype)


@_documented("random.normal")
def normal(
    key: _Expr, shape: Sequence[int], dtype: str = "float32", mean: Any = 0.0, scale: Any = 1.0
) -> _Call:
    """Numbers of a normal distribution.

    Parameters
    ----------
    key : Expr
        The key.
    shape : sequence of ints
        The shape of the result.
    dtype : str
        Its dtype.
    mean, scale : float or Expr
        The mean and the standard deviation.

    Returns
    -------
    result : Call
        The next key and the numbers.
    """
    operands = (key, _constant(mean, dtype), _constant(scale, dtype))
    return _call("random.normal", operands, out_shape=shape, out_dtype=dtype)
