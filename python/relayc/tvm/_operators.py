"""The declarations of operators, as the native module holds them: names, arguments, attributes, rules.

Everything in Python that depends on an operator reads them here: `tvm.ir.Op`, the
attribute classes, the operator functions and their documentation.
"""

from __future__ import annotations

import functools
import json
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

__all__ = ["Argument", "Declaration", "Field", "declaration", "declarations", "schema", "schemas"]


class Argument(NamedTuple):
    """An operand."""

    name: str
    #: The kind in words: `Tensor`, `1D Tensor`, `Tuple of Tensors`.
    kind: str


class Field(NamedTuple):
    """An attribute."""

    name: str
    #: The name of the kind of its values, such as `Ints`: a variant of `Kind` in `crates/ir/src/attrs.rs`.
    type: str
    #: The kind in words, for messages.
    words: str
    doc: str
    #: The least number allowed, if any.
    min: Optional[float]
    #: Whether a call may leave it out.
    has_default: bool
    default: Any


class Declaration(NamedTuple):
    """An operator."""

    name: str
    doc: str
    args: Tuple[Argument, ...]
    #: The type of its attributes, such as `relay.attrs.Conv2DAttrs`; `None` if it has none.
    attrs_type_key: Optional[str]
    #: Whether TVM registers the attribute type with the operator.
    attrs_declared: bool
    fields: Tuple[Field, ...]
    #: Numbered conditions on operands and attributes: `C1: …`.
    rules: Tuple[str, ...]
    #: How it may be fused: a name of TVM's `OpPatternKind` such as `ElemWise`; `None` if TVM registers none.
    fusion: Optional[str]
    #: Whether only passes write it.
    internal: bool
    #: A function in Relay text that calls it, with the value of a run.
    example: Optional[str]


@functools.lru_cache(maxsize=None)
def declarations() -> Dict[str, Declaration]:
    """All operators by name, sorted."""
    from .. import _relayc

    return {entry["name"]: _read(entry) for entry in json.loads(_relayc.operators())}


def declaration(name: str) -> Declaration:
    """The operator of that name; KeyError if there is none."""
    return declarations()[name]


@functools.lru_cache(maxsize=None)
def schemas() -> Dict[str, Tuple[Field, ...]]:
    """The attributes of each attribute type, by its type key, in the order in which text prints them."""
    found: Dict[str, Tuple[Field, ...]] = {}
    for op in declarations().values():
        if op.attrs_type_key is not None:
            # Two types share the name `SimulatedQuantizeAttrs`: the quantizer's, which is last, is the one by that name.
            found[op.attrs_type_key] = op.fields
    return found


def schema(type_key: str) -> Tuple[Field, ...]:
    """The attributes of the attribute type; KeyError if no operator has it."""
    return schemas()[type_key]


def _read(entry: Dict[str, Any]) -> Declaration:
    fields: List[Field] = [
        Field(
            field["name"],
            field["type"],
            field["words"],
            field["doc"],
            field["min"],
            "default" in field,
            field.get("default"),
        )
        for field in entry["attrs"]
    ]
    return Declaration(
        name=entry["name"],
        doc=entry["doc"],
        args=tuple(Argument(arg["name"], arg["kind"]) for arg in entry["args"]),
        attrs_type_key=entry["attrs_type_key"],
        attrs_declared=entry["attrs_declared"],
        fields=tuple(fields),
        rules=tuple(entry["rules"]),
        fusion=entry["fusion"],
        internal=entry["internal"],
        example=entry["example"],
    )
