"""JSON of TVM 0.6 as that of today (TVM `python/tvm/ir/json_compact.py`). From 0.7 on only fields came to it."""

from __future__ import annotations

from typing import Any, Dict, List

from .._ffi.registry import OBJECTS
from ..runtime.container import String
from ..runtime.object import STR

#: Names of classes then that are formed by no rule.
_RENAMED = {"Variable": "tir.Var", "StrMap": "Map", "relay.Module": "IRModule"}


def upgrade(nodes: List[Dict[str, Any]], attrs: Dict[str, str]) -> List[Dict[str, Any]]:
    """The nodes with the names and fields of today."""
    if not attrs.get("tvm_version", "").startswith("0.6"):
        return nodes
    nodes = [dict(node, attrs=dict(node["attrs"])) if "attrs" in node else dict(node) for node in nodes]
    variables = set()
    for node in nodes:
        _rename(node)
        if "global_key" in node:
            node["repr_str"] = node.pop("global_key")
        fields = node.get("attrs", {})
        if "var" in fields and node["type_key"] in ("TypeVar", "GlobalTypeVar"):
            # Type variables had their name from a variable of the loop language.
            variable = int(fields.pop("var"))
            variables.add(variable)
            fields["name_hint"] = nodes[variable]["attrs"]["name"]
    for variable in variables:
        nodes[variable] = {"type_key": ""}
    for node in list(nodes):
        _string_nodes(node, nodes)
    return nodes


def _rename(node: Dict[str, Any]) -> None:
    key = node["type_key"]
    bare = key[len("relay.") :] if key.startswith("relay.") else None
    if key in _RENAMED:
        node["type_key"] = _RENAMED[key]
    elif bare is not None and key not in OBJECTS and (bare in OBJECTS or bare.endswith("Type")):
        node["type_key"] = bare
    elif key not in OBJECTS and f"tir.{key}" in OBJECTS:
        node["type_key"] = f"tir.{key}"


def _string_nodes(node: Dict[str, Any], nodes: List[Dict[str, Any]]) -> None:
    """Strings were written in place; they are nodes now."""
    cls: Any = OBJECTS.get(node["type_key"])
    fields = node.get("attrs", {})
    for name, kind in cls._fields.items() if cls is not None else ():
        # Files of that version that were changed by hand have positions already.
        if kind == STR and name in fields and not _is_string(fields[name], nodes):
            nodes.append({"type_key": String._type_key, "repr_str": fields[name]})
            fields[name] = str(len(nodes) - 1)


def _is_string(text: str, nodes: List[Dict[str, Any]]) -> bool:
    if not text.isdigit() or int(text) >= len(nodes):
        return False
    return nodes[int(text)]["type_key"] == String._type_key
