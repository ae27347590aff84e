"""`FlexibleShapeDispatch`: a module that chooses by the size of an input among functions
compiled for single sizes, with one of unknown size for all others."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple

__all__ = ["FlexibleShapeDispatch", "flexible_dispatch", "override_shape", "specialize_body"]


def override_shape(tensor_type: Any, axis: int, dim: Any) -> Any:
    """A tensor type, or a tuple type of them, with another dimension."""
    from ..ty import TensorType, TupleType

    fields = tensor_type.fields if isinstance(tensor_type, TupleType) else [tensor_type]
    changed = []
    for field in fields:
        shape = list(field.shape)
        shape[axis] = dim
        changed.append(TensorType(shape, field.dtype))
    return changed[0] if len(changed) == 1 else TupleType(changed)


def specialize_body(
    mod: Any,
    function: Any,
    axis: int,
    dim: Any,
    input_indices: Sequence[int],
    affects_output: bool = True,
) -> Tuple[Any, List[Any]]:
    """Adds `main_<dim>` to the module: the function for one size of these inputs.

    Returns its variable and the types of the inputs. With `affects_output` the size
    is the result's too.
    """
    from .. import expr as _expr
    from ..function import Function

    params = list(function.params)
    binds = {}
    for index in input_indices:
        old = function.params[index]
        params[index] = _expr.Var(old.name_hint, override_shape(old.type_annotation, axis, dim))
        binds[old] = params[index]
    ret_type = function.ret_type
    if affects_output:
        ret_type = override_shape(ret_type, axis, dim)
    var = _expr.GlobalVar(f"main_{dim}")
    body = _expr.bind(function.body, binds)
    mod[var] = Function(params, body, ret_type, function.type_params, function.attrs)
    return var, [params[index].type_annotation for index in input_indices]


class _Dispatch:
    """The making of the dispatching `main` of one module."""

    def __init__(
        self, mod: Any, axis: int, input_indices: Sequence[int], affects_output: bool
    ) -> None:
        from ..expr import Var, const
        from ..op import shape_of, take
        from ..ty import Any as AnySize

        self.mod, self.main, self.axis = mod, mod["main"], axis
        self.indices, self.affects_output = list(input_indices), affects_output
        self.inputs = [
            Var(p.name_hint, override_shape(p.type_annotation, axis, AnySize()))
            for p in (self.main.params[i] for i in self.indices)
        ]
        self.size = take(shape_of(self.inputs[0]), const(axis))

    def call(self, dim: Any, inputs: Sequence[Any], exact: bool) -> Any:
        """The call of the function for one size; `exact` casts the inputs to it."""
        from ..op import reshape

        var, types = specialize_body(
            self.mod, self.main, self.axis, dim, self.indices, self.affects_output
        )
        args = list(self.main.params)
        for index, data, ty in zip(self.indices, inputs, types):
            args[index] = reshape(data, ty.shape) if exact else data
        return var(*args)

    def padded(self, bucket: int, previous: Optional[int], pad_value: Any) -> List[Any]:
        """The inputs, filled up to the bucket if their size is below it and over the previous."""
        from ..expr import If, const
        from ..op import greater, less_equal, logical_and, nn, scatter_nd, zeros

        fits = less_equal(self.size, const(bucket))
        if previous is not None:
            fits = logical_and(fits, greater(self.size, const(previous)))
        padded = []
        for data in self.inputs:
            rank = len(data.type_annotation.shape)
            at = const([self.axis, 1])
            widths = scatter_nd(zeros([rank, 2], "int32"), at, const(bucket) - self.size)
            padded.append(If(fits, nn.pad(data, widths, pad_value), data))
        return padded

    def unpadded(self, result: Any) -> Any:
        """The part of a result that does not come from padding."""
        from ..expr import const
        from ..op import arange, take

        rows = arange(start=const(0), stop=self.size, dtype="int32")
        return take(result, rows, axis=self.axis)


def flexible_dispatch(
    mod: Any,
    buckets: Sequence[int],
    axis: int = 0,
    auto_pad: bool = False,
    pad_value: Any = 0,
    input_indices: Optional[Sequence[int]] = None,
    affects_output: bool = True,
) -> Any:
    """The module, typed before, with a `main` that dispatches; see `FlexibleShapeDispatch`."""
    from ..expr import If, const
    from ..function import Function
    from ..op import equal, shape_of, take
    from ..ty import Any as AnySize
    from .transform import InferType

    dispatch = _Dispatch(mod, axis, input_indices or [0], affects_output)
    main = dispatch.main
    cases = []
    for i, bucket in enumerate(buckets):
        inputs, size = dispatch.inputs, dispatch.size
        if auto_pad:
            inputs = dispatch.padded(bucket, buckets[i - 1] if i else None, pad_value)
            size = take(shape_of(inputs[0]), const(axis))
        result = dispatch.call(bucket, inputs, exact=True)
        if auto_pad and affects_output:
            result = dispatch.unpadded(result)
        cases.append((equal(size, const(bucket)), result))
    body = dispatch.call(AnySize(), dispatch.inputs, exact=False)
    for condition, result in cases:
        body = If(condition, result, body)

    params = list(main.params)
    for index, data in zip(dispatch.indices, dispatch.inputs):
        params[index] = data
    ret_type = main.ret_type
    if affects_output:
        ret_type = override_shape(ret_type, axis, AnySize())
    mod["main"] = Function(params, body, ret_type, main.type_params, main.attrs)
    return InferType()(mod)


class FlexibleShapeDispatch:
    """A pass to a module that takes inputs of several sizes along one axis.

    Each size of `buckets` has a function of its own. With `auto_pad`, other sizes are
    filled with `pad_value` up to the next bucket. `input_indices` ([0]) are the inputs
    that share the size; `affects_output` says whether the result does.
    """

    def __init__(
        self,
        buckets: Sequence[int],
        axis: int = 0,
        auto_pad: bool = False,
        pad_value: Any = 0,
        input_indices: Optional[Sequence[int]] = None,
        affects_output: bool = True,
    ) -> None:
        self.buckets = buckets
        self.axis = axis
        self.auto_pad = auto_pad
        self.pad_value = pad_value
        self.input_indices = input_indices
        self.affects_output = affects_output

    def __call__(self, mod: Any) -> Any:
        from .transform import InferType

        return flexible_dispatch(
            InferType()(mod),
            self.buckets,
            self.axis,
            self.auto_pad,
            self.pad_value,
            self.input_indices,
            self.affects_output,
        )
