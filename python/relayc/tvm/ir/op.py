"""`Op`, an operator by name. The table of operators is filled by `relayc.tvm.relay.op`."""

from __future__ import annotations

import difflib
from typing import Any, Callable, Dict, Optional, Tuple

from .._ffi.registry import register_object
from .._refused import check_attribute
from ..error import TVMError
from ..runtime.container import Array
from ..runtime.object import INT, NODE, STR
from .expr import RelayExpr


@register_object("Op")
class Op(RelayExpr):
    """An operator. There is one node for each name: `Op.get(name)`."""

    _kind = "Op"
    _fields = {
        "name": STR,
        "op_type": NODE,
        "description": STR,
        "arguments": NODE,
        "attrs_type_key": STR,
        "num_inputs": INT,
        "support_level": INT,
    }
    _compared = ("name",)

    _table: Dict[str, "Op"] = {}
    #: Fills the table when it is first read; set by `relayc.tvm.relay.op`.
    _load: Optional[Callable[[], None]] = None

    name: str
    description: str
    arguments: Array
    attrs_type_key: str
    num_inputs: int
    support_level: int
    op_type: Any
    _attributes: Dict[str, Tuple[Any, int]]

    def __init__(self) -> None:
        raise RuntimeError("Cannot create op, use get instead")

    @staticmethod
    def _make(
        name: str,
        description: str = "",
        arguments: Any = (),
        attrs_type_key: str = "",
        num_inputs: int = -1,
        support_level: int = 10,
    ) -> "Op":
        """Adds an operator to the table. Raises TVMError if there is one of this name."""
        if name in Op._table:
            raise TVMError(f"Operator {name} is registered before")
        op = object.__new__(Op)
        op.name = name
        op.description = description
        op.arguments = Array(arguments)
        op.attrs_type_key = attrs_type_key
        op.num_inputs = num_inputs
        op.support_level = support_level
        op.op_type = None
        op._attributes = {}
        Op._table[name] = op
        return op

    @staticmethod
    def get(op_name: str) -> "Op":
        """The operator of this name. Raises AttributeError if there is none."""
        Op._ensure_loaded()
        op = Op._table.get(op_name)
        if op is None:
            near = difflib.get_close_matches(str(op_name), [*Op._table, *_last_parts()], 1)
            hint = f": there is `{_last_parts().get(near[0], near[0])}`" if near else ""
            raise AttributeError(f"Operator {op_name} is not registered{hint}")
        return op

    @staticmethod
    def _ensure_loaded() -> None:
        if Op._load is not None:
            load, Op._load = Op._load, None
            load()

    @staticmethod
    def list_op_names() -> Array:
        """The names of all operators."""
        Op._ensure_loaded()
        return Array(Op._table)

    def get_attr(self, attr_name: str) -> Any:
        """A registered attribute, or None."""
        entry = self._attributes.get(attr_name)
        return None if entry is None else entry[0]

    def has_attr(self, attr_name: str) -> bool:
        """Whether an attribute is registered."""
        return attr_name in self._attributes

    def set_attr(self, attr_name: str, value: Any, plevel: int = 10) -> None:
        """Registers an attribute; one of a higher level replaces it, an equal level is an error."""
        if plevel <= 0:
            raise TVMError("plevel in set_attr must be greater than 0")
        _, level = self._attributes.get(attr_name, (None, 0))
        if level == plevel:
            raise TVMError(f"Attribute {attr_name} of {self.name} is already registered with same plevel={plevel}")
        if level < plevel:
            self._attributes[attr_name] = (value, plevel)

    def reset_attr(self, attr_name: str) -> None:
        """Forgets an attribute."""
        self._attributes.pop(attr_name, None)

    def add_type_rel(self, rel_name: str, type_rel_func: Optional[Callable] = None) -> None:
        """Says how the type of a result follows: a relation by name, or a function over types.

        Raises NotImplementedError for a function for an operator of Relay.
        """
        from .. import _operators

        if type_rel_func is not None and self.name in _operators.declarations():
            raise NotImplementedError(
                "relayc infers types of its own operators: write a function of those, with the attribute `Composite`"
            )
        self._type_rel = (rel_name, type_rel_func)

    def add_argument(self, name: str, type: str, description: str) -> None:
        """Adds an argument: its name, type and description."""
        self.arguments = Array([*self.arguments, Argument(name, type, description)])

    def set_support_level(self, level: int) -> None:
        """Sets the level of support."""
        self.support_level = level

    def set_num_inputs(self, n: int) -> None:
        """Sets the number of arguments."""
        self.num_inputs = n

    def set_attrs_type_key(self, key: str) -> None:
        """Sets the type key of the attributes of calls."""
        self.attrs_type_key = key

    def astext(self, show_meta_data: bool = True, annotate: Any = None) -> str:
        """The name."""
        return self.name

    def __repr__(self) -> str:
        return f"Op({self.name})"


def _last_parts() -> Dict[str, str]:
    """Operators by the last part of their names, such as `conv2d`."""
    return {name.rpartition(".")[2]: name for name in reversed(Op._table)}


class Argument:
    """An argument of an operator: name, type and description."""

    def __init__(self, name: str, type_info: str, description: str) -> None:
        self.name = name
        self.type_info = type_info
        self.description = description


def register_op_attr(op_name: str, attr_key: str, value: Any = None, level: int = 10) -> Any:
    """Registers an attribute of an operator, which is made if there is none; also a decorator.

    Raises NotImplementedError for an attribute of TVM's that nothing here would read.
    """
    check_attribute(attr_key)

    def register(v: Any) -> Any:
        Op._ensure_loaded()
        op = Op._table.get(op_name) or Op._make(op_name)
        op.set_attr(attr_key, v, level)
        return v

    return register(value) if value is not None else register


def register_intrin_lowering(op_name: str, target: str, *, f: Any = None, level: int = 10) -> Any:
    """Refuses: machine code is made from Relay alone."""
    raise NotImplementedError("relayc has no TIR intrinsics: express the computation with Relay operators")


