"""Marks on expressions for passes (`python/tvm/relay/op/annotation/annotation.py`)."""

from __future__ import annotations

from typing import Any

from ....runtime import Device as _Device
from ....runtime import ndarray as _nd
from ....target import VirtualDevice as _VirtualDevice
from ...expr import Call as _Call
from ...expr import Expr as _Expr
from .._call import call as _call
from .._documentation import documented as _documented
from .._factory import define as _define

__all__ = [*_define("op.annotation.annotation", globals()), "function_on_device", "on_device"]


@_documented("on_device")
def on_device(
    body: _Expr, device: Any, constrain_result: bool = False, constrain_body: bool = True
) -> _Call:
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
        "virtual_device": device if constrain_result or constrain_body else _VirtualDevice(),
        "constrain_result": constrain_result,
        "constrain_body": constrain_body,
    }
    return _call("on_device", (body,), **attrs)


def function_on_device(function: Any, param_devices: Any, result_device: Any) -> Any:
    """Refuses: TVM v0.14 has no function behind this name either. Mark the body with `on_device`."""
    raise NotImplementedError("annotation.function_on_device does not work in TVM v0.14: mark the body with on_device")


def _virtual_device(device: Any) -> _VirtualDevice:
    if isinstance(device, str):
        device = _nd.device(device)
    if isinstance(device, _Device):
        return _VirtualDevice(device)
    if isinstance(device, _VirtualDevice):
        return device
    raise ValueError(f"expecting a Device or device name, but received a {type(device)}")
