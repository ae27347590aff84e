"""Names of compiled modules (TVM `python/tvm/relay/backend/utils.py`)."""

from __future__ import annotations

import re
from typing import Optional

_VALID = re.compile("[a-zA-Z0-9_]+")


def _is_valid_modelname(mod_name: Optional[str]) -> bool:
    """Whether a module may have this name: letters, digits and underscores of ASCII."""
    return mod_name is not None and _VALID.fullmatch(mod_name) is not None


def mangle_module_name(mod_name: Optional[str]) -> str:
    """The name that compiled functions of a module begin with. Raises ValueError for a name with other characters."""
    if not mod_name:
        return "tvmgen"
    if not _is_valid_modelname(mod_name):
        raise ValueError(f"{mod_name} contains invalid characters")
    return f"tvmgen_{mod_name}"
