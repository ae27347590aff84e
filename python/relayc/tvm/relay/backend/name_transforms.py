"""Names of generated C: functions in camel case, variables and constants with underscores.

A name begins with `TVM`; generated ones with `TVMGen`.
"""

from __future__ import annotations

from typing import List, Sequence, Union

from ...error import TVMError

__all__ = [
    "prefix_generated_name",
    "prefix_name",
    "to_c_constant_style",
    "to_c_function_style",
    "to_c_variable_style",
]


def _checked(name: str, what: str) -> str:
    if not name:
        raise TVMError(f"{what} name is empty")
    if not name.startswith("TVM"):
        raise TVMError(f"{what} not TVM prefixed")
    return name


def to_c_function_style(original_name: str) -> str:
    """`TVM_woof_moo` as the name of a function: `TVMWoofMoo`."""
    first, *rest = _checked(original_name, "Function").split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def to_c_variable_style(original_name: str) -> str:
    """`TVM_Woof` as the name of a variable: `tvm_woof`."""
    return _checked(original_name, "Variable").lower()


def to_c_constant_style(original_name: str) -> str:
    """`TVM_woof` as the name of a constant: `TVM_WOOF`."""
    return _checked(original_name, "Constant").upper()


def prefix_name(names: Union[str, Sequence[str]]) -> str:
    """The parts of a name behind `TVM`, joined by underscores."""
    return "_".join(["TVM", *_parts(names)])


def prefix_generated_name(names: Union[str, Sequence[str]]) -> str:
    """The parts of a name behind `TVMGen`, joined by underscores."""
    return "_".join(["TVMGen", *_parts(names)])


def _parts(names: Union[str, Sequence[str]]) -> List[str]:
    parts = [names] if isinstance(names, str) else list(names)
    if not parts:
        raise TVMError("Name segments empty")
    if "" in parts:
        raise TVMError("Name is empty" if isinstance(names, str) else "Name segment is empty")
    return parts
