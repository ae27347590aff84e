"""`IRModule`: functions and data types by their names."""

from __future__ import annotations

import os
import zlib
from typing import Any, Dict, Mapping, Optional, Set

from .. import _native
from .._ffi.registry import register_object
from ..error import TVMError
from ..runtime.container import Array, Map
from ..runtime.object import NODE
from ..runtime.script_printer import Scriptable
from ._rewrite import rewrite
from .adt import Constructor, TypeData
from .attrs import DictAttrs
from .base import Node, structural_equal
from .expr import GlobalVar, RelayExpr
from .function import BaseFunc
from .type import GlobalTypeVar


@register_object("IRModule")
class IRModule(Node, Scriptable):
    """Functions and data types. `mod["main"]` is a function, `mod["main"] = function` sets it."""

    _kind = "IRModule"
    _fields = {
        "functions": NODE,
        "type_definitions": NODE,
        "global_var_map_": NODE,
        "global_type_var_map_": NODE,
        "source_map": NODE,
        "attrs": NODE,
    }

    attrs: Optional[DictAttrs] = None
    source_map: Any = None

    def __init__(
        self,
        functions: Optional[Mapping[Any, BaseFunc]] = None,
        type_definitions: Optional[Mapping[Any, TypeData]] = None,
        attrs: Any = None,
    ) -> None:
        """Names may be strings. Raises TVMError if two functions or two types have one name."""
        self._clear()
        for var, func in (functions or {}).items():
            var = GlobalVar(var) if isinstance(var, str) else var
            if not isinstance(var, GlobalVar):
                raise TypeError("Expect functions to be Dict[GlobalVar, Function]")
            if var.name_hint in self._global_vars:
                raise TVMError(f"Duplicate global function name {var.name_hint}")
            self._set_function(var, func)
        for header, data in (type_definitions or {}).items():
            header = GlobalTypeVar(header) if isinstance(header, str) else header
            if not isinstance(header, GlobalTypeVar):
                raise TypeError("Expect type_definitions to be Dict[GlobalTypeVar, Type]")
            if header.name_hint in self._type_vars:
                raise TVMError(f"Duplicate global type definition name {header.name_hint}")
            self._set_type(header, data)
        if attrs:
            self.attrs = attrs if isinstance(attrs, DictAttrs) else _dict_attrs(attrs)

    def _clear(self) -> None:
        self._lazy: Any = None
        self._functions_: Dict[GlobalVar, BaseFunc] = {}
        self._types_: Dict[GlobalTypeVar, TypeData] = {}
        self._global_vars_: Dict[str, GlobalVar] = {}
        self._type_vars_: Dict[str, GlobalTypeVar] = {}
        self._imports: Set[str] = set()

    @staticmethod
    def _from_native(native: Any) -> "IRModule":
        """The module of the native side; its nodes are made when they are first asked for."""
        module = IRModule()
        module._lazy = native
        return module

    @staticmethod
    def _from_nodes(functions: Mapping[Any, Any], types: Mapping[Any, Any], attrs: Any = None) -> "IRModule":
        module = IRModule()
        for var, func in functions.items():
            module._set_function(var, func)
        for header, data in types.items():
            module._set_type(header, data)
        module.attrs = attrs
        return module

    def _load(self) -> None:
        native, self._lazy = self._lazy, None
        functions, types = _native.nodes(native)
        for var, func in functions.items():
            self._set_function(var, func)
        for header, data in types.items():
            self._set_type(header, data)

    @property
    def _functions(self) -> Dict[GlobalVar, BaseFunc]:
        if self._lazy is not None:
            self._load()
        return self._functions_

    @property
    def _types(self) -> Dict[GlobalTypeVar, TypeData]:
        if self._lazy is not None:
            self._load()
        return self._types_

    @property
    def _global_vars(self) -> Dict[str, GlobalVar]:
        if self._lazy is not None:
            self._load()
        return self._global_vars_

    @property
    def _type_vars(self) -> Dict[str, GlobalTypeVar]:
        if self._lazy is not None:
            self._load()
        return self._type_vars_

    @property
    def functions(self) -> Map:
        """The functions by their variables."""
        return Map(self._functions)

    @property
    def type_definitions(self) -> Map:
        """The data types by their names."""
        return Map(self._types)

    @property
    def global_var_map_(self) -> Map:
        """The variables by name."""
        return Map(self._global_vars)

    @property
    def global_type_var_map_(self) -> Map:
        """The names of data types as nodes, by name."""
        return Map(self._type_vars)

    def _set_function(self, var: GlobalVar, func: BaseFunc) -> None:
        known = self._global_vars.get(var.name_hint)
        if known is not None and known is not var:
            raise TVMError(f"Duplicate global function name {var.name_hint}: another GlobalVar has it")
        self._global_vars[var.name_hint] = var
        self._functions[var] = func

    def _set_type(self, header: GlobalTypeVar, data: TypeData) -> None:
        self._type_vars[header.name_hint] = header
        self._types[header] = data
        # A type's number is the first byte of its constructors' tags, as in TVM (`src/ir/module.cc`).
        prefix = zlib.crc32(header.name_hint.encode()) & 0xFF or 0xFF
        for i, constructor in enumerate(data.constructors):
            constructor.tag = prefix << 24 | i

    def __setitem__(self, var: Any, val: Any) -> None:
        """Sets a function or a data type, by its variable or name."""
        self._add(var, val, True)

    def _add(self, var: Any, val: Any, update: bool = True) -> None:
        if isinstance(val, RelayExpr):
            if isinstance(var, str):
                var = self._global_vars.get(var) or GlobalVar(var)
            self._set_function(var, self._as_function(val))
        else:
            assert isinstance(val, TypeData)
            header = GlobalTypeVar(var) if isinstance(var, str) else var
            if not update and header.name_hint in self._type_vars:
                raise TVMError(f"Duplicate global type definition name {header.name_hint}")
            self._set_type(header, val)

    def _as_function(self, expr: RelayExpr) -> BaseFunc:
        """An expression as a function that a module may hold. Raises TVMError if it has free variables."""
        from ..relay.analysis import free_type_vars, free_vars
        from ..relay.function import Function

        if isinstance(expr, GlobalVar):
            return self._eta_expanded(expr)
        func = expr if isinstance(expr, BaseFunc) else Function([], expr)
        if isinstance(func, Function):
            free = free_vars(func)
            if free:
                raise TVMError(f"Function:\n{func}\ncontains free variables: {_names(free)}")
            free = free_type_vars(func, self)
            if free:
                raise TVMError(f"Function:\n{func}\ncontains free type variables: {_names(free)}")
        return func

    def _eta_expanded(self, var: GlobalVar) -> BaseFunc:
        """A function with the parameters of `var`'s that calls it."""
        from ..relay.expr import Call, Var
        from ..relay.function import Function

        of = self[var]
        params = [Var(param.name_hint, param.type_annotation) for param in of.params]
        return Function(params, Call(var, params), of.ret_type, of.type_params)

    def __getitem__(self, var: Any) -> Any:
        """The function of a `GlobalVar` or a name, the data type of a `GlobalTypeVar`."""
        if isinstance(var, str):
            var = self.get_global_var(var)
        table = self._functions if isinstance(var, GlobalVar) else self._types
        if var not in table:
            raise TVMError(f"There is no definition of {var.name_hint}")
        return table[var]

    def __contains__(self, var: Any) -> bool:
        if isinstance(var, str):
            return var in self._global_vars
        return var in self._functions

    def update(self, other: Any) -> None:
        """Adds the definitions of another module; one of the same name replaces the one here."""
        if isinstance(other, dict):
            other = IRModule(other)
        renamed = self._names_of_this(other)
        for header, data in other.type_definitions.items():
            self._set_type(renamed(header), renamed(data))
        for var, func in other.functions.items():
            self._set_function(renamed(var), renamed(func))

    def _names_of_this(self, other: "IRModule") -> Any:
        """A function that gives a node of `other` with the global variables and type names of this module."""
        same_vars = all(self._global_vars.get(name, var) is var for name, var in other._global_vars.items())
        same_types = all(self._type_vars.get(name, var) is var for name, var in other._type_vars.items())
        if same_vars and same_types:
            return lambda node: node

        def replace(node: Any) -> Any:
            if isinstance(node, GlobalVar):
                return self._global_vars.get(node.name_hint, node)
            if isinstance(node, GlobalTypeVar):
                return self._type_vars.get(node.name_hint, node)
            return None

        # Data types that are the same here, and their constructors: programs of this module hold ours.
        made: Dict[Any, Any] = {}
        for header, data in other._types.items():
            known = self._type_vars.get(header.name_hint)
            ours = None if known is None else self._types.get(known)
            if ours is not None and structural_equal(ours, rewrite(data, replace)):
                made[data] = ours
                made.update(zip(data.constructors, ours.constructors))

        def shared(node: Any) -> Any:
            if isinstance(node, (Constructor, TypeData)):
                if node not in made:
                    made[node] = rewrite(node, replace)
                return made[node]
            return replace(node)

        return lambda node: rewrite(node, shared)

    def update_func(self, var: GlobalVar, func: BaseFunc) -> None:
        """Sets the function of a variable."""
        self._set_function(var, self._as_function(func))

    def get_global_var(self, name: str) -> GlobalVar:
        """The variable of this name. Raises ValueError if there is none."""
        var = self._global_vars.get(name)
        if var is None:
            candidates = ", ".join(f'"{known}"' for known in self._global_vars)
            raise ValueError(f'Cannot find global var "{name}" in the Module\ncandidates are: [{candidates}]')
        return var

    def get_global_vars(self) -> Array:
        """All variables."""
        return Array(self._global_vars.values())

    def get_global_type_vars(self) -> Array:
        """The names of all data types."""
        return Array(self._type_vars.values())

    def get_global_type_var(self, name: str) -> GlobalTypeVar:
        """The data type's name as a node. Raises TVMError if there is none."""
        var = self._type_vars.get(name)
        if var is None:
            raise TVMError(f"Cannot find global type var {name} in the Module")
        return var

    def get_constructor(self, tag: int) -> Constructor:
        """The constructor of this tag. Raises TVMError if there is none."""
        for data in self._types.values():
            for constructor in data.constructors:
                if constructor.tag == tag:
                    return constructor
        raise TVMError(f"There is no constructor with the tag {tag}")

    def get_type(self, name: str) -> tuple:
        """The data type's name as a node, and its constructors."""
        header = self.get_global_type_var(name)
        return (header, *self._types[header].constructors)

    @staticmethod
    def from_expr(
        expr: RelayExpr,
        functions: Optional[Mapping[Any, BaseFunc]] = None,
        type_defs: Optional[Mapping[Any, TypeData]] = None,
    ) -> "IRModule":
        """A module whose `main` is the expression: a function, or one of its free variables."""
        from ..relay.analysis import free_type_vars, free_vars
        from ..relay.function import Function
        from .supply import GlobalVarSupply

        if not isinstance(expr, RelayExpr):
            raise TypeError(f"a module is made of an expression, not of {type(expr).__name__}")
        module = IRModule(functions, type_defs)
        name = None
        if isinstance(expr, BaseFunc):
            func = expr
            name = None if func.attrs is None else func.attrs.get("global_symbol")
        else:
            func = Function(free_vars(expr), expr, None, free_type_vars(expr, module))
        supply = GlobalVarSupply(module)
        var = supply.fresh_global("main", False) if name is None else supply.unique_global_for(str(name), False)
        module._set_function(var, module._as_function(func))
        return module

    def _import(self, file_to_import: str) -> None:
        """Adds the definitions of a file of Relay text, once."""
        from ..relay.parser import parse

        if file_to_import in self._imports:
            return
        self._imports.add(file_to_import)
        with open(file_to_import, encoding="utf-8") as file:
            self.update(parse(file.read(), file_to_import, self))

    def import_from_std(self, file_to_import: str) -> "IRModule":
        """Adds the definitions of a file that comes with the package, such as `prelude.rly`."""
        from ..relay.base import __STD_PATH__
        from ..relay.transform import InferType

        self._import(os.path.join(__STD_PATH__, file_to_import))
        return InferType()(self)

    def get_attr(self, attr_key: str) -> Any:
        """An attribute, or None."""
        return None if self.attrs is None else self.attrs.get(attr_key)

    def _copy(self) -> "IRModule":
        """A module of its own with the same definitions and attributes."""
        return IRModule._from_nodes(self._functions, self._types, self.attrs)

    def with_attr(self, attr_key: str, attr_value: Any) -> "IRModule":
        """A copy with one more attribute."""
        result = self._copy()
        old = {} if self.attrs is None else self.attrs._values
        result.attrs = _dict_attrs({**old, attr_key: attr_value})
        return result

    def without_attr(self, attr_key: str) -> "IRModule":
        """A copy without an attribute."""
        result = self._copy()
        if self.attrs is not None:
            result.attrs = DictAttrs({k: v for k, v in self.attrs._values.items() if k != attr_key})
        return result

    def astext(self, show_meta_data: bool = True, annotate: Any = None) -> str:
        """The text of the module; see `relay.astext`."""
        return _native.astext(self, show_meta_data, annotate)

    def __repr__(self) -> str:
        from ..relay.base import pretty_print

        return pretty_print(self)


def _dict_attrs(values: Mapping[str, Any]) -> DictAttrs:
    from ..runtime.object_generic import convert

    return DictAttrs({key: convert(value) for key, value in values.items()})


def _names(variables: Any) -> str:
    return f"[{', '.join(var.name_hint for var in variables)}]"
