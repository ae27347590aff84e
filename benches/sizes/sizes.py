#!/usr/bin/env python3
"""Measures what open sizes cost: an encoder of any length beside programs of one length, and a decoder that generates beside ONNX Runtime.

    benches/sizes/sizes.py                     # 200 calls of lengths from 16 to 512, 128 tokens, one thread
    benches/sizes/sizes.py --calls 20 --record # appends the figures to RESULTS.md

README.md says what is measured.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import random
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent.parent / "tests" / "peers"), str(HERE.parent / "architectures")]
import architectures  # noqa: E402: enters the environment that has the peers
import environment  # noqa: E402
import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402

FOLDER = environment.ROOT / "target" / "sizes"
SHORTEST, LONGEST = 16, 512
# Runs of a program of one length, whose median counts.
SECONDS_EACH = 0.5


def relayc_bench(relayc, network, threads, *words):
    """The figures of `relayc bench`, and the most memory that its process had, in MB."""
    command = [relayc, "bench", FOLDER / f"{network}.relay", "--params", FOLDER / f"{network}.params", "--fill", "ones", "--threads", threads,
               "--json", "--quiet", *words]
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(map(str, command))}: failed")
    return json.loads(text), usage.ru_maxrss / 1024


def encoder(relayc, calls, threads):
    """What is said of the encoder: name, figure."""
    drawn = random.Random(17)
    lengths = [drawn.randint(SHORTEST, LONGEST) for _ in range(calls)]
    # As drawn, so that no step from one to the next repeats and lets relayc foresee a length.
    each = list(dict.fromkeys(lengths))

    def open_program(lengths, rounds):
        # `bench` goes through a list once at least.
        listed = ",".join(map(str, lengths * rounds))
        return relayc_bench(relayc, "bert", threads, "--set", "batch=1", "--set", f"seq={listed}", "--seconds", 0)

    once, first_peak = open_program(each[:: max(1, len(each) // 8)], 1)
    found, peak = open_program(each, 2)
    later = {one["size"]: float(np.median(one["later_ms"])) for one in found["each"]}
    ours = theirs = 0.0
    for length in each:
        fixed, _ = relayc_bench(relayc, "bert", threads, "--set", "batch=1", "--set", f"seq={length}", "--seconds", SECONDS_EACH, "--warmup", 0)
        n = lengths.count(length)
        ours += n * later[f"seq={length}"]
        theirs += n * fixed["p50_ms"]
    return {
        "lengths": len(each),
        "code of a new length, median ms": found["code_p50_ms"],
        "finding a known length, median µs": found["lookup_p50_us"],
        "mean time over that of programs of one length": ours / theirs,
        f"memory with {once['sizes']} lengths, MB": first_peak,
        f"memory with {found['sizes']} lengths, MB": peak,
        "packed weights, MB": found["weight_bytes"] / 1e6,
    }


def generated_by_peer(tokens, threads):
    """Seconds that ONNX Runtime takes, whose results become the next inputs where they lie."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(FOLDER / "gpt2.onnx"), options, providers=["CPUExecutionProvider"])
    outputs = [output.name for output in session.get_outputs()]
    pasts = [one.name for one in session.get_inputs() if one.name.startswith("past")]
    binding = session.io_binding()
    binding.bind_cpu_input("input_ids", np.ones((1, 1), np.int64))
    for name in pasts:
        binding.bind_cpu_input(name, np.ones((1, 12, 1, 64), np.float32))
    start = time.perf_counter()
    for _ in range(tokens):
        for name in outputs:
            binding.bind_output(name)
        session.run_with_iobinding(binding)
        for name, value in zip(pasts, binding.get_outputs()[1:]):
            binding.bind_ortvalue_input(name, value)
    return time.perf_counter() - start


def decoder(relayc, tokens, threads):
    pasts = ",".join(map(str, range(1, tokens + 1)))
    words = ["--set", "batch=1", "--set", "seq=1", "--set", f"past={pasts}", "--seconds", 0]
    rounds = []
    for _ in range(3):
        found, _ = relayc_bench(relayc, "gpt2", threads, *words)
        rounds.append((sum(one["first_ms"] for one in found["each"]) / 1e3, generated_by_peer(tokens, threads), found["code_p50_ms"]))
    ours, theirs, code = sorted(rounds, key=lambda one: one[0] / one[1])[1]
    return {
        f"{tokens} tokens, s": ours,
        f"{tokens} tokens by ONNX Runtime, s": theirs,
        "over ONNX Runtime": ours / theirs,
        "code of a new past, median ms": code,
    }


def prepare(relayc):
    FOLDER.mkdir(parents=True, exist_ok=True)
    python = environment.make("architectures-torch", architectures.TORCH, "/usr/bin/python3", "--system-site-packages")
    subprocess.run([python, HERE / "export.py", FOLDER], check=True)
    for network in ["bert", "gpt2"]:
        text = FOLDER / f"{network}.relay"
        if not text.exists():
            subprocess.run([relayc, "import", FOLDER / f"{network}.onnx", "-o", text, "--params", FOLDER / f"{network}.params"], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", choices=["encoder", "decoder"])
    parser.add_argument("--relayc", default=str(environment.ROOT / "target" / "release" / "relayc"))
    parser.add_argument("--record", action="store_true", help="append the figures to RESULTS.md")
    args = parser.parse_args()
    prepare(args.relayc)
    found = {}
    if args.only != "decoder":
        found[f"BERT-base, {args.calls} calls"] = encoder(args.relayc, args.calls, args.threads)
    if args.only != "encoder":
        found["GPT-2, 12 layers"] = decoder(args.relayc, args.tokens, args.threads)
    lines = []
    for name, figures in found.items():
        lines += [f"| {name} | {args.threads} threads |", "|---|---|", *(f"| {what} | {figure:.4g} |" for what, figure in figures.items()), ""]
    text = "\n".join(lines)
    print(text)
    if args.record:
        cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
        with open(HERE / "RESULTS.md", "a") as results:
            results.write(f"\n## {datetime.date.today()}, {cpu}, ONNX Runtime {onnxruntime.__version__}\n\n{text}")


if __name__ == "__main__":
    main()
