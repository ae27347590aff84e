"""Memory of tensors and types of tuples (`python/tvm/relay/op/memory/memory.py`)."""

from __future__ import annotations

from typing import Any, List, Sequence

from ...._ffi.base import TVMError
from ....ir.tensor_type import TensorType
from ....ir.type import TupleType, Type
from ....runtime.container import Array
from ...expr import Call, Constant, Expr, Tuple, TupleGetItem
from .._call import call
from .._documentation import documented

__all__ = ["alloc_storage", "alloc_tensor", "flatten_tuple_type", "from_tuple_type", "to_tuple_type"]


@documented("memory.alloc_tensor")
def alloc_tensor(
    storage: Expr, offset: Expr, shape: Expr, dtype: str = "float32", assert_shape: Any = None
) -> Call:
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
        if not isinstance(shape, Constant):
            raise TVMError("memory.alloc_tensor: the shape must be a constant unless assert_shape is given")
        attrs["const_shape"] = shape
    return call("memory.alloc_tensor", (storage, offset, shape), **attrs)


def alloc_storage(size: Expr, alignment: Expr, device: Any, dtype_hint: str = "float32") -> Any:
    """Refuses: in TVM v0.14 this function lacks an operand of its operator and fails too."""
    raise NotImplementedError("memory.alloc_storage does not work in TVM v0.14: relayc plans memory when it compiles")


def flatten_tuple_type(ty: Type) -> Array:
    """The tensor types in a type, from left to right.

    Parameters
    ----------
    ty : Type
        A tensor type, or a tuple type of such types.
    """
    found: List[Type] = []
    pending = [ty]
    while pending:
        item = pending.pop()
        if isinstance(item, TupleType):
            pending.extend(reversed(item.fields))
        else:
            _require_tensor(item)
            found.append(item)
    return Array(found)


def from_tuple_type(ty: Type, expr: Expr) -> Array:
    """The tensors in the value of an expression, from left to right.

    Parameters
    ----------
    ty : Type
        The type of the expression: a tensor type, or a tuple type of such types.
    expr : Expr
        The expression.
    """
    found: List[Expr] = []
    pending = [(ty, expr)]
    while pending:
        item, value = pending.pop()
        if isinstance(item, TupleType):
            fields = [(field, TupleGetItem(value, index)) for index, field in enumerate(item.fields)]
            pending.extend(reversed(fields))
        else:
            _require_tensor(item)
            found.append(value)
    return Array(found)


def to_tuple_type(ty: Type, exprs: Sequence[Expr]) -> Expr:
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
    fields: List[List[Expr]] = [[]]
    pending = [iter([ty])]
    while True:
        item = next(pending[-1], None)
        if item is None:
            pending.pop()
            if not pending:
                return fields[0][0]
            made = fields.pop()
            fields[-1].append(Tuple(made))
        elif isinstance(item, TupleType):
            pending.append(iter(item.fields))
            fields.append([])
        else:
            _require_tensor(item)
            fields[-1].append(next(rest))


def _require_tensor(ty: Type) -> None:
    if not isinstance(ty, TensorType):
        raise TVMError(f"unsupported {ty}")
