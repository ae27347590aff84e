"""Fresh names, and global variables of fresh names (TVM `src/ir/name_supply.cc`, `global_var_supply.cc`)."""

from __future__ import annotations

from typing import Any, Dict

from .._ffi.registry import register_object
from ..error import TVMError
from ..runtime.object import Object
from .expr import GlobalVar
from .module import IRModule


@register_object("NameSupply")
class NameSupply(Object):
    """Names that were not given before, perhaps with a prefix."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self._count: Dict[str, int] = {}

    def _whole(self, name: str, add_prefix: bool) -> str:
        return f"{self.prefix}_{name}" if add_prefix and self.prefix else name

    def fresh_name(self, name: str, add_prefix: bool = True) -> str:
        """The name, with a number if it was given before. Dots become underscores."""
        name = self._whole(name, add_prefix).replace(".", "_")
        result = name
        while result in self._count:
            self._count[name] += 1
            result = f"{name}_{self._count[name]}"
        self._count[result] = 0
        return result

    def reserve_name(self, name: str, add_prefix: bool = True) -> str:
        """Takes a name, so that it is not given again."""
        name = self._whole(name, add_prefix)
        self._count[name] = 0
        return name

    def contains_name(self, name: str, add_prefix: bool = True) -> bool:
        """Whether a name was given."""
        return self._whole(name, add_prefix) in self._count


@register_object("GlobalVarSupply")
class GlobalVarSupply(Object):
    """Global variables of names that were not given before, nor are in the modules."""

    def __init__(self, value: Any = None) -> None:
        self._vars: Dict[str, GlobalVar] = {}
        if value is None or isinstance(value, NameSupply):
            self.name_supply = value or NameSupply("")
            return
        modules = [value] if isinstance(value, IRModule) else list(value)
        prefix = (modules[0].get_attr("mod_name") or "tvmgen_default") if modules else ""
        self.name_supply = NameSupply(str(prefix))
        for module in modules:
            for var in module.get_global_vars():
                self.reserve_global(var)

    def fresh_global(self, name: str, add_prefix: bool = True) -> GlobalVar:
        """A new variable of this name, with a number if the name was given before."""
        return self._made(self.name_supply.fresh_name(name, add_prefix))

    def unique_global_for(self, name: str, add_prefix: bool = True) -> GlobalVar:
        """The variable of this name, made if there is none."""
        name = self.name_supply.reserve_name(name, add_prefix)
        return self._vars[name] if name in self._vars else self._made(name)

    def reserve_global(self, global_var: GlobalVar, allow_conflict: bool = False) -> None:
        """Takes the name of a variable. Raises TVMError if another has it, unless `allow_conflict`."""
        self.name_supply.reserve_name(global_var.name_hint, False)
        if not allow_conflict and global_var.name_hint in self._vars:
            raise TVMError(f"GlobalVar {global_var} conflicts by name in this supply.")
        self._vars[global_var.name_hint] = global_var

    def _made(self, name: str) -> GlobalVar:
        var = self._vars[name] = GlobalVar(name)
        return var
