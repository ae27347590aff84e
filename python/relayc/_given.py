"""What callers give for paths, lists of texts, and weights. Errors: TypeError that says what is expected."""

from __future__ import annotations

import os
from typing import Any, Mapping, Sequence, Union

Path = Union[str, "os.PathLike[str]"]
Params = Union[Path, Sequence[Path], Mapping[str, Any], None]


def path(value: Any, instead: str = "") -> str:
    """The path of a file; `instead` says what takes something else than a path."""
    # The bytes of a path are no text either, and those of a file are meant.
    given = os.fspath(value) if isinstance(value, (str, os.PathLike)) else value
    if not isinstance(given, str):
        raise TypeError(f"expected the path of a file, found {_kind(value)}{instead}")
    return given


def printable(name: str) -> str:
    """The name of a file for messages. File names need not be UTF-8; Python has their other bytes as surrogates."""
    return name.encode("utf-8", "replace").decode()


def texts(value: Any, option: str, example: str) -> list[str]:
    """The texts of an option, which may be a single one."""
    if isinstance(value, str):
        return [value]
    found: list[Any]
    try:
        # Of a mapping only the names would be left.
        found = [None] if isinstance(value, Mapping) else list(value)
    except TypeError:
        found = [None]
    if not all(isinstance(text, str) for text in found):
        raise TypeError(f"{option} is {_short(value)}: expected a text or several, {example}")
    return found


def params(value: Params) -> tuple[list[str], dict[str, Any]]:
    """Weights as files and arrays."""
    if value is None:
        return [], {}
    if isinstance(value, Mapping):
        return [], dict(value)
    if isinstance(value, (str, os.PathLike)):
        return [path(value)], {}
    try:
        if not isinstance(value, (bytes, bytearray, memoryview)):
            return [path(file) for file in value], {}
    except TypeError:
        pass
    raise TypeError(f'params is {_short(value)}: expected a file, several files, or arrays by name, {{"weight": array}}')


def arrays(value: Any) -> dict[str, Any]:
    """Arrays by name."""
    if not isinstance(value, Mapping):
        raise TypeError(f'expected arrays by name, {{"weight": array}}, found {_kind(value)}')
    return dict(value)


def _kind(value: Any) -> str:
    return type(value).__name__


def _short(value: Any) -> str:
    """A value of the caller in a message."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
