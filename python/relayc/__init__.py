"""Relay from Python: read, check, run and compile programs of the Relay text language."""

from __future__ import annotations

from ._relayc import __version__

__all__ = ["__version__"]
