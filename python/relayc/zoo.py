"""The networks of `relay.testing` as programs, with weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping

from . import _relayc
from ._module import Module

__all__ = ["Network", "build", "networks"]


@dataclass(frozen=True)
class Network:
    """A network: its name, what it is, and its options with their defaults and meanings."""

    name: str
    doc: str
    options: dict[str, tuple[str, str]]


def networks() -> list[Network]:
    """All networks, and the modules without weights that programs may start with."""
    return [
        Network(name, doc, {flag.replace("-", "_"): (default, meaning) for flag, default, meaning in flags})
        for name, doc, flags in _relayc.zoo_networks()
    ]


def build(name: str, *, seed: int | None = 0, **options: Any) -> Module:
    """A network with random weights of a seed, or without weights for None: `build("resnet", layers=50, seed=1)`.

    `networks` lists the options; a tuple is a shape. Errors: ValueError for an unknown name or option.
    """
    if not any(network.name == name and network.options for network in networks()):
        seed = None
    return Module(_relayc.zoo_build(name, flags_of(options), seed), name=name)


def flags_of(options: Mapping[str, Any]) -> list[str]:
    """Options as flags of `relayc model`."""
    flags = []
    for option, value in options.items():
        flag = "--" + option.replace("_", "-")
        if value is True:
            flags.append(flag)
        elif value is not False:
            text = ",".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)
            flags.append(f"{flag}={text}")
    return flags
