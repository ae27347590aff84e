"""What can be found out about a program: its variables, whether it is well formed, its operators."""

from __future__ import annotations

from .analysis import *  # noqa: F403
from .analysis import __all__ as _analysis

__all__ = list(_analysis)
