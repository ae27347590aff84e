"""Exports the architectures of `models.py` by torch's exporter, static and with open sizes, with inputs and results in float64.

    export.py FOLDER [NAME …]

Writes NAME.static.onnx and NAME.open.onnx, and for each of the three sizes NAME.0.npz and so on, the inputs, and NAME.0.f64.npz, what torch
computes from them in float64. What is there already is left alone. Prints a line of JSON for each: the name, and why it failed, if it did.
"""
import json
import os
import pathlib
import sys
import warnings

sys.dont_write_bytecode = True
warnings.filterwarnings("ignore")
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
import numpy as np  # noqa: E402
import torch  # noqa: E402

import models  # noqa: E402

TURNS = len(models.SIZES["batch"])


def arrays(found):
    """The tensors of a result, in the order in which the exporter names them."""
    if isinstance(found, torch.Tensor):
        return [found.detach().numpy()]
    parts = found.values() if isinstance(found, dict) else found
    return [array for part in parts for array in arrays(part)]


def made(make):
    torch.manual_seed(0)
    return make().eval()


def export(name, folder):
    make, inputs = models.architectures()[name]
    generator = torch.Generator().manual_seed(1)
    turns = [models.draw(inputs, turn, generator) for turn in range(TURNS)]
    for turn, given in enumerate(turns):
        np.savez(folder / f"{name}.{turn}.npz", **{input: tensor.numpy() for input, tensor in zip(inputs, given)})
    axes = {input: {at: dim for at, dim in enumerate(shape) if isinstance(dim, str)} for input, (shape, _) in inputs.items()}
    axes = {input: dims for input, dims in axes.items() if dims}
    for form, open_axes in [("static", {}), ("open", axes)]:
        if form == "open" and not axes:
            continue
        partial = folder / f"{name}.part"
        model = made(make)
        model = torch.jit.script(model) if isinstance(model, models.Scripted) else model
        opset = models.OPSETS.get(name, 14)
        torch.onnx.export(model, tuple(turns[0]), partial, input_names=list(inputs), dynamic_axes=open_axes, opset_version=opset)
        partial.rename(folder / f"{name}.{form}.onnx")
    model = made(make).double()
    for turn, given in enumerate(turns):
        try:
            with torch.enable_grad():
                found = model(*(tensor.double() if tensor.is_floating_point() else tensor for tensor in given))
        except RuntimeError:
            # A module makes float32 numbers of its own; there is nothing to compare with then.
            break
        np.savez(folder / f"{name}.{turn}.f64.npz", *arrays(found))


def main():
    torch.set_num_threads(2)
    folder, names = pathlib.Path(sys.argv[1]), sys.argv[2:] or list(models.architectures())
    for name in names:
        done = folder / f"{name}.exported"
        if done.exists():
            continue
        try:
            export(name, folder)
            reason = None
        except Exception as error:  # noqa: BLE001: whatever torch does not export is named in the table
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
        done.write_text(json.dumps(reason))
        print(json.dumps({"name": name, "failure": reason}), flush=True)


if __name__ == "__main__":
    main()
