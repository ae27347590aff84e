"""Takes a ResNet-18 from MXNet, compiles it, classifies a picture, ships it, and compares with MXNet itself.

    python examples/python/mxnet_resnet.py

Needs mxnet 1.9.1, which runs on Python up to 3.11 with NumPy 1.23.5. The weights are random: what is printed says nothing about the
picture, but both must say the same.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import mxnet as mx  # type: ignore[import-not-found, unused-ignore]
import numpy as np

import relayc
import relayc.tvm as tvm
from relayc.tvm import relay
from relayc.tvm.contrib import graph_executor

DIGITS = Path(__file__).resolve().parents[1] / "digits"
SHAPE = (1, 3, 224, 224)


def network() -> mx.gluon.HybridBlock:
    """ResNet-18 v2 for ten classes, with random weights of a seed."""
    mx.random.seed(7)
    block = mx.gluon.model_zoo.vision.get_model("resnet18_v2", classes=10)
    block.initialize(mx.init.Xavier())
    # The first call gives the weights their shapes.
    block(mx.nd.zeros(SHAPE))
    for name, param in block.collect_params().items():
        if name.endswith(("gamma", "running_var")):
            param.set_data(mx.nd.random.uniform(0.7, 1.3, param.shape))
        elif name.endswith(("beta", "running_mean")):
            param.set_data(mx.nd.random.uniform(-0.3, 0.3, param.shape))
    return block


def scores_of(library: tvm.runtime.Module, picture: np.ndarray) -> np.ndarray:
    """Runs a compiled network on a picture."""
    module = graph_executor.GraphModule(library["default"](tvm.cpu()))
    module.set_input("data", tvm.nd.array(picture))
    module.run()
    scores: np.ndarray = module.get_output(0).numpy()
    return scores


def main() -> None:
    """Prints the classes, and what was compared."""
    block = network()
    mod, params = relay.frontend.from_mxnet(block, {"data": SHAPE})
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(mod, "llvm", params=params)
    print(len(params), "weights,", len(lib.params), "after optimization")
    assert 0 < len(lib.params) < len(params)

    picture = relayc.read_image(DIGITS / "7.png", "imagenet", np.empty(SHAPE, "float32"))
    scores = scores_of(lib, picture)
    labels = (DIGITS / "labels.txt").read_text().split()
    for rank in np.argsort(-scores[0])[:3]:
        print(f"{labels[rank]:6} {scores[0, rank]:8.4f}")

    theirs = block(mx.nd.array(picture)).asnumpy()
    assert np.ptp(theirs) > 0.1
    np.testing.assert_allclose(scores, theirs, rtol=1e-4, atol=1e-4 * abs(theirs).max())
    print("as MXNet computes them")

    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "resnet18.so")
        lib.export_library(path)
        np.testing.assert_array_equal(scores_of(tvm.runtime.load_module(path), picture), scores)
    print("the same after export_library and load_module")


if __name__ == "__main__":
    main()
