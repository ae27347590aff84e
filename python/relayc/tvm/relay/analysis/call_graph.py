"""`CallGraph`: which global function refers to which."""

from __future__ import annotations

from typing import Any, Dict, List, Set, Union

from ..._ffi import register_object
from ...error import InternalError
from ...runtime.object import Object
from ..expr import GlobalVar
from ._walk import post_order

__all__ = ["CallGraph"]


@register_object("relay.CallGraph")
class CallGraph(Object):
    """The references between the functions of a module, when it was made.

    A function refers to another once, however often it calls it.
    """

    def __init__(self, module: Any) -> None:
        self._module = module
        self._calls: Dict[str, List[str]] = {}
        for var, func in module.functions.items():
            found = (node for node in post_order(func) if node._kind == "GlobalVar")
            self._calls[var.name_hint] = [node.name_hint for node in found]

    @property
    def module(self) -> Any:
        """The module."""
        return self._module

    def ref_count(self, var: Union[str, GlobalVar]) -> int:
        """How many functions refer to a function."""
        name = self._name(var)
        return sum(called.count(name) for called in self._calls.values())

    def global_call_count(self, var: Union[str, GlobalVar]) -> int:
        """How many functions a function refers to."""
        return len(self._calls[self._name(var)])

    def is_recursive(self, var: Union[str, GlobalVar]) -> bool:
        """Whether a function refers to itself."""
        name = self._name(var)
        return name in self._calls[name]

    def print_var(self, var: Union[str, GlobalVar]) -> str:
        """The references of a function, and how many refer to it, as text."""
        name = self._name(var)
        lines = [f"Call graph node: {name},  #refs = {self.ref_count(name)}\n"]
        lines += [f"  call site: <{name}> calls {callee}\n" for callee in self._calls[name]]
        return "".join(lines) + "\n"

    def _name(self, var: Union[str, GlobalVar]) -> str:
        if not isinstance(var, (str, GlobalVar)):
            raise TypeError("var should be either a string or GlobalVar")
        name = var if isinstance(var, str) else var.name_hint
        if name not in self._calls:
            raise InternalError(f"GlobalVar {name} not found in the call graph!")
        return name

    def _topological(self) -> List[str]:
        """The functions, each entry before what is called from it."""
        entries = [
            name
            for name in self._calls
            if self.ref_count(name) == 0 or (self.ref_count(name) == 1 and self.is_recursive(name))
        ]
        order: List[str] = []
        seen: Set[str] = set()
        for entry in entries:
            level = [entry]
            found: List[str] = []
            while level:
                level = [name for name in dict.fromkeys(level) if name not in seen]
                seen.update(level)
                found += level
                level = [callee for name in level for callee in self._calls.get(name, ())]
            order = found + order
        return order + [name for name in self._calls if name not in seen]

    def __str__(self) -> str:
        return "".join(self.print_var(name) for name in self._topological())
