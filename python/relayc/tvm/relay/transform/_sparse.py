"""Dense layers and convolutions with sparse weights, and dense layers over transposed ones.

Rules of TVM: `convert_sparse_dense.cc`, `convert_sparse_conv2d.cc` in `src/relay/transforms`.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Sequence, Tuple

import numpy as np

from ...ir import Op
from ...ir.attrs import make_node
from ...ir.transform import Pass, PassInfo
from ..analysis import free_vars
from ..analysis._sparse import bsr
from ..expr import Call, Constant, Var, with_fields
from ..ty import TensorType
from ._engine import FunctionPass, function_native
from ._rewrites import rewrite

__all__ = ["Conv2dToSparse", "Conv2dToSparse2", "DenseToSparse", "SimplifyFCTranspose"]

_Shapes = Sequence[Sequence[int]]
_REQUIRED = ["DeadCodeElimination"]


def DenseToSparse(weight_name: Sequence[str], weight_shape: _Shapes) -> Pass:
    """Writes `nn.dense` with these weights as `nn.sparse_dense`.

    The shapes are those of `relay.analysis.sparse_dense.process_params`.
    """
    attrs = {"sparse_lhs": False}
    step = _with_variables("nn.dense", "nn.sparse_dense", weight_name, weight_shape, attrs)
    return FunctionPass(step, PassInfo(4, "DenseToSparse", _REQUIRED))


def Conv2dToSparse(
    weight_name: Sequence[str], weight_shape: _Shapes, layout: str, kernel_size: int
) -> Pass:
    """Writes `nn.conv2d` with these weights as `nn.sparse_conv2d`.

    The shapes are those of `relay.analysis.sparse_conv2d.process_params`.
    """
    attrs = {"layout": layout, "kernel_size": [kernel_size, kernel_size]}
    step = _with_variables("nn.conv2d", "nn.sparse_conv2d", weight_name, weight_shape, attrs)
    return FunctionPass(step, PassInfo(4, "Conv2dToSparse", _REQUIRED))


def Conv2dToSparse2(
    layout: str, kernel_size: int, blocksize: Sequence[int], sparsity_threshold: float
) -> Pass:
    """Writes `nn.conv2d` with constant weights, whose blocks are zero to this share, as
    `nn.sparse_conv2d`."""
    height, width = blocksize

    def visit(pre: Any, post: Any) -> Any:
        if not _is_plain_conv2d(pre, layout, kernel_size):
            return post
        weight = pre.args[1].data.numpy()
        if layout == "NHWC":
            matrix = weight.reshape(-1, weight.shape[-1]).T
        else:
            matrix = weight.reshape(weight.shape[0], -1)
        parts = bsr(np.ascontiguousarray(matrix), (height, width))
        if 1 - parts[0].size / matrix.size < sparsity_threshold:
            return post
        attrs = make_node(
            "relay.attrs.SparseConv2DAttrs", layout=layout, kernel_size=[kernel_size, kernel_size]
        )
        return Call(Op.get("nn.sparse_conv2d"), [post.args[0], *map(_constant, parts)], attrs)

    info = PassInfo(5, "Conv2dToSparse2", _REQUIRED)
    return FunctionPass(lambda func, mod, ctx: rewrite(func, visit), info)


def SimplifyFCTranspose(target_weight_name: Sequence[str]) -> Pass:
    """Writes dense layers over transposed weights of these names over the weights as they are."""
    weights = [str(name) for name in target_weight_name]
    return function_native(
        "SimplifyFCTranspose", 4, "simplify-fc-transpose", _REQUIRED, weights=weights
    )


def _constant(array: np.ndarray) -> Any:
    from ...runtime.ndarray import array as ndarray

    return Constant(ndarray(array))


def _is_plain_conv2d(call: Any, layout: str, kernel_size: int) -> bool:
    return (
        isinstance(call, Call)
        and call.op is Op.get("nn.conv2d")
        and isinstance(call.args[1], Constant)
        and str(call.attrs.data_layout) == layout
        and int(call.attrs.strides[0]) == 1
        and call.attrs.kernel_size is not None
        and int(call.attrs.kernel_size[0]) == kernel_size
    )


def _with_variables(
    dense: str, sparse: str, names: Sequence[str], shapes: _Shapes, values: Dict[str, Any]
) -> Callable[[Any, Any, Any], Any]:
    """The function that has an operator take a weight's data, indices and pointers."""
    targets = {str(n): [int(size) for size in shape] for n, shape in zip(names, shapes)}

    def visit(pre: Any, post: Any) -> Any:
        if not isinstance(pre, Call) or pre.op is not Op.get(dense):
            return post
        weight = pre.args[1]
        if not isinstance(weight, Var) or weight.name_hint not in targets:
            return post
        op = Op.get(sparse)
        parts = _variables(weight.name_hint, targets[weight.name_hint])
        return Call(op, [post.args[0], *parts], make_node(op.attrs_type_key, **values))

    def run(func: Any, mod: Any, ctx: Any) -> Any:
        changed = rewrite(func, visit)
        added = list(free_vars(changed))
        used = list(free_vars(with_fields(changed, params=added)))
        return with_fields(changed, params=[*used, *added])

    return run


def _variables(name: str, shape: List[int]) -> Tuple[Any, ...]:
    """The variables of a weight's parts; indices and pointers are the last two sizes."""
    return (
        Var(f"{name}.data", TensorType(shape[:-2], "float32")),
        Var(f"{name}.indices", TensorType(shape[-2:-1], "int32")),
        Var(f"{name}.indptr", TensorType(shape[-1:], "int32")),
    )
