"""A peer in a process of its own: loads a model once, then runs bursts when told to.

    engines.py ENGINE MODEL.onnx INPUTS.npz THREADS

Commands come as lines of standard input, answers go as lines of JSON to standard output: `burst SECONDS` runs for so long and
answers with the times of the calls, `save FILE.npz` writes the results. Without a command nothing runs: the process waits for
its pipe.
"""
import gc
import json
import sys
import time

import numpy as np

# As that of `relayc bench`.
WARMUP_S = 0.3


def onnxruntime(model, inputs, threads):
    """The call, and what its results are."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    # The sizes of open dimensions, which relayc knows too.
    for one in ort.InferenceSession(model, providers=["CPUExecutionProvider"]).get_inputs():
        for dim, size in zip(one.shape, inputs[one.name].shape):
            if isinstance(dim, str):
                options.add_free_dimension_override_by_name(dim, size)
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    # Bound once, so that no call looks at names or copies.
    binding = session.io_binding()
    for name, array in inputs.items():
        binding.bind_cpu_input(name, array)
    for name in names:
        binding.bind_output(name)
    return lambda: session.run_with_iobinding(binding), lambda: dict(zip(names, session.run(None, inputs)))


def openvino(model, inputs, threads):
    import openvino as ov

    config = {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        # Without it OpenVINO computes in bfloat16 where the machine can.
        "INFERENCE_PRECISION_HINT": "f32",
    }
    core = ov.Core()
    network = core.read_model(model)
    if network.is_dynamic():
        network.reshape({name: list(array.shape) for name, array in inputs.items()})
    compiled = core.compile_model(network, "CPU", config)
    request = compiled.create_infer_request()
    for name, array in inputs.items():
        request.set_tensor(name, ov.Tensor(array, shared_memory=True))

    def results():
        request.infer()
        return {port.get_any_name(): np.array(request.get_tensor(port).data) for port in compiled.outputs}

    return request.infer, results


def burst(call, seconds):
    """The times of calls, in ms, until so much time is over."""
    times = []
    now = time.perf_counter
    end = now() + seconds
    while True:
        start = now()
        call()
        stop = now()
        times.append((stop - start) * 1e3)
        if stop >= end:
            return times


def main():
    engine, model, inputs, threads = sys.argv[1:]
    arrays = {name: np.ascontiguousarray(array) for name, array in np.load(inputs).items()}
    start = time.perf_counter()
    call, results = {"onnxruntime": onnxruntime, "openvino": openvino}[engine](model, arrays, int(threads))
    ready = time.perf_counter() - start
    burst(call, 0.2)
    gc.disable()
    print(json.dumps({"ready_s": ready}), flush=True)
    for line in sys.stdin:
        command, argument = line.split(maxsplit=1)
        if command == "burst":
            # The first calls find caches that the others have filled.
            burst(call, WARMUP_S)
            times = np.array(burst(call, float(argument)))
            p50, p90, p99 = np.percentile(times, [50, 90, 99])
            answer = {"n": len(times), "p50_ms": p50, "p90_ms": p90, "p99_ms": p99, "min_ms": times.min()}
        else:
            np.savez(argument.strip(), **results())
            answer = {}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
