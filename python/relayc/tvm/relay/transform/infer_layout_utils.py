"""`InferCorrectLayoutOutput`: what an operator's own inference of layouts returns."""

from __future__ import annotations

from typing import Any, Sequence

from ..._ffi import register_object
from ...runtime.object import Object

__all__ = ["InferCorrectLayoutOutput"]


@register_object("relay._transform.InferCorrectLayoutOutput")
class InferCorrectLayoutOutput(Object):
    """Layouts of the inputs and of the outputs, and the attributes that fit them."""

    def __init__(
        self, input_layouts: Sequence[Any], output_layouts: Sequence[Any], new_attrs: Any
    ) -> None:
        self.input_layouts = list(input_layouts)
        self.output_layouts = list(output_layouts)
        self.new_attrs = new_attrs
