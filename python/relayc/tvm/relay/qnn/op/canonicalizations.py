"""Functions of one variable on 8 or 16 bit integers, as tables (TVM
`python/tvm/relay/qnn/op/canonicalizations.py`)."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

__all__ = ["create_integer_lookup_op", "create_integer_lookup_table", "run_const_expr"]


def run_const_expr(expr: Any) -> np.ndarray:
    """The value of an expression of constants, computed in the current context with no
    pass disabled."""
    from ....ir import IRModule
    from ....ir.transform import PassContext
    from ... import create_executor

    now = PassContext.current()
    context = PassContext(now.opt_level, now.required_pass, [], now.instruments, now.config)
    with context:
        executor = create_executor("vm", mod=IRModule.from_expr(expr))
        value: np.ndarray = executor.evaluate()().numpy()
    return value


def create_integer_lookup_table(
    floating_point_func: Callable[[np.ndarray], np.ndarray],
    input_scale: Any,
    input_zero_point: Any,
    output_scale: Any,
    output_zero_point: Any,
    in_axis: int = -1,
    out_axis: int = -1,
    in_dtype: str = "uint8",
    out_dtype: str = "uint8",
) -> np.ndarray:
    """The quantized result for each pattern of bits of the input, in the order of unsigned numbers.

    Scales and zero points are constants of Relay. Raises `ValueError` unless both types
    are integers.
    """
    from ... import const
    from . import dequantize, quantize

    for dtype in (in_dtype, out_dtype):
        if not np.issubdtype(np.dtype(dtype), np.integer):
            raise ValueError(
                f"Only integer dtypes allowed got {in_dtype} and {out_dtype} for in and out dtypes."
            )
    bits = np.iinfo(in_dtype).bits
    patterns = np.arange(2**bits).astype(f"uint{bits}").view(in_dtype)
    inputs = dequantize(const(patterns, in_dtype), input_scale, input_zero_point, axis=in_axis)
    outputs = const(floating_point_func(run_const_expr(inputs)))
    return run_const_expr(
        quantize(outputs, output_scale, output_zero_point, axis=out_axis, out_dtype=out_dtype)
    )


def create_integer_lookup_op(
    input_arg: Any,
    floating_point_func: Callable[[np.ndarray], np.ndarray],
    in_scale: Any,
    in_zero_point: Any,
    out_scale: Any,
    out_zero_point: Any,
    in_axis: int = -1,
    out_axis: int = -1,
    in_dtype: str = "uint8",
    out_dtype: str = "uint8",
) -> Any:
    """A NumPy function on a quantized expression, by a table of all its inputs.

    Scales and zero points are constants of one element.
    """
    from ... import const
    from ... import op as _op

    table = create_integer_lookup_table(
        floating_point_func,
        const(in_scale.data.numpy().item(), "float32"),
        const(in_zero_point.data.numpy().item(), "int32"),
        const(out_scale.data.numpy().item(), "float32"),
        const(out_zero_point.data.numpy().item(), "int32"),
        in_axis=in_axis,
        out_axis=out_axis,
        in_dtype=in_dtype,
        out_dtype=out_dtype,
    )
    index = _op.reinterpret(input_arg, f"uint{np.iinfo(in_dtype).bits}")
    return _op.take(const(table), index, axis=0, mode="fast")
