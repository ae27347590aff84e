"""The exceptions that the native side raises; `relayc.tvm.error` has those of TVM that Python raises."""

from __future__ import annotations

from ._diagnostics import Diagnostic, diagnostic


class TVMError(RuntimeError):
    """The base of the errors of TVM's API."""


class DiagnosticError(TVMError):
    """A program that has errors; the text is the rendered messages."""


class RelayError(DiagnosticError):
    """An error of relayc; the text is the message as the command line shows it.

    `code` is the code of the first error, such as `E0301`; `relayc explain CODE` explains it.
    """

    code: str = ""
    # Lines of JSON and the messages as they are shown, from the native side.
    _rendered: tuple[tuple[str, str], ...] = ()

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """The errors, and the warnings that came with them: code, severity, message, places, notes and fixes of each."""
        return [diagnostic(line, rendered) for line, rendered in self._rendered]


# Tracebacks show the name by which it is imported.
RelayError.__module__ = "relayc"
