"""Networks from the zoo of the native module: the ones that `relayc model` writes."""

from __future__ import annotations

from typing import Any, List

from ... import _native
from ..function import Function


def network(name: str, **flags: Any) -> Function:
    """The network `name` as a function; the flags are those of `relayc model --list`, with underscores.

    Raises ValueError for a name, flag or value that the zoo does not have.
    """
    words: List[str] = []
    for flag, value in flags.items():
        word = "--" + flag.replace("_", "-")
        if isinstance(value, bool):
            words += [word] if value else []
        elif isinstance(value, (list, tuple)):
            words.append(f"{word}={','.join(str(dim) for dim in value)}")
        else:
            words.append(f"{word}={value}")
    return _native.network(name, words)
