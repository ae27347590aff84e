"""`unmatched_cases`: the values that no clause of a `match` takes."""

from __future__ import annotations

import itertools
from typing import Any, List, Optional

from ..adt import PatternConstructor, PatternTuple, PatternWildcard

__all__ = ["unmatched_cases"]


def unmatched_cases(match: Any, mod: Any = None) -> List[Any]:
    """Patterns of the values that no clause takes; empty if the match is exhaustive.

    The data types are in `mod`. A candidate begins as a wildcard; a clause that needs
    to know more of it has it split into its constructors.
    Rule of TVM: `src/relay/analysis/match_exhaustion.cc`.
    """
    candidates: List[Any] = [PatternWildcard()]
    failures = []
    while candidates:
        candidate = candidates.pop()
        for clause in match.clauses:
            fits = _fits(clause.lhs, candidate)
            if fits is False:
                continue
            if fits is None:
                candidates += _expand(clause.lhs, candidate, mod)
            break
        else:
            failures.append(candidate)
    return failures


def _fits(pattern: Any, candidate: Any) -> Optional[bool]:
    """Whether a pattern takes all of a candidate's values; `None` if it hangs on more detail."""
    if isinstance(pattern, PatternConstructor):
        if not isinstance(candidate, PatternConstructor):
            return None
        if pattern.constructor is not candidate.constructor:
            return False
    elif isinstance(pattern, PatternTuple):
        if not isinstance(candidate, PatternTuple):
            return None
    else:
        return True
    parts = [_fits(p, c) for p, c in zip(pattern.patterns, candidate.patterns)]
    if False in parts:
        return False
    return None if None in parts else True


def _expand(pattern: Any, candidate: Any, mod: Any) -> List[Any]:
    """The candidate split as far as one level of the pattern asks."""
    if isinstance(pattern, PatternConstructor):
        if isinstance(candidate, PatternConstructor):
            make = lambda fields: PatternConstructor(candidate.constructor, fields)  # noqa: E731
        else:
            data = mod.type_definitions[pattern.constructor.belong_to]
            return [
                PatternConstructor(c, [PatternWildcard() for _ in c.inputs])
                for c in data.constructors
            ]
    elif isinstance(pattern, PatternTuple):
        if not isinstance(candidate, PatternTuple):
            return [PatternTuple([PatternWildcard() for _ in pattern.patterns])]
        make = PatternTuple
    else:
        return [candidate]
    # The last field varies slowest.
    fields = [_expand(p, c, mod) for p, c in zip(pattern.patterns, candidate.patterns)]
    products = itertools.product(*reversed(fields))
    return [make(list(reversed(combination))) for combination in products]
