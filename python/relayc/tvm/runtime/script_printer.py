"""`Scriptable`: nodes whose text is TVMScript in TVM. Here it is Relay's text."""

from __future__ import annotations

from typing import Any


class Scriptable:
    """A node with `script` and `show`."""

    def script(self, *, name: Any = None, show_meta: bool = False, **options: Any) -> str:
        """The text of the node, in Relay's syntax. Options that only TVMScript has make no difference."""
        from ..relay.base import astext, pretty_print

        return astext(self) if show_meta else pretty_print(self)

    def show(self, style: Any = None, black_format: Any = None, **options: Any) -> None:
        """Prints the text of the node."""
        print(self.script(**options))
