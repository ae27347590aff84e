"""The network of these examples: digits, in batches, as an artifact on a disk that all workers see.

A worker makes a `Classifier` once and calls it for every batch. The artifact is mapped read-only, so the workers of one machine share
the pages of its weights; and no worker needs the program, or compiles anything.
"""

from __future__ import annotations

from pathlib import Path
from typing import Union

import numpy as np

import relayc

# Pictures of a batch: the size that the code of the artifact is made for.
BATCH = 8
DIGITS = Path(__file__).resolve().parents[1] / "digits"


def save(path: Union[str, Path]) -> None:
    """Builds the artifact, for any x86-64 processor since 2013."""
    text = (DIGITS / "digits.relay").read_text().replace("Tensor[(1, 1, 28, 28)", f"Tensor[({BATCH}, 1, 28, 28)")
    relayc.parse(text).with_params(DIGITS / "digits.params").compile().save(path, targets=["x86-64-v3"])


def picture(at: int) -> np.ndarray:
    """A picture (1, 28, 28) of the digit `at % 10`, with noise of its own: it stands for the files that your workers read."""
    clean = relayc.read_image(DIGITS / f"{at % 10}.png", "grey28", np.empty((1, 1, 28, 28), "float32"))[0]
    noisy: np.ndarray = np.clip(clean + np.random.default_rng(at).uniform(0, 0.1, clean.shape), 0, 1).astype("float32")
    return noisy


class Classifier:
    """Scores batches with the network of an artifact."""

    def __init__(self, path: Union[str, Path]) -> None:
        # No number of threads is asked for: it is that of OMP_NUM_THREADS, which engines set as they give processors to workers.
        self.network = relayc.load(path)
        self.batch = int(self.network.inputs[0].shape[0])

    @property
    def threads(self) -> int:
        """The threads of a call."""
        return int(self.network.options["threads"])

    def scores(self, inputs: np.ndarray) -> np.ndarray:
        """The scores of the classes, a row for each input, of which there are at most a batch."""
        n = len(inputs)
        if n < self.batch:
            # The last batch may be short.
            inputs = np.concatenate([inputs, np.zeros((self.batch - n, *inputs.shape[1:]), inputs.dtype)])
        scores: np.ndarray = self.network(inputs)
        return scores[:n]
