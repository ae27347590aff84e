#!/usr/bin/env python3
"""Measures what processes that run the same artifact share of memory.

    PYTHONPATH=python python benches/python/sharing.py            # needs psutil

For each network, one process and several load an artifact and run it. Printed are the artifact's bytes; what each process sees of them
(RSS) and what all together take (the sum of PSS, in which a page of N processes counts as a Nth for each); and what each has for itself
above a process that only has relayc: values of a run, and filters that it transforms.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from typing import Any, Iterator

import psutil

import relayc

MIB = 1 << 20
CHILD = """
import sys
import numpy as np
import relayc

if len(sys.argv) > 1:
    net = relayc.load(sys.argv[1], threads=1)
    for _ in range(2):
        net(*(np.zeros(port.shape, port.dtype) for port in net.inputs))
print("ready", flush=True)
sys.stdin.readline()
"""
NETWORKS: list[tuple[str, dict[str, Any], str]] = [
    ("mobilenet", {}, "fast"),
    ("resnet", {"layers": 50}, "fast"),
    ("resnet", {"layers": 50}, "strict"),
    ("vgg", {}, "fast"),
]


def children(n: int, *arguments: str) -> Iterator[list[psutil.Process]]:
    """Processes that have run the network, once all have."""
    command = [sys.executable, "-c", CHILD, *arguments]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with ExitStack() as stack:
        started = [stack.enter_context(subprocess.Popen(command, text=True, **pipes)) for _ in range(n)]
        for child in started:
            assert child.stdout is not None and child.stdout.readline() == "ready\n"
        yield [psutil.Process(child.pid) for child in started]
        for child in started:
            child.communicate("\n")


def main() -> None:
    """Prints a line for each network and number of processes."""
    (bare,) = [statistics.median(process.memory_full_info().uss for process in of) for of in children(3)]
    print("| network | processes | artifact, MiB | RSS of it in each | PSS of it in all | own of each |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, options, accuracy in NETWORKS:
            title = " ".join([name, *(f"{key}={value}" for key, value in options.items()), accuracy])
            path = f"{folder}/{title.replace(' ', '_')}.so"
            relayc.zoo.build(name, **options).compile(threads=1, accuracy=accuracy).save(path, targets=["x86-64-v3"])
            for n in (1, 2, 4):
                for processes in children(n, path):
                    maps = [entry for process in processes for entry in process.memory_maps() if entry.path == path]
                    rss, pss = sum(entry.rss for entry in maps) / n, sum(entry.pss for entry in maps)
                    own = statistics.mean(process.memory_full_info().uss for process in processes) - bare
                    own -= sum(entry.private_clean + entry.private_dirty for entry in maps) / n
                print(f"| {title} | {n} | {os.path.getsize(path) / MIB:.1f} | {rss / MIB:.1f} | {pss / MIB:.1f} | {own / MIB:.1f} |")


if __name__ == "__main__":
    main()
