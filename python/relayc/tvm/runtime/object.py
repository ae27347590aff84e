"""`Object`, the root of all nodes, and how classes of nodes declare their fields.

A class says once which fields it has, in TVM's order of reflection (`VisitAttrs`), and which of
them decide structural equality (`SEqualReduce`). Comparison, hashes and JSON are made from that.
"""

from __future__ import annotations

from typing import Any, ClassVar, Dict, Tuple

#: The kinds of fields: another node, a string, a tensor, or a value that JSON writes in place.
NODE, INT, FLOAT, BOOL, STR, DTYPE, NDARRAY = "node", "int", "float", "bool", "str", "dtype", "ndarray"


class Object:
    """The root of all nodes. Nodes are equal if they are the same node, unless their class says more."""

    #: What the native module takes the node for; set by the classes that it knows.
    _kind: ClassVar[str]
    #: TVM's name of the class, as in JSON.
    _type_key: str = "runtime.Object"
    #: The fields and their kinds.
    _fields: ClassVar[Dict[str, str]] = {}
    #: The fields that structural equality compares, in the order of comparison.
    _compared: ClassVar[Tuple[str, ...]] = ()
    #: Those among them that define variables, which are then equal to each other.
    _defines: ClassVar[Tuple[str, ...]] = ()
    #: Whether a node can be equal to only one other: sharing is part of the structure.
    _graph: ClassVar[bool] = False
    #: Whether two nodes are equal only where they are defined together, or are the same.
    _free_var: ClassVar[bool] = False

    @property
    def type_key(self) -> str:
        """TVM's name of the node's class."""
        return self._type_key

    def same_as(self, other: Any) -> bool:
        """Whether `other` is this very node."""
        return self is other

    def legacy_repr(self) -> str:
        """The class and the fields, nested nodes by class only."""
        fields = (f"{name}={_short(getattr(self, name, None))}" for name in self._compared or self._fields)
        return f"{self._type_key}({', '.join(fields)})"

    def __repr__(self) -> str:
        return self.legacy_repr()

    def __reduce__(self) -> Any:
        from ..ir._json import load_json, save_json

        return load_json, (save_json(self),)

    def _move(self) -> Any:
        """This node: nothing has to be moved here."""
        return self


def _short(value: Any) -> str:
    if isinstance(value, Object) and value._fields:
        return f"<{value._type_key}>"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_short, value[:8]))}{', …' if len(value) > 8 else ''}]"
    return repr(value)
