"""Tags, which name targets: there are none."""

from __future__ import annotations

from typing import Any, Dict, Optional

__all__ = ["list_tags"]


def list_tags() -> Optional[Dict[str, Any]]:
    """Tags and their targets."""
    return {}
