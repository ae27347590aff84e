"""Paddings as tuples of a value for each side (`python/tvm/relay/op/nn/utils.py`)."""

from __future__ import annotations

from typing import Any, Tuple

from .._padding import pad

__all__ = ["get_pad_tuple1d", "get_pad_tuple2d", "get_pad_tuple3d"]


def get_pad_tuple1d(padding: Any) -> Tuple[Any, ...]:
    """`(left, right)`; ValueError if it is neither an int nor 1 or 2 of them."""
    return pad(padding, 1)


def get_pad_tuple2d(padding: Any) -> Tuple[Any, ...]:
    """`(top, left, bottom, right)`; ValueError if it is neither an int nor 2 or 4 of them."""
    return pad(padding, 2)


def get_pad_tuple3d(padding: Any) -> Tuple[Any, ...]:
    """`(front, top, left, back, bottom, right)`; ValueError if it is neither an int nor 3 or 6 of them."""
    return pad(padding, 3)
