"""Models of ONNX."""

from __future__ import annotations

import copy
import warnings
from typing import Any, Dict, Optional, Tuple

from ._import import bound, import_model


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

    `model` is an `onnx.ModelProto` or its bytes. `shape` gives the shapes of inputs, also of those that the model leaves
    open. `dtype` counts as a dictionary only, by the names of inputs. `opset` stands for the version that the model
    names. With `freeze_params`, the weights are constants of the program. `convert_config` changes nothing: how a
    product is computed is not the importer's choice here.

    Raises RelayError for what cannot be imported, NotImplementedError for `export_node_renamed_model_path`.
    """
    if export_node_renamed_model_path:
        raise NotImplementedError("relayc writes no renamed ONNX models: spans name the nodes of the model as they are")
    if opset is not None or isinstance(dtype, dict):
        model = _changed(model, opset, dtype if isinstance(dtype, dict) else {})
    data = model if isinstance(model, (bytes, bytearray)) else model.SerializeToString()
    mod, params = import_model(bytes(data), "onnx", shape)
    return bound(mod, params) if freeze_params else (mod, params)


def _changed(model: Any, opset: Optional[int], dtypes: Dict[str, str]) -> Any:
    """A copy of the model with this version of the operators, and these types of the inputs."""
    if isinstance(model, (bytes, bytearray)):
        import onnx

        model = onnx.load_model_from_string(bytes(model))
    model = copy.deepcopy(model)
    for imported in model.opset_import:
        if opset is not None and imported.domain in ("", "ai.onnx"):
            if opset < imported.version:
                warnings.warn(
                    f"You are overwriting the original opset version {imported.version} by the lower version {opset}. "
                    "That might cause model conversion errors."
                )
            imported.version = opset
    if dtypes:
        import numpy as np
        from onnx.helper import np_dtype_to_tensor_dtype

        for value in model.graph.input:
            if value.name in dtypes:
                value.type.tensor_type.elem_type = np_dtype_to_tensor_dtype(np.dtype(dtypes[value.name]))
    return model
