#!/usr/bin/env python3
"""Measures MobileNet on many pictures: in one process, in a pool of processes, in Dask, Ray Data and Ray Serve, as in examples/distributed.

    PYTHONPATH=python python benches/python/engines.py            # needs examples/distributed/requirements.txt

A round runs all ways in turn, each on the same number of pictures; what counts is the median of the rounds. Printed are the rows per
second of the whole job, with what the engine takes to start it, those of its second half, both beside one process in the same round, and
the processor time of a row in all processes together, which depends little on what else the machine does.
"""

from __future__ import annotations

import argparse
import functools
import multiprocessing
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any, Callable, Iterable

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples/distributed"))
# Workers of Ray inherit the environment, but of the path only the folders of the script and of the shell.
os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
os.environ.setdefault("RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S", "60")
# A replica whose processor is busy answers late how many requests it has.
os.environ.setdefault("RAY_SERVE_QUEUE_LENGTH_RESPONSE_DEADLINE_S", "2")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import dask.bag
import numpy as np
import psutil
import ray
from dask.distributed import Client, LocalCluster
from ray import serve

import dask_bag
import ray_data
import ray_serve
from network import BATCH

import relayc

WORKERS = 2
# Longer than a batch takes on two processors that also make the pictures.
WAIT_S = 0.3
ONE = "one process, 1 thread"

# When each row was done.
Times = Iterable[float]


def picture(at: int) -> np.ndarray:
    """A picture, made where it is used."""
    return np.random.default_rng(at).random((3, 224, 224), "float32")


@functools.lru_cache(maxsize=None)
def network(path: str, threads: int) -> relayc.Executable:
    """The network of this process."""
    return relayc.load(path, threads=threads)


def batch(first: int, path: str, threads: int = 1) -> list[float]:
    """Scores a batch."""
    network(path, threads)(np.stack([picture(at) for at in range(first, first + BATCH)])).argmax(axis=1)
    return [time.time()] * BATCH


def one_process(path: str, n: int, threads: int) -> Times:
    """Batch after batch."""
    return [at for first in range(0, n, BATCH) for at in batch(first, path, threads)]


def two_threads(path: str, n: int) -> Times:
    """Threads of one process that share an executable."""
    with ThreadPoolExecutor(WORKERS) as pool:
        return sum(pool.map(functools.partial(batch, path=path), range(0, n, BATCH)), [])


def processes(path: str, n: int) -> Times:
    """A pool of multiprocessing."""
    with multiprocessing.get_context("spawn").Pool(WORKERS) as pool:
        return sum(pool.map(functools.partial(batch, path=path), range(0, n, BATCH), chunksize=1), [])


def row(at: Any) -> dict[str, Any]:
    """A row of a data set, from its number."""
    at = at["id"] if isinstance(at, dict) else at
    return {"id": at, "data": picture(at)}


class Worker(ray_data.Worker):
    """An actor that says when a batch was done."""

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        found = super().__call__(batch)
        return {**found, "at": np.full(len(found["id"]), time.time())}


def on_ray(path: str, n: int) -> Times:
    """Actors of Ray Data."""
    rows = ray.data.range(n, override_num_blocks=n // BATCH).map(row)
    return [row["at"] for row in ray_data.classify(rows, path, WORKERS, worker=Worker).take_all()]


def score(rows: dask_bag.Rows, path: str) -> list[dict[str, Any]]:
    """A partition, and when it was done."""
    found = dask_bag.score(rows, path)
    return [{**row, "at": time.time()} for row in found]


def on_dask(path: str, n: int) -> Times:
    """Workers of Dask."""
    bag = dask.bag.from_sequence(range(n), partition_size=BATCH).map(row)
    return [row["at"] for row in dask_bag.classify(bag, path, score).compute()]


def on_serve(handle: Any, n: int) -> Times:
    """Replicas of Ray Serve: each row is a request that brings its picture, and there are enough for two batches in each replica."""

    def ask(at: int) -> float:
        handle.classify.remote(picture(at)).result()
        return time.time()

    with ThreadPoolExecutor(2 * WORKERS * BATCH) as clients:
        return list(clients.map(ask, range(n)))


def processor_time(seen: dict[int, float]) -> float:
    """The processor time of this process and all below it, in seconds; those that have ended count as they were last seen."""
    own = psutil.Process()
    for process in [own, *own.children(recursive=True)]:
        try:
            seen[process.pid] = sum(process.cpu_times()[:2])
        except psutil.NoSuchProcess:
            continue
    # A pool has come and gone within a run: it is among what this process has waited for.
    return sum(seen.values()) + sum(own.cpu_times()[2:4])


def measured(run: Callable[[int], Times], n: int, seen: dict[int, float]) -> np.ndarray:
    """Rows per second of a run, and of its second half; processor time of a row, in seconds."""
    before, start = processor_time(seen), time.perf_counter()
    done = np.sort(np.array(run(n)))
    took = time.perf_counter() - start
    assert len(done) == n
    late = done > done[n // 2]
    return np.array([n / took, late.sum() / (done[-1] - done[n // 2]), (processor_time(seen) - before) / n])


def main() -> None:
    """Prints a line for each way."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=640)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    path = f"{tempfile.mkdtemp()}/mobilenet.so"
    relayc.zoo.build("mobilenet", batch=BATCH).compile().save(path)
    # More processors than there are, for Serve's replicas, the actors, and the tasks that make pictures.
    ray.init(num_cpus=3 * WORKERS, include_dashboard=False, logging_level="ERROR")
    service = ray_serve.Service.options(num_replicas=WORKERS, logging_config={"log_level": "WARNING"})
    handle = serve.run(service.bind(path, WAIT_S), route_prefix=None)
    ways: dict[str, Callable[[int], Times]] = {
        ONE: lambda n: one_process(path, n, 1),
        "one process, 2 threads a call": lambda n: one_process(path, n, WORKERS),
        "one process, 2 threads that call": lambda n: two_threads(path, n),
        "multiprocessing, 2 processes": lambda n: processes(path, n),
        "Dask, 2 workers": lambda n: on_dask(path, n),
        "Ray Data, 2 actors": lambda n: on_ray(path, n),
        "Ray Serve, 2 replicas": lambda n: on_serve(handle, n),
    }
    seen: dict[int, float] = {}
    found: dict[str, list[np.ndarray]] = {name: [] for name in ways}
    with LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        for run in ways.values():
            # The first run of a way loads the network where it stays, and starts what is started once.
            run(2 * WORKERS * BATCH)
        for _ in range(options.rounds):
            for name, run in ways.items():
                found[name].append(measured(run, options.rows, seen))
    print(", ".join(f"{package} {version(package)}" for package in ("dask", "ray", "numpy")) + f", Python {sys.version.split()[0]}")
    print(f"{options.rows} rows, median of {options.rounds} rounds")
    print("| way | rows/s | times one process | rows/s, second half | times one process | processor, ms a row |\n|---|---|---|---|---|---|")
    for name, rounds in found.items():
        whole, half, busy = np.median(rounds, axis=0)
        times = np.median([own[:2] / one[:2] for own, one in zip(rounds, found[ONE])], axis=0)
        print(f"| {name} | {whole:.1f} | {times[0]:.2f} | {half:.1f} | {times[1]:.2f} | {1e3 * busy:.1f} |")
    serve.shutdown()
    ray.shutdown()


if __name__ == "__main__":
    main()
