"""An annotator of regions by hand, for tests of what brings other compilers in."""

from __future__ import annotations

from typing import Any

from ..expr import Var
from ..expr_functor import ExprMutator

__all__ = ["CcompilerAnnotator"]


class CcompilerAnnotator(ExprMutator):
    """Marks `multiply(subtract(add(…)))` as a region of the compiler `ccompiler`.

    It begins at the operands of `add` and at other variables, and ends behind `multiply`.
    """

    def __init__(self) -> None:
        super().__init__()
        #: 0 outside, 1 below a `multiply`, 2 once an `add` was found there.
        self.in_compiler = 0

    def visit_call(self, call: Any) -> Any:
        from .. import op
        from ..op.annotation import compiler_begin, compiler_end

        def begun(expr: Any) -> Any:
            return compiler_begin(expr, "ccompiler") if isinstance(expr, Var) else expr

        name = call.op.name
        if name == "add" and self.in_compiler == 1:
            operands = [compiler_begin(super(CcompilerAnnotator, self).visit(a), "ccompiler") for a in call.args]
            self.in_compiler = 2
            return op.add(*operands)
        if name == "subtract" and self.in_compiler == 1:
            return op.subtract(*(begun(super(CcompilerAnnotator, self).visit(a)) for a in call.args))
        if name == "multiply":
            self.in_compiler = 1
            operands = [super(CcompilerAnnotator, self).visit(a) for a in call.args]
            result = op.multiply(*map(begun, operands))
            if self.in_compiler == 2:
                result = compiler_end(result, "ccompiler")
            self.in_compiler = 0
            return result
        return super().visit_call(call)
