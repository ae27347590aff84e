"""Operators on each element, and constructors of tensors (`python/tvm/relay/op/tensor.py`)."""

from __future__ import annotations

from typing import Any, Sequence, Union

from ...runtime import Device
from ...runtime import ndarray as _nd
from ...target import VirtualDevice
from ..expr import Call as _Call
from ..expr import Constant as _Constant
from ..expr import Expr as _Expr
from ..expr import Tuple as _Tuple
from ._call import call as _call
from ._constants import integers as _integers
from ._documentation import documented as _documented
from ._factory import define as _define

__all__ = [
    *_define("op.tensor", globals()),
    "concatenate",
    "device_copy",
    "einsum",
    "ones",
    "stack",
    "zeros",
]


@_documented("zeros")
def zeros(shape: Any, dtype: str) -> _Call:
    """A tensor of zeros.

    Parameters
    ----------
    shape : int, sequence of ints, or Expr
        The dimensions. An expression makes a call of `dyn.zeros`, unless it is a constant.
    dtype : str
        The dtype.
    """
    shape = _integers(shape)
    if isinstance(shape, _Expr):
        return _call("dyn.zeros", (shape,), dtype=dtype)
    return _call("zeros", (), shape=shape, dtype=dtype)


@_documented("ones")
def ones(shape: Any, dtype: str) -> _Call:
    """A tensor of ones.

    Parameters
    ----------
    shape : int, sequence of ints, or Expr
        The dimensions. An expression makes a call of `dyn.ones`, unless it is a constant.
    dtype : str
        The dtype.
    """
    shape = _integers(shape)
    if isinstance(shape, _Expr):
        return _call("dyn.ones", (shape,), dtype=dtype)
    return _call("ones", (), shape=shape, dtype=dtype)


@_documented("concatenate")
def concatenate(data: Union[_Expr, Sequence[_Expr]], axis: int) -> _Call:
    """The tensors one after the other along an axis.

    Parameters
    ----------
    data : sequence of Expr, or an Expr whose value is a tuple
        The tensors.
    axis : int
        The axis.

    Raises
    ------
    ValueError
        If there are no tensors, or the axis is no integer.
    """
    fields = data if isinstance(data, _Call) else list(data)
    if not fields:
        raise ValueError("relay.concatenate requires data to be non-empty.")
    if not isinstance(axis, int):
        raise ValueError("For now, we only support integer axis")
    return _call("concatenate", (fields if isinstance(fields, _Call) else _Tuple(fields),), axis=axis)


@_documented("einsum")
def einsum(data: Sequence[_Expr], equation: str) -> _Call:
    """A sum of products over named axes.

    Parameters
    ----------
    data : sequence of Expr
        The tensors.
    equation : str
        The axes of each and of the result: `"ij,jk->ik"`.

    Raises
    ------
    ValueError
        If there are no tensors, or the equation is no string.
    """
    fields = list(data)
    if not fields:
        raise ValueError("relay.einsum requires data to be non-empty.")
    if not isinstance(equation, str):
        raise ValueError("einsum `equation` must be a str")
    return _call("einsum", (_Tuple(fields),), equation=equation)


@_documented("stack")
def stack(data: Union[_Expr, Sequence[_Expr]], axis: int) -> _Call:
    """The tensors along a new axis.

    Parameters
    ----------
    data : sequence of Expr, or an Expr whose value is a tuple
        The tensors.
    axis : int
        The new axis.

    Raises
    ------
    ValueError
        If there are no tensors, or the axis is no integer.
    """
    if not data:
        raise ValueError("relay.stack requires data to be non-empty.")
    if not isinstance(axis, int):
        raise ValueError("For now, we only support integer axis")
    return _call("stack", (data if isinstance(data, _Expr) else _Tuple(list(data)),), axis=axis)


@_documented("device_copy")
def device_copy(data: _Expr, src_device: Any, dst_device: Any) -> _Call:
    """The tensor, copied to another device.

    Parameters
    ----------
    data : Expr
        The tensor.
    src_device, dst_device : Device or str
        Where it is, and where its copy is.

    Raises
    ------
    ValueError
        If one is neither a device nor the name of one.
    """
    src, dst = _virtual_device(src_device), _virtual_device(dst_device)
    return _call("device_copy", (data,), src_virtual_device=src, dst_virtual_device=dst)


def _virtual_device(device: Any) -> VirtualDevice:
    if isinstance(device, str):
        device = _nd.device(device)
    if isinstance(device, Device):
        return VirtualDevice(device)
    raise ValueError(f"expecting a Device or device name, but received a {type(device)}")
