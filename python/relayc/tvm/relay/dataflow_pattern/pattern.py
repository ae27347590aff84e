"""The patterns of the dataflow pattern language, and the functions that build them.

A pattern describes a part of a program: `is_op("nn.relu")(is_op("nn.conv2d")(wildcard(), wildcard()))`.
Patterns are compared and hashed by identity: the same pattern object twice in one pattern matches the same
expression twice. The names are those of `python/tvm/relay/dataflow_pattern/__init__.py`.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence

from ...ir import make_node
from ...ir.base import Node
from ...runtime import convert
from ..op import get as _get_op


class DFPattern(Node):
    """Base class of all patterns."""

    #: Names of the attributes that hold sub-patterns, in the order in which they are visited.
    _parts: tuple = ()

    def sub_patterns(self) -> List["DFPattern"]:
        """Returns the immediate sub-patterns, in the order in which they are visited."""
        out: List[DFPattern] = []
        for name in self._parts:
            part = getattr(self, name)
            if isinstance(part, DFPattern):
                out.append(part)
            elif part is not None:
                out.extend(part)
        return out

    def __str__(self) -> str:
        from .printer import pattern_text

        return pattern_text(self)

    __repr__ = __str__

    def astext(self, show_meta_data: bool = True, annotate: Any = None) -> str:
        """Returns the pattern as text. Patterns hold no meta data, so both arguments change nothing."""
        return str(self)

    def __call__(self, *args: Optional["DFPattern"]) -> "CallPattern":
        """Matches a call of what this pattern matches. The one argument `None` stands for any arguments."""
        if len(args) == 1 and args[0] is None:
            return CallPattern(self, None)
        return CallPattern(self, args)

    def __or__(self, other: "DFPattern") -> "AltPattern":
        return AltPattern(self, other)

    def __add__(self, other: "DFPattern") -> "CallPattern":
        return is_op("add")(self, other)

    def __sub__(self, other: "DFPattern") -> "CallPattern":
        return is_op("subtract")(self, other)

    def __mul__(self, other: "DFPattern") -> "CallPattern":
        return is_op("multiply")(self, other)

    def __truediv__(self, other: "DFPattern") -> "CallPattern":
        return is_op("divide")(self, other)

    def has_attr(self, attrs: Dict[str, Any]) -> "AttrPattern":
        """Matches only where the operator, call or function also has these attributes with these values."""
        return AttrPattern(self, make_node("DictAttrs", **attrs))

    def has_type(self, ttype: Any) -> "TypePattern":
        """Matches only expressions of the type `ttype`."""
        return has_type(ttype, self)

    def has_dtype(self, dtype: str) -> "DataTypePattern":
        """Matches only tensors of the element type `dtype`."""
        return has_dtype(dtype, self)

    def has_shape(self, shape: Sequence[Any]) -> "ShapePattern":
        """Matches only tensors of the shape `shape`."""
        return has_shape(shape, self)

    def match(self, expr: Any) -> bool:
        """Returns whether `expr` as a whole matches this pattern."""
        return match(self, expr)

    def partition(
        self,
        expr: Any,
        attrs: Optional[Dict[str, Any]] = None,
        check: Callable[[Any], bool] = lambda x: True,
    ) -> Any:
        """Replaces each match within `expr` by a call of a function that holds it.

        The functions get the attribute `PartitionedFromPattern` and those of `attrs`. A match whose root
        `check` refuses stays as it is.
        """
        from .rewrite import partition

        return partition(self, expr, attrs, check)

    def dominates(self, parent: "DFPattern", path: Optional["DFPattern"] = None) -> "DominatorPattern":
        """Matches this pattern where all ways to its inputs come through `path` nodes from one `parent`."""
        return DominatorPattern(parent, wildcard() if path is None else path, self)

    def optional(self, option_constructor: Callable[["DFPattern"], "DFPattern"]) -> "AltPattern":
        """Matches this pattern, or what `option_constructor` makes of it."""
        return self | option_constructor(self)


class ExprPattern(DFPattern):
    """Matches expressions that are structurally equal to `expr`: an operator, a constant, a variable."""

    def __init__(self, expr: Any):
        self.expr = expr


class VarPattern(DFPattern):
    """Matches a variable of the name `name_hint`, or any variable if that is empty."""

    def __init__(self, name_hint: str = ""):
        self.name = name_hint

    @property
    def name_hint(self) -> str:
        """The expected name, or an empty string."""
        return self.name


class ConstantPattern(DFPattern):
    """Matches any constant."""


class CallPattern(DFPattern):
    """Matches a call of `op` with arguments that match `args`; `None` for any arguments.

    The arguments of `add` and `multiply` match in both orders, and `a * (b / c)` matches `(a * b) / c`.
    """

    _parts = ("op", "args")

    def __init__(self, op: DFPattern, args: Optional[Sequence[DFPattern]]):
        self.op = op
        self.args = None if args is None else convert(list(args))


class FunctionPattern(DFPattern):
    """Matches a function with parameters that match `params` (`None` for any) and a body that matches `body`."""

    _parts = ("params", "body")

    def __init__(self, params: Optional[Sequence[DFPattern]], body: DFPattern):
        self.params = None if params is None else convert(list(params))
        self.body = body


class IfPattern(DFPattern):
    """Matches an `if`."""

    _parts = ("cond", "true_branch", "false_branch")

    def __init__(self, cond: DFPattern, true_branch: DFPattern, false_branch: DFPattern):
        self.cond = cond
        self.true_branch = true_branch
        self.false_branch = false_branch


class LetPattern(DFPattern):
    """Matches a `let`."""

    _parts = ("var", "value", "body")

    def __init__(self, var: DFPattern, value: DFPattern, body: DFPattern):
        self.var = var
        self.value = value
        self.body = body


class TuplePattern(DFPattern):
    """Matches a tuple with fields that match `fields`; `None` for any fields."""

    _parts = ("fields",)

    def __init__(self, fields: Optional[Sequence[DFPattern]]):
        self.fields = None if fields is None else convert(list(fields))

    def __getitem__(self, index: int) -> DFPattern:
        if index >= len(self):
            raise IndexError("TuplePattern index out of range")
        return self.fields[index]

    def __len__(self) -> int:
        return len(self.fields)

    def astype(self, _: str) -> None:
        """Raises TypeError: a tuple has no element type."""
        raise TypeError("astype cannot be used on TuplePattern")


class TupleGetItemPattern(DFPattern):
    """Matches the field `index` of a tuple that matches `tuple_value`; `None` for any field."""

    _parts = ("tuple",)

    def __init__(self, tuple_value: DFPattern, index: Optional[int] = None):
        self.tuple = tuple_value
        self.index = -1 if index is None else index


class AltPattern(DFPattern):
    """Matches what `left` matches, else what `right` matches."""

    _parts = ("left", "right")

    def __init__(self, left: DFPattern, right: DFPattern):
        self.left = left
        self.right = right


class WildcardPattern(DFPattern):
    """Matches anything, or what the pattern matches to which it was redirected."""

    _parts = ("pattern",)

    def __init__(self) -> None:
        self.pattern: Optional[DFPattern] = None

    def redirect_to(self, pat: DFPattern) -> None:
        """Makes this wildcard stand for `pat`, which may contain it: so a pattern recurses."""
        self.pattern = pat


class TypePattern(DFPattern):
    """Matches what `pattern` matches, of the type `ttype`."""

    _parts = ("pattern",)

    def __init__(self, pattern: DFPattern, ttype: Any):
        self.pattern = pattern
        self.type = ttype


class DataTypePattern(DFPattern):
    """Matches what `pattern` matches, of the element type `dtype`."""

    _parts = ("pattern",)

    def __init__(self, pattern: DFPattern, dtype: str):
        self.pattern = pattern
        self.dtype = dtype


class ShapePattern(DFPattern):
    """Matches what `pattern` matches, of the shape `shape`."""

    _parts = ("pattern",)

    def __init__(self, pattern: DFPattern, shape: Sequence[Any]):
        self.pattern = pattern
        self.shape = convert(list(shape))


class AttrPattern(DFPattern):
    """Matches what `pattern` matches, with the attributes `attrs` (of an operator, a call or a function)."""

    _parts = ("pattern",)

    def __init__(self, pattern: DFPattern, attrs: Any):
        self.pattern = pattern
        self.attrs = attrs


class DominatorPattern(DFPattern):
    """Matches `child` where all its dataflow comes through `path` nodes from one node that matches `parent`."""

    _parts = ("parent", "path", "child")

    def __init__(self, parent: DFPattern, path: DFPattern, child: DFPattern):
        self.parent = parent
        self.path = path
        self.child = child


def is_var(name: str = "") -> VarPattern:
    """Matches a variable of this name; of any name if it is empty."""
    return VarPattern(name)


def is_constant() -> ConstantPattern:
    """Matches any constant."""
    return ConstantPattern()


def is_expr(expr: Any) -> ExprPattern:
    """Matches expressions that are structurally equal to `expr`."""
    return ExprPattern(expr)


def is_op(op_name: str) -> ExprPattern:
    """Matches the operator `op_name` itself; call the result to match its calls."""
    return ExprPattern(_get_op(op_name))


def is_tuple(fields: Optional[Sequence[DFPattern]]) -> TuplePattern:
    """Matches a tuple with these fields; with any fields if `fields` is `None`."""
    return TuplePattern(fields)


def is_tuple_get_item(tuple_value: DFPattern, index: Optional[int] = None) -> TupleGetItemPattern:
    """Matches the field `index` of a tuple; any field if it is `None`."""
    return TupleGetItemPattern(tuple_value, index)


def is_if(cond: DFPattern, true_branch: DFPattern, false_branch: DFPattern) -> IfPattern:
    """Matches an `if`."""
    return IfPattern(cond, true_branch, false_branch)


def is_let(var: DFPattern, value: DFPattern, body: DFPattern) -> LetPattern:
    """Matches a `let`."""
    return LetPattern(var, value, body)


def wildcard() -> WildcardPattern:
    """Matches anything."""
    return WildcardPattern()


def has_type(ttype: Any, pattern: Optional[DFPattern] = None) -> TypePattern:
    """Matches expressions of the type `ttype`."""
    return TypePattern(wildcard() if pattern is None else pattern, ttype)


def has_dtype(dtype: str, pattern: Optional[DFPattern] = None) -> DataTypePattern:
    """Matches tensors of the element type `dtype`."""
    return DataTypePattern(wildcard() if pattern is None else pattern, dtype)


def has_shape(shape: Sequence[Any], pattern: Optional[DFPattern] = None) -> ShapePattern:
    """Matches tensors of the shape `shape`."""
    return ShapePattern(wildcard() if pattern is None else pattern, shape)


def has_attr(attrs: Dict[str, Any], pattern: Optional[DFPattern] = None) -> AttrPattern:
    """Matches operators, calls and functions with these attributes."""
    return (wildcard() if pattern is None else pattern).has_attr(attrs)


def dominates(parent: DFPattern, path: DFPattern, child: DFPattern) -> DominatorPattern:
    """Matches `child` where all its dataflow comes through `path` nodes from one node that matches `parent`."""
    return DominatorPattern(parent, path, child)


def match(pattern: DFPattern, expr: Any) -> bool:
    """Returns whether `expr` as a whole matches `pattern`."""
    from .matcher import Matcher

    return Matcher(expr).match(pattern, expr) is not None
