"""The native module `relayc._relayc` as `relayc.tvm` sees it, and what it needs of Python by name."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Sequence, Tuple

from .._errors import RelayError


def _native() -> Any:
    from .. import _relayc

    return _relayc


@contextmanager
def _reported(module: Any = None) -> Iterator[None]:
    """Shows errors to the renderer that the program has set, before they are raised."""
    try:
        yield
    except RelayError as error:
        from .ir.diagnostics import report

        report(module, error)
        raise


def astext(node: Any, show_meta_data: bool = True, annotate: Optional[Callable[[Any], str]] = None) -> str:
    """The text of a module, an expression, a type or a pattern; `annotate` gives a comment for an expression."""
    if annotate is None:
        return _native().astext(node, show_meta_data)
    return _native().astext(node, show_meta_data, annotate)


def parse_module(source: str, source_name: str, init_module: Any = None, meta_table: Any = None) -> Any:
    """The native module that `source` describes; definitions of `init_module` are in scope and part of it."""
    with _reported(init_module):
        return _native().parse_module(source, source_name, init_module, meta_table)


def parse_expr(source: str, source_name: str = "string") -> Any:
    """The expression that `source` describes, as a node."""
    with _reported():
        return _native().parse_expr(source, source_name)


def nodes(native: Any) -> Tuple[Dict[Any, Any], Dict[Any, Any]]:
    """The functions of a native module by their `GlobalVar`, and its data types by their `GlobalTypeVar`."""
    return native.nodes()


def make_attrs(type_key: str, values: Mapping[str, Any]) -> Any:
    """The attributes of a call, from complete values of the right kinds; called by the native module."""
    from .relay.op.op_attrs import make_attrs as make

    return make(type_key, values)


def run_pass(module: Any, name: str, options: Mapping[str, Any]) -> Any:
    """The module after a pass of `relayc passes`; nodes that it leaves as they are stay the same."""
    from .ir.module import IRModule

    with _reported(module):
        if name == "infer-type":
            functions, types = _native().infer_module(module)
        else:
            functions, types = _native().run_pass(module, name, dict(options))
    return IRModule._from_nodes(functions, types, module.attrs)


def network(name: str, flags: Sequence[str]) -> Any:
    """The function of a network of `relayc model`, from its flags. Raises ValueError for those that are wrong."""
    functions, _ = _native().network(name, list(flags)).nodes()
    return next(iter(functions.values()))


def import_model(
    data: bytes, kind: str, shapes: Sequence[str], weights: Optional[Mapping[str, Any]] = None
) -> Tuple[Any, Dict[str, Any], Dict[str, str]]:
    """The module of a model ("onnx", "mxnet"), its weights, and the model's names of inputs by the names of parameters."""
    from .ir.module import IRModule

    module, arrays, inputs = _native().import_model(
        data, kind, shapes=list(shapes), weights=None if weights is None else dict(weights)
    )
    return IRModule._from_nodes(*module.nodes()), arrays, inputs
