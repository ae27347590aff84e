"""`VirtualDevice`: where data is to be at run time, and what compiles for there."""

from __future__ import annotations

from typing import Any, Optional

from .._ffi import register_object
from .._ffi.runtime_ctypes import Device
from ..runtime.object import INT, NODE, STR, Object
from .target import Target

__all__ = ["VirtualDevice"]


@register_object
class VirtualDevice(Object):
    """A device, a target and a memory scope; `-1` and `None` leave them open."""

    _kind = "VirtualDevice"
    _type_key = "VirtualDevice"
    _fields = {
        "device_type_int": INT,
        "virtual_device_id": INT,
        "target": NODE,
        "memory_scope": STR,
    }
    _compared = ("device_type_int", "virtual_device_id", "memory_scope")

    def __init__(
        self,
        device: Optional[Device] = None,
        target: Optional[Target] = None,
        memory_scope: str = "",
    ) -> None:
        self.device_type_int = -1 if device is None else device.device_type
        self.virtual_device_id = -1 if device is None else device.device_id
        self.target: Any = target
        self.memory_scope = memory_scope

    @property
    def device_type(self) -> int:
        """The number of the device's type."""
        return self.device_type_int

    def __repr__(self) -> str:
        if self.device_type_int < 0 and self.target is None and not self.memory_scope:
            return "VirtualDevice(?)"
        words = [f"device_type={self.device_type_int}"]
        if self.virtual_device_id >= 0:
            words.append(f"virtual_device_id={self.virtual_device_id}")
        if self.target is not None:
            words.append(f"target={self.target}")
        if self.memory_scope:
            words.append(f"memory_scope='{self.memory_scope}'")
        return f"VirtualDevice({', '.join(words)})"
