"""`Target`: what a program is compiled for, written `llvm -mcpu=skylake-avx512`.

A target is its kind, its keys and its attributes; with `host`, the target of what
runs beside it. A `with` statement makes one the current target of the thread.
"""

from __future__ import annotations

import json
import re
import threading
import warnings
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from .._ffi import register_object
from .._ffi.runtime_ctypes import Device
from ..runtime.container import Array, Map
from ..runtime.object import Object
from ._kinds import COMMON_OPTIONS, KINDS, OPTIONS

__all__ = ["Target", "TargetFeatures", "TargetKind", "create"]

_Written = Union[str, Mapping[str, Any], "Target"]


@register_object
class TargetKind(Object):
    """A kind of target; there is one object for each name."""

    _known: Dict[str, "TargetKind"] = {}

    def __init__(self, name: str) -> None:
        self.name = name
        self.default_device_type, self.default_keys, self.default_attrs = KINDS[name]
        self.device_type = self.default_device_type

    @staticmethod
    def get(name: str) -> "TargetKind":
        """The kind of that name. Raises `ValueError` if there is none."""
        if name not in KINDS:
            raise ValueError(f'Target kind "{name}" is not defined')
        if name not in TargetKind._known:
            TargetKind._known[name] = TargetKind(name)
        return TargetKind._known[name]

    @property
    def options(self) -> Dict[str, str]:
        """The options that a target of the kind may have, with their types."""
        return self.options_from_name(self.name)

    @staticmethod
    def options_from_name(kind_name: str) -> Dict[str, str]:
        """The options of a kind by its name."""
        known = {**COMMON_OPTIONS, **OPTIONS[TargetKind.get(kind_name).name]}
        types = {str: "runtime.String", int: "IntImm", bool: "IntImm", list: "Array"}
        return {name: types[kind] for name, kind in known.items()}

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name


class TargetFeatures:
    """`target.features.x`: a feature that TVM's parsers derive from `mcpu`; absent here."""

    def __init__(self, target: "Target") -> None:
        self.target = target

    def __getattr__(self, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)
        return None


class _Scopes(threading.local):
    def __init__(self) -> None:
        self.stack: List["Target"] = []


_scopes = _Scopes()


@register_object
class Target(Object):
    """A target, from a string, a dictionary, JSON or another target.

    Raises `ValueError` for an unknown kind or option, and for a value that its option
    does not take.
    """

    _kind = "Target"
    _type_key = "Target"

    def __init__(self, target: _Written, host: Optional[_Written] = None) -> None:
        if isinstance(target, Target):
            self.__dict__.update(target.__dict__)
        elif isinstance(target, (str, Mapping)):
            self._read(_config(target))
        else:
            raise ValueError("target has to be a string or dictionary.")
        if host is not None:
            if not isinstance(host, (str, Mapping, Target)):
                raise ValueError("target host has to be a string or dictionary.")
            self.host = host if isinstance(host, Target) else Target(host)

    def _read(self, config: Dict[str, Any]) -> None:
        config = dict(config)
        if "kind" not in config:
            raise ValueError('Field "kind" is not found in the target')
        self.kind = TargetKind.get(str(config.pop("kind")))
        self.tag = str(config.pop("tag", ""))
        host = config.pop("host", None)
        self.host: Optional[Target] = None if host is None else Target(host)
        known = {**COMMON_OPTIONS, **OPTIONS[self.kind.name]}
        keys = _value("keys", config.pop("keys", []), list)
        attrs: Dict[str, Any] = {}
        for name, value in config.items():
            if name not in known:
                candidates = ", ".join(sorted(known))
                raise ValueError(f"Cannot recognize '{name}'. Candidates are: {candidates}")
            attrs[name] = _value(name, value, known[name])
        for name, value in self.kind.default_attrs.items():
            attrs.setdefault(name, value)
        if "device" in attrs:
            keys.append(attrs["device"])
        self.keys = Array(dict.fromkeys([*keys, *self.kind.default_keys]))
        self.attrs = Map({n: Array(v) if isinstance(v, list) else v for n, v in attrs.items()})

    def __enter__(self) -> "Target":
        _scopes.stack.append(self)
        return self

    def __exit__(self, *error: Any) -> None:
        _scopes.stack.pop()

    def __str__(self) -> str:
        words = [self.kind.name]
        if self.keys:
            words.append(f"-keys={','.join(self.keys)}")
        for name in sorted(self.attrs.keys()):
            value = self.attrs[name]
            if isinstance(value, (list, tuple)):
                value = ",".join(map(str, value))
            words.append(f"-{name}={int(value) if isinstance(value, bool) else value}")
        return " ".join(words)

    def __repr__(self) -> str:
        return str(self)

    def __reduce__(self) -> Any:
        return Target, (self.export(),)

    def export(self) -> Dict[str, Any]:
        """The dictionary that makes an equal target."""
        plain = {n: list(v) if isinstance(v, tuple) else v for n, v in self.attrs.items()}
        result = {"kind": self.kind.name, "tag": self.tag, "keys": list(self.keys), **plain}
        if self.host is not None:
            result["host"] = self.host.export()
        return result

    def with_host(self, host: Optional[_Written] = None) -> "Target":
        """The target with another host."""
        return Target(self, host)

    @staticmethod
    def from_device(device: Union[str, Device]) -> "Target":
        """The target of a device. Raises `ValueError` if the device does not exist."""
        from ..runtime import device as device_of

        found = device_of(device) if isinstance(device, str) else device
        if not found.exist:
            raise ValueError(f"Cannot detect device {found}. Please make sure the device exists")
        return Target("llvm")

    @staticmethod
    def current(allow_none: bool = True) -> Optional["Target"]:
        """The innermost target of this thread. Raises `ValueError` unless `allow_none`."""
        if _scopes.stack:
            return _scopes.stack[-1]
        if allow_none:
            return None
        raise ValueError("Target context required. Please set it by constructing a TargetContext")

    @property
    def arch(self) -> str:
        """The architecture of a GPU, or an empty string."""
        return str(self.attrs.get("arch", ""))

    @property
    def max_num_threads(self) -> int:
        """The most threads of a block."""
        return int(self.attrs["max_num_threads"])

    @property
    def thread_warp_size(self) -> int:
        """The threads of a warp."""
        return int(self.attrs["thread_warp_size"])

    @property
    def max_shared_memory_per_block(self) -> int:
        """Bytes of shared memory of a block."""
        return int(self.attrs["max_shared_memory_per_block"])

    @property
    def max_function_args(self) -> int:
        """The most arguments of a function; 0 is no limit."""
        return int(self.attrs.get("max_function_args", 0))

    @property
    def device_name(self) -> str:
        """The option `device`."""
        return str(self.attrs.get("device", ""))

    @property
    def model(self) -> str:
        """The option `model`."""
        return str(self.attrs.get("model", "unknown"))

    @property
    def mcpu(self) -> str:
        """The processor, as LLVM names it."""
        return str(self.attrs.get("mcpu", ""))

    @property
    def mattr(self) -> List[str]:
        """Features of the processor, as LLVM names them."""
        return list(self.attrs.get("mattr", []))

    @property
    def libs(self) -> List[str]:
        """The option `libs`."""
        return list(self.attrs.get("libs", []))

    @property
    def features(self) -> TargetFeatures:
        """What TVM derives from the processor's name."""
        return TargetFeatures(self)

    def get_kind_attr(self, attr_name: str) -> Any:
        """An attribute of the kind, or `None`: kinds have none here."""
        return None

    def get_target_device_type(self) -> int:
        """The number of the type of device that runs the target."""
        return int(self.attrs.get("target_device_type", self.kind.default_device_type))

    @staticmethod
    def list_kinds() -> List[str]:
        """The names of all kinds."""
        return sorted(KINDS)

    @staticmethod
    def canon_target(target: Optional[_Written]) -> Optional["Target"]:
        """A target of anything that makes one; `None` of `None`."""
        return target if target is None or isinstance(target, Target) else Target(target)

    @staticmethod
    def canon_target_and_host(
        target: Optional[_Written], target_host: Optional[_Written] = None
    ) -> Tuple[Optional["Target"], Optional["Target"]]:
        """The target with its host, and the host."""
        found = Target.canon_target(target)
        if found is None:
            assert target_host is None, "Target host is not empty when target is empty."
            return None, None
        if found.host is None and target_host is not None:
            _warn_of_host()
            found = found.with_host(target_host)
        return found, found.host

    @staticmethod
    def canon_multi_target(multi_targets: Any) -> Optional[Array]:
        """An `Array` of targets: of one, of a list, or of the values of a dictionary."""
        if multi_targets is None:
            return None
        if isinstance(multi_targets, Mapping) and "kind" not in multi_targets:
            multi_targets = list(multi_targets.values())
        if not isinstance(multi_targets, (list, tuple)):
            multi_targets = [multi_targets]
        return Array([Target.canon_target(target) for target in multi_targets])

    @staticmethod
    def canon_multi_target_and_host(target: Any, target_host: Optional[_Written] = None) -> Array:
        """As `canon_multi_target`, each with the host unless the first has one."""
        targets = Target.canon_multi_target(target)
        assert targets, "Target is missing."
        if targets[0].host is None and target_host is not None:
            _warn_of_host()
            targets = Array([found.with_host(target_host) for found in targets])
        return targets

    @staticmethod
    def canon_target_map_and_host(
        target_map: Mapping[_Written, Any], target_host: Optional[_Written] = None
    ) -> Tuple[Dict["Target", Any], Optional["Target"]]:
        """The map with targets for keys, all with the first host found, and that host."""
        host: Optional[Target] = None
        result: Dict[Target, Any] = {}
        for written, mod in target_map.items():
            target = Target.canon_target(written)
            assert target is not None
            host = host or target.host or Target.canon_target(target_host)
            if target.host is None and host is not None:
                target = target.with_host(host)
            result[target] = mod
        return result, host

    @staticmethod
    def target_or_current(target: Optional[_Written]) -> "Target":
        """The target, or the current one. Raises `ValueError` if there is none."""
        found = Target.current() if target is None else Target.canon_target(target)
        if found is None:
            raise ValueError("Target is not set in env or passed as argument.")
        return found


def _warn_of_host() -> None:
    warnings.warn(
        "target_host parameter is going to be deprecated. "
        "Please pass in tvm.target.Target(target, host=target_host) instead.",
        stacklevel=3,
    )


def _config(written: Union[str, Mapping[str, Any]]) -> Dict[str, Any]:
    """The dictionary that a string stands for."""
    if isinstance(written, Mapping):
        return {str(name): value for name, value in written.items()}
    if written.lstrip().startswith("{"):
        try:
            return dict(json.loads(written))
        except ValueError as error:
            raise ValueError(f"Error parsing target: {error}") from None
    words = [word.strip("'\"") for word in re.findall(r"(?:[^\s'\"]|'[^']*'|\"[^\"]*\")+", written)]
    if not words:
        raise ValueError("Cannot parse empty target string")
    config: Dict[str, Any] = {"kind": words[0]}
    rest = iter(words[1:])
    for word in rest:
        if not word.startswith("-"):
            raise ValueError(f"Attribute keys should start with '-', not an empty string: {word}")
        name, equals, value = word.lstrip("-").partition("=")
        if not equals:
            kind = {**COMMON_OPTIONS, **OPTIONS.get(words[0], {})}.get(name)
            value = "1" if kind is bool else next(rest, "")
        config[name] = value.strip("'\"")
    return config


def _value(name: str, value: Any, kind: type) -> Any:
    """A value as its option takes it."""
    value = getattr(value, "value", value)
    if kind is list:
        parts: Sequence[Any] = value.split(",") if isinstance(value, str) else list(value)
        return [part for part in parts if part != ""]
    if kind is bool:
        words = {"1": True, "true": True, "0": False, "false": False}
        found = words.get(str(int(value) if isinstance(value, bool) else value).lower())
        if found is None:
            raise ValueError(f"option '{name}' takes true or false, not {value!r}")
        return found
    if kind is int:
        try:
            return int(value)
        except (TypeError, ValueError):
            raise ValueError(f"option '{name}' takes an integer, not {value!r}") from None
    if not isinstance(value, str):
        raise ValueError(f"option '{name}' takes a string, not {value!r}")
    return str(value)


def create(target: _Written) -> Target:
    """A target; the name that TVM had before `Target(...)`."""
    warnings.warn("tvm.target.create() is being deprecated. Please use tvm.target.Target() instead")
    return Target(target)


def __getattr__(name: str) -> Any:
    # `tvm.target.target` has these functions too.
    from . import _named

    if name in _named.__all__:
        return getattr(_named, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
