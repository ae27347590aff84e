"""Networks of MXNet: symbols, and blocks of Gluon."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Tuple

from ...runtime import ndarray as nd
from ._import import import_model, retyped


def _arrays(params: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    return {name: value.asnumpy() for name, value in (params or {}).items()}


def from_mxnet(
    symbol: Any,
    shape: Optional[Dict[str, Any]] = None,
    dtype: Any = "float32",
    arg_params: Optional[Mapping[str, Any]] = None,
    aux_params: Optional[Mapping[str, Any]] = None,
) -> Tuple[Any, Dict[str, Any]]:
    """The program of an `mxnet.Symbol` with these parameters, or of a Gluon `HybridBlock`, and its weights.

    `shape` gives the shapes of the inputs by name, `dtype` their types: one for all inputs, or by name. Weights keep
    the types of their arrays.
    """
    if hasattr(symbol, "collect_params"):
        if arg_params is not None or aux_params is not None:
            raise ValueError("arg_params and aux_params ae not used when importing HybridBlock")
        weights = {name: param.data().asnumpy() for name, param in symbol.collect_params().items()}
        symbol = _traced(symbol, shape or {})
    elif hasattr(symbol, "tojson"):
        weights = {**_arrays(arg_params), **_arrays(aux_params)}
    else:
        raise ValueError(f"mxnet.Symbol or gluon.HybridBlock expected, got {type(symbol)}")
    # The importer takes all numbers for float32; the program is given its types afterwards.
    plain = {name: weight.astype("float32", copy=False) for name, weight in weights.items()}
    mod, params = import_model(symbol.tojson().encode("utf-8"), "mxnet", shape, plain)
    kept = {str(weight.dtype) for weight in weights.values()} or {"float32"}
    if len(kept) > 1:
        raise NotImplementedError(f"weights are of one type here, found {', '.join(sorted(kept))}: convert them first")
    weight_dtype = kept.pop()
    if weight_dtype != "float32":
        params = {name: nd.array(value.numpy().astype(weight_dtype)) for name, value in params.items()}
    dtypes = dict.fromkeys(params, weight_dtype)
    for param in mod["main"].params:
        if param.name_hint not in params:
            dtypes[param.name_hint] = dtype.get(param.name_hint, "float32") if isinstance(dtype, dict) else dtype
    return retyped(mod, dtypes), params


def _traced(block: Any, shape: Mapping[str, Any]) -> Any:
    """The symbol of a block called with variables of the names in `shape`."""
    import mxnet as mx

    if not isinstance(block, mx.gluon.HybridBlock):
        raise NotImplementedError("Only Hybrid Blocks are supported now.")
    symbol = block(*(mx.sym.Variable(name) for name in shape))
    return mx.sym.Group(symbol) if isinstance(symbol, (list, tuple)) else symbol
