"""What `qnn.transform.Legalize` makes of quantized operators for the current target.

A convolution or product keeps its integers where the processor multiplies them fast,
in the dtypes that its instruction takes; elsewhere it becomes one of int16. Functions
of one quantized value become tables. Rules of TVM: `python/tvm/relay/qnn/op/legalizations.py`.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Tuple

import numpy as np

from ...ir import Op
from ..expr import Call, Constant

__all__ = ["QNN_RULES"]

Rule = Callable[[Any, Any, Any], Any]

#: How names of x86 processors begin that have SSE4.2.
_FAST_X86 = (
    "alderlake amdfam bdver broadwell btver2 cannonlake cascadelake cooperlake core-avx corei7 emeraldrapids "
    "goldmont graniterapids haswell icelake ivybridge knl knm nehalem rocketlake sandybridge sapphirerapids "
    "silvermont skylake skx tigerlake tremont westmere x86-64-v znver"
).split()
#: What the other dtype of eight bits adds to a value.
_SHIFT = {"uint8": 128, "int8": -128}


def _legal(attrs: Any, args: Any, types: Any, name: str) -> Any:
    """A `qnn.conv2d` or `qnn.dense` for the current target; `None` if it may stay, or none is current."""
    from ...target import Target

    target = Target.current(allow_none=True)
    if target is None:
        return None
    keys = [str(key) for key in target.keys]
    if "arm_cpu" in keys:
        return _for_arm(attrs, args, types, name, target)
    if "cpu" in keys and "hexagon" not in keys:
        if _is_fast(target):
            return _changed(attrs, args, types, name, "uint8", "int8")
        return _wide(attrs, args, types, name)
    if "vulkan" in keys:
        return _changed(attrs, args, types, name, types[1].dtype, types[1].dtype)
    if target.kind.name in ("cuda", "rocm"):
        return _changed(attrs, args, types, name, "int8", "int8")
    return None


def _is_fast(target: Any) -> bool:
    features = [str(feature) for feature in target.attrs.get("mattr", None) or ()]
    return target.mcpu.startswith(tuple(_FAST_X86)) or any(f.startswith(("+sse4.2", "+avx")) for f in features)


def _for_arm(attrs: Any, args: Any, types: Any, name: str, target: Any) -> Any:
    features = [str(feature) for feature in target.attrs.get("mattr", None) or ()]
    triple = str(target.attrs.get("mtriple", "") or "")
    has_asimd = "+neon" in features or triple.startswith(("aarch64", "arm64"))
    keeps = "+dotprod" in features
    if name == "conv2d" and attrs.data_layout == "NHWC":
        keeps = keeps or not _is_depthwise(attrs, types)
    if has_asimd and not keeps:
        return _wide(attrs, args, types, name)
    return _changed(attrs, args, types, name, types[1].dtype, types[1].dtype)


def _is_depthwise(attrs: Any, types: Any) -> bool:
    channels = types[0].shape[attrs.data_layout.index("C")]
    return attrs.groups > 1 and int(channels) == attrs.groups


def _shifted(value: Any, zero_point: Any, dtype: str) -> Tuple[Any, Any]:
    from ..expr import const
    from ..op import add, cast

    shift = const(_SHIFT[dtype], "int32")
    value = cast(add(cast(value, "int32"), shift), dtype)
    if isinstance(zero_point, Constant):
        return value, const(int(zero_point.data.numpy()) + _SHIFT[dtype], "int32")
    return value, add(zero_point, shift)


def _changed(attrs: Any, args: Any, types: Any, name: str, data_dtype: str, kernel_dtype: str) -> Optional[Any]:
    """The same operator with operands of these dtypes."""
    from ..qnn import op

    if (types[0].dtype, types[1].dtype) == (data_dtype, kernel_dtype):
        return None
    data, kernel, data_zero, kernel_zero, *scales = args
    if types[0].dtype != data_dtype:
        data, data_zero = _shifted(data, data_zero, data_dtype)
    if types[1].dtype != kernel_dtype:
        kernel, kernel_zero = _shifted(kernel, kernel_zero, kernel_dtype)
    return getattr(op, name)(data, kernel, data_zero, kernel_zero, *scales, **{key: attrs[key] for key in attrs.keys()})


def _wide(attrs: Any, args: Any, types: Any, name: str) -> Any:
    """The operator of `nn` on the values of int16 less their zero points."""
    from .. import nn
    from ..op import cast, negative, subtract

    data, kernel, data_zero, kernel_zero = args[:4]
    data = subtract(cast(data, "int16"), cast(data_zero, "int16"))
    if len(types[3].shape) == 0:
        kernel = subtract(cast(kernel, "int16"), cast(kernel_zero, "int16"))
    else:
        axis = attrs.kernel_layout.index("O") if name == "conv2d" else 0
        kernel = nn.bias_add(cast(kernel, "int16"), negative(cast(kernel_zero, "int16")), axis)
    return getattr(nn, name)(data, kernel, **{key: attrs[key] for key in attrs.keys()})


def _conv2d(attrs: Any, args: Any, types: Any) -> Any:
    return _legal(attrs, args, types, "conv2d")


def _dense(attrs: Any, args: Any, types: Any) -> Any:
    return _legal(attrs, args, types, "dense")


def _conv2d_transpose(attrs: Any, args: Any, types: Any) -> Any:
    from .. import nn
    from ..op import cast, negative, subtract

    values = []
    for value, zero_point, ty in zip(args[:2], args[2:4], types[2:4]):
        value, zero_point = cast(value, "int16"), cast(zero_point, "int16")
        less = subtract(value, zero_point) if len(ty.shape) == 0 else nn.bias_add(value, negative(zero_point))
        values.append(less)
    return Call(Op.get("nn.conv2d_transpose"), values, attrs)


def _table_of(function: Callable[[np.ndarray], np.ndarray]) -> Rule:
    def rule(attrs: Any, args: Any, types: Any) -> Any:
        from ..qnn.op.canonicalizations import create_integer_lookup_op

        dtype = types[0].dtype
        value, scale, zero_point, out_scale, out_zero_point = args[:5]
        return create_integer_lookup_op(
            input_arg=value,
            floating_point_func=function,
            in_scale=scale,
            in_zero_point=zero_point,
            out_scale=out_scale,
            out_zero_point=out_zero_point,
            in_dtype=dtype,
            out_dtype=dtype,
        )

    return rule


def _erf(values: np.ndarray) -> np.ndarray:
    import math

    return np.vectorize(math.erf, otypes=[values.dtype])(values)


def _hardswish(values: np.ndarray) -> np.ndarray:
    return values * np.clip(values + 3.0, 0.0, 6.0) / 6.0


#: The rules by operator.
QNN_RULES: Dict[str, Rule] = {
    "qnn.conv2d": _conv2d,
    "qnn.conv2d_transpose": _conv2d_transpose,
    "qnn.dense": _dense,
    "qnn.abs": _table_of(np.abs),
    "qnn.erf": _table_of(_erf),
    "qnn.exp": _table_of(np.exp),
    "qnn.hardswish": _table_of(_hardswish),
    "qnn.log": _table_of(np.log),
    "qnn.rsqrt": _table_of(lambda values: 1 / np.sqrt(values)),
    "qnn.sigmoid": _table_of(lambda values: 1 / (1 + np.exp(-values))),
    "qnn.sqrt": _table_of(np.sqrt),
    "qnn.tanh": _table_of(np.tanh),
}
