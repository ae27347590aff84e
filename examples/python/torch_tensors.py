"""Runs a network on tensors of PyTorch, in and out without a copy, and a model of PyTorch through `from_pytorch`.

    python examples/python/torch_tensors.py

Needs torch (1.13 and 2.15 are tried), and onnx where its exporter asks for it. Both sides must find the same.
"""

from __future__ import annotations

import numpy as np
import torch  # type: ignore[import-not-found, unused-ignore]

import relayc
import relayc.tvm as tvm
from relayc.tvm import relay
from relayc.tvm.contrib import graph_executor

SHAPE = (1, 3, 32, 32)
SUMS = """
#[version = "0.0.5"]
def @main(%x: Tensor[(64, 64), float32]) {
  (multiply(%x, 2f), sum(%x))
}
"""


def tensors() -> None:
    """Inputs are read where they are, results shared, and outputs written in place."""
    net = relayc.parse(SUMS).compile(threads=1)
    x = torch.arange(64 * 64, dtype=torch.float32).reshape(64, 64)

    double, total = net(x)
    shared = torch.from_dlpack(double)
    assert torch.equal(shared, 2 * x) and float(total) == float(x.sum())
    shared[0, 0] = 7
    assert double[0, 0] == 7

    out, sums = torch.empty(64, 64), torch.empty(())
    net.run_into((out, sums), x)
    assert torch.equal(out, 2 * x) and sums == x.sum()

    # A transposed tensor is copied as an input, and refused as an output; one that records gradients says what to do.
    assert torch.equal(torch.from_dlpack(net(x.t())[0]), 2 * x.t())
    for outputs, given, words in [
        ((out.t(), sums), x, "not contiguous"),
        ((out, sums), x.clone().requires_grad_(), "detach"),
        ((out, sums), x.double(), "float64"),
        ((x, sums), x, "shares memory with an input"),
    ]:
        try:
            net.run_into(outputs, given)
        except (TypeError, ValueError) as error:
            assert words in str(error), error
        else:
            raise AssertionError(words)
    # `relayc.tvm` has tensors of its own, which share memory both ways.
    assert tvm.nd.from_dlpack(x).numpy()[1, 0] == 64
    assert torch.from_dlpack(tvm.nd.array(double))[1, 1] == 130
    print("tensors in and out")


def model() -> None:
    """A traced model, compiled."""
    torch.manual_seed(7)
    layers = [torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2)]
    net = torch.nn.Sequential(*layers, torch.nn.Flatten(), torch.nn.Linear(8 * 16 * 16, 10)).eval()
    picture = torch.rand(SHAPE)
    with torch.no_grad():
        theirs = net(picture).numpy()
        traced = torch.jit.trace(net, picture)
    mod, params = relay.frontend.from_pytorch(traced, [("picture", SHAPE)])
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(mod, "llvm", params=params)
    module = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    module.set_input("picture", tvm.nd.from_dlpack(picture))
    module.run()
    np.testing.assert_allclose(module.get_output(0).numpy(), theirs, rtol=1e-4, atol=1e-5)
    print("a model as PyTorch computes it")


if __name__ == "__main__":
    tensors()
    model()
