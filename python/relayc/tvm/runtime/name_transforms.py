"""Names that C takes."""

from __future__ import annotations

import re

from ..error import TVMError

__all__ = ["sanitize_name"]


def sanitize_name(original_name: str) -> str:
    """The name with `_` for what a C identifier does not have. Raises `TVMError` if it is empty."""
    if not original_name:
        raise TVMError("Name is empty")
    return re.sub(r"[^0-9A-Za-z_]", "_", original_name)
