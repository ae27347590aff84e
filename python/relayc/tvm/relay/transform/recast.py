"""`recast`: runs chosen operators in another data type, with casts around them."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence

from ...ir import IRModule
from ...ir.attrs import Attrs, changed
from ...ir.op import Op
from ..expr import Call
from ..expr import Tuple as RelayTuple
from ..expr_functor import ExprMutator
from .transform import InferType

__all__ = ["recast"]


class _Recast(ExprMutator):
    """Numbers the operators from the result to the inputs; a layer's number is its depth
    counted from the inputs."""

    def __init__(
        self, dtype: str, out_dtype: str, ops: Sequence[str], layers: int, skipped: List[int]
    ) -> None:
        super().__init__()
        self.dtype = dtype
        self.out_dtype = out_dtype
        self.ops = [Op.get(name) for name in ops]
        self.layers = layers
        self.skipped = [layers + layer if layer < 0 else layer for layer in skipped]
        self.depth = 0

    def visit_call(self, call: Any) -> Any:
        depth = self.depth
        chosen = call.op in self.ops
        if chosen:
            self.depth += 1
        op = self.visit(call.op)
        args = []
        for arg in call.args:
            args.append(self.visit(arg))
            self.depth = depth
        if not chosen or self.layers - depth - 1 in self.skipped:
            return Call(op, args, call.attrs)
        return self._cast(call, op, args)

    def _cast(self, call: Any, op: Any, args: List[Any]) -> Any:
        """The call on operands of `dtype`, and its result as it was."""
        from ..op import cast

        if op is Op.get("concatenate"):
            if len(args) != 1 or not isinstance(args[0], RelayTuple):
                return Call(op, args, call.attrs)
            new_args = [RelayTuple([cast(field, self.dtype) for field in args[0].fields])]
        else:
            new_args = [cast(arg, self.dtype) for arg in args]
        attrs, dtype = call.attrs, None
        if isinstance(attrs, Attrs) and "out_dtype" in attrs.keys():
            dtype = str(attrs["out_dtype"]) or None
            attrs = changed(attrs, out_dtype=self.out_dtype)
        if dtype is None:
            inferred = InferType()(IRModule.from_expr(call))
            dtype = inferred["main"].body.checked_type.dtype
        return cast(Call(op, new_args, attrs), dtype)


def recast(
    expr: Any,
    dtype: str,
    out_dtype: str,
    ops: Optional[Sequence[str]] = None,
    skip_layers: Optional[Sequence[int]] = None,
) -> Any:
    """A function or module whose `ops` (`nn.conv2d`) take `dtype` and accumulate `out_dtype`.

    `skip_layers` excludes operators by their number from the inputs on; negative
    numbers count from the result. Values are cast hard: it serves to measure speed.
    """
    from ..analysis import count_layers

    names = ["nn.conv2d"] if ops is None else list(ops)
    func = expr["main"] if isinstance(expr, IRModule) else expr
    layers = count_layers(func, names)
    result = _Recast(dtype, out_dtype, names, layers, list(skip_layers or [])).visit(func)
    if not isinstance(expr, IRModule):
        return result
    module = expr._copy()
    module["main"] = result
    return module
