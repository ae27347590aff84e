"""`Diagnostic`: one message of relayc, with its places and fixes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Mapping


@dataclass(frozen=True)
class Span:
    """A place in a text, and what is said of it. Offsets are bytes; lines and columns count from 1."""

    file: str | None
    line: int
    column: int
    start: int
    end: int
    label: str = ""
    primary: bool = False


@dataclass(frozen=True)
class Edit:
    """Replaces the text of a span."""

    span: Span
    text: str


@dataclass(frozen=True)
class Fix:
    """Advice, with the edits that carry it out; `certain` if they are surely what was meant."""

    title: str
    certain: bool
    edits: tuple[Edit, ...]


@dataclass(frozen=True)
class Diagnostic:
    """One message about a program. `str()` is the message as the command line shows it."""

    code: str
    severity: str
    message: str
    spans: tuple[Span, ...]
    notes: tuple[str, ...]
    fixes: tuple[Fix, ...]
    rendered: str = field(repr=False, compare=False, default="")

    @property
    def is_error(self) -> bool:
        """Whether the program cannot run because of it."""
        return self.severity == "error"

    def __str__(self) -> str:
        return self.rendered.rstrip("\n")


def _span(place: Mapping[str, Any]) -> Span:
    return Span(
        file=place["file"],
        line=place["line"],
        column=place["col"],
        start=place["byte_start"],
        end=place["byte_end"],
        label=place.get("label", ""),
        primary=place.get("primary", False),
    )


def diagnostic(line: str, rendered: str) -> Diagnostic:
    """The object of a line of JSON (`relayc.diag/1`) and of the message as it is shown."""
    found = json.loads(line)
    fixes = (
        Fix(
            title=fix["title"],
            certain=fix["applicability"] == "machine-applicable",
            edits=tuple(Edit(_span(edit), edit["text"]) for edit in fix["edits"]),
        )
        for fix in found["fixes"]
    )
    return Diagnostic(
        code=found["code"],
        severity=found["level"],
        message=found["message"],
        spans=tuple(_span(place) for place in found["spans"]),
        notes=tuple(found["notes"]),
        fixes=tuple(fixes),
        rendered=rendered,
    )
