"""Ray Data: batches of a data set go through actors that each hold the network.

    python ray_data.py net.so

An actor that dies is started again by Ray, and its batch is done again. Actors keep their processors: leave some of the cluster's to
the tasks that read the data, or these wait for ever.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import ray

from network import BATCH, Classifier, picture, save


class Worker:
    """An actor: made once, called for every batch that it gets."""

    def __init__(self, path: str) -> None:
        self.classifier = Classifier(path)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        scores = self.classifier.scores(np.stack(batch["data"]))
        threads = np.full(len(scores), self.classifier.threads)
        return {"id": batch["id"], "class": scores.argmax(axis=1), "score": scores.max(axis=1), "threads": threads}


def classify(data: ray.data.Dataset, path: str, workers: int, threads: int = 1, worker: type = Worker) -> ray.data.Dataset:
    """The classes of pictures: rows of `id` and `data`. Ray sets OMP_NUM_THREADS to the processors of an actor."""
    return data.map_batches(
        worker,
        fn_constructor_args=(path,),
        batch_size=BATCH,
        num_cpus=threads,
        compute=ray.data.ActorPoolStrategy(size=workers),
    )


def dataset(n: int) -> ray.data.Dataset:
    """Pictures with their numbers, in blocks of a batch, made where they are used."""
    numbers = ray.data.range(n, override_num_blocks=-(-n // BATCH))
    return numbers.map(lambda row: {"id": row["id"], "data": picture(row["id"])})


if __name__ == "__main__":
    save(sys.argv[1])
    ray.init()
    workers = max(1, int(ray.cluster_resources()["CPU"]) - 1)
    for row in classify(dataset(64), sys.argv[1], workers).take_all():
        print(row["id"], row["class"], row["score"])
