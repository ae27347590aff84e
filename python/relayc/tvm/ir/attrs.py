"""The attributes of calls (`Attrs`, fields that an operator declares) and of functions (`DictAttrs`, any)."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from .._ffi.registry import OBJECTS, register_object
from ..runtime.container import Map
from ..runtime.object import Object


@register_object("Attrs")
class Attrs(Object):
    """Named values; `attrs.x` and `attrs["x"]` are the value of field `x`."""

    _kind = "Attrs"

    def __init__(self, type_key: str, values: Mapping[str, Any]) -> None:
        """Takes the values as they are: the complete fields of `type_key`."""
        self._type_key = type_key
        self._values: Dict[str, Any] = dict(values)

    def __getattr__(self, name: str) -> Any:
        # Only called for names that are no attribute of the object; `_values` is missing while unpickling.
        try:
            return self.__dict__["_values"][name]
        except KeyError:
            raise AttributeError(f"{type(self)} has no attribute {name}") from None

    def __getitem__(self, item: str) -> Any:
        return self.__getattr__(item)

    def __dir__(self) -> List[str]:
        return sorted([*super().__dir__(), *self._values])

    def keys(self) -> List[str]:
        """The names of the fields."""
        return list(self._values)

    def list_field_info(self) -> List["AttrFieldInfo"]:
        """The fields: their names, types and descriptions."""
        return [AttrFieldInfo(name, type(value).__name__, "") for name, value in self._values.items()]

    def get_int_tuple(self, key: str) -> Tuple[int, ...]:
        """A field of integers, as a tuple of Python integers."""
        return tuple(int(x) for x in self[key])

    def get_int(self, key: str) -> int:
        """A field that is an integer."""
        return self[key]

    def get_str(self, key: str) -> str:
        """A field that is a string."""
        return self[key]

    def legacy_repr(self) -> str:
        """The type key and the fields."""
        return f"{self.type_key}({', '.join(f'{k}={v!r}' for k, v in self._values.items())})"


class AttrFieldInfo(Object):
    """A field of attributes: name, type and description."""

    def __init__(self, name: str, type_info: str, description: str) -> None:
        self.name = name
        self.type_info = type_info
        self.description = description


def changed(attrs: Attrs, **changes: Any) -> Any:
    """The attributes with other values for some fields."""
    return make_node(attrs.type_key, **{**attrs._values, **changes})


@register_object("DictAttrs")
class DictAttrs(Attrs):
    """Attributes of any names. Their values are nodes."""

    _kind = "DictAttrs"

    def __init__(self, values: Optional[Mapping[str, Any]] = None) -> None:
        super().__init__("DictAttrs", values or {})

    def _dict(self) -> Map:
        return Map(self._values)

    def __getitem__(self, k: str) -> Any:
        return self._values[k]

    def __contains__(self, k: str) -> bool:
        return k in self._values

    def items(self) -> List[Tuple[str, Any]]:
        """The pairs."""
        return list(self._values.items())

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of `key`, or `default`."""
        return self._values.get(key, default)


#: Makers of complete attributes, by the beginning of the type keys that they know.
_MAKERS: List[Tuple[str, Callable[[str, Dict[str, Any]], Attrs]]] = []


def register_attrs_maker(prefix: str, maker: Callable[[str, Dict[str, Any]], Attrs]) -> None:
    """Lets `maker(type_key, fields)` make the attributes whose type key begins with `prefix`."""
    _MAKERS.append((prefix, maker))


def make_node(type_key: str, **kwargs: Any) -> Any:
    """A node of a type by its key, from its fields; attributes of operators get their defaults."""
    from ..error import TVMError
    from ..runtime.object_generic import convert

    if type_key == "DictAttrs":
        return DictAttrs({key: convert(value) for key, value in kwargs.items()})
    for prefix, maker in _MAKERS:
        if type_key.startswith(prefix):
            return maker(type_key, kwargs)
    cls: Any = OBJECTS.get(type_key)
    if cls is None:
        raise TVMError(f"Cannot find type {type_key}. Did you forget to register the node?")
    node: Any = object.__new__(cls)
    for name, value in kwargs.items():
        if name not in cls._fields:
            raise TVMError(f"{type_key} has no field {name}")
        setattr(node, name, convert(value) if cls._fields[name] == "node" else value)
    return node
