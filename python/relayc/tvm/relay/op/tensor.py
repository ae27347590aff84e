"""Operators on each element, and constructors of tensors (`python/tvm/relay/op/tensor.py`)."""

from __future__ import annotations

from typing import Any, Sequence, Union

from ...runtime import ndarray
from ...runtime.ndarray import Device
from ...target.virtual_device import VirtualDevice
from ..expr import Call, Constant, Expr, Tuple
from ._call import call
from ._constants import integers
from ._documentation import documented
from ._factory import define

__all__ = [
    *define("op.tensor", globals()),
    "concatenate",
    "device_copy",
    "einsum",
    "ones",
    "stack",
    "zeros",
]


@documented("zeros")
def zeros(shape: Any, dtype: str) -> Call:
    """A tensor of zeros.

    Parameters
    ----------
    shape : int, sequence of ints, or Expr
        The dimensions. An expression makes a call of `dyn.zeros`, unless it is a constant.
    dtype : str
        The dtype.
    """
    shape = integers(shape)
    if isinstance(shape, Expr):
        return call("dyn.zeros", (shape,), dtype=dtype)
    return call("zeros", (), shape=shape, dtype=dtype)


@documented("ones")
def ones(shape: Any, dtype: str) -> Call:
    """A tensor of ones.

    Parameters
    ----------
    shape : int, sequence of ints, or Expr
        The dimensions. An expression makes a call of `dyn.ones`, unless it is a constant.
    dtype : str
        The dtype.
    """
    shape = integers(shape)
    if isinstance(shape, Expr):
        return call("dyn.ones", (shape,), dtype=dtype)
    return call("ones", (), shape=shape, dtype=dtype)


@documented("concatenate")
def concatenate(data: Union[Expr, Sequence[Expr]], axis: int) -> Call:
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
    fields = _fields("concatenate", data)
    if not isinstance(axis, int):
        raise ValueError("For now, we only support integer axis")
    return call("concatenate", (fields,), axis=axis)


@documented("einsum")
def einsum(data: Sequence[Expr], equation: str) -> Call:
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
    fields = _fields("einsum", data)
    if not isinstance(equation, str):
        raise ValueError("einsum `equation` must be a str")
    return call("einsum", (fields,), equation=equation)


@documented("stack")
def stack(data: Union[Expr, Sequence[Expr]], axis: int) -> Call:
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
    fields = _fields("stack", data)
    if not isinstance(axis, int):
        raise ValueError("For now, we only support integer axis")
    return call("stack", (fields,), axis=axis)


def _fields(name: str, data: Union[Expr, Sequence[Expr]]) -> Expr:
    """Tensors as one operand: a tuple of them, or what has one as its value."""
    fields = data if isinstance(data, Expr) else Tuple(list(data))
    if isinstance(fields, Tuple) and not fields.fields:
        raise ValueError(f"relay.{name} requires data to be non-empty.")
    return fields


@documented("device_copy")
def device_copy(data: Expr, src_device: Any, dst_device: Any) -> Call:
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
    return call("device_copy", (data,), src_virtual_device=src, dst_virtual_device=dst)


def _virtual_device(device: Any) -> VirtualDevice:
    if isinstance(device, str):
        device = ndarray.device(device)
    if isinstance(device, Device):
        return VirtualDevice(device)
    raise ValueError(f"expecting a Device or device name, but received a {type(device)}")
