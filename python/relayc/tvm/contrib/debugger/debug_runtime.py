"""`debug_executor` by its old name."""

from __future__ import annotations

from .debug_executor import GraphModuleDebug as GraphModuleDebug
from .debug_executor import create as create
