"""The networks that are measured: text, weights, inputs and the ONNX model of each, made by relayc."""
import dataclasses
import pathlib
import subprocess

import numpy as np
import onnx
import onnxruntime

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent.parent / "examples"

# `relayc model` with these words, or a program of `examples/`.
NETWORKS = {
    "mobilenet": ["mobilenet"],
    "resnet18": ["resnet", "--layers", "18"],
    "resnet50": ["resnet", "--layers", "50"],
    "vgg16": ["vgg", "--layers", "16"],
    "squeezenet": ["squeezenet", "--version", "1.1"],
    "densenet121": ["densenet", "--size", "121", "--batch", "1"],
    "inception_v3": ["inception_v3"],
    "mlp": ["mlp"],
    "dqn": ["dqn"],
    "encoder": EXAMPLES / "transformer" / "encoder.relay",
    "lstm": ["lstm", "--iterations", "10", "--hidden", "128"],
}


@dataclasses.dataclass
class Network:
    name: str
    text: pathlib.Path
    weights: pathlib.Path
    inputs: pathlib.Path
    model: pathlib.Path


def prepare(name, relayc, folder, seed):
    """Makes the files of a network."""
    network = Network(name, folder / f"{name}.relay", *(folder / f"{name}.{end}" for end in ["weights.npz", "inputs.npz", "onnx"]))
    source = NETWORKS[name]
    if isinstance(source, pathlib.Path):
        network.text.write_bytes(source.read_bytes())
    else:
        run([relayc, "model", *source, "-o", str(network.text)])
    # Without weights, all parameters are inputs of the model: their names and shapes.
    export = [relayc, "export", str(network.text), "--weights-as-inputs", "--to", "onnx", "-o", str(network.model)]
    run(export)
    model = onnx.load(network.model)
    shapes = {value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in model.graph.input}
    rng = np.random.default_rng(seed)
    data = {parameter: shape for parameter, shape in shapes.items() if parameter.startswith("data")}
    weights = {parameter: weight(rng, parameter, shape) for parameter, shape in shapes.items() if parameter not in data}
    inputs = {parameter: rng.standard_normal(shape).astype(np.float32) for parameter, shape in data.items()}
    calibrate(model, weights, inputs)
    np.savez(network.weights, **weights)
    np.savez(network.inputs, **inputs)
    run([*export, "--params", str(network.weights)])
    return network


def weight(rng, name, shape):
    """Weights under which activations neither vanish nor explode: the initial ones of relay.testing leave some networks with
    the same result for every input, of which no comparison could tell anything, and others with denormal numbers."""
    if name.endswith(("gamma", "var")):
        values = rng.uniform(0.5, 1.5, shape)
    elif name.endswith(("beta", "mean", "bias")):
        values = rng.normal(0.0, 0.1, shape)
    else:
        # After He et al. (arXiv 1502.01852): the inputs of a sum are all but the first axis.
        values = rng.normal(0.0, (2.0 / max(1, int(np.prod(shape[1:])))) ** 0.5, shape)
    return values.astype(np.float32)


def calibrate(model, weights, inputs):
    """Scales the last weight so that what comes into a softmax at the end has a deviation of 2: of numbers that are much larger
    or smaller it makes one result or none."""
    last = model.graph.node[-1]
    if last.op_type != "Softmax":
        return
    model.graph.output.append(onnx.ValueInfoProto(name=last.input[0]))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    logits = session.run([last.input[0]], {**weights, **inputs})[0]
    # A product is linear, and so is what follows up to a relu.
    product = [node for node in model.graph.node if node.op_type in ("Gemm", "Conv")][-1]
    weights[product.input[1]] *= np.float32(2.0 / logits.std())


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
