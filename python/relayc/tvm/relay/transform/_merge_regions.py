"""`MergeCompilerRegions`: joins regions of one compiler where no value leaves and comes back.

Rules of TVM: `src/relay/transforms/merge_compiler_regions.cc`.
"""

from __future__ import annotations

from typing import Any, Dict, List, Set, Tuple

from ...ir import Op
from ..analysis._walk import operands, post_order
from ..analysis.annotated_regions import AnnotatedRegion, AnnotatedRegionSet
from ._rewrites import rewrite

__all__ = ["BEGIN", "END", "is_annotation", "merge_compiler_regions"]

BEGIN = "annotation.compiler_begin"
END = "annotation.compiler_end"


def is_annotation(expr: Any, name: str) -> bool:
    """Whether an expression is a call of one of the two annotations."""
    return expr._kind == "Call" and isinstance(expr.op, Op) and expr.op.name == name


def merge_compiler_regions(func: Any, mod: Any, ctx: Any) -> Any:
    """`func` with fewer, larger regions."""
    regions = AnnotatedRegionSet(func, Op.get(BEGIN), Op.get(END))
    _merge(func, regions)

    def visit(pre: Any, post: Any) -> Any:
        # An end right before a begin of the same region is inside now.
        if is_annotation(pre, BEGIN) and is_annotation(pre.args[0], END):
            if regions.get_region(pre) is regions.get_region(pre.args[0]):
                return post.args[0].args[0]
        return post

    return rewrite(func, visit)


def _merge(func: Any, regions: AnnotatedRegionSet) -> None:
    def parts(expr: Any) -> Tuple[Any, ...]:
        if not is_annotation(expr, END):
            return operands(expr)
        region = regions.get_region(expr)
        assert region is not None
        return (*(begin.args[0] for begin in region.args), expr.args[0])

    done: Set[int] = set()
    restricted: Dict[int, Set[int]] = {}
    for end in post_order(func, parts):
        if not is_annotation(end, END):
            continue
        region = regions.get_region(end)
        assert region is not None
        if region.id in done:
            continue
        _merge_parents(region, regions, restricted)
        done.add(region.id)


def _merge_parents(
    region: AnnotatedRegion, regions: AnnotatedRegionSet, restricted: Dict[int, Set[int]]
) -> None:
    """Merges the regions that a region begins at, but those that others depend on in between."""
    parents: List[AnnotatedRegion] = []
    related: List[AnnotatedRegion] = []
    for begin in region.args:
        parent = regions.get_region(begin.args[0])
        if parent is None:
            related += _control_flow(begin.args[0], regions)
        elif all(parent is not known for known in parents):
            parents.append(parent)
    own = restricted.setdefault(region.id, set())
    for other in [*parents, *related]:
        own |= restricted.get(other.id, set())
    for parent in parents:
        if parent.target != region.target:
            own.add(parent.id)
        elif parent.id not in own:
            regions._merge(parent, region)
            for other in regions.regions:
                found = restricted.setdefault(other.id, set())
                if parent.id in found:
                    found.remove(parent.id)
                    found.add(region.id)


def _control_flow(expr: Any, regions: AnnotatedRegionSet) -> List[AnnotatedRegion]:
    """The regions of the parts of an `if`, through those that are `if` again."""
    found: List[AnnotatedRegion] = []
    stack = [expr]
    while stack:
        node = stack.pop()
        if node._kind != "If":
            continue
        for part in (node.cond, node.true_branch, node.false_branch):
            region = regions.get_region(part)
            if region is None:
                stack.append(part)
            else:
                found.append(region)
    return found
