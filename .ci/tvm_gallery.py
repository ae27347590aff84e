#!/usr/bin/env python3
"""Runs scripts of TVM's gallery under `python -m relayc` and checks what they compute.

    .ci/tvm_gallery.py --tvm ~/tvm                all scripts
    .ci/tvm_gallery.py --tvm ~/tvm quick_start    those whose names have that word

The checkout of TVM is at v0.14.0 and stays as it is. Each script is changed as `SCRIPTS`
says, each change for a stated reason, and gets a check at its end; the diff is shown.
The rest runs as it stands. What scripts download is made here (`tvm_gallery_files.py`).

Needs relayc, onnx, onnxruntime, scipy, Pillow and matplotlib in the Python that runs it.
"""

from __future__ import annotations

import argparse
import difflib
import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import time
from dataclasses import dataclass, field
from typing import Dict, Iterator, Tuple

import tvm_gallery_files

HERE = pathlib.Path(__file__).resolve().parent


@dataclass(frozen=True)
class Change:
    """Replaces the one place where a pattern matches (`re.MULTILINE`)."""

    why: str
    pattern: str
    text: str

    def apply(self, source: str) -> str:
        """The changed source. Raises ValueError if the pattern does not match once."""
        result, count = re.subn(self.pattern, lambda _: self.text, source, flags=re.MULTILINE)
        if count != 1:
            raise ValueError(f"{self.why}: /{self.pattern}/ matches {count} times")
        return result


@dataclass(frozen=True)
class Script:
    """A script of the gallery: what is changed, what is checked at its end, and how often words occur in what it prints."""

    path: str
    check: str = ""
    printed: Dict[str, int] = field(default_factory=dict)
    changes: Tuple[Change, ...] = ()
    variant: str = ""

    @property
    def name(self) -> str:
        return pathlib.Path(self.path).stem + (f" ({self.variant})" if self.variant else "")

    def source(self, tvm: pathlib.Path) -> Tuple[str, str]:
        """The script as it is and as it is run."""
        original = source = (tvm / "gallery" / self.path).read_text()
        for change in self.changes:
            source = change.apply(source)
        if self.check:
            source += "\n# The check.\n" + textwrap.dedent(self.check).lstrip("\n")
        return original, source


#: What the machine code and the reference interpreter compute of one input.
AGAINST_INTERPRETER = """
reference = relay.create_executor("debug", mod, tvm.cpu(), "llvm", params).evaluate()(data).numpy()
assert reference.std() > 1e-5
tvm.testing.assert_allclose(out, reference, rtol=1e-4)
print("scores as the interpreter's")
"""

TO_LLVM = (
    Change("the target is the CPU", r"tvm\.target\.cuda\(\)", '"llvm"'),
    Change("and so is the device", r"tvm\.cuda\(\)", "tvm.cpu()"),
)

SCRIPTS = (
    Script(
        "tutorial/relay_quick_start.py",
        changes=TO_LLVM,
        check=AGAINST_INTERPRETER,
        printed={"['deploy_lib.tar']": 1, "def @main(%data: Tensor[(1, 3, 224, 224), float32]": 1},
    ),
    Script(
        "tutorial/relay_quick_start.py",
        variant="mobilenet with target_host",
        changes=(
            *TO_LLVM,
            Change("another network", r"testing\.resnet\.get_workload", "testing.mobilenet.get_workload"),
            Change("it has no number of layers", r"num_layers=18, ", ""),
            Change(
                "the scores of its first weights differ by less than float32 holds",
                r"(?=^print\(mod\.astext)",
                'params = {n: tvm.nd.array(p.numpy() * (0.05 if "moving_var" in n else 1)) for n, p in params.items()}\n',
            ),
            Change("a host as scripts name it", r"relay\.build\(mod, target, ", 'relay.build(mod, target, target_host="llvm", '),
        ),
        check=AGAINST_INTERPRETER,
        printed={"['deploy_lib.tar']": 1, "groups=512": 6},
    ),
    Script(
        "how_to/work_with_relay/using_relay_viz.py",
        # Three drawings. The last has a second node for each of the five variables.
        printed={"@main": 3, "@AddFunc(": 3, "double AwesomeVar": 5, "AwesomeVar name_hint": 10},
    ),
    Script(
        "how_to/work_with_relay/build_gcn.py",
        changes=(
            Change(
                "DGL, PyTorch and their data set: a random graph and NumPy",
                r"(?s)^import torch$.*?(?=^from tvm import relay$)",
                textwrap.dedent(
                    """\
                    from collections import namedtuple
                    from tvm_gallery_files import GCN, random_graph

                    num_layers, num_hidden, infeat_dim, num_classes = 1, 16, 1433, 7
                    dgl_g = random_graph(nodes=2708, edges=5278, features=infeat_dim)
                    features = dgl_g.ndata["feat"]
                    torch_model = GCN(dgl_g, infeat_dim, num_hidden, num_classes)
                    logits_torch = torch_model(features)
                    assert len(set(logits_torch.argmax(axis=1))) > 1


                    def evaluate(g, logits):
                        return (logits.argmax(axis=1) == logits_torch.argmax(axis=1)).mean()


                    """
                ),
            ),
            Change("not needed", r"^import networkx as nx\n(?=\n\n+def prepare)", ""),
            Change("arrays are NumPy's", r"(?<=ndata\[\"feat\"\])\.numpy\(\)", ""),
            Change("the graph has its matrix", r"^    nx_graph = .*\n    adjacency = .*$", "    adjacency = g.adjacency"),
            Change(
                "the weights are NumPy's",
                r"^model_params = \{\}\n(for param_tensor .*\n.*\n)",
                "model_params = torch_model.weights\n",
            ),
        ),
        printed={"Test accuracy of TVM results: 100.00%": 1},
    ),
    Script(
        "how_to/extend_tvm/use_pass_infra.py",
        changes=(Change("values in place of memory as it was found", r"np\.empty\(shape\)", "np.full(shape, 0.5)"),),
        check="""
        def answer(mod):
            return relay.create_executor("debug", mod, tvm.cpu(), "llvm").evaluate()(x, weight).numpy()


        x, weight = (np.random.uniform(-1, 1, shape).astype("float32") for shape in ((1, 64, 56, 56), (64, 64, 3, 3)))
        plain = answer(tvm.IRModule.from_expr(example()))
        for optimized in (mod1, mod2, mod):
            np.testing.assert_allclose(answer(optimized), plain, rtol=1e-4, atol=1e-4)
        assert not tvm.ir.structural_equal(mod1, mod2)
        # 2 (conv + (c + c) * 2 + c), and with three times each constant 2 (conv + (3c + 3c) * 6 + 3c).
        np.testing.assert_allclose(answer(mod3), plain + 68 * 0.5, rtol=1e-4, atol=1e-4)
        """,
        printed={f"pass name: {name},": 1 for name in ("FoldConstant", "EliminateCommonSubexpr", "FuseOps")},
    ),
    Script(
        "how_to/extend_tvm/use_pass_instrument.py",
        check="""
        import numpy as np


        def scores(mod, params, kind):
            return relay.create_executor(kind, mod, tvm.cpu(), "llvm", params).evaluate()(picture).numpy()


        picture = np.random.uniform(-1, 1, (1, 3, 224, 224)).astype("float32")
        before, weights = resnet.get_workload(num_layers=18, batch_size=1, image_shape=image_shape)
        reference = scores(before, weights, "debug")
        assert 'kernel_layout="HWIO"' in relay_mod.astext(False) and reference.std() > 1e-5
        np.testing.assert_allclose(scores(relay_mod, None, "graph"), reference, rtol=1e-4)
        """,
        printed={"Catching PassBad": 4, " bad run_before_pass!!!": 2, "'CanonicalizeOps', {'add': 1, 'nn.bias_add': -1}": 1},
    ),
    Script(
        "how_to/compile_models/from_onnx.py",
        check="""
        import onnxruntime

        session = onnxruntime.InferenceSession(onnx_model.SerializeToString())
        (reference,) = session.run(None, {input_name: x.astype(dtype)})
        np.testing.assert_allclose(tvm_output, reference, rtol=1e-4, atol=1e-4 * abs(reference).max())
        assert canvas[:, 672:].std() > 10
        print("the picture is the one of ONNX Runtime")
        """,
        printed={"the picture is the one of ONNX Runtime": 1},
    ),
    Script(
        "tutorial/autotvm_relay_x86.py",
        changes=(Change("without tuning", r"(?s)^import tvm\.auto_scheduler.*\Z", ""),),
        check="""
        import onnxruntime

        session = onnxruntime.InferenceSession(onnx_model.SerializeToString())
        (reference,) = session.run(None, {input_name: img_data.astype(dtype)})
        np.testing.assert_allclose(tvm_output, reference, rtol=1e-4, atol=1e-4 * abs(reference).max())
        assert [labels[rank] for rank in np.argsort(-reference[0])[:5]] == [labels[rank] for rank in ranks[:5]]
        print("the classes are those of ONNX Runtime")
        """,
        printed={"with probability": 5, "the classes are those of ONNX Runtime": 1, "'median'": 1},
    ),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="parts of names of scripts to run")
    parser.add_argument("--tvm", type=pathlib.Path, default=os.environ.get("RELAYC_TVM_TREE"))
    parser.add_argument("--python", default=sys.executable, help="the Python that runs the scripts")
    parser.add_argument("--seconds", type=int, default=600, help="for a script")
    parser.add_argument("--output", action="store_true", help="show what the scripts print, too")
    arguments = parser.parse_args()
    if not arguments.tvm:
        parser.error("say where a checkout of TVM v0.14.0 is: --tvm PATH")
    results = []
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        tvm_gallery_files.write(root / "files")
        for script in SCRIPTS:
            if not arguments.words or any(word in script.name for word in arguments.words):
                results.append(judge(arguments, script, root))
    print("\n".join(line for _, line in results))
    return 0 if results and all(passed for passed, _ in results) else 1


def judge(arguments: argparse.Namespace, script: Script, root: pathlib.Path) -> Tuple[bool, str]:
    """Shows the diff of a script and runs it: whether it did well, and the line that says so."""
    original, source = script.source(arguments.tvm)
    print(f"== {script.name}")
    for change in script.changes:
        print(f"   change: {change.why}")
    print("\n".join(diff(original, source, script.path)), flush=True)
    (root / "script.py").write_text(source)
    began = time.monotonic()
    ended, output = run(arguments, root)
    if arguments.output:
        print(output)
    wrong = [ended] if ended else []
    for word, times in script.printed.items():
        if not ended and output.count(word) != times:
            wrong.append(f"{word!r} is printed {output.count(word)} times, not {times}")
    if wrong:
        print(output[-4000:])
    return not wrong, f"{'; '.join(wrong) or 'passed'} ({time.monotonic() - began:.1f} s)  {script.name}"


def diff(original: str, source: str, path: str) -> Iterator[str]:
    """The lines of a unified diff; of many lines removed in a row the first ones, and how many follow."""
    lines = difflib.unified_diff(original.splitlines(), source.splitlines(), path, path, lineterm="", n=1)
    for removed, group in itertools.groupby(lines, lambda line: line.startswith("-")):
        group = list(group)
        shown = 8 if removed and len(group) > 20 else len(group)
        yield from group[:shown]
        if shown < len(group):
            yield f"-[and {len(group) - shown} lines more]"


def run(arguments: argparse.Namespace, root: pathlib.Path) -> Tuple[str, str]:
    """Why a script ended badly, if it did, and what it printed."""
    path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = dict(os.environ, PYTHONPATH=path, TEST_DATA_ROOT_PATH=str(root / "files"), MPLBACKEND="agg")
    command = [arguments.python, "-m", "relayc", "script.py"]
    try:
        done = subprocess.run(
            command, cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=arguments.seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as late:
        return f"over {arguments.seconds} seconds", (late.stdout or b"").decode()
    return f"exit status {done.returncode}" if done.returncode else "", done.stdout


if __name__ == "__main__":
    sys.exit(main())
