"""`AnnotatedRegionSet`: the regions between annotations of their begins and ends."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from ..._ffi import register_object
from ...error import InternalError, TVMError
from ...runtime.object import Object
from ._walk import operands, post_order

__all__ = ["AnnotatedRegion", "AnnotatedRegionSet"]


@register_object("relay.AnnotatedRegion")
class AnnotatedRegion(Object):
    """A region: its compiler, its nodes, its begins (`args`) and its ends (`rets`)."""

    def __init__(self, number: int, target: str) -> None:
        self.id = number
        self.target = target
        self.nodes: List[Any] = []
        self.args: List[Any] = []
        self.rets: List[Any] = []


@register_object("relay.AnnotatedRegionSet")
class AnnotatedRegionSet(Object):
    """The regions of an expression, given the two operators that annotate.

    Nodes that follow each other without an end in between are of one region.
    Raises `TVMError` for an end without a region.
    Rule of TVM: `src/relay/analysis/annotated_region_set.cc`.
    """

    def __init__(self, expr: Any, region_begin_op: Any, region_end_op: Any) -> None:
        self._begin, self._end = region_begin_op, region_end_op
        self._regions: Dict[int, AnnotatedRegion] = {}
        self._of: Dict[int, AnnotatedRegion] = {}
        self._made = 0
        for node in post_order(expr):
            self._visit(node)

    @property
    def regions(self) -> List[AnnotatedRegion]:
        """The regions, in the order of their first begins."""
        return list(self._regions.values())

    def __len__(self) -> int:
        return len(self._regions)

    def get_region(self, expr: Any) -> Optional[AnnotatedRegion]:
        """The region of an expression, or `None`."""
        return self._of.get(id(expr))

    def _is(self, expr: Any, op: Any) -> bool:
        return expr._kind == "Call" and expr.op is op

    def _visit(self, node: Any) -> None:
        if self._is(node, self._begin):
            region = AnnotatedRegion(self._made, str(node.attrs.compiler))
            self._made += 1
            self._regions[id(region)] = region
            region.args.append(node)
            self._add(region, node)
        elif self._is(node, self._end):
            region = self.get_region(node.args[0])
            if region is None:
                raise TVMError(f"Cannot find the corresponding region for end annotation:\n{node}")
            if region.target != str(node.attrs.compiler):
                raise InternalError(f"the region of {region.target} ends as {node.attrs.compiler}")
            region.rets.append(node)
            self._add(region, node)
        elif node._kind == "Call":
            self._join(node, list(node.args))
        elif node._kind != "Function":
            self._join(node, list(operands(node)))

    def _join(self, node: Any, parts: List[Any]) -> None:
        """Merges the regions of what a node uses, and puts the node there."""
        open_parts = [part for part in parts if not self._is(part, self._end)]
        regions = [self.get_region(part) for part in open_parts]
        target = next((region for region in regions if region is not None), None)
        if target is None:
            return
        for region in regions:
            if region is None:
                raise InternalError(f"Arg regions are inconsistent: {node}")
            self._merge(region, target)
        self._add(target, node)

    def _add(self, region: AnnotatedRegion, node: Any) -> None:
        region.nodes.append(node)
        self._of[id(node)] = region

    def _merge(self, source: AnnotatedRegion, target: AnnotatedRegion) -> None:
        """Makes one region the part of another; ends that it began at are inside then."""
        if source is target or id(source) not in self._regions:
            return
        inside = {id(node) for node in source.nodes}
        for node in source.nodes:
            self._add(target, node)
        args = [*target.args, *source.args]
        gone = {id(begin.args[0]) for begin in args if id(begin.args[0]) in inside}
        target.args = [begin for begin in args if id(begin.args[0]) not in gone]
        target.rets = [end for end in [*target.rets, *source.rets] if id(end) not in gone]
        del self._regions[id(source)]
