"""Attribute values: what a caller writes, as the object that TVM's node would hold.

`convert` takes one value of a field. An integer of an `IndexExpr` becomes an
`IntImm` of 32 bits, or of 64 where it needs them; one of NumPy keeps its width. A
list becomes an `Array`. Machine integers, floats, strings and dtypes stay Python's.
A value of another kind raises TVMError.
"""

from __future__ import annotations

import functools
import numbers
from typing import Any, Callable, Dict, Optional, Tuple

import numpy as np

from ... import _operators
from ..._ffi.base import TVMError
from ...ir.expr import PrimExpr
from ...runtime.container import Array
from ...runtime.object import Object
from ...tir.expr import FloatImm, IntImm
from ..expr import Constant, Expr

__all__ = ["convert", "zero", "dtype_name"]


class _Mismatch(Exception):
    """The value is not of the field's kind."""


def convert(owner: str, field: _operators.Field, value: Any) -> Any:
    """A value for the field of an attribute type; `owner` is named in the error.

    Raises
    ------
    TVMError
        If the value is not of the field's kind.
    """
    try:
        return _converter(field.type)(value)
    except _Mismatch:
        raise TVMError(f"{owner}: `{field.name}` expects {field.words}, found {value!r}") from None


def zero(field: _operators.Field) -> Any:
    """The value of a field that TVM's constructor of a call leaves alone."""
    return _ZEROS.get(field.type)


_NO_ITEMS = Array([])
_ZEROS: Dict[str, Any] = {
    "Int": 0,
    "Float": 0.0,
    "Bool": 0,
    "Str": "",
    "StdStr": "",
    "DType": "",
    "Ints": _NO_ITEMS,
    "IntsOrNone": _NO_ITEMS,
    "IntLists": _NO_ITEMS,
    "Floats": _NO_ITEMS,
    "Numbers": _NO_ITEMS,
}


def _machine_int(value: Any) -> int:
    if isinstance(value, (numbers.Integral, np.bool_)):
        return int(value)
    if isinstance(value, IntImm):
        return int(value.value)
    raise _Mismatch


def _machine_float(value: Any) -> float:
    if isinstance(value, (numbers.Real, np.bool_)):
        return float(value)
    if isinstance(value, (IntImm, FloatImm)):
        return float(value.value)
    raise _Mismatch


def _machine_bool(value: Any) -> int:
    return int(bool(_machine_int(value)))


@functools.lru_cache(maxsize=4096)
def _int_imm(value: int) -> IntImm:
    return IntImm("int32" if -(1 << 31) <= value < 1 << 31 else "int64", value)


def _prim(value: Any) -> Optional[PrimExpr]:
    """A primitive expression: a number or what is one already; None for None."""
    if type(value) is int:
        return _int_imm(value)
    if value is None or isinstance(value, PrimExpr):
        return value
    if isinstance(value, (bool, np.bool_)):
        return IntImm("bool", int(value))
    if isinstance(value, numbers.Integral):
        return IntImm(str(getattr(value, "dtype", "int32")), int(value))
    if isinstance(value, numbers.Real):
        return _float_imm(value)
    raise _Mismatch


def _integer(value: Any) -> Optional[PrimExpr]:
    """TVM's `Integer`: an integer constant, or None."""
    if isinstance(value, (bool, np.bool_)):
        return _int_imm(int(value))
    prim = _prim(value)
    if isinstance(prim, FloatImm):
        raise _Mismatch
    return prim


def _float_imm(value: Any) -> Optional[FloatImm]:
    if value is None or isinstance(value, FloatImm):
        return value
    if isinstance(value, (float, np.floating, numbers.Integral)):
        dtype = getattr(value, "dtype", None)
        return FloatImm(str(dtype) if dtype is not None and dtype.kind == "f" else "float32", float(value))
    raise _Mismatch


def _bool_imm(value: Any) -> Optional[IntImm]:
    if value is None or isinstance(value, IntImm):
        return value
    return IntImm("bool", _machine_bool(value))


@functools.lru_cache(maxsize=4096)
def _int_array(values: Tuple[int, ...]) -> Array:
    return Array([_int_imm(value) for value in values])


def _ints(value: Any) -> Optional[Array]:
    return _array(value, _prim)


def _array(value: Any, item: Callable[[Any], Any]) -> Optional[Array]:
    """A list of the items; None for None."""
    if value is None:
        return None
    if not isinstance(value, (list, tuple, Array)):
        raise _Mismatch
    if item is _prim and all(type(element) is int for element in value):
        return _int_array(tuple(value))
    return Array([item(element) for element in value])


def _int_lists(value: Any) -> Optional[Array]:
    return _array(value, _ints)


def _floats(value: Any) -> Optional[Array]:
    return _array(value, _float_imm)


def _string(value: Any) -> str:
    if isinstance(value, str):
        return str(value)
    raise _Mismatch


#: Short names of dtypes.
_DTYPES = {"float": "float32", "int": "int32", "uint": "uint32", "uint1": "bool", "handle": "handle"}


@functools.lru_cache(maxsize=256)
def dtype_name(dtype: str) -> str:
    """The full name of a dtype; the empty text for none."""
    return _DTYPES.get(dtype, dtype)


def _dtype(value: Any) -> str:
    """The name of a dtype; None is no dtype."""
    if value is None:
        return ""
    if isinstance(value, (type, np.dtype)):
        try:
            return np.dtype(value).name
        except TypeError:
            raise _Mismatch from None
    if isinstance(value, (str,)) or hasattr(value, "type_code"):
        return dtype_name(str(value))
    raise _Mismatch


def _constant(value: Any) -> Optional[Constant]:
    if value is None or isinstance(value, Constant):
        return value
    raise _Mismatch


def _expression(value: Any) -> Optional[Expr]:
    if value is None or isinstance(value, Expr):
        return value
    raise _Mismatch


def _int_or_ints(value: Any) -> Any:
    return _prim(value) if isinstance(value, (numbers.Integral, PrimExpr)) else _ints(value)


def _object(value: Any) -> Any:
    if value is None or isinstance(value, (Object, str, list, tuple, dict)):
        return value
    raise _Mismatch


_CONVERTERS: Dict[str, Callable[[Any], Any]] = {
    "Int": _machine_int,
    "IndexExpr": _prim,
    "OptInt": _integer,
    "Ints": _ints,
    "IntsOrNone": _ints,
    "OptInts": _ints,
    "IntLists": _int_lists,
    "Float": _machine_float,
    "OptFloat": _float_imm,
    "Floats": _floats,
    "Numbers": _ints,
    "Bool": _machine_bool,
    "OptBool": _bool_imm,
    "Str": _string,
    "StdStr": _string,
    "DType": _dtype,
    "Const": _constant,
    "Expr": _expression,
    "Object": _int_or_ints,
}


def _converter(kind: str) -> Callable[[Any], Any]:
    """The conversion to a kind; every kind not listed is an object of some class."""
    return _CONVERTERS.get(kind, _object)
