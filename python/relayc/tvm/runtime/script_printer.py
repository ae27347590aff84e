"""`Scriptable`: nodes whose text is TVMScript in TVM. Here it is Relay's text."""

from __future__ import annotations

from typing import Any


class Scriptable:
    """A node with `script` and `show`."""

    def script(self, *, name: Any = None, show_meta: bool = False, **options: Any) -> str:
        """The text of the node, in Relay's syntax. Options that only TVMScript has make no difference."""
        from .._native import astext

        return astext(self, show_meta)

    def show(self, style: Any = None, black_format: Any = None, **options: Any) -> None:
        """Prints the text of the node."""
        print(self.script(**options))
