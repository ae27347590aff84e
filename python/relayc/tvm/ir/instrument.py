"""Pass instruments: callbacks around passes, and the time that passes take.

Same names and rules as `python/tvm/ir/instrument.py` and `src/ir/instrument.cc` of TVM.
"""

from __future__ import annotations

import functools
import inspect
import logging
import threading
import time
from typing import Any, List, Optional

from .._ffi import register_object
from ..runtime.object import Object

__all__ = ["PassInstrument", "PassTimingInstrument", "pass_instrument"]


@register_object("instrument.PassInstrument")
class PassInstrument(Object):
    """Base of instruments: a subclass, or a class that `pass_instrument` decorates,
    defines the callbacks it needs."""

    def __init__(self) -> None:
        self.name = type(self).__name__

    def enter_pass_ctx(self) -> None:
        """Called when its context is entered."""

    def exit_pass_ctx(self) -> None:
        """Called when its context is left."""

    def should_run(self, mod: Any, info: Any) -> Optional[bool]:
        """Whether a pass runs. Called for each pass that its context does not require."""
        return True

    def run_before_pass(self, mod: Any, info: Any) -> None:
        """Called before a pass runs, with its module and its `PassInfo`."""

    def run_after_pass(self, mod: Any, info: Any) -> None:
        """Called after a pass has run, with its result and its `PassInfo`."""


def pass_instrument(pi_cls: Optional[type] = None) -> Any:
    """Class decorator: makes a class with some of the callbacks an instrument."""

    def decorate(cls: type) -> type:
        if not inspect.isclass(cls):
            raise TypeError("pi_cls must be a class")
        if issubclass(cls, PassInstrument):
            return cls

        class PyPassInstrument(cls, PassInstrument):  # type: ignore[misc, valid-type]
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                cls.__init__(self, *args, **kwargs)  # type: ignore[misc]
                PassInstrument.__init__(self)

        functools.update_wrapper(PyPassInstrument.__init__, cls.__init__)  # type: ignore[misc]
        for attribute in ("__name__", "__qualname__", "__doc__", "__module__"):
            setattr(PyPassInstrument, attribute, getattr(cls, attribute))
        return PyPassInstrument

    return decorate if pi_cls is None else decorate(pi_cls)


class _Profile:
    """The time of one pass and of the passes that it ran."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.start = time.perf_counter()
        self.duration = 0.0
        self.children: List["_Profile"] = []


class _Profiles(threading.local):
    def __init__(self) -> None:
        self.stack = [_Profile("root")]


_profiles = _Profiles()


class PassTimingInstrument(PassInstrument):
    """Measures each pass; `render` gives the times of the current context as text."""

    def exit_pass_ctx(self) -> None:
        _profiles.stack[0].children.clear()

    def run_before_pass(self, mod: Any, info: Any) -> None:
        profile = _Profile(info.name)
        _profiles.stack[-1].children.append(profile)
        _profiles.stack.append(profile)

    def run_after_pass(self, mod: Any, info: Any) -> None:
        profile = _profiles.stack.pop()
        profile.duration = time.perf_counter() - profile.start

    @staticmethod
    def render() -> str:
        """One line a pass, indented below the pass that ran it: time in microseconds,
        in brackets without the passes it ran; percent of all and of its parent.

        Empty, with a warning, when nothing was measured.
        """
        root = _profiles.stack[0]
        if not root.children:
            logging.warning("no passes have been profiled, did you enable pass profiling?")
            return ""
        total = sum(child.duration for child in root.children) or 1e-9
        lines: List[str] = []
        todo = [(0, total, child) for child in reversed(root.children)]
        while todo:
            depth, parent, profile = todo.pop()
            own = profile.duration - sum(child.duration for child in profile.children)
            lines.append(
                "\t" * depth
                + f"{profile.name}: {profile.duration * 1e6:.0f}us [{own * 1e6:.0f}us] "
                f"({profile.duration / total * 100:.2f}%; {profile.duration / parent * 100:.2f}%)\n"
            )
            below = profile.duration or 1e-9
            todo += [(depth + 1, below, child) for child in reversed(profile.children)]
        return "".join(lines)
