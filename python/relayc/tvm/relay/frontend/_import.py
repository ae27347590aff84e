"""The native importers, as what `from_onnx` and the others return."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Sequence, Tuple

from ... import _native
from ...ir import IRModule, TensorType
from ...runtime import ndarray as nd
from ...tir import Any as AnyDim
from ..build_module import bind_params_by_name
from ..expr import bind, var
from ..function import Function, FunctionWithFields
from ..transform import InferType


def checked_shapes(shape: Any) -> Dict[str, Any]:
    """Shapes by the names of inputs. Raises TypeError for anything else."""
    shapes = {} if shape is None else shape
    if not isinstance(shapes, Mapping) or not all(isinstance(dims, (list, tuple)) for dims in shapes.values()):
        raise TypeError(f'expected shapes by the names of inputs, such as {{"data": (1, 3, 224, 224)}}, found {shape!r}')
    return dict(shapes)


def _shape_text(name: str, shape: Sequence[Any]) -> str:
    """`data=1,3,224,224`; open dimensions are `?`."""
    dims = ("?" if dim is None or isinstance(dim, AnyDim) else str(int(dim)) for dim in shape)
    return f"{name}={','.join(dims)}"


def import_model(
    data: bytes,
    kind: str,
    shape: Optional[Mapping[str, Any]] = None,
    weights: Optional[Mapping[str, Any]] = None,
) -> Tuple[IRModule, Dict[str, nd.NDArray]]:
    """The program of a model, with the model's names of its inputs, and its weights."""
    shapes = [_shape_text(name, dims) for name, dims in checked_shapes(shape).items()]
    mod, params, inputs = _native.import_model(data, kind, shapes, weights)
    return _renamed(mod, inputs), {
        name: nd.NDArray(tensor.numpy(), tensor.dtype) for name, tensor in params.items()
    }


def _renamed(mod: IRModule, inputs: Mapping[str, str]) -> IRModule:
    """The module with the model's own names of inputs, which text may not be able to write."""
    main = mod["main"]
    new = {
        param: var(inputs[param.name_hint], param.type_annotation)
        for param in main.params
        if inputs.get(param.name_hint, param.name_hint) != param.name_hint
    }
    if new:
        params = [new.get(param, param) for param in main.params]
        mod["main"] = FunctionWithFields(main, params, bind(main.body, new))
    return mod


def retyped(mod: IRModule, dtypes: Mapping[str, str]) -> IRModule:
    """The module whose parameters of these names hold these types, inferred anew where that changes something."""
    main = mod["main"]
    new = {}
    for param in main.params:
        ty = param.type_annotation
        if dtypes.get(param.name_hint, ty.dtype) != ty.dtype:
            new[param] = var(param.name_hint, TensorType(ty.shape, dtypes[param.name_hint]))
    if not new:
        return mod
    function = Function([new.get(param, param) for param in main.params], bind(main.body, new))
    return InferType()(IRModule.from_expr(function))


def bound(mod: IRModule, params: Dict[str, nd.NDArray]) -> Tuple[IRModule, Dict[str, nd.NDArray]]:
    """The module with its weights as constants, and no weights."""
    mod["main"] = bind_params_by_name(mod["main"], params)
    return mod, {}
