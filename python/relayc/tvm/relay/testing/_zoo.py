"""Networks from the zoo of the native module: the ones that `relayc model` writes."""

from __future__ import annotations

from typing import Any

from ....zoo import flags_of
from ... import _native
from ..function import Function


def network(name: str, **flags: Any) -> Function:
    """The network `name` as a function; the flags are those of `relayc model --list`, with underscores.

    Raises ValueError for a name, flag or value that the zoo does not have.
    """
    return _native.network(name, flags_of(flags))
