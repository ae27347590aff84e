"""Networks of MXNet: symbols, and blocks of Gluon."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Tuple

from ._import import import_model


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

    `shape` gives the shapes of the inputs by name. Inputs are of the type float32.
    """
    dtypes = set(dtype.values()) if isinstance(dtype, dict) else {dtype}
    if dtypes - {"float32"}:
        raise NotImplementedError(
            "inputs of MXNet networks are float32 here: convert the module with relay.transform.ToMixedPrecision"
        )
    if hasattr(symbol, "collect_params"):
        if arg_params is not None or aux_params is not None:
            raise ValueError("arg_params and aux_params ae not used when importing HybridBlock")
        weights = {name: param.data().asnumpy() for name, param in symbol.collect_params().items()}
        symbol = _traced(symbol, shape or {})
    elif hasattr(symbol, "tojson"):
        weights = {**_arrays(arg_params), **_arrays(aux_params)}
    else:
        raise ValueError(f"mxnet.Symbol or gluon.HybridBlock expected, got {type(symbol)}")
    return import_model(symbol.tojson().encode("utf-8"), "mxnet", shape, weights)


def _traced(block: Any, shape: Mapping[str, Any]) -> Any:
    """The symbol of a block called with variables of the names in `shape`."""
    import mxnet as mx

    if not isinstance(block, mx.gluon.HybridBlock):
        raise NotImplementedError("Only Hybrid Blocks are supported now.")
    symbol = block(*(mx.sym.Variable(name) for name in shape))
    return mx.sym.Group(symbol) if isinstance(symbol, (list, tuple)) else symbol
