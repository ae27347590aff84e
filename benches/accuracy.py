#!/usr/bin/env python3
"""Measures how far compiled networks lie from float64, for the table of docs/src/performance/accuracy.md.

    benches/accuracy.py --relayc target/release/relayc [NETWORK...]

Each network runs in float32 by three engines (compiled with `--accuracy fast`, compiled with `--accuracy strict`, interpreted) and in
float64. The error is the largest difference over the largest magnitude of the float64 result. A softmax at the end is left out: it
would hide errors of large scores. Needs numpy.
"""
import argparse
import pathlib
import re
import subprocess
import tempfile

import numpy as np

NETWORKS = {
    "mlp": ["mlp"],
    "dqn": ["dqn"],
    "lstm": ["lstm"],
    "squeezenet 1.1": ["squeezenet", "--version", "1.1"],
    "mobilenet": ["mobilenet"],
    "resnet18": ["resnet", "--layers", "18"],
    "resnet50": ["resnet", "--layers", "50"],
    "densenet121": ["densenet", "--size", "121", "--batch", "1"],
    "inception_v3": ["inception_v3"],
    "vgg16": ["vgg", "--layers", "16"],
}


def weight(rng, name, shape):
    """Weights under which activations neither vanish nor explode; those of relay.testing give some networks the same result for every input."""
    if name.endswith(("gamma", "var")):
        values = rng.uniform(0.5, 1.5, shape)
    elif name.endswith(("beta", "mean", "bias")):
        values = rng.normal(0.0, 0.1, shape)
    else:
        # After He et al. (arXiv 1502.01852): the inputs of a sum are all but the first axis.
        values = rng.normal(0.0, (2.0 / max(1, int(np.prod(shape[1:])))) ** 0.5, shape)
    return values.astype(np.float32)


def measure(relayc, words, folder):
    """The errors of the three engines."""

    def run(*args):
        done = subprocess.run([relayc, *map(str, args)], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"relayc {' '.join(map(str, args))}\n{done.stderr}")

    text = folder / "net.relay"
    run("model", *words, "-o", text, "--params", folder / "initial.npz")
    program = re.sub(r"nn\.softmax\((%\d+)\)(?=[^\n]*\n\}\s*$)", r"\1", text.read_text())
    text.write_text(program)
    rng = np.random.default_rng(1)
    weights = {name: weight(rng, name, values.shape) for name, values in np.load(folder / "initial.npz").items()}
    shapes = re.findall(r"%(data\d*): Tensor\[\(([^)]*)\)", program.split("{")[0])
    inputs = {name: rng.standard_normal([int(dim) for dim in shape.split(",")]).astype(np.float32) for name, shape in shapes}
    np.savez(folder / "w32.npz", **weights)
    np.savez(folder / "x32.npz", **inputs)
    np.savez(folder / "w64.npz", **{name: values.astype(np.float64) for name, values in weights.items()})
    np.savez(folder / "x64.npz", **{name: values.astype(np.float64) for name, values in inputs.items()})
    wide = folder / "wide.relay"
    wide.write_text(re.sub(r"(\d)f\b", r"\1f64", program.replace("float32", "float64")))

    def result(program, width, *flags):
        out = folder / "out.npz"
        run("run", program, "--params", folder / f"w{width}.npz", "--inputs", folder / f"x{width}.npz", "--outputs", out, *flags)
        return np.concatenate([values.astype(np.float64).ravel() for values in np.load(out).values()])

    exact = result(wide, 64, "--accuracy", "strict")
    ways = [["--accuracy", "fast"], ["--accuracy", "strict"], ["--engine", "interp"]]
    return [np.abs(result(text, 32, *flags) - exact).max() / np.abs(exact).max() for flags in ways]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--relayc", default="target/release/relayc")
    parser.add_argument("networks", nargs="*", default=list(NETWORKS), metavar="NETWORK")
    args = parser.parse_args()
    print("| network | `fast` | `strict` | interpreter |\n|---|---|---|---|")
    for name in args.networks:
        with tempfile.TemporaryDirectory() as folder:
            errors = measure(args.relayc, NETWORKS[name], pathlib.Path(folder))
        print(f"| {name} | " + " | ".join(f"{error:.1e}" for error in errors) + " |", flush=True)


if __name__ == "__main__":
    main()
