#!/usr/bin/env python3
"""Measures MobileNet on many pictures: in one process, in a pool of processes, in Ray Data and in Dask, as examples/distributed uses them.

    PYTHONPATH=python python benches/python/engines.py            # needs examples/distributed/requirements.txt

A way to run is measured with few pictures and with many: the difference is what pictures take, and the rest is what it takes to start.
The least of several rounds counts, each of which runs all ways in turn. Processor time is that of all processes together: it depends
little on what else the machine does.
"""

from __future__ import annotations

import argparse
import functools
import multiprocessing
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable

import dask.bag
import numpy as np
import psutil
import ray
from dask.distributed import Client, LocalCluster

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples/distributed"))

import dask_bag
import ray_data
from network import BATCH

import relayc

WORKERS = 2


def picture(at: int) -> np.ndarray:
    """A picture, made where it is used."""
    return np.random.default_rng(at).random((3, 224, 224), "float32")


@functools.lru_cache(maxsize=None)
def network(path: str, threads: int) -> relayc.Executable:
    """The network of this process."""
    return relayc.load(path, threads=threads)


def batch(first: int, path: str, threads: int = 1) -> int:
    """Scores a batch."""
    return int(network(path, threads)(np.stack([picture(at) for at in range(first, first + BATCH)])).argmax())


def one_process(path: str, n: int, threads: int) -> None:
    """Batch after batch."""
    for first in range(0, n, BATCH):
        batch(first, path, threads)


def two_threads(path: str, n: int) -> None:
    """Threads of one process that share an executable."""
    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(functools.partial(batch, path=path), range(0, n, BATCH)))


def processes(path: str, n: int) -> None:
    """A pool of multiprocessing."""
    with multiprocessing.get_context("spawn").Pool(WORKERS) as pool:
        pool.map(functools.partial(batch, path=path), range(0, n, BATCH), chunksize=1)


def row(at: Any) -> dict[str, Any]:
    """A row of a data set, from its number."""
    at = at["id"] if isinstance(at, dict) else at
    return {"id": at, "data": picture(at)}


def on_ray(path: str, n: int) -> None:
    """Actors of Ray Data."""
    rows = ray.data.range(n, override_num_blocks=n // BATCH).map(row)
    assert ray_data.classify(rows, path, WORKERS).count() == n


def on_dask(path: str, n: int) -> None:
    """Workers of Dask."""
    bag = dask.bag.from_sequence(range(n), partition_size=BATCH).map(row)
    assert dask_bag.classify(bag, path).count().compute() == n


def processor_time() -> float:
    """The processor time of this process and all below it, with those that have ended, in seconds."""
    own, total = psutil.Process(), 0.0
    for process in [own, *own.children(recursive=True)]:
        try:
            total += sum(process.cpu_times()[:4])
        except psutil.NoSuchProcess:
            continue
    return total


def measured(run: Callable[[int], None], n: int) -> np.ndarray:
    """Time and processor time of a run, in seconds."""
    before, start = processor_time(), time.perf_counter()
    run(n)
    took = time.perf_counter() - start
    return np.array([took, processor_time() - before])


def main() -> None:
    """Prints a line for each way."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=int, default=160)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    folder = tempfile.mkdtemp()
    path = f"{folder}/mobilenet.so"
    relayc.zoo.build("mobilenet", batch=BATCH).compile().save(path, targets=["x86-64-v3"])
    ray.init(num_cpus=2 * WORKERS, include_dashboard=False, logging_level="ERROR")
    ray.data.DataContext.get_current().enable_progress_bars = False
    ways: dict[str, Callable[[int], None]] = {
        "one process, 1 thread": lambda n: one_process(path, n, 1),
        "one process, 2 threads a call": lambda n: one_process(path, n, 2),
        "one process, 2 threads that call": lambda n: two_threads(path, n),
        "multiprocessing, 2 processes": lambda n: processes(path, n),
        "Dask, 2 workers": lambda n: on_dask(path, n),
        "Ray Data, 2 actors": lambda n: on_ray(path, n),
    }
    few, many = options.pictures, 3 * options.pictures
    least = {name: [np.full(2, np.inf), np.full(2, np.inf)] for name in ways}
    with LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        for _ in range(options.rounds):
            for name, run in ways.items():
                for at, n in enumerate((few, many)):
                    least[name][at] = np.minimum(least[name][at], measured(run, n))
    print("| way | pictures/s | processor, ms a picture | start, s |\n|---|---|---|---|")
    for name, (short, long) in least.items():
        each = (long - short) / (many - few)
        print(f"| {name} | {1 / each[0]:.1f} | {1e3 * each[1]:.1f} | {max(0.0, short[0] - few * each[0]):.1f} |")


if __name__ == "__main__":
    main()
