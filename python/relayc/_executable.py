"""What `relayc.Executable` says in Python: figures, profiles, and files."""

from __future__ import annotations

import html
import json
import os
from dataclasses import dataclass
from typing import Any, Sequence

import numpy as np

from . import _given, _relayc

Executable = _relayc.Executable


@dataclass(frozen=True)
class Bench:
    """The times of single runs, in milliseconds."""

    times_ms: tuple[float, ...]

    def quantile(self, share: float) -> float:
        """The time that a share of the runs did not exceed."""
        return self.times_ms[round(share * (len(self.times_ms) - 1))]

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self.times_ms)

    @property
    def min_ms(self) -> float:
        """The shortest run."""
        return self.times_ms[0]

    @property
    def p50_ms(self) -> float:
        """The median."""
        return self.quantile(0.5)

    @property
    def p90_ms(self) -> float:
        """Nine of ten runs were as fast."""
        return self.quantile(0.9)

    @property
    def p99_ms(self) -> float:
        """All but one of a hundred runs were as fast."""
        return self.quantile(0.99)

    def __str__(self) -> str:
        return (
            f"p50 {self.p50_ms:.3f} ms  p90 {self.p90_ms:.3f} ms  p99 {self.p99_ms:.3f} ms  "
            f"min {self.min_ms:.3f} ms  ({self.runs} runs)"
        )

    def __repr__(self) -> str:
        return f"<Bench {self}>"


@dataclass(frozen=True)
class Profile:
    """The time of each group of operators.

    `str()` is the table of `relayc profile`, `data` its figures (`relayc.profile/2`).
    """

    table: str
    data: dict[str, Any]

    def __str__(self) -> str:
        return self.table

    def __repr__(self) -> str:
        return self.table


def bench(
    executable: Executable, args: tuple[Any, ...], inputs: dict[str, Any], seconds: float, warmup: float
) -> Bench:
    """`Executable.bench`."""
    args = _inputs(executable, args, inputs)
    return Bench(tuple(executable._times(args, inputs, seconds=seconds, warmup=warmup)))


def profile(executable: Executable, args: tuple[Any, ...], inputs: dict[str, Any], seconds: float) -> Profile:
    """`Executable.profile`."""
    table, figures = executable._profile(_inputs(executable, args, inputs), inputs, seconds=seconds)
    return Profile(table, json.loads(figures))


def save(
    executable: Executable,
    path: _given.Path,
    targets: str | Sequence[str] | None,
    sizes: str | Sequence[str] | None,
) -> None:
    """`Executable.save`. The file is there as a whole or not at all."""
    file = _given.path(path)
    stem, _ = os.path.splitext(_given.printable(os.path.basename(file)))
    targets = ("x86-64-v3", "x86-64-v4") if targets is None else _given.texts(targets, "targets", '"x86-64-v3"')
    sizes = [] if sizes is None else _given.texts(sizes, "sizes", '"n=1,4"')
    executable._write_artifact(file, stem or "net", list(targets), sizes)


def shown(executable: Executable) -> str:
    """`Executable._repr_html_`: its profile, on inputs made up."""
    try:
        text = f"{executable!r}\n\n{profile(executable, (), {}, 0.2)}"
    except (TypeError, RuntimeError, KeyError):
        # An artifact has no profile here, and open sizes no inputs.
        text = repr(executable)
    return f"<pre>{html.escape(text)}</pre>"


def _inputs(executable: Executable, args: tuple[Any, ...], inputs: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments of a call; made up if there are none: floats from -1 to 1, zeros for others.

    Errors: TypeError for open sizes.
    """
    if args or inputs or not executable.parameters:
        return args
    ports = iter(executable.inputs)
    random = np.random.default_rng(0)
    return tuple(_filled(nest, ports, random) for nest in executable._nests)


def _filled(nest: Any, ports: Any, random: np.random.Generator) -> Any:
    if nest is not None:
        return tuple(_filled(field, ports, random) for field in nest)
    port = next(ports)
    if not all(isinstance(dim, int) for dim in port.shape):
        raise TypeError(f"`{port.name}` has open sizes {port.shape}: give arguments")
    if port.dtype.startswith("float"):
        return random.uniform(-1, 1, port.shape).astype(port.dtype)
    return np.zeros(port.shape, "uint16" if port.dtype == "bfloat16" else port.dtype)
