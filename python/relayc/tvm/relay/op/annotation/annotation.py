"""Marks on expressions for passes (`python/tvm/relay/op/annotation/annotation.py`)."""

from __future__ import annotations

from typing import Any

from ....runtime import ndarray
from ....runtime.ndarray import Device
from ....target.virtual_device import VirtualDevice
from ...expr import Call, Expr
from .._call import call
from .._documentation import documented
from .._factory import define

__all__ = [*define("op.annotation.annotation", globals()), "function_on_device", "on_device"]


@documented("on_device")
def on_device(
    body: Expr, device: Any, constrain_result: bool = False, constrain_body: bool = True
) -> Call:
    """The expression, computed or kept on a device.

    Parameters
    ----------
    body : Expr
        The expression.
    device : Device, VirtualDevice or str
        The device.
    constrain_result : bool
        Whether the result is on the device.
    constrain_body : bool
        Whether the body is computed on the device.

    Raises
    ------
    ValueError
        If `device` is neither a device nor the name of one.
    """
    device = _virtual_device(device)
    attrs = {
        "virtual_device": device if constrain_result or constrain_body else VirtualDevice(),
        "constrain_result": constrain_result,
        "constrain_body": constrain_body,
    }
    return call("on_device", (body,), **attrs)


def function_on_device(function: Any, param_devices: Any, result_device: Any) -> Any:
    """Refuses: TVM v0.14 has no function behind this name either. Mark the body with `on_device`."""
    raise NotImplementedError("annotation.function_on_device does not work in TVM v0.14: mark the body with on_device")


def _virtual_device(device: Any) -> VirtualDevice:
    if isinstance(device, str):
        device = ndarray.device(device)
    if isinstance(device, Device):
        return VirtualDevice(device)
    if isinstance(device, VirtualDevice):
        return device
    raise ValueError(f"expecting a Device or device name, but received a {type(device)}")
