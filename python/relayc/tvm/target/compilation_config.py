"""`make_compilation_config`: targets and devices of a build, as TVM's passes take them."""

from __future__ import annotations

from typing import Any, Optional

from .._ffi import register_object
from .._ffi.runtime_ctypes import Device
from ..runtime.container import Array
from ..runtime.object import Object
from .target import Target
from .virtual_device import VirtualDevice

__all__ = ["CompilationConfig", "make_compilation_config"]


@register_object
class CompilationConfig(Object):
    """The host's target, the targets of operators, and the devices that go with them."""

    def __init__(self, ctx: Any, targets: Any) -> None:
        host = next((t.host for t in targets if t.host is not None), None)
        if host is None:
            host = next((t for t in targets if t.get_target_device_type() == Device.kDLCPU), None)
        self.host_target = Target("llvm") if host is None else Target(host)
        self.primitive_targets = Array([t.with_host(self.host_target) for t in targets])
        alone = len(self.primitive_targets) == 1
        self.optional_homogeneous_target = self.primitive_targets[0] if alone else None
        self.host_virtual_device = VirtualDevice(Device(Device.kDLCPU, 0), self.host_target)
        wanted = int(ctx.config.get("relay.fallback_device_type", Device.kDLCPU))
        if alone:
            wanted = self.primitive_targets[0].get_target_device_type()
        chosen = [t for t in self.primitive_targets if t.get_target_device_type() == wanted]
        target = (chosen or self.primitive_targets)[0]
        self.default_primitive_virtual_device = VirtualDevice(
            Device(target.get_target_device_type(), 0), target
        )


def make_compilation_config(
    ctxt: Any, target: Any, target_host: Optional[Any] = None
) -> CompilationConfig:
    """The configuration for a target or several, and a host."""
    return CompilationConfig(ctxt, Target.canon_multi_target_and_host(target, target_host))
