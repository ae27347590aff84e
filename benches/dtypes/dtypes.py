#!/usr/bin/env python3
"""Measures what narrow numbers save: networks in int8, float16 and bfloat16 beside the same in float32, and beside the peers.

    benches/dtypes/dtypes.py                              # four networks, one thread
    benches/dtypes/dtypes.py --only resnet18 --isa avx2
    benches/dtypes/dtypes.py --record                     # appends the table to RESULTS.md

README.md says what is measured.
"""
import argparse
import datetime
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent.parent / "tests" / "peers"), str(HERE.parent / "architectures")]
import architectures  # noqa: E402: enters the environment that has the peers
import environment  # noqa: E402
import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402
from onnxruntime import quantization  # noqa: E402

ROUNDS, BURST_S = architectures.ROUNDS, architectures.BURST_S
FOLDER = environment.ROOT / "target" / "dtypes"
NETWORKS = ["resnet18", "resnet50", "mobilenet_v2", "bert"]
# The tokens that the encoder, whose length is open, gets.
TOKENS = 128
DTYPES = ["float32", "int8", "float16", "bfloat16"]
# Inputs that the static quantization sees, and others on which results are compared.
SAMPLES, COMPARED = 8, 16


def drawn(network, seed):
    rng = np.random.default_rng(seed)
    if network == "bert":
        ids = rng.integers(3, 30000, (1, TOKENS), dtype=np.int64)
        return {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    return {"x": rng.standard_normal((1, 3, 224, 224)).astype(np.float32)}


class Samples(quantization.CalibrationDataReader):
    def __init__(self, network):
        self.left = iter([drawn(network, 1000 + seed) for seed in range(SAMPLES)])

    def get_next(self):
        return next(self.left, None)


def original(network):
    """The model in float32, as torch exports it."""
    if network == "bert":
        folder = environment.ROOT / "target" / "sizes"
        folder.mkdir(parents=True, exist_ok=True)
        python = environment.make("architectures-torch", architectures.TORCH, "/usr/bin/python3", "--system-site-packages")
        subprocess.run([python, HERE.parent / "sizes" / "export.py", folder], check=True)
        return folder / "bert.onnx"
    reason = architectures.export_all([network])[network]
    if reason:
        sys.exit(f"{network}: torch does not export it: {reason}")
    return architectures.FOLDER / f"{network}.static.onnx"


def quantized(network, model, path):
    """As ONNX Runtime's documentation advises: convolutional networks statically, encoders dynamically."""
    ready = path.with_suffix(".ready.onnx")
    quantization.shape_inference.quant_pre_process(str(model), str(ready), skip_symbolic_shape=True)
    if network == "bert":
        quantization.quantize_dynamic(ready, path, per_channel=True, weight_type=quantization.QuantType.QInt8)
    else:
        quantization.quantize_static(ready, path, Samples(network), quant_format=quantization.QuantFormat.QDQ, per_channel=True,
                                     activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8)
    ready.unlink()


def halved(model, path):
    import onnx
    from onnxruntime.transformers import float16

    onnx.save(float16.convert_float_to_float16(onnx.load(model), keep_io_types=True), path)


def prepare(relayc, network, dtype):
    """The ONNX model, which bfloat16 has none of, and relayc's text and weights."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    onnx, text, weights = (FOLDER / f"{network}.{dtype}.{ending}" for ending in ["onnx", "relay", "params"])
    if dtype == "bfloat16":
        _, whole, whole_weights = prepare(relayc, network, "float32")
        if not text.exists():
            text.write_text(architectures.command(relayc, "opt", whole, "--passes", "to-mixed-precision(dtype=bfloat16,keep_output=true)"))
        return None, text, whole_weights
    if dtype == "float32":
        onnx = original(network)
    elif not onnx.exists():
        partial = onnx.with_suffix(".part")
        (quantized(network, original(network), partial) if dtype == "int8" else halved(original(network), partial))
        partial.rename(onnx)
    if not text.exists():
        architectures.command(relayc, "import", onnx, "-o", text, "--params", weights)
    return onnx, text, weights


def computed(relayc, network, files):
    """The first results for the inputs to compare: relayc's, and those of ONNX Runtime where it has the model."""
    onnx, text, weights = files
    session = onnx and onnxruntime.InferenceSession(str(onnx), providers=["CPUExecutionProvider"])
    given, out = FOLDER / "given.npz", FOLDER / "out.npz"
    ours, theirs = [], []
    for seed in range(COMPARED):
        inputs = drawn(network, seed)
        np.savez(given, **inputs)
        architectures.command(relayc, "run", "--quiet", text, "--params", weights, "--inputs", given, "--outputs", out)
        ours.append(architectures.results(out)[0])
        if session:
            theirs.append(session.run(None, inputs)[0])
    return ours, theirs


def apart(found, exact):
    """The median over the inputs of the largest difference over the largest number, and how often the largest number is at the same place."""
    errors = [architectures.difference([one], [other]) for one, other in zip(found, exact)]
    same = np.mean([np.mean(one.argmax(-1) == other.argmax(-1)) for one, other in zip(found, exact)])
    return f"{np.median(errors):.0e}, {same:.0%}"


def times(relayc, network, all_files, threads):
    """Milliseconds of each dtype by each engine: the least of five medians, all in turn."""
    given = FOLDER / "given.npz"
    np.savez(given, **drawn(network, 0))
    peers = {(dtype, engine): architectures.Engine(engine, files[0], given, threads)
             for dtype, files in all_files.items() if files[0] for engine in ["onnxruntime", "openvino"]}
    found = {}
    try:
        for _ in range(ROUNDS):
            for dtype, (_, text, weights) in all_files.items():
                ours = architectures.burst([relayc, "bench", text, "--params", weights, "--inputs", given, "--json", "--threads", threads,
                                            "--seconds", BURST_S])
                found.setdefault((dtype, "relayc"), []).append(ours["p50_ms"])
            for key, peer in peers.items():
                found.setdefault(key, []).append(peer.burst(BURST_S))
    finally:
        for peer in peers.values():
            peer.stop()
    return {key: min(rounds) for key, rounds in found.items()}, ours["isa"]


def rows(relayc, network, dtypes, threads):
    """The table's rows of a network."""
    all_files = {dtype: prepare(relayc, network, dtype) for dtype in dtypes}
    found, isa = times(relayc, network, all_files, threads)
    exact = {}
    for dtype, files in all_files.items():
        ours, theirs = computed(relayc, network, files)
        if not exact:
            exact = {"ours": ours, "theirs": theirs}
        ms = {engine: found.get((dtype, engine), float("inf")) for engine in ["relayc", "onnxruntime", "openvino"]}
        faster = min(ms["onnxruntime"], ms["openvino"])
        yield [network, dtype, isa, *(f"{one:.2f}" if np.isfinite(one) else "-" for one in ms.values()),
               f"{ms['relayc'] / found['float32', 'relayc']:.2f}", f"{ms['relayc'] / faster:.2f}" if np.isfinite(faster) else "-",
               apart(ours, exact["theirs"]), apart(theirs, exact["theirs"]) if theirs else "-"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(NETWORKS), help="which networks, separated by commas")
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--isa", help="what relayc compiles for, if not all that the machine has")
    parser.add_argument("--relayc", default=str(environment.ROOT / "target" / "release" / "relayc"))
    parser.add_argument("--record", action="store_true", help="append the table to RESULTS.md")
    args = parser.parse_args()
    if args.isa:
        os.environ["RELAYC_ISA"] = args.isa
    # The ratio to float32 and the error need it.
    dtypes = list(dict.fromkeys(["float32", *args.dtypes.split(",")]))
    head = ["network", "dtype", "isa", "relayc ms", "ORT ms", "OpenVINO ms", "of float32", "of the faster peer", "error, top-1: relayc",
            "error, top-1: ORT"]
    lines = [head, ["---"] * len(head)]
    for network in args.only.split(","):
        for line in rows(args.relayc, network, dtypes, args.threads):
            lines.append(line)
            print(*line, sep=" | ", flush=True)
    if args.record:
        cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
        table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        with open(HERE / "RESULTS.md", "a") as results:
            results.write(f"\n## {datetime.date.today()}, {cpu}, {args.threads} thread{'s' if args.threads != 1 else ''}, "
                          f"ONNX Runtime {onnxruntime.__version__}\n\n{table}\n")


if __name__ == "__main__":
    main()
