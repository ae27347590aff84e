"""`attrs.TestAttrs`, the attribute type of no operator that TVM keeps for tests (`src/support/ffi_testing.cc`)."""

from __future__ import annotations

from typing import Any, Dict

from .attrs import Attrs, register_attrs_maker

_DEFAULTS = {"axis": 10, "name": None, "padding": (0, 0), "func": None}


def _make(type_key: str, given: Dict[str, Any]) -> Attrs:
    from ..runtime.object_generic import convert

    unknown = given.keys() - _DEFAULTS.keys()
    if unknown:
        raise AttributeError(f"attrs.TestAttrs has no field `{min(unknown)}`")
    values = {**_DEFAULTS, **given}
    if values["name"] is None:
        raise AttributeError("attrs.TestAttrs: the field `name` must be given")
    values["axis"] = int(values["axis"])
    if not 1 <= values["axis"] <= 10:
        raise AttributeError(f"attrs.TestAttrs: `axis` is {values['axis']}, not from 1 to 10")
    return Attrs(type_key, {**values, "padding": convert(values["padding"])})


register_attrs_maker("attrs.TestAttrs", _make)
