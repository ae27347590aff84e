"""The passes that change layouts: `AlterOpLayout` and `ConvertLayout`.

Values flow through the program in the layout that their producer has now, together
with the one it had. A user that takes the new one does; for one that does not, a
`layout_transform` is put between. Rules of TVM: `src/relay/transforms/transform_layout.h`.
"""

from __future__ import annotations

import logging
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from ...error import InternalError
from ...ir import Op
from ..dataflow_pattern.graph import _parts, mutate
from ..expr import Call, TupleGetItem, with_fields
from ..expr import Tuple as RelayTuple
from ...tir.data_layout import Layout
from ._layout_rules import RULES
from ._layout_wishes import WISHES

__all__ = ["alter_op_layout", "convert_layout"]

#: Gives the call of an operator in other layouts: the old call, its attributes, its new arguments.
_Replace = Callable[[Any, Any, Sequence[Any]], Any]


class _Altered:
    """A value in a new layout, and the layout it had; both may be unknown."""

    _kind = "Altered"

    def __init__(self, value: Any, old: Optional[Layout], new: Optional[Layout]) -> None:
        self.value, self.old, self.new = value, old, new


def alter_op_layout(func: Any, mod: Any, ctx: Any) -> Any:
    """`func` with operators replaced by what their attribute `FTVMAlterOpLayout` returns."""

    def replace(call: Any, attrs: Any, args: Sequence[Any]) -> Any:
        alter = call.op.get_attr("FTVMAlterOpLayout")
        types = [] if alter is None else _types(call)
        return None if alter is None else alter(attrs, args, types, call.checked_type)

    return _Converter(replace, "FTVMAlterOpLayout").run(func)


def convert_layout(desired: Mapping[str, Sequence[str]]) -> Callable[[Any, Any, Any], Any]:
    """The function that has operators work on these layouts."""
    layouts = {str(op): [str(name) for name in names] for op, names in desired.items()}

    def replace(call: Any, attrs: Any, args: Sequence[Any]) -> Any:
        wish = call.op.get_attr("FTVMConvertOpLayout") or WISHES.get(call.op.name)
        if wish is None:
            return None
        if call.op.name not in layouts:
            logging.warning("Desired layout(s) not specified for op: %s", call.op.name)
            return None
        return wish(attrs, args, _types(call), layouts[call.op.name])

    return lambda func, mod, ctx: _Converter(replace).run(func)


def _types(call: Any) -> List[Any]:
    """The types of the arguments, those of tuples one by one."""
    types: List[Any] = []
    for arg in call.args:
        ty = arg.checked_type
        types += ty.fields if ty._kind == "TupleType" else [ty]
    return types


class _Converter:
    """The conversion of one function."""

    def __init__(self, replace: _Replace, alone: str = "") -> None:
        self.replace = replace
        #: An attribute that replaces operators even if their layouts are unknown.
        self.alone = alone
        self.transforms: Dict[Tuple[int, str, str], Tuple[Any, Any]] = {}

    def run(self, func: Any) -> Any:
        """The converted function."""
        return self.real(mutate(func, lambda _: None, lambda pre, post, _: self.visit(pre, post)))

    def visit(self, pre: Any, post: Any) -> Any:
        """The converted form of a node with converted parts: altered values stay so in tuples."""
        if isinstance(pre, Call):
            return self.call(pre, post)
        if isinstance(pre, RelayTuple) or isinstance(post, _Altered):
            return post
        if isinstance(pre, TupleGetItem) and isinstance(post.tuple_value, RelayTuple):
            return post.tuple_value.fields[post.index]
        of, rebuild = _parts(post)
        return rebuild(post, [self.real(part) for part in of(post)]) if of(post) else post

    def real(self, value: Any) -> Any:
        """A value in its old layout, as an expression."""
        if isinstance(value, _Altered):
            return self.transform(value.value, value.new, value.old)
        if isinstance(value, RelayTuple):
            return with_fields(value, fields=[self.real(field) for field in value.fields])
        return value

    def transform(self, value: Any, old: Optional[Layout], new: Optional[Layout]) -> Any:
        """A value in another layout; the same expression for the same value."""
        if old == new:
            return value
        if old is None or new is None:
            raise InternalError("Cannot insert layout transform because there are undefined layouts")
        key = (id(value), old.name, new.name)
        if key not in self.transforms:
            self.transforms[key] = (value, self._transformed(value, old, new))
        return self.transforms[key][1]

    def _transformed(self, value: Any, old: Layout, new: Layout) -> Any:
        from ..op import expand_dims, layout_transform

        if old.n_primal < new.n_primal:
            ty = value._checked_type_
            if ty is not None and ty._kind == "TensorType" and set(_sizes(ty)) <= {1}:
                # One element is broadcast in any layout.
                return value
            missing = new.n_primal - old.n_primal
            old, value = old.expanded(new), expand_dims(value, 0, missing)
            if old == new:
                return value
        if not old.converts_to(new):
            raise InternalError(
                "Cannot insert layout transform because there are inconvertible layouts: "
                f"{old} v.s. {new}"
            )
        return layout_transform(value, old.name, new.name)

    def call(self, pre: Any, post: Any) -> Any:
        """The converted call, or the old one on its arguments in their old layouts."""
        if isinstance(pre.op, Op):
            found = self._converted(pre, post.args)
            if found is not None:
                return found
        args = [self.real(arg) for arg in post.args]
        return with_fields(post, args=args)

    def _new_call(self, pre: Any, attrs: Any, args: Sequence[Any]) -> Any:
        new = self.replace(pre, attrs, args)
        if new is None:
            return Call(pre.op, args, attrs)
        if not isinstance(new, Call):
            raise InternalError("Can only replace the original operator with another call node")
        return new

    def _converted(self, pre: Any, args: Sequence[Any]) -> Any:
        inputs = [_altered(part) for arg in args for part in _flat(arg)]
        plain = [_plain(arg) for arg in args]
        if self.alone and pre.op.get_attr(self.alone) and _rule(pre.op) is None:
            return self._new_call(pre, pre.attrs, plain)
        types = [arg.checked_type for arg in pre.args]
        before = [value.old for value in inputs]
        found = _infer(pre.op, pre.attrs, None, before, types)
        if found is None:
            return None
        old_in, old_out, attrs = found
        new_call = self._new_call(pre, attrs, plain)
        if not isinstance(new_call.op, Op):
            return None
        known_new = [a.new if a.new is not None else b for a, b in zip(inputs, old_in)]
        known_old = [a if a is not None else b for a, b in zip(before, old_in)]
        found = _infer(new_call.op, new_call.attrs, known_new, known_old, types)
        if found is None:
            return None
        new_in, new_out, attrs = found
        if len(new_out) != len(old_out) or len(new_in) != len(inputs):
            raise InternalError("layouts change neither the number of inputs nor of outputs")
        steps = iter(zip(inputs, old_in, new_in))
        moved = [self._moved(arg, steps) for arg in new_call.args]
        if pre.checked_type._kind == "TupleType":
            whole = Call(new_call.op, moved, attrs)
            outputs = enumerate(zip(old_out, new_out))
            parts = [_Altered(TupleGetItem(whole, i), old, new) for i, (old, new) in outputs]
            return _tuple(parts)
        return _Altered(Call(new_call.op, moved, attrs, None, pre.span), old_out[0], new_out[0])

    def _moved(self, arg: Any, steps: Any) -> Any:
        """An argument of the new call in the layout that it takes there."""
        if isinstance(arg, RelayTuple):
            return with_fields(arg, fields=[self._moved(field, steps) for field in arg.fields])
        given, old, new = next(steps)
        if old == given.old:
            return self.transform(arg, given.new, new)
        # The user sees the tensor in another way than its producer: back, then forth.
        if given.old is not None:
            arg = self.transform(arg, given.new, given.old)
        return self.transform(arg, old, new)


def _sizes(ty: Any) -> List[Any]:
    """The sizes of a tensor; those that are not known are what they are."""
    return [getattr(dim, "value", dim) for dim in ty.shape]


def _tuple(parts: Sequence[Any]) -> Any:
    """A tuple of altered values; it never leaves the conversion."""
    made = RelayTuple([])
    return with_fields(made, fields=parts)


def _flat(arg: Any) -> Sequence[Any]:
    return arg.fields if isinstance(arg, RelayTuple) else [arg]


def _altered(value: Any) -> _Altered:
    return value if isinstance(value, _Altered) else _Altered(value, None, None)


def _plain(arg: Any) -> Any:
    if isinstance(arg, RelayTuple):
        return with_fields(arg, fields=[_altered(field).value for field in arg.fields])
    return _altered(arg).value


def _rule(op: Any) -> Any:
    return op.get_attr("FInferCorrectLayout") or RULES.get(op.name)


def _infer(
    op: Any, attrs: Any, new: Optional[List[Any]], old: List[Any], types: Sequence[Any]
) -> Optional[Tuple[List[Layout], List[Layout], Any]]:
    """Layouts of inputs and outputs, and the attributes; `None` if one cannot be told."""
    rule = _rule(op)
    if rule is None:
        return None
    found = rule(attrs, new, old, types)
    if not isinstance(found, tuple):
        found = (found.input_layouts, found.output_layouts, found.new_attrs)
    inputs, outputs, attrs = found
    if None in inputs or None in outputs:
        return None
    as_layout = lambda x: x if isinstance(x, Layout) else Layout(str(getattr(x, "name", x)))  # noqa: E731
    return [as_layout(x) for x in inputs], [as_layout(x) for x in outputs], attrs
