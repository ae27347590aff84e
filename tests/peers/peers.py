#!/usr/bin/env python3
"""Compares relayc with its peers: every operator that ONNX has too, in ONNX Runtime, else in NumPy.

    tests/peers/peers.py                 # all operators
    tests/peers/peers.py image.resize2d  # those whose name holds the word
    tests/peers/peers.py --relayc target/debug/relayc --seed 7 --keep

Prints a line for each operator: cases, worst error, failures, and which peer was asked. The exit code is 1 where a case fails
that is not a deliberate deviation. What is needed from PyPI is installed below `target/`; README.md says more.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
import environment  # noqa: E402

ROOT = environment.ROOT
environment.enter("peers", ["numpy==2.4.6", "onnx==1.23.2", "onnxruntime==1.31.1"])
import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402

from cases import all_cases  # noqa: E402
from deviations import DEVIATIONS  # noqa: E402

np.seterr(all="ignore")
warnings.simplefilter("ignore")
onnxruntime.set_default_logger_severity(4)

# The largest error allowed, as a share of the largest number of the result, of at least 1.
TOLERANCE = {"float16": 4e-3, "float32": 2e-5, "float64": 1e-9}


def relay_type(array):
    return f"Tensor[({', '.join(map(str, array.shape))}), {array.dtype}]"


def program(cases):
    """One function that makes the results of all cases, as a tuple."""
    params = [f"%c{i}_{name}: {relay_type(array)}" for i, case in enumerate(cases) for name, array in case.inputs.items()]
    calls = [case.relay.format(**{name: f"%c{i}_{name}" for name in case.inputs}) for i, case in enumerate(cases)]
    fields = ",\n   ".join(calls)
    return f'#[version = "0.0.5"]\ndef @main({", ".join(params)}) {{\n  ({fields},)\n}}\n'


def ours(cases, relayc, folder):
    """The results of relayc by case: a list of tensors, or what went wrong. One process for all, unless one of them fails."""
    source, inputs, outputs = (pathlib.Path(folder) / name for name in ("cases.relay", "in.npz", "out.npz"))
    source.write_text(program(cases))
    np.savez(inputs, **{f"c{i}_{name}": array for i, case in enumerate(cases) for name, array in case.inputs.items()})
    outputs.unlink(missing_ok=True)
    command = [relayc, "run", str(source), "--inputs", str(inputs), "--outputs", str(outputs), "--message-format", "short"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        found = np.load(outputs)
        return [results(found, f"out.{i}") for i in range(len(cases))]
    if len(cases) == 1:
        messages = [line for line in done.stderr.splitlines() if "error[" in line]
        return [messages[0][messages[0].index("error[") :] if messages else done.stderr.strip() or "no message"]
    half = len(cases) // 2
    return ours(cases[:half], relayc, folder) + ours(cases[half:], relayc, folder)


def results(found, name):
    """A result by its name in an archive, the fields of a tuple one after the other."""
    if name in found:
        return [found[name]]
    fields = [key for key in found if key.startswith(name + ".")]
    return [found[f"{name}.{i}"] for i in range(len(fields))]


def theirs(case):
    """The result of the peer, and its name."""
    if case.onnx is not None:
        try:
            return in_onnx_runtime(case), "ort"
        except Exception as reason:  # It has no kernel for every dtype that ONNX allows.
            if case.numpy is None:
                return str(reason).splitlines()[0], "ort"
    out = case.numpy(*case.inputs.values())
    return list(out) if isinstance(out, (list, tuple)) else [np.asarray(out)], "numpy"


def in_onnx_runtime(case):
    graph = onnx.helper.make_graph(
        case.onnx.nodes(list(case.inputs)),
        "case",
        [onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
         for name, array in case.inputs.items()],
        [onnx.helper.make_empty_tensor_value_info(name) for name in case.onnx.outputs],
        [onnx.numpy_helper.from_array(array, name) for name, array in case.onnx.constants.items()],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", case.onnx.opset)], ir_version=8)
    model = onnx.shape_inference.infer_shapes(model)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, case.inputs)


def compare(case, got, want):
    """The worst error of a case, and what fails."""
    if isinstance(got, str) or isinstance(want, str):
        return 0.0, f"relayc: {got}" if isinstance(got, str) else f"peer: {want}"
    if case.adjust is not None:
        got, want = case.adjust(got, want)
    if len(got) != len(want):
        return 0.0, f"{len(got)} results, the peer has {len(want)}"
    worst = 0.0
    for ours_, theirs_ in zip(got, want):
        theirs_ = np.asarray(theirs_)
        if ours_.shape != theirs_.shape or ours_.dtype != theirs_.dtype:
            return worst, f"{ours_.dtype}{ours_.shape}, the peer has {theirs_.dtype}{theirs_.shape}"
        if ours_.dtype.kind != "f":
            if not np.array_equal(ours_, theirs_):
                return worst, f"{np.count_nonzero(ours_ != theirs_)} of {ours_.size} elements differ"
            continue
        error, failure = compare_floats(case, ours_, theirs_)
        worst = max(worst, error)
        if failure:
            return worst, failure
    return worst, None


def compare_floats(case, got, want):
    allowed = case.tolerance.get(str(want.dtype), TOLERANCE[str(want.dtype)])
    special = ~np.isfinite(got) | ~np.isfinite(want)
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    if not np.all(same[special]):
        at = np.flatnonzero(special & ~same)[0]
        return 0.0, f"{got.flat[at]} at {at}, the peer has {want.flat[at]}"
    a, b = got[~special].astype(np.float64), want[~special].astype(np.float64)
    if a.size == 0:
        return 0.0, None
    # Element-wise operators are held element by element, sums by the scale of the result.
    scale = np.maximum(np.abs(b), 1.0) if case.each else max(np.abs(b).max(), 1.0)
    errors = np.abs(a - b) / scale
    worst = float(errors.max())
    return worst, None if worst <= allowed else f"an error of {worst:.2g}, allowed {allowed:.0e}"


def deviation(case):
    """Why a case may differ."""
    found = [reason for op, applies, reason in DEVIATIONS if op == case.op and applies(case)]
    return found[0] if found else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="run the operators whose name holds one of these")
    parser.add_argument("--relayc", default=str(ROOT / "target" / "release" / "relayc"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="write failing cases to target/peers/failed/")
    args = parser.parse_args()
    by_op = {}
    for case in all_cases(np.random.default_rng(args.seed)):
        if not args.words or any(word in case.op for word in args.words):
            by_op.setdefault(case.op, []).append(case)
    rows, failures, deviated, absent = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for op, cases in sorted(by_op.items()):
            worst, n_failed, n_deviate, peers = 0.0, 0, 0, set()
            found = ours(cases, args.relayc, folder)
            if all(isinstance(got, str) and "there is no operator" in got for got in found):
                absent.append(op)
                continue
            for case, got in zip(cases, found):
                want, peer = theirs(case)
                error, failure = compare(case, got, want)
                peers.add(peer)
                if failure and deviation(case):
                    n_deviate += 1
                    deviated.append((op, deviation(case)))
                    continue
                worst = max(worst, error)
                if failure:
                    n_failed += 1
                    failures.append((case, failure))
            rows.append((op, len(cases), f"{worst:.1e}", n_failed, n_deviate, "+".join(sorted(peers))))
    # Deviations that no longer are one have to go from the table.
    seen = {reason for _, reason in deviated}
    stale = [f"{op}: {reason}" for op, _, reason in DEVIATIONS if op in by_op and reason not in seen]
    table(rows)
    if absent:
        print("not there yet:", ", ".join(absent))
    for op, reason in sorted(set(deviated)):
        print(f"deviation of {op}: {reason}")
    for line in stale:
        print("no deviation any more:", line)
    for case, failure in failures:
        shapes = ", ".join(f"{name}: {array.dtype}{array.shape}" for name, array in case.inputs.items())
        print(f"\n{case.op}: {failure}\n  {case.relay}\n  {shapes}")
    if args.keep and failures:
        keep(failures)
    return 1 if failures or stale else 0


def table(rows):
    heads = ("operator", "cases", "worst error", "failures", "deviations", "peer")
    widths = [max(len(str(row[i])) for row in [heads, *rows]) for i in range(len(heads))]
    for row in [heads, *rows]:
        cells = [str(cell).ljust(width) if i in (0, 5) else str(cell).rjust(width) for i, (cell, width) in enumerate(zip(row, widths))]
        print("  ".join(cells).rstrip())
    n_cases, n_failed = sum(row[1] for row in rows), sum(row[3] for row in rows)
    n_deviate = sum(row[4] for row in rows)
    print(f"\n{len(rows)} operators, {n_cases} cases, {n_failed} failures, {n_deviate} deliberate deviations")


def keep(failures):
    folder = ROOT / "target" / "peers" / "failed"
    folder.mkdir(parents=True, exist_ok=True)
    for i, (case, failure) in enumerate(failures):
        (folder / f"{i}.relay").write_text(program([case]))
        np.savez(folder / f"{i}.npz", **{f"c0_{name}": array for name, array in case.inputs.items()})
        (folder / f"{i}.json").write_text(json.dumps({"operator": case.op, "failure": failure}))
    print(f"\n{len(failures)} failing cases in {folder.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
