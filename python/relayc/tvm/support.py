"""`tvm.support`: what this build has."""

from __future__ import annotations

import platform
import sys
from typing import Dict

__all__ = ["describe", "libinfo"]


def libinfo() -> Dict[str, str]:
    """Flags of a build: those of libraries and devices that TVM can use are all off here."""
    from .testing.features import Feature

    return {f"USE_{name.upper()}": "OFF" for name in Feature._all_features}


def describe() -> None:
    """Prints the versions in use."""
    from . import __version__

    print(f"Relay of TVM   = {__version__}")
    print(f"Python version = {sys.version.split()[0]}")
    print(f"System         = {platform.platform()}")
