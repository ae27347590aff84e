"""Files of named arrays, and models of other formats."""

from __future__ import annotations

import os
import warnings
from typing import Any, Mapping, Sequence

import numpy as np

from . import _given, _relayc
from ._given import Path
from ._module import Module


def load_params(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file by name: .params of TVM or MXNet, .npz, .safetensors. Errors: RelayError.

    bfloat16, which NumPy does not have, is two raw bytes (`V2`).
    """
    return _relayc.read_weights(_given.path(path, ": `relayc.tvm.relay.load_param_dict` takes the bytes of a file"))


def save_params(path: Path, params: Mapping[str, Any]) -> None:
    """Writes arrays by name, in the format of the file's name. Errors: ValueError for another name, RelayError."""
    _relayc.write_weights(_given.path(path), _given.arrays(params))


def import_onnx(
    path: Path | bytes | bytearray | memoryview | Any,
    *,
    shapes: Mapping[str, Sequence[Any]] | None = None,
    inputs: str | Sequence[str] = (),
    keep_going: bool = False,
    external_data: bool = False,
) -> Module:
    """The program of an ONNX model with its weights: a file, its bytes, or an `onnx.ModelProto`.

    shapes: of inputs, by name: numbers, names of sizes, `"?"`. inputs: values that become part of the program,
    `"axes=2xi64=[0, 1]"`. keep_going: results of nodes that cannot be imported become inputs. external_data: parts of
    the model in other files of its folder are read. Errors: RelayError; TypeError for external_data without a folder.
    """
    data = None
    if hasattr(path, "SerializeToString"):
        path = path.SerializeToString()
    if isinstance(path, (bytes, bytearray, memoryview)):
        if external_data:
            raise TypeError("external_data: a model in memory has no folder with other files; give its path")
        data = bytes(path)
        path = "model.onnx"
    return _imported(
        path,
        data=data,
        shapes=_shapes(shapes),
        inputs=_given.texts(inputs, "inputs", '"axes=2xi64=[0, 1]"'),
        keep_going=keep_going,
        external_data=external_data,
    )


def import_mxnet(
    symbol: Path, params: Path | Sequence[Path] = (), *, shapes: Mapping[str, Sequence[Any]] | None = None
) -> Module:
    """The program of a network of MXNet (`net-symbol.json`), with the weights of its `net-0000.params`.

    shapes: of its inputs, by name. Errors: RelayError.
    """
    files = [params] if isinstance(params, (str, os.PathLike)) else list(params)
    return _imported(symbol, weights=[_given.path(file) for file in files], shapes=_shapes(shapes))


def _imported(path: Path, **options: Any) -> Module:
    """The module of a model; what is doubtful about it is a warning of Python."""
    file = _given.path(path, ": `file.read()` has the bytes of one that is open" if hasattr(path, "read") else "")
    module, doubts = _relayc.import_file(file, **options)
    if doubts:
        warnings.warn(doubts.rstrip(), stacklevel=3)
    return Module(module, name=_given.printable(os.path.basename(file)))


def _shapes(shapes: Mapping[str, Sequence[Any]] | None) -> list[str]:
    shapes = {} if shapes is None else shapes
    if not isinstance(shapes, Mapping) or not all(map(_is_shape, shapes.values())):
        example = '{"data": (1, 3, 224, 224)} or {"data": ("batch", 3, "?", "?")}'
        raise TypeError(f"shapes is {shapes!r}: expected a shape for each name, {example}")
    return [f"{name}={','.join(map(str, dims))}" for name, dims in shapes.items()]


def _is_shape(dims: Any) -> bool:
    return hasattr(dims, "__iter__") and not isinstance(dims, str) and all(map(_is_size, dims))


def _is_size(dim: Any) -> bool:
    # What is open is None or -1 elsewhere.
    return isinstance(dim, str) or hasattr(dim, "__index__") and dim >= 0
