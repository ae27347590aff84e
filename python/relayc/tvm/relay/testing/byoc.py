"""An annotator for tests of partitioning: gives `multiply(subtract(add(...)))` to the compiler `ccompiler`."""

from __future__ import annotations

from typing import Any

from ..expr import Call, Var
from ..expr_functor import ExprMutator
from ..op.annotation import compiler_begin, compiler_end
from ..op.tensor import add, multiply, subtract

_COMPILER = "ccompiler"
#: Outside of a region, below the product that ends one, and there with the sum that begins it.
_OUTSIDE, _SEARCHING, _FOUND = range(3)


class CcompilerAnnotator(ExprMutator):
    """Marks the operands of a sum and of what follows it as the inputs of a region, and a product as its output."""

    def __init__(self) -> None:
        super().__init__()
        self.in_compiler = _OUTSIDE

    def _operand(self, expr: Any) -> Any:
        new = self.visit(expr)
        return compiler_begin(new, _COMPILER) if isinstance(new, Var) else new

    def visit_call(self, call: Call) -> Any:
        """The call with marks, where it is of a region."""
        name = getattr(call.op, "name", None)
        if name == "multiply":
            self.in_compiler = _SEARCHING
            product = multiply(*(self._operand(arg) for arg in call.args))
            if self.in_compiler == _FOUND:
                product = compiler_end(product, _COMPILER)
            self.in_compiler = _OUTSIDE
            return product
        if name == "subtract" and self.in_compiler == _SEARCHING:
            return subtract(*(self._operand(arg) for arg in call.args))
        if name == "add" and self.in_compiler == _SEARCHING:
            total = add(*(compiler_begin(self.visit(arg), _COMPILER) for arg in call.args))
            self.in_compiler = _FOUND
            return total
        return super().visit_call(call)
