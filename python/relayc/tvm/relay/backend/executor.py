"""`Executor`, the configuration of what runs a build (TVM `python/tvm/relay/backend/executor.py`)."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional

from ..._ffi.registry import register_object
from ...error import TVMError
from ...runtime.object import Object

#: The options of each name, with the keys of their types and their defaults (`src/relay/backend/executor.cc`).
_REGISTERED: Dict[str, Dict[str, Any]] = {
    "aot": {
        "link-params": ("IntImm", 1),
        "unpacked-api": ("IntImm", 0),
        "interface-api": ("runtime.String", None),
        "workspace-byte-alignment": ("IntImm", None),
        "constant-byte-alignment": ("IntImm", None),
    },
    "graph": {"link-params": ("IntImm", 0)},
}


class Configured(Object):
    """A name with options."""

    _what = ""
    _registered: Dict[str, Dict[str, Any]] = {}

    def __init__(self, name: str, options: Optional[Mapping[str, Any]] = None) -> None:
        """Raises TVMError for an unknown name, option, or a value of another type."""
        known = self._registered.get(name)
        if known is None:
            raise TVMError(f'{self._what} "{name}" is not defined')
        self.name = name
        self._attrs = {option: default for option, (_, default) in known.items() if default is not None}
        for option, value in (options or {}).items():
            if option not in known:
                raise TVMError(f'Attribute "{option}" is not available on this {self._what}')
            wanted = str if known[option][0] == "runtime.String" else int
            if not isinstance(value, (wanted, bool) if wanted is int else wanted):
                found = {str: "runtime.String", int: "IntImm", bool: "IntImm"}.get(type(value), type(value).__name__)
                raise TVMError(f'Attribute "{option}" should have type "{known[option][0]}" but instead found "{found}"')
            self._attrs[option] = int(value) if wanted is int else value

    @property
    def attrs(self) -> Dict[str, Any]:
        """The options."""
        return dict(self._attrs)

    def __contains__(self, name: str) -> bool:
        return name in self._attrs

    def __getitem__(self, name: str) -> Any:
        return self._attrs[name]

    def __eq__(self, other: Any) -> bool:
        return type(self) is type(other) and self.name == other.name and self._attrs == other._attrs

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


@register_object("Executor")
class Executor(Configured):
    """What runs a build: "graph" or "aot"."""

    flag_registry_name = "executor"
    _what = "Executor"
    _registered = _REGISTERED

    @staticmethod
    def list_registered() -> List[str]:
        """The names."""
        return list(_REGISTERED)

    @staticmethod
    def list_registered_options(executor: Any) -> Dict[str, str]:
        """The options of a name, with the keys of their types."""
        if str(executor) not in _REGISTERED:
            raise TVMError(f'Executor "{executor}" is not defined')
        return {option: kind for option, (kind, _) in _REGISTERED[str(executor)].items()}
