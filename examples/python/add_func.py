"""Builds a module with two functions, runs it, and draws it as text and for Graphviz.

    python examples/python/add_func.py [FOLDER]

`main` calls `@AddFunc` twice. The drawing for Graphviz goes to the folder: `add_func.dot`, or where Graphviz is installed the picture
`add_func.dot.pdf`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import relayc.tvm as tvm
from relayc.tvm import relay
from relayc.tvm.contrib import relay_viz


def build() -> tvm.IRModule:
    """`@AddFunc(data, bias)` adds two vectors; `@main` adds three with it."""
    vector = relay.TensorType((4,), "float32")
    data, bias = relay.var("data", vector), relay.var("bias", vector)
    add_func = relay.GlobalVar("AddFunc")
    inputs = [relay.var(f"input{n}", vector) for n in range(3)]
    total = add_func(inputs[2], add_func(inputs[0], inputs[1]))
    return tvm.IRModule(
        {
            relay.GlobalVar("main"): relay.Function(inputs, total),
            add_func: relay.Function([data, bias], relay.add(data, bias)),
        }
    )


def main(folder: Path) -> None:
    """Prints the program, its sum of three vectors, and its drawing."""
    module = relay.transform.InferType()(build())
    print(module)
    evaluate = relay.create_executor("graph", module, tvm.cpu(), "llvm").evaluate()
    vectors = [np.arange(4, dtype="float32") * factor for factor in (1, 10, 100)]
    print(evaluate(*vectors).numpy())

    relay_viz.RelayVisualizer(module, plotter=relay_viz.TermPlotter()).render()
    dot = relay_viz.DotPlotter()
    relay_viz.RelayVisualizer(module, plotter=dot, parser=relay_viz.DotVizParser()).render(str(folder / "add_func.dot"))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
