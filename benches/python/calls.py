#!/usr/bin/env python3
"""Measures what a call from Python adds to a run, and how calls of two threads share a machine.

    PYTHONPATH=python python benches/python/calls.py            # needs onnx and onnxruntime for the line of that peer

Prints a line each: the mlp's run, its call here, with names, into outputs, and in ONNX Runtime; two threads beside one; resnet-50
called beside `relayc bench`, whose program may be an argument. Times are the least ones, and of the mlp those that the thread has the
processor, so other work on the machine disturbs them little; two threads need the machine for themselves, and are measured in turn with
one; by processor time, they would be as much faster if each had a processor. RESULTS.md has what was found.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Callable

import numpy as np

import relayc


def least(call: Callable[[], Any], count: int, rounds: int = 20, clock: Callable[[], float] = time.perf_counter) -> float:
    """The least mean time of a call, in microseconds."""
    best = float("inf")
    for _ in range(rounds):
        start = clock()
        for _ in range(count):
            call()
        best = min(best, (clock() - start) / count)
    return best * 1e6


def least_own(call: Callable[[], Any]) -> float:
    """The least mean time that this thread has the processor in a call, in microseconds: others on the machine do not count."""
    return least(call, 500, 40, time.thread_time)


def mlp() -> None:
    """The mlp of relay.testing at batch 1, on one thread."""
    module = relayc.zoo.build("mlp")
    executable = module.compile(threads=1)
    x, room = np.random.default_rng(0).random((1, 1, 28, 28), "float32"), np.empty((1, 10), "float32")
    run = executable.bench(x, seconds=1.0).min_ms * 1e3
    print(f"mlp: run {run:.2f} us")
    for name, call in [
        ("call", lambda: executable(x)),
        ("call by name", lambda: executable(data=x)),
        ("run_into", lambda: executable.run_into(room, x)),
    ]:
        took = least_own(call)
        print(f"mlp: {name} {took:.2f} us, {took - run:.2f} us more than the run")
    peer(module, x)


def peer(module: relayc.Module, x: np.ndarray) -> None:
    """The same network in ONNX Runtime, if that is there."""
    try:
        import onnxruntime as ort
        from onnx import TensorProto, helper, numpy_helper, save
    except ImportError:
        print("mlp: no onnxruntime")
        return
    weights = module.params
    nodes, last = [helper.make_node("Flatten", ["data"], ["h0"])], "h0"
    for n in (1, 2, 3):
        names = [last, f"fc{n}_weight", f"fc{n}_bias"]
        nodes.append(helper.make_node("Gemm", names, [f"g{n}"], transB=1))
        last = f"g{n}" if n == 3 else f"h{n}"
        if n < 3:
            nodes.append(helper.make_node("Relu", [f"g{n}"], [last]))
    nodes.append(helper.make_node("Softmax", [last], ["out"]))
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "mlp",
        [info("data", TensorProto.FLOAT, [1, 1, 28, 28])],
        [info("out", TensorProto.FLOAT, [1, 10])],
        [numpy_helper.from_array(np.ascontiguousarray(value), name) for name, value in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 9
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    took = least_own(lambda: session.run(None, {"data": x}))
    print(f"mlp: call in ONNX Runtime {took:.2f} us")


def two_threads(rounds: int = 9) -> None:
    """Calls per second of two threads beside those of one, each with an executable on one thread, in turn."""
    module = relayc.zoo.build("mobilenet")
    pair = [module.compile(threads=1) for _ in range(2)]
    x = np.random.default_rng(0).random((1, 3, 224, 224), "float32")
    for executable in pair:
        executable(x)

    def rates(n: int, seconds: float = 1.0) -> tuple[float, float]:
        """Calls per second, and per second of processor time."""
        counts = [0] * n
        end = time.perf_counter() + seconds

        def work(at: int) -> None:
            while time.perf_counter() < end:
                pair[at](x)
                counts[at] += 1

        threads = [threading.Thread(target=work, args=(at,)) for at in range(n)]
        start, busy = time.perf_counter(), time.process_time()
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        return sum(counts) / (time.perf_counter() - start), sum(counts) / (time.process_time() - busy)

    found = [(*rates(1), *rates(2)) for _ in range(rounds)]
    one, _, two, _ = (statistics.median(column) for column in zip(*found))
    times = statistics.median(row[2] / row[0] for row in found)
    busy = statistics.median(2 * row[3] / row[1] for row in found)
    print(f"mobilenet: one thread {one:.1f} calls/s, two {two:.1f} calls/s, {times:.2f} times; {busy:.2f} times by processor time")


def resnet(relayc_command: str, rounds: int = 5) -> None:
    """Calls of resnet-50 on one thread beside `relayc bench`, in turn."""
    module = relayc.zoo.build("resnet", layers=50)
    executable, x = module.compile(threads=1), np.random.default_rng(0).random((1, 3, 224, 224), "float32")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "net.relay").write_text(str(module))
        relayc.save_params(f"{folder}/net.params", module.params)
        command = [os.path.abspath(relayc_command), "bench", "net.relay", "--params", "net.params"]
        command += ["--fill", "rand", "--threads", "1", "--json"]
        found = []
        for _ in range(rounds):
            run = subprocess.run([*command, "--seconds", "3"], cwd=folder, check=True, capture_output=True, text=True)
            found.append((json.loads(run.stdout)["min_ms"], least(lambda: executable(x), 1, 40) / 1e3))
    run_ms, call_ms = (min(times) for times in zip(*found))
    print(f"resnet-50: relayc bench {run_ms:.2f} ms, call {call_ms:.2f} ms, {100 * (call_ms / run_ms - 1):+.1f} %")

    def bench() -> int:
        # One run before the warm-up finds the sizes of results, and one is the warm-up.
        return executable.bench(x, seconds=1.0, warmup=0.0).runs + 2

    def calls() -> int:
        return sum(executable(x).ndim // 2 for _ in range(15))

    busy = {bench: [], calls: []}
    for _ in range(2 * rounds):
        for way, times in busy.items():
            start = time.thread_time()
            n = way()
            times.append((time.thread_time() - start) / n)
    run_s, call_s = (statistics.median(times) for times in busy.values())
    print(f"resnet-50, processor time: run {1e3 * run_s:.2f} ms, call {1e3 * call_s:.2f} ms, {100 * (call_s / run_s - 1):+.1f} %")


if __name__ == "__main__":
    mlp()
    two_threads()
    resnet(sys.argv[1] if len(sys.argv) > 1 else "target/release/relayc")
