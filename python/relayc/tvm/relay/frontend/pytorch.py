"""Models of PyTorch, by way of PyTorch's own exporter to ONNX."""

from __future__ import annotations

import io
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ._import import import_model

#: What PyTorch's JIT calls types, beside the names that NumPy has as well.
_DTYPES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "int": "int32",
    "long": "int64",
    "short": "int16",
}


def from_pytorch(
    script_module: Any,
    input_infos: Sequence[Any],
    custom_convert_map: Optional[Dict[str, Any]] = None,
    default_dtype: str = "float32",
    use_parser_friendly_name: bool = False,
    keep_quantized_weight: bool = False,
    export_renamed_c_graph_path: Optional[str] = None,
) -> Tuple[Any, Dict[str, Any]]:
    """The program of a traced, scripted or plain module, and its weights.

    `input_infos` has `(name, shape)` or `(name, (shape, dtype))` for each input. Names and weights are those that the
    exporter writes, whatever `use_parser_friendly_name` and `keep_quantized_weight` ask for.

    Raises ImportError without PyTorch, NotImplementedError for a map of conversions or an exported graph.
    """
    if custom_convert_map or export_renamed_c_graph_path:
        raise NotImplementedError(
            "relayc imports PyTorch through ONNX: register a symbolic function with torch.onnx instead"
        )
    inputs = [_input(info, default_dtype) for info in input_infos]
    try:
        import torch
    except ImportError as error:
        how = "install torch, or export the model where it is and import that with relay.frontend.from_onnx"
        raise ImportError(f"PyTorch itself writes the model as ONNX: {how}") from error

    examples = [torch.zeros(tuple(shape), dtype=getattr(torch, dtype)) for _, shape, dtype in inputs]
    shapes = {name: shape for name, shape, _ in inputs}
    return import_model(_exported(torch, script_module, examples, list(shapes)), "onnx", shapes)


def _input(info: Any, default_dtype: str) -> Tuple[str, List[int], str]:
    """The name, shape and data type of an input. Raises TypeError for other than a name with a shape."""
    if not isinstance(info, (list, tuple)) or len(info) != 2 or not isinstance(info[1], (list, tuple)):
        raise TypeError(f'input_infos has a name and a shape for each input, such as ("x", (1, 3, 224, 224)), not {info!r}')
    name, shape = info
    dtype = default_dtype
    if len(shape) == 2 and isinstance(shape[0], (list, tuple)):
        shape, dtype = shape
    dtype = str(dtype).replace("torch.", "")
    return name, list(shape), _DTYPES.get(dtype, dtype)


def _exported(torch: Any, module: Any, examples: List[Any], names: List[str]) -> bytes:
    """The module as an ONNX model, with its weights as initializers."""
    data = io.BytesIO()
    options: Dict[str, Any] = {"input_names": names, "do_constant_folding": False}
    try:
        # The exporter that takes scripted modules; older releases have no other.
        torch.onnx.export(module, tuple(examples), data, dynamo=False, **options)
    except TypeError:
        data = io.BytesIO()
        torch.onnx.export(module, tuple(examples), data, **options)
    return data.getvalue()
