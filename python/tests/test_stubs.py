"""The stub of the native module says what the module has: names, parameters, defaults."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import pytest

from relayc import _relayc
from relayc.tvm import _native, relay

NATIVE = {name: value for name, value in vars(_relayc).items() if not name.startswith("__")}
STUB = ast.parse(Path(_relayc.__file__).with_name("_relayc.pyi").read_text()).body
CLASSES = {node.name: node.body for node in STUB if isinstance(node, ast.ClassDef)}


def functions(body: list[ast.stmt]) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in body if isinstance(node, ast.FunctionDef)}


def test_names() -> None:
    assert {*functions(STUB), *CLASSES} == set(NATIVE)
    for name, body in CLASSES.items():
        # Python itself calls the others.
        members = {member for member in vars(NATIVE[name]) if not member.startswith("__")}
        assert {member for member in functions(body) if not member.startswith("__")} == members


def parameters(function: ast.FunctionDef) -> list[inspect.Parameter]:
    """As `inspect` has them; the default `...` stands for any."""
    spec, kinds = function.args, inspect.Parameter
    none: list[Any] = [None] * (len(spec.posonlyargs) + len(spec.args) - len(spec.defaults))
    found = [(arg, kinds.POSITIONAL_ONLY) for arg in spec.posonlyargs]
    found += [(arg, kinds.POSITIONAL_OR_KEYWORD) for arg in spec.args]
    all = [(arg, kind, default) for (arg, kind), default in zip(found, none + spec.defaults)]
    all += [(spec.vararg, kinds.VAR_POSITIONAL, None)] if spec.vararg else []
    all += [(arg, kinds.KEYWORD_ONLY, default) for arg, default in zip(spec.kwonlyargs, spec.kw_defaults)]
    all += [(spec.kwarg, kinds.VAR_KEYWORD, None)] if spec.kwarg else []
    value = lambda default: kinds.empty if default is None else ast.literal_eval(default)
    return [kinds(arg.arg, kind, default=value(default)) for arg, kind, default in all]


METHODS = [(name, member) for name, body in CLASSES.items() for member, node in functions(body).items() if not node.decorator_list]


@pytest.mark.parametrize("owner, name", [("", name) for name in functions(STUB)] + METHODS)
def test_parameters_and_defaults(owner: str, name: str) -> None:
    said = parameters(functions(CLASSES[owner] if owner else STUB)[name])
    native = NATIVE[owner] if owner else NATIVE
    signature = inspect.signature(native if name == "__init__" else getattr(native, name) if owner else native[name])
    real = list(signature.parameters.values())
    if owner:
        # The native `self` has no name, and a class none at all.
        said, real = said[1:], real if name == "__init__" else real[1:]
    assert [(p.name, p.kind, p.default is p.empty) for p in said] == [(p.name, p.kind, p.default is p.empty) for p in real]
    assert [p.name for p, other in zip(said, real) if p.default not in (..., other.default)] == []


def test_no_annotations_of_callers() -> None:
    with pytest.raises(NotImplementedError, match="annotations"):
        _native.astext(relay.const(1), True, lambda expr: "")
