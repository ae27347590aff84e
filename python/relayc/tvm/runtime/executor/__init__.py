"""Executors of compiled programs."""

from __future__ import annotations

from .aot_executor import AotModule as AotModule
