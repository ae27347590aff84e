"""Models of ONNX."""

from __future__ import annotations

import os
import time
import warnings
from typing import Any, Dict, Optional, Tuple

from ...tir import Any as AnyDim
from ._import import bound, checked_shapes, import_model

#: The version of the operators of a domain that a model uses without naming one, as ONNX Runtime takes it.
_UNNAMED_VERSION = 1


def from_onnx(
    model: Any,
    shape: Optional[Dict[str, Any]] = None,
    dtype: Any = "float32",
    opset: Optional[int] = None,
    freeze_params: bool = True,
    convert_config: Optional[Dict[str, Any]] = None,
    export_node_renamed_model_path: Optional[str] = None,
) -> Tuple[Any, Dict[str, Any]]:
    """The program of an ONNX model, and its weights.

    `model` is an `onnx.ModelProto` or its bytes. `shape` gives the shapes of inputs, also of those that the model
    leaves open. `dtype` counts as a dictionary only, by the names of inputs. `opset` stands for the version that the model
    names. With `freeze_params`, the weights are constants of the program. `convert_config` changes nothing: how a
    product is computed is not the importer's choice here. `export_node_renamed_model_path` is a folder for the model
    with names of all its nodes.

    Raises RelayError for what cannot be imported, AssertionError for a shape of what is no input.
    """
    if isinstance(model, (bytes, bytearray)):
        data, shapes = bytes(model), checked_shapes(shape)
        if opset is not None or isinstance(dtype, dict) or export_node_renamed_model_path:
            import onnx

            model = onnx.load_model_from_string(data)
    if not isinstance(model, (bytes, bytearray)):
        if not hasattr(model, "SerializeToString"):
            raise TypeError(f"expected an onnx.ModelProto or its bytes, found {model!r}: onnx.load(path) reads a file")
        model = type(model).FromString(model.SerializeToString())
        _set_versions(model, opset)
        shapes = _set_inputs(model, checked_shapes(shape), dtype if isinstance(dtype, dict) else {})
        if export_node_renamed_model_path:
            _export_renamed(model, export_node_renamed_model_path)
        data = model.SerializeToString()
    mod, params = import_model(data, "onnx", shapes)
    return bound(mod, params) if freeze_params else (mod, params)


def _set_versions(model: Any, opset: Optional[int]) -> None:
    """Gives the model a version for each domain of operators; `opset` is that of ONNX's own."""
    named = set()
    for imported in model.opset_import:
        named.add(imported.domain)
        if opset is not None and imported.domain in ("", "ai.onnx"):
            if opset < imported.version:
                warnings.warn(
                    f"You are overwriting the original opset version {imported.version} by the lower version {opset}. "
                    "That might cause model conversion errors."
                )
            imported.version = opset
    for domain in sorted({node.domain for node in model.graph.node} - named - {"", "ai.onnx"}):
        model.opset_import.add(domain=domain, version=_UNNAMED_VERSION)


def _set_inputs(model: Any, shape: Dict[str, Any], dtypes: Dict[str, str]) -> Dict[str, Any]:
    """Gives inputs these types; returns the shapes that only make the model's more precise."""
    inputs = {value.name: value.type.tensor_type for value in model.graph.input}
    wrong = sorted({*shape, *dtypes} - set(inputs))
    assert not wrong, f"no inputs of the model: {', '.join(wrong)}; its inputs are {', '.join(inputs)}"
    if dtypes:
        import numpy as np
        from onnx.helper import np_dtype_to_tensor_dtype

        for name, dtype in dtypes.items():
            inputs[name].elem_type = np_dtype_to_tensor_dtype(np.dtype(dtype))
    weights = {tensor.name for tensor in model.graph.initializer}
    shapes = {}
    for name, dims in shape.items():
        known = inputs[name].shape.dim
        if name in weights or not inputs[name].HasField("shape") or len(known) == len(dims):
            shapes[name] = dims
            continue
        # The model is wrong about its rank; what follows from that is found anew.
        del known[:]
        for dim in dims:
            known.add(**({} if dim is None or isinstance(dim, AnyDim) else {"dim_value": int(dim)}))
        del model.graph.value_info[:]
    return shapes


def _export_renamed(model: Any, folder: str) -> None:
    """Names the nodes that have no name after their operators, and writes the model into the folder."""
    os.makedirs(folder, exist_ok=True)
    counts: Dict[str, int] = {}
    for node in model.graph.node:
        if not node.name:
            node.name = f"{node.op_type}_{counts.get(node.op_type, 0)}"
        counts[node.op_type] = counts.get(node.op_type, 0) + 1
    name = f"tvm_exported_model_{time.strftime('%Y_%m_%d_%H_%M_%S')}.onnx"
    with open(os.path.join(folder, name), "wb") as file:
        file.write(model.SerializeToString())
