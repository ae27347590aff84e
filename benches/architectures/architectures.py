#!/usr/bin/env python3
"""Holds relayc to ONNX Runtime on the architectures of `models.py`, as torch exports them: static, and with open sizes.

    benches/architectures/architectures.py                       # everything that was not done before
    benches/architectures/architectures.py --only bert,unet --stages import,agree
    benches/architectures/architectures.py --record              # writes what is known to RESULTS.md

It goes on where it was stopped: `target/architectures/state.json` keeps what was found. README.md says what each stage does.
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent / "peers"), str(HERE.parent.parent / "tests" / "peers")]
import environment  # noqa: E402

ROOT = environment.ROOT
environment.enter("peers-bench", ["numpy==2.4.6", "onnx==1.23.2", "onnxruntime==1.31.1", "openvino==2026.4.1"])
import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402

FOLDER = ROOT / "target" / "architectures"
RESULTS = HERE / "RESULTS.md"
# The stages, by the columns that show them.
COLUMNS = {"imported": "import", "compiled": "agree", "interpreted": "interpret", "artifact / weights": "build", "exported again": "export",
           "time": "time"}
STAGES = list(COLUMNS.values())
FORMS = ["static", "open"]
# The bound for a result's error over its largest number. A model on which ONNX Runtime itself is farther than that from float64 is
# ill-conditioned.
BOUND = 1e-5
# What takes longer is named as not finished.
LIMIT_S = 600
# In so many rounds, every engine runs for so long in turn. An engine's time is the least of its rounds' medians: what disturbs only
# ever slows, and the host of a virtual machine may have two of its processors on one core for seconds.
ROUNDS = 5
BURST_S = 0.4
THREADS = [1, 2]
# The batch of the open form; its other sizes, and the static form, are the first ones.
BATCH = 8
# The exporter of torch 1.13, of Debian, and what has the models.
TORCH = ["--no-deps", "transformers==4.30.2", "timm==0.9.2", "huggingface_hub==0.16.4", "safetensors==0.3.1", "tokenizers==0.13.3",
         "filelock==3.16.1", "PyYAML==6.0.2", "requests==2.32.3", "regex==2024.11.6", "tqdm==4.67.1", "packaging==24.2", "fsspec==2024.10.0",
         "typing_extensions==4.12.2", "urllib3==2.2.3", "idna==3.10", "certifi==2024.8.30", "charset-normalizer==3.4.0"]


class Failed(Exception):
    """Why a stage did not succeed, in a line."""


def command(*words):
    """What a command wrote. Raises `Failed` with the first line of its errors."""
    try:
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        raise Failed(f"not finished after {LIMIT_S} s") from None
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        note = next((line.strip() for line in lines if line.strip().startswith("= note")), "")
        raise Failed(f"{lines[0]} {note}".strip().replace(f"{ROOT}/", "")[:300])
    return done.stdout


def difference(found, wanted):
    """The largest difference of results in order, each over the largest number of the wanted one; infinite for another shape."""
    if len(found) != len(wanted):
        return float("inf")
    worst = 0.0
    for ours, theirs in zip(found, wanted):
        if ours.shape != theirs.shape:
            return float("inf")
        if theirs.size:
            scale = max(float(np.abs(theirs.astype(np.float64)).max()), 1e-30)
            worst = max(worst, float(np.abs(ours.astype(np.float64) - theirs.astype(np.float64)).max()) / scale)
    return worst


def results(path):
    return list(np.load(path).values())


class Model:
    """An exported model in one form, and its files."""

    def __init__(self, name, form, relayc):
        self.name, self.form, self.relayc = name, form, relayc
        self.onnx = FOLDER / f"{name}.{form}.onnx"
        self.text = FOLDER / f"{name}.{form}.relay"
        self.weights = FOLDER / f"{name}.{form}.params"
        self.turns = range(3 if form == "open" else 1)

    def inputs(self, turn):
        return FOLDER / f"{self.name}.{turn}.npz"

    def peer(self, turn, onnx=None):
        """What ONNX Runtime computes; the results of the exported model are kept."""
        kept = FOLDER / f"{self.name}.{self.form}.{turn}.ort.npz"
        if onnx is None and kept.exists():
            return results(kept)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        try:
            session = onnxruntime.InferenceSession(str(onnx or self.onnx), options, providers=["CPUExecutionProvider"])
            given = dict(np.load(self.inputs(turn)))
            wanted = {one.name for one in session.get_inputs()}
            found = session.run(None, {name: array for name, array in given.items() if name in wanted})
        except Exception as error:  # noqa: BLE001: whatever it says
            raise Failed(f"ONNX Runtime: {error}".splitlines()[0][:300]) from None
        if onnx is None:
            np.savez(kept, *found)
        return found

    def taken(self):
        """The sizes at which ONNX Runtime computes the exported model; torch may have written the first ones into it."""
        taken = []
        for turn in self.turns:
            try:
                self.peer(turn)
                taken.append(turn)
            except Failed as reason:
                why = reason
        if not taken:
            raise why
        return taken

    def run(self, turn, engine, program=None):
        out = FOLDER / f"{self.name}.{engine}.out.npz"
        files = [program] if program else [self.text, "--params", self.weights, "--engine", engine]
        command(self.relayc, "run", "--quiet", *files, "--inputs", self.inputs(turn), "--outputs", out)
        found = results(out)
        out.unlink()
        return found


def stage_import(model):
    start = time.perf_counter()
    command(model.relayc, "import", model.onnx, "-o", model.text, "--params", model.weights)
    return {"seconds": round(time.perf_counter() - start, 2)}


def held(model, turn, found, engine):
    """The errors of a result, beside ONNX Runtime and float64."""
    wanted = model.peer(turn)
    errors = {"ort": difference(found, wanted)}
    exact = FOLDER / f"{model.name}.{turn}.f64.npz"
    if exact.exists():
        exact = results(exact)
        errors |= {"f64": difference(found, exact), "ort_f64": difference(wanted, exact)}
    ill = errors.get("ort_f64", 0.0) > BOUND
    if not errors["ort"] <= BOUND and not (ill and np.isfinite(errors["ort"])):
        raise Failed(f"{engine}, sizes {turn}: " + ", ".join(f"{key} {value:.1e}" for key, value in errors.items()))
    return errors


def worst(all_errors):
    return {key: max(errors[key] for errors in all_errors if key in errors) for key in all_errors[0]}


def stage_agree(model):
    taken = model.taken()
    errors = worst([held(model, turn, model.run(turn, "jit"), "jit") for turn in taken])
    return errors | ({"refused": len(model.turns) - len(taken)} if len(taken) < len(model.turns) else {})


def stage_interpret(model):
    turn = model.taken()[-1]
    return held(model, turn, model.run(turn, "interp"), "interp")


def sizes(model):
    """`--set` for each open dimension of the first sizes."""
    session = onnxruntime.InferenceSession(str(model.onnx), providers=["CPUExecutionProvider"])
    given = np.load(model.inputs(0))
    named = {dim: size for one in session.get_inputs() for dim, size in zip(one.shape, given[one.name].shape) if isinstance(dim, str)}
    return [word for dim, size in named.items() for word in ["--set", f"{dim}={size}"]]


def stage_build(model):
    """An artifact, for the first sizes, gives what `run` gives, bit for bit."""
    artifact = FOLDER / f"{model.name}.so"
    try:
        command(model.relayc, "build", model.text, "--params", model.weights, *sizes(model), "-o", artifact)
        found, wanted = model.run(0, "artifact", artifact), model.run(0, "jit")
        if any(ours.tobytes() != theirs.tobytes() for ours, theirs in zip(found, wanted)):
            raise Failed(f"the artifact differs by {difference(found, wanted):.1e}")
        return {"over_weights": round(artifact.stat().st_size / max(model.weights.stat().st_size, 1), 2)}
    finally:
        for written in FOLDER.glob(f"{model.name}.so*"):
            written.unlink()
        (FOLDER / f"{model.name}.h").unlink(missing_ok=True)


def stage_export(model):
    """The program goes out as ONNX, and ONNX Runtime computes from it what it computes from torch's model."""
    again = FOLDER / f"{model.name}.again.onnx"
    try:
        command(model.relayc, "export", model.text, "--params", model.weights, "--to", "onnx", "-o", again)
        return worst([held(model, turn, model.peer(turn, again), "exported") for turn in model.taken()])
    finally:
        again.unlink(missing_ok=True)


def inputs_of_time(model):
    """The inputs of the first sizes, the open form's repeated to a batch."""
    given = dict(np.load(model.inputs(0)))
    if model.form == "static":
        return given
    session = onnxruntime.InferenceSession(str(model.onnx), providers=["CPUExecutionProvider"])
    for one in session.get_inputs():
        times = [BATCH if dim == "batch" else 1 for dim in one.shape]
        given[one.name] = np.tile(given[one.name], times)
    return given


def burst(words):
    """What `relayc bench --json` says."""
    return json.loads(command(*words))


def stage_time(model):
    """Milliseconds beside the peers, in rounds, on each number of threads; the ratio is that to the faster peer."""
    inputs = FOLDER / f"{model.name}.{model.form}.time.npz"
    np.savez(inputs, **inputs_of_time(model))
    found = {}
    words = [model.text, "--params", model.weights, "--inputs", inputs, "--json"]
    try:
        profile = json.loads(command(model.relayc, "profile", *words, "--threads", 1))
        # Of a program that branches, each subgraph has groups.
        groups = [group for part in profile.get("subgraphs", [profile]) for group in part["groups"]]
        flops = sum(group["flops"] or 0 for group in groups)
        for threads in THREADS:
            engines = {engine: Engine(engine, model.onnx, inputs, threads) for engine in ["onnxruntime", "openvino"]}
            rounds, probes = [], []
            try:
                for _ in range(ROUNDS):
                    ours = burst([model.relayc, "bench", *words, "--threads", threads, "--seconds", BURST_S])
                    probes.append(ours["probe"]["gflops"])
                    times = {"relayc": ours["p50_ms"]}
                    for engine, process in engines.items():
                        times[engine] = process.burst(BURST_S)
                    rounds.append(times)
            finally:
                for process in engines.values():
                    process.stop()
            times = {engine: round(min(one[engine] for one in rounds), 4) for engine in rounds[0]}
            peers = [time for engine, time in times.items() if engine != "relayc" and np.isfinite(time)]
            if not peers:
                raise Failed("no peer runs it")
            at_peak = flops / max(probes) / 1e6 / min(peers)
            found[f"{threads}"] = times | {"ratio": round(times["relayc"] / min(peers), 3), "at_peak": round(at_peak, 3)}
    finally:
        inputs.unlink()
    return {"times": found, "isa": ours["isa"]}


class Engine:
    """A peer in a process of its own; infinitely slow where it does not run the model."""

    def __init__(self, engine, onnx, inputs, threads):
        words = [sys.executable, str(HERE.parent / "peers" / "engines.py"), engine, str(onnx), str(inputs), str(threads)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.runs = bool(self.process.stdout.readline())

    def burst(self, seconds):
        if not self.runs:
            return float("inf")
        self.process.stdin.write(f"burst {seconds}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        return json.loads(line)["p50_ms"] if line else float("inf")

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def export_all(names):
    """Exports what is not there yet, and says why a model has none."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    if any(not (FOLDER / f"{name}.exported").exists() for name in names):
        system = "/usr/bin/python3"
        if subprocess.run([system, "-c", "import torch, torchvision"], capture_output=True).returncode != 0:
            sys.exit("torch 1.13 is not there: apt-get install python3-torch python3-torchvision")
        python = environment.make("architectures-torch", TORCH, system, "--system-site-packages")
        subprocess.run([python, HERE / "export.py", FOLDER, *names], check=True)
    return {name: json.loads((FOLDER / f"{name}.exported").read_text()) for name in names}


def known_names():
    """The names, from an environment without torch: `models.py` imports it, so they are asked for."""
    listed = FOLDER / "names.json"
    FOLDER.mkdir(parents=True, exist_ok=True)
    python = environment.make("architectures-torch", TORCH, "/usr/bin/python3", "--system-site-packages")
    found = subprocess.run([python, "-c", "import models, json; print(json.dumps(list(models.architectures())))"], cwd=HERE,
                           capture_output=True, text=True, check=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    listed.write_text(found.stdout)
    return json.loads(found.stdout)


def shown(found):
    """A stage's outcome in a cell."""
    if found is None:
        return "-"
    if "failure" in found:
        return "**no**"
    if "over_weights" in found:
        return f"{found['over_weights']:.2f}"
    if "seconds" in found:
        return "yes"
    if "times" in found:
        return ", ".join(f"{one['ratio']:.2f}" for one in found["times"].values())
    ill = " (ill)" if found["ort"] > BOUND else ""
    return f"{found['ort']:.0e}{ill}"


def today():
    return f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}"


def recorded():
    """The rows of RESULTS.md by `name/form`, each a cell by column, and its lists of what failed by their first word; empty without it."""
    if not RESULTS.exists():
        return {}, {}
    rows, lists = {}, {}
    table, *sections = RESULTS.read_text().split("\n## ")
    for line in "".join(sections).splitlines():
        if line.startswith("- "):
            lists[line.removeprefix("- ").split(":")[0]] = line
    head, _, *lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("| ")]
    for cells in lines:
        rows["/".join(cells[:2])] = dict(zip(head, cells))
    return rows, lists


def cells_of(found):
    """What the state knows of a row, by column."""
    cells = {column: shown(found[stage]) for column, stage in COLUMNS.items() if stage in found}
    agreed = found.get("agree") or {}
    cells |= {column: f"{agreed[key]:.0e}" for column, key in [("float64: relayc", "f64"), ("float64: ORT", "ort_f64")] if key in agreed}
    at_peak = [one["at_peak"] for one in found.get("time", {}).get("times", {}).values() if "at_peak" in one]
    if at_peak:
        cells["at the peak"] = ", ".join(f"{one:.2f}" for one in at_peak)
    if found.get("time", {}).get("isa"):
        cells["isa"] = found["time"]["isa"]
    return cells | {"day": found["day"]} if "day" in found else cells


def record(state, relayc):
    """Writes what is known: the state, and of what it does not know what RESULTS.md says."""
    version = subprocess.run([relayc, "--version"], capture_output=True, text=True).stdout.strip()
    cpu = next((line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                if line.startswith("model name")), "")
    rows, lists = recorded()
    failures = {key: line for key, line in lists.items() if "torch does not export it" in line or ", " in key}
    refused = {key: line for key, line in lists.items() if key not in failures}
    for key in [key for key in state if "/" in key]:
        name, form = key.split("/")
        rows[key] = rows.get(key, {}) | {"architecture": name, "form": form} | cells_of(state[key])
        for stage in [stage for stage in STAGES if stage in state[key]]:
            failures.pop(f"{key}, {stage}", None)
            if "failure" in state[key][stage]:
                failures[f"{key}, {stage}"] = f"- {key}, {stage}: {state[key][stage]['failure']}"
        if "agree" in state[key]:
            refused.pop(key, None)
            if "refused" in state[key]["agree"]:
                refused[key] = f"- {key}: {state[key]['agree']['refused']} of 3"
    for name, why in state.get("not exported", {}).items():
        failures[name] = f"- {name}: torch does not export it: {why}"
    head = ["architecture", "form", *COLUMNS, "at the peak", "isa", "float64: relayc", "float64: ORT", "day"]
    known = {column: [row[column] for row in rows.values() if row.get(column, "-") != "-"] for column in COLUMNS}
    counts = [f"{column}: {sum(cell != shown({'failure': ''}) for cell in known[column])} of {len(known[column])}" for column in COLUMNS]
    ratios = {}
    for row in rows.values():
        for column in ["time", "at the peak"]:
            for threads, ratio in zip(THREADS, re.findall(r"\d+\.\d+", row.get(column, ""))):
                ratios.setdefault((row["form"], threads, column), []).append(float(ratio))
    for (form, threads, column), of in sorted(ratios.items(), key=str):
        what = "time over that of the faster peer" if column == "time" else "the same of direct sums at the machine's peak"
        counts.append(f"{what}, {form}, {threads} thread{'s' if threads != 1 else ''}: geometric mean {float(np.exp(np.mean(np.log(of)))):.2f} "
                      f"over {len(of)}, at most {max(of):.2f}")
    lines = [[rows[key].get(column, "-") for column in head] for key in sorted(rows)]
    table = [head, ["---"] * len(head), *lines]
    text = (f"# Results\n\nWhat `architectures.py --record` found; README.md says what the columns are.\n\n"
            f"{today()}, {cpu}; {version}; ONNX Runtime {onnxruntime.__version__}.\n\n"
            + "\n".join(f"- {count}" for count in counts) + "\n\n"
            + "\n".join("| " + " | ".join(line) + " |" for line in table) + "\n")
    if refused:
        text += "\n## Sizes that ONNX Runtime refuses of the exported model\n\n" + "\n".join(refused[key] for key in sorted(refused)) + "\n"
    if failures:
        text += "\n## Not done\n\n" + "\n".join(failures[key] for key in sorted(failures)) + "\n"
    RESULTS.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="which, separated by commas")
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--stages", default=",".join(STAGES))
    parser.add_argument("--relayc", default=str(ROOT / "target" / "release" / "relayc"))
    parser.add_argument("--again", action="store_true", help="do again what was done, and what failed")
    parser.add_argument("--failed", action="store_true", help="do again what failed")
    parser.add_argument("--record", action="store_true", help="write RESULTS.md and do nothing else")
    args = parser.parse_args()
    kept = FOLDER / "state.json"
    state = json.loads(kept.read_text()) if kept.exists() else {}
    if args.record:
        return record(state, args.relayc)
    names = known_names()
    if args.only:
        unknown = [name for name in args.only.split(",") if name not in names]
        if unknown:
            parser.error(f"no architecture {', '.join(unknown)}: there are {', '.join(names)}")
        names = args.only.split(",")
    not_exported = state.setdefault("not exported", {})
    for name in names:
        reason = export_all([name])[name]
        not_exported.pop(name, None)
        if reason:
            not_exported[name] = reason
            kept.write_text(json.dumps(state, indent=1))
        for form in args.forms.split(","):
            model = Model(name, form, args.relayc)
            if not model.onnx.exists():
                continue
            found = state.setdefault(f"{name}/{form}", {})
            for stage in args.stages.split(","):
                old = found.get(stage)
                if old is not None and not args.again and not (args.failed and "failure" in old):
                    continue
                try:
                    found[stage] = globals()[f"stage_{stage}"](model)
                except Failed as reason:
                    found[stage] = {"failure": str(reason)}
                found["day"] = today()
                kept.write_text(json.dumps(state, indent=1))
                print(f"{name}/{form} {stage}: {found[stage]}", flush=True)
                if stage == "import" and "failure" in found[stage]:
                    break


if __name__ == "__main__":
    main()
