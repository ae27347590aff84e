"""`Inline`: global functions marked `Inline=1` take the place of their calls.

Rules of TVM: `src/relay/transforms/inline.cc`. A function is inlined once everything
it refers to has been, and if it does not refer to itself. One for another compiler is
called as a literal, one that is a value becomes a literal, and functions that nothing
refers to any more are removed unless they were entries.
"""

from __future__ import annotations

from typing import Any, Dict, List, Set

from ...error import InternalError
from ..analysis._walk import post_order
from ..analysis.call_graph import CallGraph
from ..dataflow_pattern.graph import mutate
from ..expr import Call, GlobalVar, bind, with_fields
from ..function import Function
from ._engine import without_functions

__all__ = ["inline"]


def inline(mod: Any, ctx: Any) -> Any:
    """The module after inlining."""
    return _Inliner(mod).run()


class _Inliner:
    def __init__(self, mod: Any) -> None:
        self.mod = mod._copy()
        graph = CallGraph(mod)
        self.order = list(reversed(graph._topological()))
        self.entries = {name for name in self.order if graph.ref_count(name) == 0}
        self.callees: Dict[str, List[str]] = {n: list(c) for n, c in graph._calls.items()}

    def run(self) -> Any:
        for name in self.order:
            callees = self.callees[name]
            func = self.mod[name]
            if callees and callees != [name] and isinstance(func, Function):
                body = self._inlined(func.body)
                self.mod.update_func(self.mod.get_global_var(name), with_fields(func, body=body))
                left = (n.name_hint for n in post_order(body) if isinstance(n, GlobalVar))
                self.callees[name] = list(left)
        used: Set[str] = {callee for callees in self.callees.values() for callee in callees}
        unused = set()
        for name in self.order:
            if name in self.entries or name in self.callees[name] or not self._marked(name):
                continue
            if name in used:
                raise InternalError(f"{name} is marked as inline but not inlined.")
            unused.add(name)
        return without_functions(self.mod, unused)

    def _marked(self, name: str) -> bool:
        func = self.mod[name]
        attrs = func.attrs if isinstance(func, Function) else None
        return attrs is not None and "Inline" in attrs.keys() and bool(attrs["Inline"])

    def _can_inline(self, name: str) -> bool:
        return not self.callees[name] and self._marked(name)

    def _inlined(self, body: Any) -> Any:
        """A body with calls replaced by bodies, and other uses of names by literals."""

        def visit(pre: Any, post: Any, memo: Dict[int, Any]) -> Any:
            if isinstance(pre, GlobalVar) and self._can_inline(pre.name_hint):
                return self._literal(pre)
            if isinstance(pre, Call) and isinstance(pre.op, GlobalVar):
                if self._can_inline(pre.op.name_hint):
                    return self._call(pre.op, post)
            return post

        return mutate(body, lambda _: None, visit)

    def _literal(self, var: Any) -> Any:
        """The function as a literal of its own."""
        func = self.mod[var.name_hint]
        return Function(func.params, func.body, func.ret_type, func.type_params, func.attrs)

    def _ours(self, func: Any) -> bool:
        names = func.attrs.keys()
        return "Compiler" not in names and not ("Extern" in names and func.attrs["Extern"])

    def _call(self, var: Any, call: Any) -> Any:
        func = self._literal(var)
        if not self._ours(func):
            return Call(func, call.args, call.attrs, call.type_args)
        if len(func.params) != len(call.args):
            raise InternalError("Mismatch found in the number of parameters and call args")
        return bind(func.body, dict(zip(func.params, call.args)))
