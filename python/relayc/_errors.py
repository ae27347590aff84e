"""The exceptions that the native side raises; `relayc.tvm.error` has those of TVM that Python raises."""

from __future__ import annotations


class TVMError(RuntimeError):
    """The base of the errors of TVM's API."""


class DiagnosticError(TVMError):
    """A program that has errors; the text is the rendered messages."""


class RelayError(DiagnosticError):
    """An error of relayc; the text is the message as the command line shows it.

    `code` is the code of the first error, such as `E0301`; `relayc explain CODE` explains it.
    """

    code: str = ""


# Tracebacks show the name by which it is imported.
RelayError.__module__ = "relayc"
