"""The attribute classes of operators, by name: `relay.op.op_attrs.Conv2DAttrs`.

There is a class for each attribute type of the operators' declarations, called as
its type key `relay.attrs.Conv2DAttrs` ends. An instance has a value for each field, in
the order of the declaration.
"""

from __future__ import annotations

import functools
from typing import Any, Dict, List, Mapping, Type

from ... import _operators
from ..._ffi.base import TVMError
from ...ir.attrs import AttrFieldInfo, Attrs, DictAttrs, register_attrs_maker

__all__ = ["OperatorAttrs", "attrs_class", "make_attrs"]


class OperatorAttrs(Attrs):
    """The attributes of calls of an operator."""

    def list_field_info(self) -> List[AttrFieldInfo]:
        """The fields: their names, the kinds of their values and descriptions."""
        return [AttrFieldInfo(field.name, field.words, field.doc) for field in _operators.schema(self.type_key)]


@functools.lru_cache(maxsize=None)
def attrs_class(type_key: str) -> Type[Attrs]:
    """The class of the attributes with that type key; `Attrs` if no operator declares it."""
    return globals()[type_key.rpartition(".")[2]] if type_key in _operators.schemas() else Attrs


def make_attrs(type_key: str, values: Mapping[str, Any]) -> Attrs:
    """Attributes with values that are complete and of the right kinds already."""
    cls = attrs_class(type_key)
    return cls(values) if cls is DictAttrs else cls(type_key, values)


def _from_fields(type_key: str, given: Dict[str, Any]) -> Attrs:
    """Attributes with values for some fields and defaults for the others, for `tvm.ir.make_node`."""
    from ._values import convert

    if type_key not in _operators.schemas():
        raise TVMError(f"{type_key} is no attribute type of an operator")
    fields = _operators.schema(type_key)
    unknown = given.keys() - {field.name for field in fields}
    if unknown:
        raise TVMError(f"AttributeError: {type_key} has no field `{min(unknown)}`")
    for field in fields:
        if field.name not in given and not field.has_default:
            raise TVMError(f"AttributeError: {type_key}: the field `{field.name}` must be given")
    values = {
        field.name: convert(type_key, field, given[field.name] if field.name in given else field.default)
        for field in fields
    }
    return make_attrs(type_key, values)


def _define() -> None:
    for type_key, fields in _operators.schemas().items():
        name = type_key.rpartition(".")[2]
        if name in globals():
            continue
        doc = "".join(f"    {field.name}: {field.words}. {field.doc}\n" for field in fields)
        body = {"__doc__": f"Attributes `{type_key}`.\n\n{doc}", "__module__": __name__}
        globals()[name] = type(name, (OperatorAttrs,), body)
        __all__.append(name)


_define()
register_attrs_maker("relay.attrs.", _from_fields)
