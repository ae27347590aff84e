"""The manual of the operators."""

from __future__ import annotations

from . import _relayc

__all__ = ["names", "page", "search"]


def names() -> list[str]:
    """The names of all operators."""
    return [name for name, _ in _relayc.operator_pages("")]


def search(part: str) -> dict[str, str]:
    """The operators whose names contain a text, each with a line about it. Errors: KeyError if there is none."""
    return dict(_relayc.operator_pages(part))


def page(name: str) -> str:
    """The page of an operator: its arguments, attributes, rules and an example. Errors: KeyError with a suggestion."""
    return _relayc.operator_page(name)
