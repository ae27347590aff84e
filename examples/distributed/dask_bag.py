"""Dask: partitions of a bag go through workers that each hold the network.

    python dask_bag.py net.so

The partitions of a worker that dies are computed again by the others. Data frames have the same `map_partitions`.
"""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable, Iterable

import dask.bag
import numpy as np
from dask.distributed import Client, LocalCluster

from network import BATCH, Classifier, picture, save

Rows = Iterable[dict[str, Any]]


@functools.lru_cache(maxsize=None)
def classifier(path: str) -> Classifier:
    """The network of this process: a task is only told its path."""
    return Classifier(path)


def score(rows: Rows, path: str) -> list[dict[str, Any]]:
    """The classes of a partition of at most `BATCH` rows of `id` and `data`."""
    rows = list(rows)
    network = classifier(path)
    scores = network.scores(np.stack([row["data"] for row in rows]))
    return [
        {"id": row["id"], "class": int(own.argmax()), "score": float(own.max()), "threads": network.threads}
        for row, own in zip(rows, scores)
    ]


def classify(bag: dask.bag.Bag, path: str, function: Callable[[Rows, str], Any] = score) -> dask.bag.Bag:
    """The classes of pictures. A worker process has OMP_NUM_THREADS=1 from its nanny: workers share the machine, not threads."""
    return bag.map_partitions(function, path)


def dataset(n: int) -> dask.bag.Bag:
    """Pictures with their numbers, in partitions of a batch, made where they are used."""
    numbers = dask.bag.from_sequence(range(n), partition_size=BATCH)
    return numbers.map(lambda at: {"id": at, "data": picture(at)})


if __name__ == "__main__":
    save(sys.argv[1])
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True) as cluster, Client(cluster):
        for row in classify(dataset(64), sys.argv[1]).compute():
            print(row["id"], row["class"], row["score"])
