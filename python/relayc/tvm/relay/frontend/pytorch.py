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

    `input_infos` has `(name, shape)` or `(name, (shape, dtype))` for each input. Raises ImportError without PyTorch,
    NotImplementedError for a map of conversions or an exported graph.
    """
    if custom_convert_map or export_renamed_c_graph_path:
        raise NotImplementedError(
            "relayc imports PyTorch through ONNX: register a symbolic function with torch.onnx instead"
        )
    shapes = {}
    examples = []
    import torch

    for name, info in input_infos:
        shape, dtype = info if len(info) == 2 and isinstance(info[0], (list, tuple)) else (info, default_dtype)
        dtype = str(dtype).replace("torch.", "")
        shapes[name] = list(shape)
        examples.append(torch.zeros(tuple(shape), dtype=getattr(torch, _DTYPES.get(dtype, dtype))))
    return import_model(_exported(torch, script_module, examples, list(shapes)), "onnx", shapes)


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
