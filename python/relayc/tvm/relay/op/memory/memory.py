"""Memory of tensors and types of tuples (`python/tvm/relay/op/memory/memory.py`)."""

from __future__ import annotations

from typing import Any, List, Sequence

from ....error import TVMError as _TVMError
from ....ir import TensorType as _TensorType
from ....ir import TupleType as _TupleType
from ....ir import Type as _Type
from ....ir.container import Array as _Array
from ...expr import Call as _Call
from ...expr import Constant as _Constant
from ...expr import Expr as _Expr
from ...expr import Tuple as _Tuple
from ...expr import TupleGetItem as _TupleGetItem
from .._call import call as _call
from .._documentation import documented as _documented

__all__ = ["alloc_storage", "alloc_tensor", "flatten_tuple_type", "from_tuple_type", "to_tuple_type"]


@_documented("memory.alloc_tensor")
def alloc_tensor(
    storage: _Expr, offset: _Expr, shape: _Expr, dtype: str = "float32", assert_shape: Any = None
) -> _Call:
    """A tensor in storage.

    Parameters
    ----------
    storage : Expr
        The storage.
    offset : Expr
        Where the tensor begins, in bytes.
    shape : Expr
        Its dimensions; a constant unless `assert_shape` is given.
    dtype : str
        Its dtype.
    assert_shape : sequence of ints, optional
        The dimensions that its type has.

    Raises
    ------
    TVMError
        If the dimensions are no constant and `assert_shape` is None.
    """
    attrs = {"dtype": dtype, "assert_shape": assert_shape}
    if assert_shape is None:
        if not isinstance(shape, _Constant):
            raise _TVMError("memory.alloc_tensor: the shape must be a constant unless assert_shape is given")
        attrs["const_shape"] = shape
    return _call("memory.alloc_tensor", (storage, offset, shape), **attrs)


def alloc_storage(size: _Expr, alignment: _Expr, device: Any, dtype_hint: str = "float32") -> Any:
    """Refuses: in TVM v0.14 this function lacks an operand of its operator and fails too."""
    raise NotImplementedError("memory.alloc_storage does not work in TVM v0.14: relayc plans memory when it compiles")


def flatten_tuple_type(ty: _Type) -> _Array:
    """The tensor types in a type, from left to right.

    Parameters
    ----------
    ty : Type
        A tensor type, or a tuple type of such types.
    """
    found: List[_Type] = []
    pending = [ty]
    while pending:
        item = pending.pop()
        if isinstance(item, _TupleType):
            pending.extend(reversed(item.fields))
        else:
            _require_tensor(item)
            found.append(item)
    return _Array(found)


def from_tuple_type(ty: _Type, expr: _Expr) -> _Array:
    """The tensors in the value of an expression, from left to right.

    Parameters
    ----------
    ty : Type
        The type of the expression: a tensor type, or a tuple type of such types.
    expr : Expr
        The expression.
    """
    found: List[_Expr] = []
    pending = [(ty, expr)]
    while pending:
        item, value = pending.pop()
        if isinstance(item, _TupleType):
            fields = [(field, _TupleGetItem(value, index)) for index, field in enumerate(item.fields)]
            pending.extend(reversed(fields))
        else:
            _require_tensor(item)
            found.append(value)
    return _Array(found)


def to_tuple_type(ty: _Type, exprs: Sequence[_Expr]) -> _Expr:
    """An expression of a type, from its tensors.

    Parameters
    ----------
    ty : Type
        A tensor type, or a tuple type of such types.
    exprs : sequence of Expr
        The tensors, from left to right.
    """
    rest = iter(exprs)
    # The fields found so far of the tuples that are open, and their types still to come.
    fields: List[List[_Expr]] = [[]]
    pending = [iter([ty])]
    while True:
        item = next(pending[-1], None)
        if item is None:
            pending.pop()
            if not pending:
                return fields[0][0]
            made = fields.pop()
            fields[-1].append(_Tuple(made))
        elif isinstance(item, _TupleType):
            pending.append(iter(item.fields))
            fields.append([])
        else:
            _require_tensor(item)
            fields[-1].append(next(rest))


def _require_tensor(ty: _Type) -> None:
    if not isinstance(ty, _TensorType):
        raise _TVMError(f"unsupported {ty}")
