#!/usr/bin/env python3
"""Runs the conformance cases and compares how many pass, kind by kind, with tests/conformance-counts.json.

Fewer than there: the gate fails. More: it passes and says so; raise the file with `--raise`. The counts only ever rise.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CASES = ROOT.parent / "shared" / "conformance"
COUNTS = ROOT / "tests" / "conformance-counts.json"


def measure(relayc, engine, kinds=()):
    """How many cases pass, and how many there are, by kind."""
    command = [sys.executable, str(CASES / "run.py"), "--relayc", relayc, "--engine", engine, "--jobs", "2", *kinds]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout
    print(out, end="")
    found = re.findall(r"^(\w+)\s+(\d+) of\s+(\d+) pass$", out, re.MULTILINE)
    if not found:
        sys.exit("the conformance runner printed no counts")
    return {kind: (int(n_pass), int(n_all)) for kind, n_pass, n_all in found}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--relayc", default="target/release/relayc")
    parser.add_argument("--raise", dest="raise_", action="store_true", help="write the counts measured, where they are higher")
    args = parser.parse_args()
    kept = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    measured = {kind: n_pass for kind, (n_pass, _) in measure(args.relayc, "interp").items()}
    # What is computed is computed by the compiled program too.
    compiled = measure(args.relayc, "jit", ["eval", "zoo"])
    measured.update({f"{kind} compiled": n_pass for kind, (n_pass, _) in compiled.items()})
    fallen = {kind: (kept[kind], measured.get(kind, 0)) for kind in kept if measured.get(kind, 0) < kept[kind]}
    risen = {kind: n for kind, n in measured.items() if n > kept.get(kind, 0)}
    for kind, (before, now) in sorted(fallen.items()):
        print(f"{kind}: {now} pass, {before} did")
    if risen and args.raise_ and not fallen:
        COUNTS.write_text(json.dumps(dict(sorted({**kept, **risen}.items())), indent=2) + "\n")
        print(f"raised {COUNTS.relative_to(ROOT)}")
    elif risen:
        print("more pass than before: .ci/conformance.py --raise keeps it so:", risen)
    return 1 if fallen else 0


if __name__ == "__main__":
    sys.exit(main())
