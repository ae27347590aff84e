"""Operators on quantized numbers (`python/tvm/relay/qnn/op/qnn.py`)."""

from __future__ import annotations

from typing import Any, Sequence

from ...expr import Call, Expr, Tuple, TupleWrapper, const
from ...op._call import call
from ...op._documentation import documented
from ...op._factory import define
from .config import RequantizeConfig, current_requantize_config, requantize_config

__all__ = [
    *define("qnn.op.qnn", globals()),
    "RequantizeConfig",
    "batch_matmul",
    "concatenate",
    "current_requantize_config",
    "requantize_config",
    "simulated_dequantize",
    "simulated_quantize",
]

#: The numbers that say a dtype at run time (`python/tvm/topi/nn/qnn.py`).
_DTYPE_CODES = {"disable": 0, "int8": 1, "uint8": 2, "int32": 3}


@documented("qnn.simulated_quantize")
def simulated_quantize(
    data: Expr, output_scale: Expr, output_zero_point: Expr, axis: int = -1, out_dtype: Any = "int8"
) -> Call:
    """The numbers that quantization would give, as floats.

    Parameters
    ----------
    data : Expr
        The numbers.
    output_scale, output_zero_point : Expr
        The scale and the zero point: scalars, or vectors along the axis.
    axis : int
        The axis.
    out_dtype : str or Expr
        `"int8"`, `"uint8"`, `"int32"` or `"disable"`, or an expression for its number: 1, 2, 3 or 0.
    """
    operands = (data, _code(out_dtype), _vector(output_scale), _vector(output_zero_point))
    return call("qnn.simulated_quantize", operands, axis=axis)


@documented("qnn.simulated_dequantize")
def simulated_dequantize(
    data: Expr, input_scale: Expr, input_zero_point: Expr, axis: int = -1, in_dtype: Any = "int8"
) -> Call:
    """The numbers that quantized ones stand for, which are floats here.

    Parameters
    ----------
    data : Expr
        The quantized numbers.
    input_scale, input_zero_point : Expr
        The scale and the zero point: scalars, or vectors along the axis.
    axis : int
        The axis.
    in_dtype : str or Expr
        `"int8"`, `"uint8"`, `"int32"` or `"disable"`, or an expression for its number: 1, 2, 3 or 0.
    """
    operands = (data, _code(in_dtype), _vector(input_scale), _vector(input_zero_point))
    return call("qnn.simulated_dequantize", operands, axis=axis)


def _code(dtype: Any) -> Any:
    return const(_DTYPE_CODES[dtype], dtype="int32") if isinstance(dtype, str) else dtype


def _vector(value: Expr) -> Call:
    return call("reshape", (value,), newshape=[-1])


@documented("qnn.concatenate")
def concatenate(
    data: Any,
    input_scales: Sequence[Expr],
    input_zero_points: Sequence[Expr],
    output_scale: Expr,
    output_zero_point: Expr,
    axis: int,
) -> Call:
    """Quantized tensors one after the other along an axis.

    Parameters
    ----------
    data : sequence of Expr, or an Expr whose value is a tuple
        The tensors.
    input_scales, input_zero_points : sequence of Expr
        Their scales and zero points.
    output_scale, output_zero_point : Expr
        The scale and the zero point of the result.
    axis : int
        The axis.

    Raises
    ------
    ValueError
        If the axis is no integer.
    """
    if isinstance(data, (list, tuple)):
        data = Tuple(data)
    elif isinstance(data, TupleWrapper):
        data = data.tuple_value
    if not isinstance(axis, int):
        raise ValueError("For now, we only support integer axis")
    scales, zero_points = Tuple(list(input_scales)), Tuple(list(input_zero_points))
    return call("qnn.concatenate", (data, scales, zero_points, output_scale, output_zero_point), axis=axis)


@documented("qnn.batch_matmul")
def batch_matmul(
    x: Expr,
    y: Expr,
    x_zero_point: Expr,
    y_zero_point: Expr,
    x_scale: Expr,
    y_scale: Expr,
    out_dtype: str = "int32",
) -> Call:
    """Products of quantized matrices, the second of each pair transposed.

    Parameters
    ----------
    x, y : Expr
        The matrices.
    x_zero_point, y_zero_point, x_scale, y_scale : Expr
        Their zero points and scales.
    out_dtype : str
        The dtype of the result.
    """
    operands = (x, y, x_zero_point, y_zero_point, x_scale, y_scale)
    return call("qnn.batch_matmul", operands, out_dtype=out_dtype, transpose_a=False, transpose_b=True)
