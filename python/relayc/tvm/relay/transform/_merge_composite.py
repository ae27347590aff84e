"""`MergeComposite`: makes functions of what patterns match."""

from __future__ import annotations

from typing import Any, Callable, List, Sequence, Tuple

__all__ = ["merge_composite"]


def merge_composite(pattern_table: Sequence[Any]) -> Callable[[Any, Any, Any], Any]:
    """The function that partitions by each pattern in turn, inferring types in between.

    Rule of TVM: `src/relay/transforms/merge_composite.cc`.
    """
    table: List[Tuple[str, Any, Callable[[Any], Any]]] = []
    for entry in pattern_table:
        name, pattern, *check = entry
        table.append((name, pattern, check[0] if check else lambda extracted: True))

    def run(func: Any, mod: Any, ctx: Any) -> Any:
        from ..dataflow_pattern.rewrite import partition
        from .transform import InferType

        main = mod.get_global_var("main")
        for name, pattern, check in table:
            func = partition(pattern, func, {"Composite": name}, check)
            mod[main] = func
            func = InferType()(mod)[main]
        return func

    return run
