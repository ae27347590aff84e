"""The documentation of operator functions, from the operators' declarations."""

from __future__ import annotations

import textwrap
from typing import Any, Callable, Dict, List, Sequence, TypeVar

from ... import _operators

__all__ = ["document", "documented"]

_WIDTH = 100

_Function = TypeVar("_Function", bound=Callable[..., Any])


def document(operator: str, operands: Sequence[str], attrs: Dict[str, str], count: int = 0) -> str:
    """The docstring of a function that calls the operator.

    Parameters
    ----------
    operator : str
        The operator, as in text.
    operands : sequence of str
        The parameters that are its operands, in order.
    attrs : dict of str to str
        The attributes that the other parameters set, by parameter.
    count : int
        The number of fields of the result; 0 for a tensor.
    """
    declared = _operators.declaration(operator)
    result = f"The call, a tuple of {count} that may be indexed and taken apart." if count else "The call."
    sections = [
        _wrap(declared.doc),
        _section("Parameters", _operands(declared, operands) + _attributes(declared, attrs)),
        _section("Returns", [f"result : {'TupleWrapper' if count else 'Call'}", f"    {result}"]),
        *_facts(declared),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def documented(operator: str) -> Callable[[_Function], _Function]:
    """Adds, to the docstring of a function written by hand, what its operator does."""

    def add(function: _Function) -> _Function:
        declared = _operators.declaration(operator)
        doc = textwrap.dedent(f"    {function.__doc__ or ''}").strip()
        about = _section(f"Operator {operator}", [_wrap(declared.doc)])
        attrs = _section("Attributes", _attributes(declared, {field.name: field.name for field in declared.fields}))
        function.__doc__ = "\n\n".join(section for section in (doc, about, attrs, *_facts(declared)) if section) + "\n"
        return function

    return add


def _facts(declared: _operators.Declaration) -> List[str]:
    """The rules and the example."""
    rules = [_wrap(rule, "- ", "  ") for rule in declared.rules]
    example = "" if declared.example is None else f"In Relay text::\n\n{_indent(declared.example)}"
    return [_section("Rules", rules), _section("Example", [example] if example else [])]


def _operands(declared: _operators.Declaration, names: Sequence[str]) -> List[str]:
    kinds = [argument.kind for argument in declared.args]
    return [f"{name} : Expr, {kinds[at] if at < len(kinds) else 'Tensor'}" for at, name in enumerate(names)]


def _attributes(declared: _operators.Declaration, attrs: Dict[str, str]) -> List[str]:
    fields = {field.name: field for field in declared.fields}
    lines: List[str] = []
    for parameter, name in attrs.items():
        field = fields[name]
        least = "" if field.min is None else f", at least {field.min:g}"
        lines.append(f"{parameter} : {field.words}{least}")
        if field.doc:
            lines.append(_wrap(field.doc, "    ", "    "))
    return lines


def _section(head: str, lines: List[str]) -> str:
    return "\n".join([head, "-" * len(head), *lines]) if lines else ""


def _indent(text: str) -> str:
    return "    " + text.replace("\n", "\n    ")


def _wrap(text: str, first: str = "", rest: str = "") -> str:
    """The text in lines; `first` and `rest` begin them. Faster than `textwrap`, for hundreds of docstrings at import."""
    lines: List[str] = []
    line, empty = first, True
    for word in text.split():
        if not empty and len(line) + len(word) >= _WIDTH:
            lines.append(line)
            line, empty = rest, True
        line = line + word if empty else f"{line} {word}"
        empty = False
    return "\n".join([*lines, line])
