"""Patterns as text, for people.

A pattern that occurs again is printed as a reference to its number, so shared and recursive patterns print
in one line each. Iterative: a pattern may be as deep as a program.
"""

from __future__ import annotations

from typing import Any, Dict, List

from .pattern import (
    AltPattern,
    AttrPattern,
    CallPattern,
    DataTypePattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    FunctionPattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    VarPattern,
    WildcardPattern,
)


def pattern_text(pattern: DFPattern) -> str:
    """Returns `pattern` as text on one line."""
    out: List[str] = []
    numbers: Dict[DFPattern, int] = {}
    stack: List[Any] = [pattern]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            out.append(item)
        elif item is not None and item in numbers:
            out.append(f"#{numbers[item]}")
        else:
            if item.sub_patterns():
                numbers[item] = len(numbers)
                out.append(f"(#{numbers[item]}) ")
            stack.extend(reversed(_pieces(item)))
    return "".join(out)


def _list(patterns: Any) -> List[Any]:
    """The pieces of a list of patterns; `None` stands for any."""
    if patterns is None:
        return ["*"]
    pieces: List[Any] = ["["]
    for i, pattern in enumerate(patterns):
        pieces += [", ", pattern] if i else [pattern]
    return pieces + ["]"]


def _pieces(pattern: DFPattern) -> List[Any]:
    """A pattern as texts and sub-patterns, in order."""
    if isinstance(pattern, WildcardPattern):
        return ["*"] if pattern.pattern is None else [pattern.pattern]
    if isinstance(pattern, ExprPattern):
        name = getattr(pattern.expr, "name", None)
        return [name if isinstance(name, str) else f"Expr({pattern.expr})"]
    if isinstance(pattern, VarPattern):
        return [f"VarPattern({pattern.name})"]
    if isinstance(pattern, AltPattern):
        return ["AltPattern(", pattern.left, " | ", pattern.right, ")"]
    if isinstance(pattern, CallPattern):
        return ["CallPattern(", pattern.op, ", ", *_list(pattern.args), ")"]
    if isinstance(pattern, FunctionPattern):
        return ["FunctionPattern(", *_list(pattern.params), ", ", pattern.body, ")"]
    if isinstance(pattern, TuplePattern):
        return ["TuplePattern(", *_list(pattern.fields), ")"]
    if isinstance(pattern, TupleGetItemPattern):
        return ["TupleGetItemPattern(", pattern.tuple, f", {pattern.index})"]
    if isinstance(pattern, TypePattern):
        return ["TypePattern(", pattern.pattern, f" has type {pattern.type})"]
    if isinstance(pattern, DataTypePattern):
        return ["DataTypePattern(", pattern.pattern, f" has dtype {pattern.dtype})"]
    if isinstance(pattern, ShapePattern):
        return ["ShapePattern(", pattern.pattern, f" has shape {list(pattern.shape)})"]
    if isinstance(pattern, AttrPattern):
        return ["AttrPattern(", pattern.pattern, f" has attributes {pattern.attrs})"]
    if isinstance(pattern, DominatorPattern):
        return ["DominatorPattern(", pattern.parent, ", ", pattern.path, ", ", pattern.child, ")"]
    name = type(pattern).__name__
    return [f"{name}(", *(x for i, p in enumerate(pattern.sub_patterns()) for x in ((", ", p) if i else (p,))), ")"]
