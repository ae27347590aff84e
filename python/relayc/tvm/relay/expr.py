"""The expressions of Relay but for functions and matches, and the ways to make them."""

from __future__ import annotations

from numbers import Number as _Number
from typing import Any, Iterable, Optional

import numpy as _np

from .._ffi import base as _base
from .._ffi.registry import register_object
from ..ir.attrs import Attrs
from ..ir.base import Span
from ..ir.expr import GlobalVar, RelayExpr
from ..ir.type import Type
from ..runtime import ndarray as _nd
from ..runtime.container import Array
from ..runtime.ndarray import NDArray
from ..runtime.object import INT, NDARRAY, NODE
from . import ty as _ty
from .base import Id, astext, pretty_print

Expr = RelayExpr


def _op() -> Any:
    """The functions of the operators, which are written in terms of expressions."""
    from . import op

    return op


def _operand(other: Any) -> RelayExpr:
    if isinstance(other, RelayExpr):
        return other
    if isinstance(other, _Number):
        raise TypeError(f'convert "{other}" with `const` first')
    raise TypeError(f"type {type(other)} not supported")


class ExprWithOp(RelayExpr):
    """The base of expressions that may be combined by Python's operators."""

    def astype(self, dtype: str) -> "Call":
        """The expression converted to a data type, element by element."""
        return _op().cast(self, dtype)

    def __repr__(self) -> str:
        return pretty_print(self)

    def astext(self, show_meta_data: bool = True, annotate: Any = None) -> str:
        """The text of the expression."""
        return astext(self, show_meta_data, annotate)

    def __neg__(self) -> "Call":
        return _op().negative(self)

    def __lt__(self, other: Any) -> "Call":
        return _op().less(self, _operand(other))

    def __gt__(self, other: Any) -> "Call":
        return _op().greater(self, _operand(other))

    def __ge__(self, other: Any) -> "Call":
        return _op().greater_equal(self, _operand(other))

    def __le__(self, other: Any) -> "Call":
        return _op().less_equal(self, _operand(other))

    def __add__(self, other: Any) -> "Call":
        return _op().add(self, _operand(other))

    def __radd__(self, other: Any) -> "Call":
        return self.__add__(other)

    def __sub__(self, other: Any) -> "Call":
        return _op().subtract(self, _operand(other))

    def __rsub__(self, other: Any) -> "Call":
        return _op().subtract(_operand(other), self)

    def __mul__(self, other: Any) -> "Call":
        return _op().multiply(self, _operand(other))

    def __rmul__(self, other: Any) -> "Call":
        return self.__mul__(other)

    def __truediv__(self, other: Any) -> "Call":
        return _op().divide(self, _operand(other))

    def __rtruediv__(self, other: Any) -> "Call":
        return _op().divide(_operand(other), self)

    def __div__(self, other: Any) -> "Call":
        return self.__truediv__(other)

    def __call__(self, *args: RelayExpr) -> "Call":
        """A call of the expression, which is a function."""
        return Call(self, args)


@register_object("relay.Constant")
class Constant(ExprWithOp):
    """A tensor known when the program is written."""

    _kind = "Constant"
    _fields = {"data": NDARRAY, **RelayExpr._expr_fields}
    _compared = ("data",)

    # The value on the native side, until its array is asked for.
    _tensor: Any = None

    def __init__(self, data: NDArray, span: Optional[Span] = None) -> None:
        if not isinstance(data, NDArray):
            raise _wrong("a tensor", data, "relay.const makes a constant of a number or an array")
        self.data = data
        if span is not None:
            self.span = span

    @staticmethod
    def _of_tensor(tensor: Any) -> "Constant":
        """The constant of a native tensor; its array is made when it is first asked for."""
        constant = Constant.__new__(Constant)
        constant._tensor = tensor
        return constant

    def __getattr__(self, name: str) -> Any:
        # Called for what is missing: the array of a constant that came from the native side.
        if name != "data" or self._tensor is None:
            raise AttributeError(f"{type(self)} has no attribute {name}")
        tensor, self._tensor = self._tensor, None  # the array may be written to from now on
        self.data = NDArray(tensor.numpy(), tensor.dtype)
        return self.data


@register_object("relay.Tuple")
class Tuple(ExprWithOp):
    """A tuple of expressions."""

    _kind = "Tuple"
    _fields = {"fields": NODE, **RelayExpr._expr_fields}
    _compared = ("fields",)
    _graph = True

    def __init__(self, fields: Iterable[RelayExpr], span: Optional[Span] = None) -> None:
        self.fields = _exprs(fields)
        if span is not None:
            self.span = span

    def __getitem__(self, index: int) -> RelayExpr:
        if index >= len(self):
            raise IndexError("Tuple index out of range")
        return self.fields[index]

    def __len__(self) -> int:
        return len(self.fields)

    def astype(self, _: Any) -> "Call":
        """Raises TypeError: only tensors have a data type."""
        raise TypeError("astype cannot be used on tuple")


@register_object("relay.Var")
class Var(ExprWithOp):
    """A local variable. Its name is a hint only: two variables of one name are different."""

    _kind = "Var"
    _fields = {"vid": NODE, "type_annotation": NODE, **RelayExpr._expr_fields}
    _compared = ("type_annotation", "vid", "virtual_device_")
    _graph = True

    def __init__(
        self, name_hint: Any, type_annotation: Optional[Type] = None, span: Optional[Span] = None
    ) -> None:
        if type_annotation is not None and not isinstance(type_annotation, Type):
            raise _wrong("a type", type_annotation, "write relay.var(name, shape=…, dtype=…) for a tensor")
        self.vid = name_hint if isinstance(name_hint, Id) else Id(name_hint)
        self.type_annotation = type_annotation
        if span is not None:
            self.span = span

    @property
    def name_hint(self) -> str:
        """The name."""
        return self.vid.name_hint

    def __repr__(self) -> str:
        ty = "" if self.type_annotation is None else f", ty={self.type_annotation!r}"
        return f"Var({self.name_hint}{ty})"

    def __str__(self) -> str:
        return pretty_print(self)


@register_object("relay.Call")
class Call(ExprWithOp):
    """A call of an operator or a function: `attrs` and `type_args` are for those that have them."""

    _kind = "Call"
    _fields = {"op": NODE, "args": NODE, "attrs": NODE, "type_args": NODE, **RelayExpr._expr_fields}
    _compared = ("op", "args", "attrs", "type_args")
    _graph = True

    def __init__(
        self,
        op: RelayExpr,
        args: Iterable[RelayExpr],
        attrs: Optional[Attrs] = None,
        type_args: Optional[Iterable[Type]] = None,
        span: Optional[Span] = None,
    ) -> None:
        self.op = op
        self.args = _exprs(args)
        self.attrs = attrs
        self.type_args = Array(type_args) if type_args else _NOTHING
        if span is not None:
            self.span = span


_NOTHING = Array()


def _exprs(values: Iterable[Any]) -> Array:
    """A list of expressions. Raises TypeError for one alone, TVMError for other objects in a list."""
    if isinstance(values, RelayExpr):
        raise TypeError(f"expected a list of expressions, found one {type(values).__name__}: write it in brackets")
    result = Array(values)
    for value in result:
        if not isinstance(value, RelayExpr):
            raise _wrong("an expression", value, "write relay.const(…) for a number")
    return result


def _wrong(wanted: str, found: Any, advice: str) -> _base.TVMError:
    return _base.TVMError(f"expected {wanted} of Relay, found {type(found).__name__} {found!r}: {advice}")


@register_object("relay.Let")
class Let(ExprWithOp):
    """A variable bound to a value in a body."""

    _kind = "Let"
    _fields = {"var": NODE, "value": NODE, "body": NODE, **RelayExpr._expr_fields}
    _compared = ("var", "value", "body")
    _defines = ("var",)
    _graph = True

    def __init__(
        self, variable: Var, value: RelayExpr, body: RelayExpr, span: Optional[Span] = None
    ) -> None:
        if not isinstance(variable, Var):
            raise _wrong("a variable", variable, "relay.var makes one")
        self.var = variable
        self.value = value
        self.body = body
        if span is not None:
            self.span = span


@register_object("relay.If")
class If(ExprWithOp):
    """One of two expressions, as a condition says."""

    _kind = "If"
    _fields = {"cond": NODE, "true_branch": NODE, "false_branch": NODE, **RelayExpr._expr_fields}
    _compared = ("cond", "true_branch", "false_branch")
    _graph = True

    #: None only while a `ScopeBuilder` is between its two branches.
    false_branch: Any

    def __init__(
        self,
        cond: RelayExpr,
        true_branch: RelayExpr,
        false_branch: Optional[RelayExpr],
        span: Optional[Span] = None,
    ) -> None:
        self.cond = cond
        self.true_branch = true_branch
        self.false_branch = false_branch
        if span is not None:
            self.span = span


@register_object("relay.TupleGetItem")
class TupleGetItem(ExprWithOp):
    """A field of a tuple, by its position."""

    _kind = "TupleGetItem"
    _fields = {"tuple_value": NODE, "index": INT, **RelayExpr._expr_fields}
    _compared = ("tuple_value", "index")

    def __init__(self, tuple_value: RelayExpr, index: int, span: Optional[Span] = None) -> None:
        self.tuple_value = tuple_value
        self.index = int(index)
        if span is not None:
            self.span = span


@register_object("relay.RefCreate")
class RefCreate(ExprWithOp):
    """A new reference to a value."""

    _kind = "RefCreate"
    _fields = {"value": NODE, **RelayExpr._expr_fields}
    _compared = ("value",)
    _graph = True

    def __init__(self, value: RelayExpr, span: Optional[Span] = None) -> None:
        self.value = value
        if span is not None:
            self.span = span


@register_object("relay.RefRead")
class RefRead(ExprWithOp):
    """The value of a reference."""

    _kind = "RefRead"
    _fields = {"ref": NODE, **RelayExpr._expr_fields}
    _compared = ("ref",)
    _graph = True

    def __init__(self, ref: RelayExpr, span: Optional[Span] = None) -> None:
        self.ref = ref
        if span is not None:
            self.span = span


@register_object("relay.RefWrite")
class RefWrite(ExprWithOp):
    """Gives a reference a new value; the result is the empty tuple."""

    _kind = "RefWrite"
    _fields = {"ref": NODE, "value": NODE, **RelayExpr._expr_fields}
    _compared = ("ref", "value")
    _graph = True

    def __init__(self, ref: RelayExpr, value: RelayExpr, span: Optional[Span] = None) -> None:
        self.ref = ref
        self.value = value
        if span is not None:
            self.span = span


class TempExpr(ExprWithOp):
    """The base of expressions that live within one rewrite and then become others."""

    def realize(self) -> RelayExpr:
        """The expression that it stands for."""
        raise NotImplementedError("a temporary expression says in `realize` what it stands for")


class TupleWrapper:
    """The result of an operator with several results, of which `wrapper[i]` is one."""

    def __init__(self, tuple_value: Any, size: int) -> None:
        self.tuple_value = tuple_value
        self.size = size

    def astuple(self) -> RelayExpr:
        """The call, whose value is a tuple."""
        return self.tuple_value

    def astext(self) -> str:
        """The text of the call."""
        return self.tuple_value.astext()

    def __getitem__(self, index: int) -> TupleGetItem:
        if index >= len(self):
            raise IndexError("Tuple index out of range")
        return TupleGetItem(self.tuple_value, index, span=self.tuple_value.span)

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"TupleWrapper({self.tuple_value!r}, {self.size})"

    def astype(self, _: Any) -> Call:
        """Raises TypeError: only tensors have a data type."""
        raise TypeError("astype cannot be used on tuple")


def var(
    name_hint: str,
    type_annotation: Any = None,
    shape: Any = None,
    dtype: str = "float32",
    span: Optional[Span] = None,
) -> Var:
    """A new variable, of a type, of a tensor type by `shape` and `dtype`, or of a scalar type by a data type's name."""
    if type_annotation is not None and shape is not None:
        raise ValueError("Can only specify either type_annotation or shape.")
    if shape is not None:
        type_annotation = _ty.TensorType(shape, dtype)
    elif isinstance(type_annotation, str):
        type_annotation = _ty.TensorType((), type_annotation)
    return Var(name_hint, type_annotation, span)


def const(value: Any, dtype: Optional[str] = None, span: Optional[Span] = None) -> Constant:
    """A constant of a number, nested lists, or an array.

    Without `dtype` 64-bit values of Python and NumPy become int32 and float32.
    """
    if isinstance(dtype, _ty.TensorType):
        dtype = dtype.dtype
    if isinstance(value, (_base.numeric_types, (bool, list))):
        value = _np.array(value, dtype=dtype)
    if not dtype:
        # Deliberate: Python's numbers are 64-bit, those of networks hardly ever.
        dtype = {"int64": "int32", "float64": "float32"}.get(str(getattr(value, "dtype", "")))
        if isinstance(value, NDArray):
            dtype = None
    if isinstance(value, (_np.ndarray, _np.generic)):
        if dtype is not None:
            value = value.astype(dtype)
        value = _nd.array(value)
    if not isinstance(value, NDArray):
        raise ValueError("value has to be scalar or NDArray")
    return Constant(value, span)


def bind(expr: Any, binds: Any) -> Any:
    """The expression with variables replaced; parameters that are replaced leave their function.

    Variables that come in free become parameters, after the others. A type's variables are replaced as well.
    """
    from ._bind import bind as replace

    return replace(expr, binds)


def with_fields(node: Any, **fields: Any) -> Any:
    """The node with the fields that are not None; the same node if that changes nothing, else a copy."""
    changes = {}
    for name, value in fields.items():
        if value is None:
            continue
        old = getattr(node, name)
        if isinstance(old, Array):
            value = Array(value)
            if len(value) == len(old) and all(new is kept for new, kept in zip(value, old)):
                continue
        elif value is old:
            continue
        changes[name] = value
    if not changes:
        return node
    result = object.__new__(type(node))
    result.__dict__.update(node.__dict__, **changes)
    return result


def ConstantWithFields(
    constant: Constant, data: Any = None, virtual_device: Any = None, span: Any = None
) -> Constant:
    """The constant with the given fields."""
    return with_fields(constant, data=data, virtual_device_=virtual_device, span=span)


def TupleWithFields(tup: Tuple, fields: Any = None, virtual_device: Any = None, span: Any = None) -> Tuple:
    """The tuple with the given fields."""
    return with_fields(tup, fields=fields, virtual_device_=virtual_device, span=span)


def VarWithFields(
    variable: Var, vid: Any = None, type_annotation: Any = None, virtual_device: Any = None, span: Any = None
) -> Var:
    """The variable with the given fields; its `vid` stays, so it is the same variable to passes."""
    return with_fields(
        variable, vid=vid, type_annotation=type_annotation, virtual_device_=virtual_device, span=span
    )


def CallWithFields(
    call: Call,
    op: Any = None,
    args: Any = None,
    attrs: Any = None,
    type_args: Any = None,
    virtual_device: Any = None,
    span: Any = None,
) -> Call:
    """The call with the given fields."""
    return with_fields(
        call, op=op, args=args, attrs=attrs, type_args=type_args, virtual_device_=virtual_device, span=span
    )


def LetWithFields(
    let: Let, variable: Any = None, value: Any = None, body: Any = None, virtual_device: Any = None, span: Any = None
) -> Let:
    """The binding with the given fields."""
    return with_fields(let, var=variable, value=value, body=body, virtual_device_=virtual_device, span=span)


def IfWithFields(
    if_expr: If,
    cond: Any = None,
    true_branch: Any = None,
    false_branch: Any = None,
    virtual_device: Any = None,
    span: Any = None,
) -> If:
    """The conditional with the given fields."""
    return with_fields(
        if_expr,
        cond=cond,
        true_branch=true_branch,
        false_branch=false_branch,
        virtual_device_=virtual_device,
        span=span,
    )


def TupleGetItemWithFields(
    tuple_get_item: TupleGetItem,
    tuple_value: Any = None,
    index: Any = None,
    virtual_device: Any = None,
    span: Any = None,
) -> TupleGetItem:
    """The field of a tuple with the given fields."""
    return with_fields(
        tuple_get_item, tuple_value=tuple_value, index=index, virtual_device_=virtual_device, span=span
    )


def RefCreateWithFields(
    ref_create: RefCreate, value: Any = None, virtual_device: Any = None, span: Any = None
) -> RefCreate:
    """The new reference with the given fields."""
    return with_fields(ref_create, value=value, virtual_device_=virtual_device, span=span)


def RefReadWithFields(ref_read: RefRead, ref: Any = None, virtual_device: Any = None, span: Any = None) -> RefRead:
    """The read of a reference with the given fields."""
    return with_fields(ref_read, ref=ref, virtual_device_=virtual_device, span=span)


def RefWriteWithFields(
    ref_write: RefWrite, ref: Any = None, value: Any = None, virtual_device: Any = None, span: Any = None
) -> RefWrite:
    """The write of a reference with the given fields."""
    return with_fields(ref_write, ref=ref, value=value, virtual_device_=virtual_device, span=span)
