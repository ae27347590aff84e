"""Ray Serve: a deployment whose replicas each hold the network, and gather requests to batches.

    python ray_serve.py net.so            # then: curl --data-binary @picture.npy http://localhost:8000/

Serve starts a replica that dies again. A request that was in it fails: whoever sent it sends it once more.
"""

from __future__ import annotations

import asyncio
import io
import os
import sys
from typing import Any

import numpy as np
from ray import serve
from starlette.requests import Request

from network import BATCH, Classifier, save


# A batch gathers from the requests that a replica has: of fewer than a batch, none would be full; one more waits meanwhile.
@serve.deployment(num_replicas=2, max_ongoing_requests=2 * BATCH, ray_actor_options={"num_cpus": 1})
class Service:
    """A replica: made once, called for every request.

    Serve gathers the next batch while one runs, and takes what has come within `wait_s` of its first request. Longer than a run
    keeps batches full when there are requests enough; a short one answers sooner when there are few.
    """

    def __init__(self, path: str, wait_s: float = 0.01) -> None:
        self.classifier = Classifier(path)
        self.classify.set_batch_wait_timeout_s(wait_s)

    @serve.batch(max_batch_size=BATCH)
    async def classify(self, batch: list[np.ndarray]) -> list[dict[str, Any]]:
        """The classes of pictures. A call frees the interpreter, so the replica answers others meanwhile."""
        scores = await asyncio.to_thread(self.classifier.scores, np.stack(batch))
        of_worker = {"threads": self.classifier.threads, "worker": os.getpid()}
        return [{"class": int(own.argmax()), "score": float(own.max()), **of_worker} for own in scores]

    async def __call__(self, request: Request) -> dict[str, Any]:
        """A picture as the bytes of a `.npy` file."""
        return await self.classify(np.load(io.BytesIO(await request.body())))


if __name__ == "__main__":
    save(sys.argv[1])
    serve.run(Service.bind(sys.argv[1]), blocking=True)
