#!/usr/bin/env python3
"""Runs the node tests of the `onnx` package through `relayc import` and `relayc run`, with both engines.

    tests/peers/onnx_nodes.py                         # all 1,168 cases
    tests/peers/onnx_nodes.py reduce_ softmax         # those whose name holds one of the words
    tests/peers/onnx_nodes.py --relayc target/debug/relayc --failed
    tests/peers/onnx_nodes.py --raise                 # keeps what passes in onnx-nodes.json

A case is a model with inputs and the outputs that the standard asks for; it passes where both engines give them within the
tests' own tolerance (rtol 1e-3, atol 1e-7; integers and bools exactly). Where an operator's axes or sizes are inputs of the model and
a program has to know them, they are given while importing (`-i NAME=SPEC`), and the case is counted with those. A model that the importer refuses counts as not supported,
with its reason; everything else that does not pass is a failure. `onnx-nodes.json` holds the cases that passed before: the exit
code is 1 where one of them does not any more.
"""
import argparse
import collections
import json
import multiprocessing
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
import environment  # noqa: E402

# The last release of the package whose wheel has the cases.
environment.enter("onnx-nodes", ["numpy==1.26.4", "onnx==1.14.1", "protobuf==4.25.3"])

import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import numpy_helper  # noqa: E402

CASES = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "node"
KEPT = HERE / "onnx-nodes.json"
SECONDS = 120

# What becomes of a case.
PASSED, UNSUPPORTED, FAILED, WRONG = "passed", "unsupported", "failed", "wrong itself"

# Cases that contradict the standard or themselves.
OTHER_SHAPE = "`like` has one element in the data and the shape (3, 4) in the model"
CONTRADICTIONS = {
    "test_cast_FLOAT_to_BFLOAT16": "it cuts off bits where the standard rounds to the nearest",
    "test_castlike_BFLOAT16_to_FLOAT": OTHER_SHAPE,
    "test_castlike_BFLOAT16_to_FLOAT_expanded": OTHER_SHAPE,
    "test_castlike_FLOAT_to_BFLOAT16": OTHER_SHAPE,
    "test_castlike_FLOAT_to_BFLOAT16_expanded": OTHER_SHAPE,
}


def operators(graph, found=None):
    """How often each operator occurs in a graph and those inside it."""
    found = collections.Counter() if found is None else found
    for node in graph.node:
        found[node.op_type] += 1
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs] if attribute.type in (5, 10) else []:
                operators(inner, found)
    return found


def tested(name, model):
    """The operator a case is about: that of its node, for a decomposition the one it is of."""
    nodes = model.graph.node
    if len(nodes) == 1:
        return nodes[0].op_type
    return re.sub(r"^test_|_expanded.*$", "", name).split("_")[0] + " (graph)"


def value(path, kind):
    """The tensor of a file; none where it is no tensor."""
    if kind.WhichOneof("value") != "tensor_type":
        return None
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return tensor


def array(tensor, kind):
    """A tensor for an .npz file, where bfloat16 is two raw bytes. The cases have its bits as uint16, whatever the model says."""
    if kind.tensor_type.elem_type == onnx.TensorProto.BFLOAT16:
        if tensor.data_type == onnx.TensorProto.BFLOAT16:
            bits = (numpy_helper.to_array(tensor).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        else:
            bits = numpy_helper.to_array(tensor)
        return bits.view("V2")
    found = numpy_helper.to_array(tensor)
    return found if found.dtype.kind in "biufV" else None


def widened(found):
    """As numbers that NumPy can compare."""
    return (found.view(np.uint16).astype(np.uint32) << 16).view(np.float32) if found.dtype.kind == "V" else found


def difference(wanted, found):
    """What is wrong with a result, if anything."""
    if wanted.dtype != found.dtype:
        return f"dtype {found.dtype}, not {wanted.dtype}"
    if wanted.shape != found.shape:
        return f"shape {found.shape}, not {wanted.shape}"
    wanted, found = widened(wanted), widened(found)
    if wanted.dtype.kind in "biu":
        wrong = np.count_nonzero(wanted != found)
        return f"{wrong} of {wanted.size} numbers differ" if wrong else None
    with np.errstate(all="ignore"):
        right = np.isclose(found.astype(np.float64), wanted.astype(np.float64), rtol=1e-3, atol=1e-7, equal_nan=True)
    if right.all():
        return None
    at = tuple(int(i) for i in np.argwhere(~right)[0])
    return f"{np.count_nonzero(~right)} of {wanted.size} numbers differ, the first at {at}: {found[at]}, not {wanted[at]}"


def call(command, folder):
    """The exit code and the words of a process."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, cwd=folder)
    except subprocess.TimeoutExpired:
        return -1, f"more than {SECONDS} seconds"
    return done.returncode, done.stderr.strip()


def words(text):
    """The message of a diagnostic, in a line."""
    lines = [line for line in text.splitlines() if line.startswith("error")] or text.splitlines()[-1:]
    notes = [line.split("= note: ")[1] for line in text.splitlines() if "= note: " in line]
    return "; ".join([*lines[:1], *notes[:3]])


def data_sets(case, model):
    """Inputs and outputs of each data set of a case, or why there are none."""
    taken = {tensor.name for tensor in model.graph.initializer}
    inputs = [one for one in model.graph.input if one.name not in taken]
    for folder in sorted(case.glob("test_data_set_*")):
        sides = []
        for side, kinds in ("input", inputs), ("output", model.graph.output):
            arrays = []
            for i, kind in enumerate(kinds):
                tensor = value(folder / f"{side}_{i}.pb", kind.type)
                found = None if tensor is None else array(tensor, kind.type)
                if found is None:
                    raise ValueError(f"{kind.name} is {kind.type.WhichOneof('value') if tensor is None else 'a tensor of words'}")
                arrays.append(found)
            sides.append(arrays)
        yield sides


def parameters(text):
    """The names of the parameters of `@main`, in their order."""
    start = text.index("def @main(") + len("def @main(")
    depth, head = 1, []
    for char in text[start:]:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(char, 0)
        if depth == 0:
            break
        head.append(char)
    return re.findall(r"%([A-Za-z0-9_.]+)\s*[:,]", "".join(head) + ",")


def imported(case, relayc, folder, given):
    """Imports the model of a case with some inputs given as constants: nothing, or what becomes of the case and why."""
    constants = [word for name in given for word in ("-i", f"{name}=@in.npz:{name}")]
    code, said = call([relayc, "import", str(case / "model.onnx"), "-o", "net.relay", "--params", "net.params", *constants,
                       "--message-format", "plain"], folder)
    if code == 0:
        return None
    return (UNSUPPORTED if code == 2 and "E0715" in said else FAILED), words(said)


def attempt(case, relayc, folder):
    """What becomes of a case, and why."""
    model = onnx.load(case / "model.onnx")
    folder = pathlib.Path(folder)
    taken = {tensor.name for tensor in model.graph.initializer}
    inputs = [one.name for one in model.graph.input if one.name not in taken]
    try:
        sets = list(data_sets(case, model))
    except ValueError as reason:
        stopped = imported(case, relayc, folder, [])
        return stopped or (FAILED, f"the importer takes it, but {reason}")
    if not sets:
        return FAILED, "no data"
    given = []
    stopped = imported(case, relayc, folder, [])
    # Axes, sizes and the like are operands that a program has to know beforehand: first all but the data, then all.
    for more in inputs[1:], inputs:
        if stopped is None or "only a run knows" not in stopped[1]:
            break
        np.savez(folder / "in.npz", **dict(zip(inputs, sets[0][0])))
        given, stopped = more, imported(case, relayc, folder, more)
    if stopped:
        return stopped
    weights = ["--params", "net.params"] if (folder / "net.params").exists() else []
    names = parameters((folder / "net.relay").read_text())
    for arrays, outputs in sets:
        free = [one for name, one in zip(inputs, arrays) if name not in given]
        np.savez(folder / "in.npz", **dict(zip(names, free)))
        for engine in "jit", "interp":
            code, said = call([relayc, "run", "net.relay", *weights, "--inputs", "in.npz", "--outputs", "out.npz",
                               "--engine", engine, "--message-format", "plain"], folder)
            if code != 0:
                return FAILED, f"{engine}: {words(said)}"
            with np.load(folder / "out.npz") as results:
                if len(results.files) != len(outputs):
                    return FAILED, f"{engine}: {len(results.files)} results"
                for name, wanted in zip(results.files, outputs):
                    wrong = difference(wanted, results[name])
                    if wrong:
                        return FAILED, f"{engine}: {name}: {wrong}"
    return PASSED, f"given {', '.join(given)}" if given else ""


def run(task):
    """A case in a folder of its own."""
    case, relayc, keep = task
    with tempfile.TemporaryDirectory() as folder:
        if keep:
            folder = keep / case.name
            folder.mkdir(parents=True, exist_ok=True)
        try:
            outcome, reason = attempt(case, relayc, folder)
        except Exception as error:  # A case that cannot be read is to be seen, and not to end the others.
            outcome, reason = FAILED, f"{type(error).__name__}: {error}"
    if outcome == FAILED and case.name in CONTRADICTIONS:
        outcome, reason = WRONG, CONTRADICTIONS[case.name]
    model = onnx.load(case / "model.onnx")
    return case.name, tested(case.name, model), dict(operators(model.graph)), outcome, reason


def table(results, show_failed):
    by_op = collections.defaultdict(list)
    for name, operator, _, outcome, reason in results:
        by_op[operator].append((name, outcome, reason))
    print(f"{'operator':32} {'cases':>5} {'passed':>6} {'failed':>6} {'not supported':>13}")
    for operator, cases in sorted(by_op.items(), key=lambda item: item[0].lower()):
        counts = collections.Counter(outcome for _, outcome, _ in cases)
        row = f"{operator:32} {len(cases):5} {counts[PASSED]:6} {counts[FAILED]:6} {counts[UNSUPPORTED]:13}"
        reasons = sorted({reason for _, outcome, reason in cases if outcome == UNSUPPORTED})
        print(row + (f"  {reasons[0][:150]}" if reasons else ""))
        for name, outcome, reason in cases:
            if outcome == FAILED and show_failed:
                print(f"    {name}: {reason}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--relayc", default=str(environment.ROOT / "target" / "release" / "relayc"))
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--failed", action="store_true", help="show each failure")
    parser.add_argument("--json", type=pathlib.Path, help="write all outcomes to a file")
    parser.add_argument("--keep", type=pathlib.Path, help="keep the files of each case below a folder")
    parser.add_argument("--raise", dest="raised", action="store_true", help="keep what passes as what is to pass")
    args = parser.parse_args()
    relayc = str(pathlib.Path(args.relayc).resolve())
    keep = args.keep and args.keep.resolve()
    cases = [case for case in sorted(CASES.iterdir()) if not args.words or any(word in case.name for word in args.words)]
    with multiprocessing.Pool(args.jobs) as pool:
        results = list(pool.imap(run, [(case, relayc, keep) for case in cases], chunksize=4))
    table(results, args.failed)
    counts = collections.Counter(outcome for _, _, _, outcome, _ in results)
    n_given = sum(reason.startswith("given") for _, _, _, outcome, reason in results if outcome == PASSED)
    print(f"\n{len(results)} cases: {counts[PASSED]} passed ({n_given} of them with inputs given while importing), "
          f"{counts[FAILED]} failed, {counts[UNSUPPORTED]} not supported, {counts[WRONG]} wrong themselves")
    if args.json:
        keys = ("case", "operator", "operators", "outcome", "reason")
        args.json.write_text(json.dumps([dict(zip(keys, result)) for result in results], indent=1) + "\n")
    passed = {name for name, _, _, outcome, _ in results if outcome == PASSED}
    before = set(json.loads(KEPT.read_text())["passed"]) if KEPT.exists() else set()
    lost = sorted((before & {case.name for case in cases}) - passed)
    for name in lost:
        print(f"passed before: {name}")
    if args.raised and not lost:
        kept = sorted(before | passed)
        KEPT.write_text(json.dumps({"onnx": onnx.__version__, "count": len(kept), "passed": kept}, indent=1) + "\n")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
