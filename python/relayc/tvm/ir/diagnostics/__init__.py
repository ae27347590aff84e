"""Messages about programs, and who shows them.

An error of the compiler is an exception whose text is the rendered message. A program that wants the messages
themselves sets a renderer, which is called before the exception is raised.
"""

from __future__ import annotations

import enum
from typing import Any, Callable, Optional

from ..._ffi.registry import register_object
from ...error import DiagnosticError
from ...runtime.container import Array
from ...runtime.object import Object


class DiagnosticLevel(enum.IntEnum):
    """How serious a message is."""

    BUG = 10
    ERROR = 20
    WARNING = 30
    NOTE = 40
    HELP = 50


@register_object("Diagnostic")
class Diagnostic(Object):
    """A message about a place of a program."""

    def __init__(self, level: int, span: Any, message: str) -> None:
        self.level = level
        self.span = span
        self.message = message

    def __repr__(self) -> str:
        return self.message


@register_object("DiagnosticRenderer")
class DiagnosticRenderer(Object):
    """What shows the messages of a context."""

    def __init__(self, render_func: Callable[["DiagnosticContext"], None]) -> None:
        self.render_func = render_func

    def render(self, ctx: "DiagnosticContext") -> None:
        """Shows the messages."""
        self.render_func(ctx)


@register_object("DiagnosticContext")
class DiagnosticContext(Object):
    """The messages about a module."""

    def __init__(self, module: Any, renderer: Optional[DiagnosticRenderer]) -> None:
        self.module = module
        self.renderer = renderer or get_renderer()
        self.diagnostics = Array()

    def emit(self, diagnostic: Diagnostic) -> None:
        """Adds a message."""
        self.diagnostics = Array([*self.diagnostics, diagnostic])

    def render(self) -> None:
        """Shows the messages. Raises DiagnosticError if one is an error."""
        self.renderer.render(self)
        errors = [str(message) for message in self.diagnostics if message.level <= DiagnosticLevel.ERROR]
        if errors:
            raise DiagnosticError("\n".join(errors))


def _print(ctx: DiagnosticContext) -> None:
    import sys

    for message in ctx.diagnostics:
        print(message.message, file=sys.stderr)


_DEFAULT = DiagnosticRenderer(_print)
_overriding: Optional[DiagnosticRenderer] = None


def get_renderer() -> DiagnosticRenderer:
    """The renderer in use."""
    return _overriding or _DEFAULT


def override_renderer(render_func: Optional[Callable[[DiagnosticContext], None]]) -> None:
    """Sets the function that shows messages, or with None the usual way again."""
    global _overriding
    _overriding = None if render_func is None else DiagnosticRenderer(render_func)


def report(module: Any, error: Exception) -> None:
    """Shows an error to a renderer that the program set."""
    if _overriding is not None:
        ctx = DiagnosticContext(module, _overriding)
        ctx.emit(Diagnostic(DiagnosticLevel.ERROR, None, str(error)))
        _overriding.render(ctx)
