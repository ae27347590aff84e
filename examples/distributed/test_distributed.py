"""The examples on the real engines: each row is there once, threads follow the engine, a worker that dies loses nothing, and the
workers of a machine share the weights. `.ci/long` runs it."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Iterator

# A proxy of Serve that is slow to start is not given up: set before ray reads it.
os.environ.setdefault("RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S", "60")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import dask.bag
import numpy as np
import psutil
import pytest
import ray
from dask.distributed import Client, LocalCluster
from ray import serve

sys.path.insert(0, str(Path(__file__).parent))
# Workers of Ray inherit the environment, but of the path only the folders of the script and of the shell.
os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)

import dask_bag
import network
import ray_data
import ray_serve

import relayc

# Not a multiple of the batch.
N = 83


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("artifact") / "digits.so"
    network.save(path)
    return str(path)


@pytest.fixture(scope="module")
def ray_here() -> Iterator[None]:
    # More processors than there are: the tests are about who runs what, not about how fast.
    ray.init(num_cpus=6, include_dashboard=False, logging_level="ERROR")
    yield
    serve.shutdown()
    ray.shutdown()


# The row whose worker dies, while it is in that worker.
LAST_WORDS = 40


def die_once(tries: str) -> None:
    """Notes this process in a file, and ends it if it is the first there, as if the machine had gone."""
    with open(tries, "a") as file:
        first = file.tell() == 0
        print(os.getpid(), file=file)
    if first:
        os.kill(os.getpid(), signal.SIGKILL)


def expect_two_tries(tries: str) -> str:
    """Requires that another process did what one died of, and gives the dead one."""
    dead, other = Path(tries).read_text().split()
    assert dead != other and not psutil.pid_exists(int(dead))
    return dead


def expect_all(rows: list[dict[str, Any]], threads: int) -> None:
    """Requires each row once, with the digit that its picture shows, from workers with so many threads."""
    assert sorted(row["id"] for row in rows) == list(range(N))
    assert all(row["class"] == row["id"] % 10 for row in rows)
    assert {row["threads"] for row in rows} == {threads}


@pytest.mark.parametrize("workers, threads", [(2, 1), (1, 2)])
def test_ray_data(ray_here: None, artifact: str, workers: int, threads: int) -> None:
    expect_all(ray_data.classify(ray_data.dataset(N), artifact, workers, threads).take_all(), threads)


class Fragile(ray_data.Worker):
    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        if LAST_WORDS in batch["id"]:
            die_once(self.path + ".ray")
        return super().__call__(batch)

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


def test_ray_data_when_an_actor_dies(ray_here: None, artifact: str) -> None:
    expect_all(ray_data.classify(ray_data.dataset(N), artifact, 2, worker=Fragile).take_all(), 1)
    expect_two_tries(artifact + ".ray")


@pytest.fixture(scope="module")
def dask_here() -> Iterator[None]:
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster, Client(cluster):
        yield


def test_dask(dask_here: None, artifact: str) -> None:
    expect_all(dask_bag.classify(dask_bag.dataset(N), artifact).compute(), 1)


def fragile(rows: dask_bag.Rows, path: str) -> list[dict[str, Any]]:
    rows = list(rows)
    if any(row["id"] == LAST_WORDS for row in rows):
        die_once(path + ".dask")
    return dask_bag.score(rows, path)


def test_dask_when_a_worker_dies(dask_here: None, artifact: str) -> None:
    expect_all(dask_bag.classify(dask_bag.dataset(N), artifact, fragile).compute(), 1)
    expect_two_tries(artifact + ".dask")


def scored(rows: list[dict[str, Any]], executable: relayc.Executable) -> list[int]:
    return [int(own.argmax()) for own in executable(np.stack([row["data"] for row in rows]))]


def test_dask_takes_executables_as_they_are(dask_here: None, artifact: str) -> None:
    bag = dask.bag.from_sequence([{"data": network.picture(at)} for at in range(4 * network.BATCH)], partition_size=network.BATCH)
    classes = bag.map_partitions(lambda rows, net: scored(list(rows), net), relayc.load(artifact)).compute()
    assert classes == [at % 10 for at in range(4 * network.BATCH)]


def test_ray_serve(ray_here: None, artifact: str) -> None:
    handle = serve.run(ray_serve.Service.bind(artifact), name="digits")
    data = io.BytesIO()
    np.save(data, network.picture(7))
    with urllib.request.urlopen("http://localhost:8000/", data=data.getvalue()) as answer:
        assert b'"class":7' in answer.read().replace(b" ", b"")
    with ThreadPoolExecutor(8) as clients:
        asked = [clients.submit(handle.classify.remote, network.picture(at)) for at in range(N)]
        expect_all([{"id": at, **one.result().result(timeout_s=120)} for at, one in enumerate(asked)], 1)


class FragileService(ray_serve.Service.func_or_class):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    async def answer(self, at: int) -> dict[str, Any]:
        if at == LAST_WORDS:
            die_once(self.path + ".serve")
        return {"id": at, **await self.classify(network.picture(at))}


def test_ray_serve_when_a_replica_dies(ray_here: None, artifact: str) -> None:
    service = serve.deployment(num_replicas=2, max_ongoing_requests=8, ray_actor_options={"num_cpus": 1})(FragileService)
    handle = serve.run(service.bind(artifact), name="fragile", route_prefix=None)

    def ask(at: int) -> tuple[dict[str, Any], int]:
        """The answer, and how often the request was in a replica that died."""
        for died in range(100):
            try:
                return handle.answer.remote(at).result(timeout_s=120), died
            except ray.exceptions.RayError:
                continue
        raise AssertionError(f"no replica answers {at}")

    with ThreadPoolExecutor(8) as clients:
        answers = list(clients.map(ask, range(N)))
    # Each request is answered once, and without the client the one that died would not have been.
    expect_all([answer for answer, _ in answers], 1)
    assert answers[LAST_WORDS][1] >= 1
    dead = expect_two_tries(artifact + ".serve")
    # Serve starts another replica.
    answering: set[int] = set()
    until = time.monotonic() + 120
    while len(answering) < 2 and time.monotonic() < until:
        answering.add(ask(0)[0]["worker"])
    assert len(answering) == 2 and int(dead) not in answering


LAYERS = """
def @main(%x: Tensor[(1, 2048), float32], %a: Tensor[(2048, 2048), float32], %b: Tensor[(2048, 2048), float32]) {
  nn.dense(nn.relu(nn.dense(%x, %a, units=2048)), %b, units=2048)
}
"""
CHILD = """
import sys, numpy as np, relayc
net = relayc.load(sys.argv[1], threads=1)
net(np.ones((1, 2048), "float32"))
print("ready", flush=True)
sys.stdin.readline()
"""


def test_processes_share_the_weights(tmp_path: Path) -> None:
    weights = {name: np.ones((2048, 2048), "float32") * factor for name, factor in (("a", 1), ("b", 2))}
    path = str(tmp_path / "layers.so")
    relayc.parse(LAYERS).with_params(weights).compile(threads=1).save(path, targets=["x86-64-v3"])
    size, n = os.path.getsize(path), 3
    command = [sys.executable, "-c", CHILD, path]
    children = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(n)]
    try:
        assert [child.stdout.readline() for child in children] == ["ready\n"] * n
        maps = [psutil.Process(child.pid).memory_maps(grouped=True) for child in children]
        own = [next(entry for entry in entries if entry.path == path) for entries in maps]
        # Each sees all of it, and it is in memory once.
        assert all(entry.rss > 0.99 * size for entry in own)
        assert 0.99 * size < sum(entry.pss for entry in own) < 1.01 * size
        assert all(entry.private_dirty == 0 for entry in own)
        # Nothing has a copy of it elsewhere.
        anonymous = [psutil.Process(child.pid).memory_full_info().uss for child in children]
        assert max(anonymous) < size, (anonymous, size)
    finally:
        for child in children:
            child.communicate("\n")
