"""`Runtime`, the configuration of the run-time library (TVM `python/tvm/relay/backend/runtime.py`)."""

from __future__ import annotations

from typing import Any, Dict, List

from ..._ffi.registry import register_object
from ...error import TVMError
from .executor import Configured

#: As in `src/relay/backend/runtime.cc`.
_REGISTERED: Dict[str, Dict[str, Any]] = {
    "crt": {"system-lib": ("IntImm", None)},
    "cpp": {"system-lib": ("IntImm", None)},
}


@register_object("Runtime")
class Runtime(Configured):
    """The run-time library of a build: "cpp" or "crt". Artifacts here need neither."""

    flag_registry_name = "runtime"
    _what = "Runtime"
    _registered = _REGISTERED

    @staticmethod
    def list_registered() -> List[str]:
        """The names."""
        return list(_REGISTERED)

    @staticmethod
    def list_registered_options(runtime: Any) -> Dict[str, str]:
        """The options of a name, with the keys of their types."""
        if str(runtime) not in _REGISTERED:
            raise TVMError(f'Runtime "{runtime}" is not defined')
        return {option: kind for option, (kind, _) in _REGISTERED[str(runtime)].items()}
