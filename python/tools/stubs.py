"""Writes the stubs of the operator functions, from which type checkers know their signatures.

    PYTHONPATH=python python python/tools/stubs.py

writes a `.pyi` next to each module of `relayc.tvm.relay` whose functions are made from
the table of signatures. `python/tests/test_operators.py` fails if one is out of date.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import types
import typing
from pathlib import Path
from typing import Any, Dict, Iterator, List, Set, Tuple

from relayc.tvm.relay.op import _types
from relayc.tvm.relay.op._signatures import NAMESPACES

_ROOT = "relayc.tvm.relay"
_WIDTH = 120


def stubs() -> Iterator[Tuple[Path, str]]:
    """The path and the text of each stub."""
    for path in NAMESPACES:
        module = importlib.import_module(f"{_ROOT}.{path}")
        assert module.__file__ is not None
        yield Path(module.__file__).with_suffix(".pyi"), _stub(module)


def _stub(module: types.ModuleType) -> str:
    imports: Dict[str, Set[str]] = {}
    lines: List[str] = []
    for name in sorted(module.__all__):
        value = getattr(module, name)
        if isinstance(value, types.FunctionType):
            for used in _names(value):
                imports.setdefault(_home(module, used), set()).add(used)
            if value.__module__ != module.__name__ and not _made_here(value):
                imports.setdefault(value.__module__, set()).add(f"{name} as {name}")
            else:
                lines.append(_signature(name, value))
        else:
            imports.setdefault(value.__module__, set()).add(f"{name} as {name}")
    head = [f"from {home} import {', '.join(sorted(names))}" for home, names in sorted(imports.items())]
    exported = "".join(f"    {name!r},\n" for name in sorted(module.__all__)).replace("'", '"')
    return "\n".join(
        [
            '"""Made by `python/tools/stubs.py`: edit the table of signatures, or the module."""',
            "",
            *head,
            "",
            f"__all__ = [\n{exported}]",
            "",
            *lines,
            "",
        ]
    )


def _made_here(function: types.FunctionType) -> bool:
    return function.__code__.co_filename.startswith("<operator functions")


def _names(function: types.FunctionType) -> Set[str]:
    """The names in the annotations of a function."""
    found: Set[str] = set()
    for annotation in function.__annotations__.values():
        tree = ast.parse(annotation, mode="eval")
        found.update(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    return found - {"int", "float", "bool", "str", "None"}


def _home(module: types.ModuleType, name: str) -> str:
    """The module from which a stub imports a name."""
    if name in typing.__all__ and getattr(module, name, None) in (None, getattr(typing, name)):
        return "typing"
    if name in _types.__all__ and name != "Expr":
        return _types.__name__
    value: Any = getattr(module, name, None) or getattr(_types, name, None)
    if value is None:
        value = getattr(importlib.import_module(f"{_ROOT}.expr"), name)
    return f"{_ROOT}.expr" if name == "Expr" else value.__module__


def _signature(name: str, function: types.FunctionType) -> str:
    signature = inspect.signature(function)
    parameters = [_parameter(parameter) for parameter in signature.parameters.values()]
    head, tail = f"def {name}(", f") -> {signature.return_annotation}: ..."
    line = head + ", ".join(parameters) + tail
    if len(line) <= _WIDTH:
        return line
    return "\n".join([head, *(f"    {parameter}," for parameter in parameters), tail])


def _parameter(parameter: inspect.Parameter) -> str:
    default = "" if parameter.default is inspect.Parameter.empty else f" = {parameter.default!r}"
    return f"{parameter.name}: {parameter.annotation}{default}".replace("'", '"')


def main() -> None:
    """Writes the stubs that are out of date."""
    for path, text in stubs():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            print(path)


if __name__ == "__main__":
    main()
