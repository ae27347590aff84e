"""Values of TVM for the native side and back (`python/src/values.rs`)."""

from __future__ import annotations

from typing import Any, Dict, List

import numpy as np

from ...runtime.container import ADT
from ...runtime.ndarray import NDArray, to_array, to_ndarray
from ..expr import Constant
from .interpreter import ConstructorValue, RefValue


class Codec:
    """What an object is, and objects of results, for a module with its data types.

    `values` makes `ConstructorValue`s of data, as the interpreter does; without it they are ADT containers, as of the
    virtual machine.
    """

    def __init__(self, mod: Any, values: bool) -> None:
        self._constructors: Dict[tuple, Any] = {}
        self._by_tag: Dict[int, Any] = {}
        self._values = values
        for header, data in mod.type_definitions.items() if mod is not None else ():
            for index, constructor in enumerate(data.constructors):
                self._constructors[header.name_hint, index] = constructor
                self._by_tag[int(constructor.tag)] = constructor

    def take(self, value: Any) -> tuple:
        """The kind of an object with its parts."""
        if isinstance(value, NDArray):
            return "tensor", to_array(value)
        if isinstance(value, Constant):
            return "tensor", to_array(value.data)
        if isinstance(value, ConstructorValue):
            return "adt", self._constructor(value).name_hint, list(value.fields)
        if isinstance(value, ADT):
            if value.tag in self._by_tag:
                return "adt", self._by_tag[value.tag].name_hint, list(value)
            return "tuple", list(value)
        if isinstance(value, RefValue):
            return "ref", value.value
        if isinstance(value, (tuple, list)):
            return "tuple", value
        return "tensor", value

    def _constructor(self, value: ConstructorValue) -> Any:
        return value.constructor if value.constructor is not None else self._by_tag[value.tag]

    def tensor(self, array: np.ndarray, dtype: str) -> NDArray:
        """The object of a tensor."""
        return to_ndarray(array, dtype)

    def tuple(self, fields: List[Any]) -> ADT:
        """The object of a tuple."""
        return ADT(0, fields)

    def adt(self, type: str, constructor: str, index: int, fields: List[Any]) -> Any:
        """The object of a value that a constructor made."""
        node = self._constructors[type, index]
        return ConstructorValue(node.tag, fields, node) if self._values else ADT(node.tag, fields)

    def ref(self, value: Any) -> RefValue:
        """The object of a reference."""
        return RefValue(value)
