"""The patterns that other compilers take over, by compiler (`python/tvm/relay/op/contrib/register.py`)."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional

__all__ = ["get_pattern_table", "register_pattern_table"]

_PATTERN_TABLES: Dict[str, Any] = {}


def register_pattern_table(compiler: str, table: Optional[Callable[[], Any]] = None) -> Any:
    """Registers the patterns of a compiler; also a decorator.

    Parameters
    ----------
    compiler : str
        The name of the compiler.
    table : callable, optional
        Returns the patterns: a list of tuples of a name, a pattern and perhaps a check, for `MergeComposite`.
    """

    def register(function: Callable[[], Any]) -> Callable[[], Any]:
        _PATTERN_TABLES[compiler] = function()
        return function

    return register if table is None else register(table)


def get_pattern_table(compiler: str) -> Any:
    """The patterns of the compiler; None if it has none."""
    return _PATTERN_TABLES.get(compiler)
