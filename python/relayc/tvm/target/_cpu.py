"""The check that a program is compiled for what relayc compiles for: the x86-64 processor at hand."""

from __future__ import annotations

import warnings
from typing import Any, Optional

from ..runtime.container import Array
from .target import Target

__all__ = ["cpu_targets", "current_cpu_targets"]

_X86_64 = ("x86_64", "x86-64", "amd64")


def cpu_targets(target: Any, target_host: Any = None) -> Array:
    """Targets as `Target.canon_multi_target_and_host` gives them; the current one if none is given.

    Raises ValueError if there is none, NotImplementedError if one, or the host of one, is no x86-64 processor. Warns of `c`,
    which TVM compiles for this processor by way of C.
    """
    given = Target.target_or_current(None) if target is None else target
    targets = Target.canon_multi_target_and_host(given, target_host)
    for found in targets:
        _require_cpu(found)
        if found.host is not None:
            _require_cpu(found.host)
    return targets


def current_cpu_targets(target: Any, target_host: Any = None) -> Optional[Array]:
    """As `cpu_targets`; None if no target is given and there is no current one."""
    return None if target is None and Target.current() is None else cpu_targets(target, target_host)


def _require_cpu(target: Target) -> None:
    architecture = str(target.attrs.get("mtriple", "")).partition("-")[0]
    if target.kind.name in ("llvm", "c") and architecture in ("", *_X86_64) and target.device_name in ("", "cpu"):
        if target.kind.name == "c":
            warnings.warn("no C is written: the target `c` is compiled to machine code for this processor", stacklevel=4)
        return
    written = [f"-{name}={target.attrs[name]}" for name in ("device", "mtriple") if target.attrs.get(name)]
    words = " ".join([target.kind.name, *written])
    raise NotImplementedError(f"relayc compiles for x86-64 processors, not for `{words}`: build with the target `llvm`")
