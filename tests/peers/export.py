#!/usr/bin/env python3
"""Runs what `relayc export --to onnx` makes on ONNX Runtime, and compares it with `relayc run`.

    tests/peers/export.py                 # all cases of peers.py that ONNX can say
    tests/peers/export.py nn. image.      # of the operators whose name holds one of the words
    tests/peers/export.py --relayc target/debug/relayc --seed 7 --each 40

Each case of an operator is a program of its own: it is exported, taken by `onnx.checker`, run by both, and compared as peers.py
does. What ONNX cannot say (E0708) is counted, and so is what ONNX Runtime has no kernel for. The exit code is 1 where results
differ, or where a model is refused for another reason.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
import peers  # noqa: E402  It goes on in its environment.

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402


def exported(case, relayc, folder):
    """The results of the model, or what is in the way: a word for the table and the whole of it."""
    source, model = (pathlib.Path(folder) / name for name in ("case.relay", "case.onnx"))
    source.write_text(peers.program([case]))
    command = [relayc, "export", str(source), "--weights-as-inputs", "--to", "onnx", "-o", str(model), "--message-format", "plain"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        notes = [line.split("= note: ")[1] for line in done.stderr.splitlines() if "= note: " in line]
        return ("unsaid", notes[0]) if "E0708" in done.stderr else ("failed", done.stderr.strip())
    try:
        onnx.checker.check_model(str(model), full_check=True)
    except Exception as reason:
        return "failed", f"checker: {reason}"
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        wanted = {value.name for value in session.get_inputs()}
        inputs = {f"c0_{name}": array for name, array in case.inputs.items()}
        return "ran", session.run(None, {name: array for name, array in inputs.items() if name in wanted})
    except Exception as reason:
        text = str(reason).splitlines()[0]
        return ("unsaid" if "NOT_IMPLEMENTED" in text or "Could not find an implementation" in text else "failed"), text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--relayc", default=str(peers.ROOT / "target" / "release" / "relayc"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=12, help="how many cases of an operator, spread over all")
    args = parser.parse_args()
    by_op = {}
    for case in peers.all_cases(np.random.default_rng(args.seed)):
        # Corner values are for the operators themselves: peers.py says where runtimes differ in them.
        if (not args.words or any(word in case.op for word in args.words)) and not case.about.get("special"):
            by_op.setdefault(case.op, []).append(case)
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for op, cases in sorted(by_op.items()):
            cases = cases[:: max(1, len(cases) // args.each)]
            found = peers.ours(cases, args.relayc, folder)
            counts = {"ran": 0, "unsaid": 0, "failed": 0, "no result": 0}
            worst, reasons = 0.0, set()
            for case, want in zip(cases, found):
                if isinstance(want, str):
                    counts["no result"] += 1
                    continue
                outcome, got = exported(case, args.relayc, folder)
                counts[outcome] += 1
                if outcome != "ran":
                    reasons.add(got.splitlines()[0][-120:])
                    if outcome == "failed":
                        failures.append((op, case.relay, got))
                    continue
                error, failure = peers.compare(case, [np.asarray(out) for out in got], want)
                worst = max(worst, error)
                if failure and not peers.deviation(case):
                    failures.append((op, case.relay, failure))
            print(f"{op:28} {worst:.1e}", *(f"{n} {name}" for name, n in counts.items() if n), *sorted(reasons)[:2], flush=True)
    for op, call, failure in failures:
        print(f"\n{op}: {call}\n  {failure}")
    print(f"\n{len(by_op)} operators, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
