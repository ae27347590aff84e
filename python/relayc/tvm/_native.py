"""The native module `relayc._relayc` as `relayc.tvm` sees it, and what it needs of Python by name."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Sequence, Tuple

from .._errors import DiagnosticError, RelayError


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
    """The text of a module, an expression, a type or a pattern. Raises NotImplementedError for `annotate`."""
    if annotate is not None:
        raise NotImplementedError("relayc prints no annotations of callers: comments of expressions are their types")
    return _native().astext(node, show_meta_data)


def parse_module(source: str, source_name: str, init_module: Any = None, meta_table: Any = None) -> Any:
    """The native module that `source` describes; definitions of `init_module` are in scope and part of it.

    `meta_table` has the objects that `source` names `meta[key][index]`, unless it has a section of its own.
    """
    if meta_table:
        source = f"{source}\n#[metadata]\n{_metadata(meta_table)}"
    with _reported(init_module):
        return _native().parse_module(source, source_name, init_module)


def _metadata(table: Mapping[str, Any]) -> str:
    """The section of a text that holds these objects, by their type keys."""
    from .ir._json import save_json
    from .runtime.container import Array, Map

    return save_json(Map({key: Array(objects) for key, objects in table.items()}))


def parse_expr(source: str, source_name: str = "string") -> Any:
    """The expression that `source` describes, as a node."""
    with _reported():
        try:
            return _native().parse_expr(source, source_name)
        except ValueError as error:  # the text is a module
            raise DiagnosticError(str(error)) from None


def nodes(native: Any) -> Tuple[Dict[Any, Any], Dict[Any, Any]]:
    """The functions of a native module by their `GlobalVar`, and its data types by their `GlobalTypeVar`."""
    return native.nodes()


def make_attrs(type_key: str, values: Mapping[str, Any]) -> Any:
    """The attributes of a call; called by the native module, which knows all fields of operators' attributes."""
    from .ir.attrs import make_node
    from .relay.op.op_attrs import make_attrs as make

    return make_node(type_key, **values) if type_key == "attrs.TestAttrs" else make(type_key, values)


def run_pass(module: Any, name: str, options: Mapping[str, Any]) -> Any:
    """The module after a pass of `relayc passes`; nodes that it leaves as they are stay the same."""
    from .ir.module import IRModule

    if name == "infer-type":
        return infer_types(module)
    with _reported(module):
        functions, types = _native().run_pass(module, name, dict(options))
    return IRModule._from_nodes(functions, types, module.attrs)


def _infer_module(module: Any) -> Any:
    from .ir.module import IRModule

    with _reported(module):
        functions, types = _native().infer_module(module)
    return IRModule._from_nodes(functions, types, module.attrs)


def infer_types(module: Any) -> Any:
    """The module with types. It may call operators that the program registered itself."""
    from . import _operators
    from .ir.op import Op

    if len(Op._table) <= len(_operators.declarations()):
        return _infer_module(module)
    from .relay.transform._own_operators import infer_types as infer

    return infer(module, _infer_module)


def network(name: str, flags: Sequence[str]) -> Any:
    """The function of a network of `relayc model`, from its flags. Raises ValueError for those that are wrong."""
    functions, _ = _native().network(name, list(flags)).nodes()
    return next(iter(functions.values()))


def import_model(
    data: bytes, kind: str, shapes: Sequence[str], weights: Optional[Mapping[str, Any]] = None
) -> Tuple[Any, Dict[str, Any], Dict[str, str]]:
    """The module of a model ("onnx", "mxnet"), its weights, and the model's names of inputs by the names of parameters.

    What is doubtful about it is a warning of Python.
    """
    from .ir.module import IRModule

    module, arrays, inputs, doubts = _native().import_model(
        data, kind, shapes=list(shapes), weights=None if weights is None else dict(weights)
    )
    if doubts:
        # About the caller of `from_onnx` or `from_mxnet`.
        warnings.warn(doubts.rstrip(), stacklevel=4)
    return IRModule._from_nodes(*module.nodes()), arrays, inputs


def native_of(module: Any) -> Any:
    """The native module of an `IRModule`, typed."""
    if module._lazy is not None:
        return module._lazy
    with _reported(module):
        return _native().native_of(module)


def evaluator(module: Any, entry: str, compiled: bool, level: int) -> Any:
    """What runs a function with any values: on the interpreter, or compiled by subgraphs."""
    return _native().Evaluator(native_of(module), entry=entry, compiled=compiled, level=level)


def compiled(native: Any, entry: str, level: int, accuracy: str) -> Any:
    """The executable of a native module's function."""
    return _native().compile(native, entry=entry, level=level, accuracy=accuracy)


def with_weights(native: Any, weights: Mapping[str, Any]) -> Any:
    """The native module with arrays for parameters of these names."""
    return _native().with_weights(native, [], dict(weights))


def with_constants(native: Any, entry: str, level: int, constants: Mapping[str, Any]) -> Any:
    """The native module with other arrays for constants of its graph."""
    return _native().with_constants(native, entry, level, dict(constants))


def graph_of(native: Any, entry: str, level: int) -> Tuple[str, Dict[str, Any]]:
    """The graph of a function for the graph executor as JSON, and its constants."""
    return _native().graph_of(native, entry, level)


def load_params(data: bytes) -> Dict[str, Any]:
    """The named arrays in the bytes of a file of tensors. Raises RelayError for other bytes."""
    return _native().load_params(data)


def save_params(arrays: Mapping[str, Any]) -> bytes:
    """Named arrays as the bytes of a `.params` file."""
    return _native().save_params(dict(arrays))


def load_artifact(path: str) -> Any:
    """The executable in a shared object."""
    return _native().load_artifact(path)
