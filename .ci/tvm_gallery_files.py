"""Files and data that the scripts of TVM's gallery download, made here from seeds.

`write(root)` puts the files where `download_testdata` keeps what it fetched, so that it
fetches nothing. `random_graph` and `GCN` stand for a data set of DGL and a network of
PyTorch; they need NumPy and SciPy.
"""

from __future__ import annotations

import pathlib

import numpy as np
import scipy.sparse


def write(root: pathlib.Path) -> None:
    """Writes all files below a directory. Needs onnx and Pillow."""
    import onnx

    for folder in ("onnx", "data"):
        (root / folder).mkdir(parents=True)
    onnx.save(super_resolution(), root / "onnx" / "super_resolution.onnx")
    onnx.save(residual_network(), root / "onnx" / "resnet50-v2-7.onnx")
    for name in ("cat.png", "imagenet_cat.png"):
        picture(256).save(root / "data" / name)
    (root / "data" / "synset.txt").write_text("".join(f"class {n}\n" for n in range(1000)))


def picture(size: int):
    """A picture of coloured waves."""
    from PIL import Image

    y, x = np.mgrid[0:size, 0:size] / size
    waves = [np.sin(20 * x * (k + 1)) * np.cos(9 * y * (3 - k)) for k in range(3)]
    return Image.fromarray(np.uint8(127 + 120 * np.stack(waves, axis=-1)))


class _Network:
    """An ONNX graph under construction; a layer takes the name of its input and returns that of its output."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.nodes: list = []
        self.weights: list = []

    def weight(self, *shape: int, low: float = 0.0) -> str:
        """A weight with a deviation that keeps the scale of values; between `low` and twice that if given."""
        from onnx import numpy_helper

        fan = max(int(np.prod(shape[1:])), 1)
        if low:
            values = self.random.uniform(low, 2 * low, shape)
        else:
            values = self.random.standard_normal(shape) * np.sqrt(2 / fan)
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(values.astype("float32"), name))
        return name

    def layer(self, kind: str, *inputs: str, **attributes: object) -> str:
        """A node; returns its output."""
        from onnx import helper

        name = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
        return name

    def conv(self, data: str, inputs: int, outputs: int, kernel: int, stride: int = 1) -> str:
        """A convolution with bias that keeps the size of a picture, or divides it by the stride."""
        weights = self.weight(outputs, inputs, kernel, kernel), self.weight(outputs)
        return self.layer("Conv", data, *weights, pads=[kernel // 2] * 4, strides=[stride] * 2)

    def norm(self, data: str, channels: int) -> str:
        """A batch normalization and ReLU."""
        gamma, beta, mean = (self.weight(channels, low=low) for low in (0.6, 0.1, 0.1))
        variance = self.weight(channels, low=0.7)
        return self.layer("Relu", self.layer("BatchNormalization", data, gamma, beta, mean, variance))

    def model(self, data: tuple, output: tuple):
        """The model with one input and one output, each a name and a shape."""
        from onnx import TensorProto, checker, helper

        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (data, output)]
        graph = helper.make_graph(self.nodes, "made", values[:1], values[1:], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        checker.check_model(model, full_check=True)
        return model


def super_resolution():
    """A network of the shape that the tutorial's has: brightness in, the same three times as large out."""
    net = _Network(seed=1)
    data = "1"
    for inputs, outputs, kernel in ((1, 16, 5), (16, 16, 3), (16, 8, 3)):
        data = net.layer("Relu", net.conv(data, inputs, outputs, kernel))
    data = net.layer("DepthToSpace", net.conv(data, 8, 9, 3), blocksize=3, mode="CRD")
    return net.model(("1", (1, 1, 224, 224)), (data, (1, 1, 672, 672)))


def residual_network():
    """A network of the shape that ResNet-50 v2 has, with two units of residuals."""
    net = _Network(seed=2)
    data = net.norm(net.conv("data", 3, 16, 7, stride=2), 16)
    data = net.layer("MaxPool", data, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for _ in range(2):
        inner = net.conv(net.norm(data, 16), 16, 16, 3)
        data = net.layer("Add", data, net.conv(net.norm(inner, 16), 16, 16, 3))
    data = net.layer("Flatten", net.layer("GlobalAveragePool", net.norm(data, 16)))
    data = net.layer("Gemm", data, net.weight(1000, 16), net.weight(1000), transB=1)
    return net.model(("data", (1, 3, 224, 224)), (data, (1, 1000)))


class random_graph:
    """A graph of the size of Cora with the parts of a DGL graph's interface that the tutorial uses; arrays are NumPy's."""

    def __init__(self, nodes: int, edges: int, features: int, seed: int = 0) -> None:
        random = np.random.default_rng(seed)
        ends = random.integers(0, nodes, (2, edges))
        ends = np.hstack([ends, ends[::-1], np.tile(np.arange(nodes), (2, 1))])
        ones = np.ones(ends.shape[1], "float32")
        #: Symmetric, with an edge of each node to itself.
        self.adjacency = scipy.sparse.csr_matrix((ones, tuple(ends)), (nodes, nodes))
        self.adjacency.data[:] = 1
        self.ndata = {"feat": random.random((nodes, features), "float32")}

    def number_of_nodes(self) -> int:
        return self.adjacency.shape[0]

    def in_degrees(self, node: int) -> int:
        return self.adjacency.indptr[node + 1] - self.adjacency.indptr[node]


class GCN:
    """A graph convolutional network of two layers with random weights, in NumPy with a dense matrix."""

    def __init__(self, graph: random_graph, features: int, hidden: int, classes: int) -> None:
        random = np.random.default_rng(1)
        self.graph = graph
        self.weights = {
            "layers.0.weight": random.standard_normal((features, hidden), "float32"),
            "layers.0.bias": random.standard_normal(hidden, "float32"),
            "layers.1.weight": random.standard_normal((hidden, classes), "float32"),
            "layers.1.bias": random.standard_normal(classes, "float32"),
        }

    def __call__(self, features: np.ndarray) -> np.ndarray:
        adjacency = self.graph.adjacency.toarray()
        norm = adjacency.sum(axis=1, keepdims=True) ** -0.5
        weights = self.weights
        hidden = norm * (adjacency @ (norm * features @ weights["layers.0.weight"])) + weights["layers.0.bias"]
        hidden = np.maximum(hidden, 0)
        return norm * (adjacency @ (norm * hidden @ weights["layers.1.weight"])) + weights["layers.1.bias"]
