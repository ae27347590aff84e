"""Paddings of windows and integers for all axes, as the functions of `relay.nn` accept them."""

from __future__ import annotations

from typing import Any, Tuple

from ...runtime.container import Array

__all__ = ["each", "pad"]


def each(value: Any, count: int) -> Any:
    """`count` times the value if it is one integer, else the value."""
    return (value,) * count if isinstance(value, int) else value


def pad(padding: Any, axes: int) -> Tuple[Any, ...]:
    """The padding before each of the axes, then that after each.

    Parameters
    ----------
    padding : int, or a sequence of ints
        One integer for all sides, one for both sides of each axis, or one for each side.

    Raises
    ------
    ValueError
        If it has another number of values, or is of another type.
    """
    if isinstance(padding, int):
        return (padding,) * (2 * axes)
    if not isinstance(padding, (tuple, list, Array)):
        raise ValueError(f"Unknown padding option {padding}")
    if len(padding) == axes:
        return tuple(padding) * 2
    if len(padding) == 2 * axes:
        return tuple(padding)
    raise ValueError(f"Size of padding can only be {axes} or {2 * axes}")
