"""Random numbers from keys (`python/tvm/relay/op/random/kernel.py`)."""

from __future__ import annotations

import sys
from typing import Any, Sequence

import numpy as np

from ....runtime import ndarray
from ...expr import Call, Constant, Expr
from .._call import call
from .._constants import constant
from .._documentation import documented
from .._factory import define

__all__ = [*define("op.random.kernel", globals()), "normal", "threefry_key", "uniform"]


def threefry_key(seed: int) -> Constant:
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
    return Constant(ndarray.array(np.concatenate((words, rest))))


@documented("random.uniform")
def uniform(
    key: Expr, shape: Sequence[int], dtype: str = "float32", low: Any = 0.0, high: Any = 1.0
) -> Call:
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
    operands = (key, constant(low, dtype), constant(high, dtype))
    return call("random.uniform", operands, out_shape=shape, out_dtype=dtype)


@documented("random.normal")
def normal(
    key: Expr, shape: Sequence[int], dtype: str = "float32", mean: Any = 0.0, scale: Any = 1.0
) -> Call:
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
    operands = (key, constant(mean, dtype), constant(scale, dtype))
    return call("random.normal", operands, out_shape=shape, out_dtype=dtype)
