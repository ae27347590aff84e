#!/usr/bin/env python3
"""Measures relayc beside OpenVINO and ONNX Runtime: the networks of the zoo, a transformer layer and an LSTM, at batch 1.

    benches/peers/peers.py                                    # everything, 1 and 2 threads
    benches/peers/peers.py --networks resnet50,mlp --threads 1 --rounds 20
    benches/peers/peers.py --isa avx2 --json target/peers.json --record

Prints a line for each network and number of threads. README.md says how it measures.
"""
import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent.parent / "tests" / "peers"))
import environment  # noqa: E402

ROOT = environment.ROOT
environment.enter("peers-bench", ["numpy==2.4.6", "onnx==1.23.2", "onnxruntime==1.31.1", "openvino==2026.4.1"])
import numpy as np  # noqa: E402
import onnx  # noqa: E402

from networks import NETWORKS, prepare  # noqa: E402

PEERS = ["openvino", "onnxruntime"]
# A round counts while none of its probes is below this share of its best one: then all engines had the same machine.
UNDISTURBED = 0.97


class Probe:
    """What the machine can do at a moment, in GFLOP/s, by number of threads."""

    def __init__(self, folder):
        self.program = folder / "probe"
        flags = ["-O3", "-march=native", "-ffp-contract=fast", "-pthread"]
        subprocess.run(["gcc", *flags, str(HERE / "probe.c"), "-o", str(self.program)], check=True)
        self.best = {}

    def measure(self, threads):
        rate = float(subprocess.run([self.program, str(threads)], capture_output=True, text=True, check=True).stdout)
        self.best[threads] = max(rate, self.best.get(threads, 0.0))
        return rate


class Peer:
    """An engine that waits in a process of its own."""

    def __init__(self, engine, network, threads):
        command = [sys.executable, str(HERE / "engines.py"), engine, str(network.model), str(network.inputs), str(threads)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.ready_s = self.answer()["ready_s"]

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the engine ended")
        return json.loads(line)

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.answer()

    def burst(self, seconds):
        return self.ask(f"burst {seconds}")

    def save(self, path):
        self.ask(f"save {path}")

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


class Relayc:
    """`relayc bench`, which compiles anew in each burst: that is part of no time it says."""

    def __init__(self, program, network, threads, isa):
        self.ready_s, self.fallbacks = None, []
        self.environment = {**os.environ, **({"RELAYC_ISA": isa} if isa else {})}
        self.program, self.network, self.threads = program, network, threads

    def run(self, command, *arguments):
        files = [str(self.network.text), "--params", str(self.network.weights), "--inputs", str(self.network.inputs)]
        threads = ["--threads", str(self.threads)]
        command = [self.program, command, *files, *threads, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=self.environment)
        if done.returncode != 0:
            raise RuntimeError((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[0])
        return done.stdout

    def burst(self, seconds):
        burst = json.loads(self.run("bench", "--json", "--seconds", str(seconds)))
        self.ready_s = burst["ready_ms"] / 1e3
        self.fallbacks = burst["fallbacks"]
        return burst

    def save(self, path):
        self.run("run", "--outputs", str(path))

    def stop(self):
        pass


@dataclasses.dataclass
class Times:
    """The bursts of one engine, one a round."""

    bursts: list = dataclasses.field(default_factory=list)
    ready_s: float | None = None
    failure: str | None = None

    def summary(self, quiet):
        if not self.bursts:
            return None
        kept = [burst for burst, counts in zip(self.bursts, quiet) if counts]
        # Where the machine never was quiet, that is said, and the numbers are those of the whole run.
        bursts = kept or self.bursts
        median = {key: statistics.median(burst[key] for burst in bursts) for key in ["p50_ms", "p90_ms", "p99_ms"]}
        least = min(burst["min_ms"] for burst in bursts)
        return {**median, "min_ms": least, "kept": len(kept), "bursts": len(self.bursts), "ready_s": self.ready_s}


def difference(a, b):
    """The largest difference of two sets of results, as a share of the largest number of the second."""
    worst = 0.0
    for name, theirs in b.items():
        ours = a[name]
        if ours.shape != theirs.shape:
            return float("inf")
        scale = max(float(np.abs(theirs).max()), 1e-30)
        worst = max(worst, float(np.abs(ours.astype(np.float64) - theirs).max()) / scale)
    return worst


def measure(network, threads, args, probe, folder):
    """One row: all engines in turn."""
    engines, times, results = {}, {}, {}
    starters = {"relayc": lambda: Relayc(args.relayc, network, threads, args.isa)}
    starters |= {name: lambda name=name: Peer(name, network, threads) for name in PEERS}
    for name, start in starters.items():
        times[name] = Times()
        try:
            engines[name] = start()
            path = folder / f"{network.name}.{name}.npz"
            engines[name].save(path)
            results[name] = dict(np.load(path))
        except RuntimeError as reason:
            times[name].failure = str(reason)
            engines.pop(name, None)
    probe.measure(threads)
    quiet = []
    for _ in range(args.rounds):
        rates = [probe.measure(threads)]
        for name, engine in list(engines.items()):
            try:
                burst = engine.burst(args.seconds)
            except (RuntimeError, json.JSONDecodeError) as reason:
                times[name].failure = str(reason)
                engines.pop(name)
                continue
            times[name].bursts.append(burst)
            rates.append(probe.measure(threads))
        quiet.append(min(rates) >= UNDISTURBED * max(rates))
    for name, engine in engines.items():
        times[name].ready_s = engine.ready_s
        engine.stop()
    if "relayc" in engines and engines["relayc"].fallbacks:
        times["relayc"].failure = "without a kernel: " + ", ".join(engines["relayc"].fallbacks)
    reference = results.get("onnxruntime")
    differences = {name: difference(found, reference) for name, found in results.items() if reference and name != "onnxruntime"}
    return {"network": network.name, "threads": threads, "differences": differences, "times": times, "quiet": quiet}


def report(row, by):
    """A row as JSON: times, and the median of relayc's over those of the peers, round by round; by the median or by the least time of a
    call."""
    times = {name: found.summary(row["quiet"]) for name, found in row["times"].items()}
    rounds = [at for at, counts in enumerate(row["quiet"]) if counts] or list(range(len(row["quiet"])))

    def ratio(name):
        ours, theirs = (row["times"][engine].bursts for engine in ["relayc", name])
        both = [at for at in rounds if at < min(len(ours), len(theirs))]
        return statistics.median(ours[at][by] / theirs[at][by] for at in both) if both else None

    ratios = {name: found for name in PEERS if (found := ratio(name)) is not None}
    failures = {name: found.failure for name, found in row["times"].items() if found.failure}
    return {"network": row["network"], "threads": row["threads"], "by": by, "times": times, "ratios": ratios,
            "differences": row["differences"], "failures": failures}


def table(rows):
    """The rows as text: ms, ratios, differences from ONNX Runtime, and how many bursts counted."""
    def time(row, name):
        found = row["times"][name]
        return "-" if found is None else f"{found[row['by']]:.3f}{'' if found['kept'] else '!'}"

    def ratio(row, name):
        return f"{row['ratios'][name]:.2f}" if name in row["ratios"] else "-"

    def differs(row, name):
        return f"{row['differences'][name]:.0e}" if name in row["differences"] else "-"

    def kept(row):
        counts = [f"{found['kept']}/{found['bursts']}" if found else "-" for found in row["times"].values()]
        return " ".join(counts)

    head = ["network", "threads", "relayc ms", "OpenVINO ms", "ORT ms", "/OpenVINO", "/ORT", "diff relayc", "diff OpenVINO", "bursts kept"]
    lines = [[row["network"], str(row["threads"]), *(time(row, name) for name in ["relayc", *PEERS]),
              *(ratio(row, name) for name in PEERS), differs(row, "relayc"), differs(row, "openvino"), kept(row)] for row in rows]
    widths = [max(len(line[i]) for line in [head, *lines]) for i in range(len(head))]

    def text(line):
        return "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |"

    return "\n".join([text(head), "|" + "|".join("-" * (width + 2) for width in widths) + "|", *map(text, lines)])


def about(args, probe):
    """The machine, the versions and how it was measured."""
    cpu = [line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    models = [line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model\t")]
    version = subprocess.run([args.relayc, "--version"], capture_output=True, text=True).stdout.strip()
    from importlib.metadata import version as of
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "cpu": f"{cpu[0]} (model {models[0]}), {os.cpu_count()} cores" if cpu and models else platform.machine(),
        "versions": {"relayc": version, **{name: of(name) for name in PEERS}},
        "isa": args.isa,
        "rounds": args.rounds,
        "by": args.by,
        "seconds": args.seconds,
        "probe_gflops": {str(threads): best for threads, best in probe.best.items()},
    }


def record(facts, rows):
    path = HERE / "RESULTS.md"
    text = path.read_text() if path.exists() else "# Results\n\nWhat `peers.py --record` found, the newest last; README.md says what the columns are.\n"
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    probe = ", ".join(f"{rate:.0f} GFLOP/s on {threads}" for threads, rate in facts["probe_gflops"].items())
    isa = f"; relayc for {facts['isa']}" if facts["isa"] else ""
    text += f"\n## {facts['date']}\n\n{facts['cpu']}; probe {probe}; {versions}{isa}; {facts['rounds']} rounds, {facts['by']}.\n\n{table(rows)}\n"
    path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", default=",".join(NETWORKS), help="which, separated by commas")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=10, help="how many bursts of each engine")
    parser.add_argument("--seconds", type=float, default=0.5, help="how long a burst of a peer is")
    parser.add_argument("--by", choices=["p50_ms", "min_ms"], default="p50_ms", help="which time of a call is shown and compared")
    parser.add_argument("--isa", help="sets RELAYC_ISA, for relayc only")
    parser.add_argument("--relayc", default=str(ROOT / "target" / "release" / "relayc"))
    parser.add_argument("--json", type=pathlib.Path, help="write all numbers to this file")
    parser.add_argument("--record", action="store_true", help="append the table to RESULTS.md")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    unknown = [name for name in args.networks.split(",") if name not in NETWORKS]
    if unknown:
        parser.error(f"no network {', '.join(unknown)}: there are {', '.join(NETWORKS)}")
    folder = ROOT / "target" / "peers-bench" / "networks"
    folder.mkdir(parents=True, exist_ok=True)
    probe = Probe(folder)
    rows = []
    for name in args.networks.split(","):
        network = prepare(name, args.relayc, folder, args.seed)
        onnx.checker.check_model(str(network.model), full_check=True)
        for threads in map(int, args.threads.split(",")):
            rows.append(measure(network, threads, args, probe, folder))
            print(table([report(rows[-1], args.by)]).splitlines()[-1], file=sys.stderr, flush=True)
    rows = [report(row, args.by) for row in rows]
    facts = about(args, probe)
    print(table(rows))
    for row in rows:
        for engine, reason in row["failures"].items():
            print(f"{row['network']}, {row['threads']} threads: {engine}: {reason}")
    if args.json:
        args.json.write_text(json.dumps({"schema": "relayc.peers/1", **facts, "rows": rows}, indent=1) + "\n")
    if args.record:
        record(facts, rows)
    wrong = [row for row in rows for found in row["differences"].values() if not found <= 1e-3]
    failed = [row for row in rows if row["times"]["relayc"] is None]
    return 1 if wrong or failed else 0


if __name__ == "__main__":
    sys.exit(main())
