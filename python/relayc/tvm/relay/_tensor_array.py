"""Tensor arrays: lists of tensors, and the functions that make, read, write, split and join them.

No expression within a definition is shared: what is used twice is bound by a `let`.

An element of a tensor array is a value of an algebraic type, as the tensors of a list may differ in shape.
`TensorArrayOps` defines one such type for tensors of any rank up to 6, `StaticTensorArrayOps` one for each shape. Both
define the same functions; those of static arrays have the shape in their names (`python/tvm/relay/prelude.py`).
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence

from ..ir import GlobalTypeVar, GlobalVar, TensorType
from ..tir import Any as AnyDim
from . import op
from .adt import Clause, Constructor, Match, PatternConstructor, PatternVar, PatternWildcard, TypeData
from .expr import If, Let, Var, const
from .function import Function
from .op.tensor import add, equal, subtract
from .ty import scalar_type

#: Ranks that have a constructor in the type of tensors of any rank.
_MAX_RANK = 6
#: Ranks that `concatenate` is defined for there.
_MAX_CONCATENATED = 4


def static_name(
    canonical: str,
    dtype: str,
    shape: Sequence[Any],
    batch_dim: Optional[int] = None,
    extra_shapes: Optional[Dict[str, Sequence[Any]]] = None,
) -> str:
    """The name of a definition for tensors of one shape: `tensor_array_read_float32_2_any`.

    Where a stack has one item (`batch_dim` is 1), functions have `batch1` in their names.
    """
    parts = [_shape_text(shape)] if shape else []
    parts += [f"{name}_{_shape_text(dims)}" for name, dims in (extra_shapes or {}).items()]
    text = "_".join(parts)
    if extra_shapes and not shape:
        text = "_" + text
    text = text or "scalar"
    if canonical == "tensor_t":
        return f"static_tensor_{dtype}_{text}_t"
    if batch_dim == 1 and canonical not in ("tensor_constructor", "tensor_nil"):
        return f"{canonical}_{dtype}_batch1_{text}"
    return f"{canonical}_{dtype}_{text}"


def _shape_text(shape: Sequence[Any]) -> str:
    return "_".join("any" if isinstance(dim, AnyDim) else str(dim) for dim in shape)


def _int(name: str) -> Var:
    return Var(name, scalar_type("int32"))


def _ints(name: str, shape: Optional[Sequence[Any]] = None) -> Var:
    return Var(name, TensorType(shape or [AnyDim()], "int32"))


def _count(vector: Any) -> Any:
    """The number of elements of a vector, at run time."""
    return op.take(op.shape_of(vector), const(0))


def _match(data: Any, constructor: Any, body: Any) -> Match:
    """Takes the tensor out of `data`, which must be of `constructor`; `body` is a function of it."""
    tensor = Var("t")
    return Match(data, [Clause(PatternConstructor(constructor, [PatternVar(tensor)]), body(tensor))], False)


class _TensorArrays:
    """What tensor arrays of all kinds share. A kind says its names, types and constructors."""

    tensor_type_var: GlobalTypeVar

    def __init__(self, prelude: Any, dtype: str):
        self.prelude = prelude
        self.dtype = dtype
        self.list, self.cons, self.nil = prelude.mod.get_type("List")
        #: Functions that are mentioned, some of them before they have a body.
        self._declared: Dict[str, GlobalVar] = {}

    def get_name(self, canonical: str) -> str:
        """The name of a definition."""
        raise NotImplementedError

    def get_global_var(self, canonical: str) -> Any:
        """A function that is defined."""
        return self.prelude.mod.get_global_var(self.get_name(canonical))

    def get_ctor(self, canonical: str) -> Any:
        """A constructor of the type of tensors."""
        raise NotImplementedError

    def is_cached(self, name: str) -> bool:
        """Whether the module has a function of this name."""
        try:
            self.prelude.mod.get_global_var(name)
        except ValueError:
            return False
        return True

    def _declare(self, name: str) -> GlobalVar:
        """The function of this name, which may have no body yet."""
        if self.is_cached(name):
            return self.prelude.mod.get_global_var(name)
        return self._declared.setdefault(name, GlobalVar(name))

    def _define(self, name: str, params: List[Var], body: Any, ret: Any) -> None:
        """Defines or replaces a function, also as an attribute of the prelude."""
        var = self._declare(name)
        self.prelude.mod[var] = Function(params, body, ret, [])
        setattr(self.prelude, name, var)

    def _array(self) -> Any:
        """The type of tensor arrays."""
        return self.list(self.tensor_type_var())

    def define_tensor_array(self) -> None:
        """Defines `tensor_array(n)`: an array of `n` tensors without values."""
        name = self.get_name("tensor_array")
        n = _int("x")
        rest = self._declare(name)(subtract(n, const(1)))
        body = If(equal(n, const(0)), self.nil(), self.cons(self.get_ctor("tensor_nil")(), rest))
        self._define(name, [n], body, self._array())

    def define_tensor_array_read(self) -> None:
        """Defines `tensor_array_read(array, n)`: the tensor at `n`."""
        array, n = Var("tensor_array", self._array()), _int("x")
        self._define(
            self.get_name("tensor_array_read"), [array, n], self.prelude.nth(array, n), self.tensor_type_var()
        )

    def define_tensor_array_write(self) -> None:
        """Defines `tensor_array_write(array, n, v)`: the array with `v` at `n`."""
        array, n, v = Var("tensor_array", self._array()), _int("x"), Var("v", self.tensor_type_var())
        self._define(
            self.get_name("tensor_array_write"), [array, n, v], self.prelude.update(array, n, v), self._array()
        )

    def _define_unstack(self, canonical: str, shape: Sequence[Any], constructor: Any, element: Any) -> None:
        """Defines `canonical(tensor)`: the array of the tensors along its first axis."""
        helper, ty = self.get_name(f"{canonical}_helper"), TensorType(shape, self.dtype)
        tensor, up, i = Var("t", ty), _int("up"), _int("i")
        item = constructor(op.take(tensor, i, axis=0))
        rest = self._declare(helper)(add(i, const(1)), up, tensor)
        body = If(equal(i, up), self.nil(), self.cons(item, rest))
        self._define(helper, [i, up, tensor], body, self.list(element()))
        whole = Var("tensor", ty)
        call = self._declare(helper)(const(0), _count(whole), whole)
        self._define(self.get_name(canonical), [whole], call, self.list(element()))

    def _define_scatter(self, name: str, helper: str, indices_shape: Optional[Sequence[Any]]) -> None:
        """Defines `name(array, indices, values)`: the array with `values[i]` at `indices[i]`."""
        read, write = self.get_global_var("tensor_array_read"), self.get_global_var("tensor_array_write")
        array, values = Var("ta", self._array()), Var("values_", self._array())
        current, limit, indices = _int("current"), _int("limit"), _ints("indices_", indices_shape)
        written = write(array, op.take(indices, current), read(values, current))
        rest = self._declare(helper)(written, add(current, const(1)), limit, indices, values)
        body = If(equal(current, limit), array, rest)
        self._define(helper, [array, current, limit, indices, values], body, self._array())

        array, values = Var("tensor_array", self._array()), Var("values", self._array())
        indices = _ints("indices", indices_shape)
        total = _count(indices) if indices_shape is None else const(indices_shape[0])
        call = self._declare(helper)(array, const(0), total, indices, values)
        self._define(name, [array, indices, values], call, self._array())

    def _define_split(
        self, out: "_TensorArrays", value_type: Any, take: Any, lengths_shape: Optional[Sequence[Any]]
    ) -> None:
        """Defines `tensor_array_split(array, value, lengths)`: parts of `value` of these lengths in `array`."""
        name, helper = self.get_name("tensor_array_split"), self.get_name("ta_split_helper")
        array_type = out._array()
        array, value = Var("tensor_array", array_type), Var("value1", value_type())
        offset, current, limit = _int("offset1"), _int("current1"), _int("limit1")
        lengths = _ints("lengths", lengths_shape)
        end = Var("end")
        rest = self._declare(helper)(array, value, end, add(current, const(1)), limit, lengths)
        written = out.get_global_var("tensor_array_write")(rest, current, take(value, offset, end))
        written = Let(end, add(offset, op.take(lengths, current)), written)
        body = If(equal(current, limit), array, written)
        self._define(helper, [array, value, offset, current, limit, lengths], body, array_type)

        array, value = Var("tensor_array", array_type), Var("value", value_type())
        lengths = _ints("lengths", lengths_shape)
        total = _count(lengths) if lengths_shape is None else const(lengths_shape[0])
        call = self._declare(helper)(array, value, const(0), const(0), total, lengths)
        self._define(name, [array, value, lengths], call, array_type)

    def _define_concat(self, out: "_TensorArrays") -> None:
        """Defines `tensor_array_concat(array)`: all tensors joined along their first axes."""
        name = self.get_name("tensor_array_concat")
        array, first, others = Var("tensor_array", out._array()), Var("hd"), Var("tl")
        joined = out.get_global_var("tensor_concatenate")(first, self._declare(name)(others))
        more = Match(
            others, [Clause(PatternConstructor(self.nil), first), Clause(PatternWildcard(), joined)], False
        )
        clauses = [
            Clause(PatternConstructor(self.nil), out.get_ctor("tensor_nil")()),
            Clause(PatternConstructor(self.cons, [PatternVar(first), PatternVar(others)]), more),
        ]
        self._define(name, [array], Match(array, clauses, False), out.tensor_type_var())

    def _define_stack(self, out: "_TensorArrays") -> None:
        """Defines `tensor_array_stack(array)`: all tensors joined along a new first axis."""
        array, expanded = Var("tensor_array", self._array()), Var("expanded")
        prelude = self.prelude
        tensors = prelude.foldl(
            out.get_global_var("tensor_concatenate"), prelude.hd(expanded), prelude.tl(expanded)
        )
        body = Let(expanded, prelude.map(self.get_global_var("tensor_expand_dims"), array), tensors)
        self._define(self.get_name("tensor_array_stack"), [array], body, out.tensor_type_var())

    def _define_gather(self, out: "_TensorArrays") -> None:
        """Defines `tensor_array_gather(array, indices)`: the tensors at `indices`, stacked."""
        helper = self.get_name("tensor_array_gather_helper")
        array, chosen = Var("ta", self._array()), Var("accu", self._array())
        current, limit, indices = _int("current"), _int("limit"), _ints("indices_")
        before = Var("before")
        tensor = self.get_global_var("tensor_array_read")(array, op.take(indices, before))
        rest = self._declare(helper)(array, self.cons(tensor, chosen), before, limit, indices)
        rest = Let(before, subtract(current, const(1)), rest)
        body = If(equal(current, const(0)), self.get_global_var("tensor_array_stack")(chosen), rest)
        self._define(helper, [array, chosen, current, limit, indices], body, out.tensor_type_var())

        array, indices = Var("tensor_array", self._array()), _ints("indices")
        total = Var("total")
        call = self._declare(helper)(array, self.nil(), total, total, indices)
        body = Let(total, _count(indices), call)
        self._define(self.get_name("tensor_array_gather"), [array, indices], body, out.tensor_type_var())


class TensorArrayOps(_TensorArrays):
    """Tensor arrays of tensors of any rank up to 6: `tensor_float32_t`, `tensor_array_read_float32`, ..."""

    def get_name(self, canonical: str) -> str:
        """The name of a definition."""
        return self.prelude.get_name(canonical, self.dtype)

    def get_type(self, canonical: str) -> Any:
        """A type that is defined."""
        return self.prelude.get_type(canonical, self.dtype)

    def get_ctor(self, canonical: str) -> Any:
        """A constructor of the type of tensors: `tensor_nil`, `tensor0` to `tensor6`."""
        return self.prelude.get_ctor(self.tensor_type_var.name_hint, canonical, self.dtype)

    def define_tensor_adt(self) -> None:
        """Defines the type of tensors, with a constructor for each rank."""
        self.tensor_type_var = var = GlobalTypeVar(self.get_name("tensor_t"))
        constructors = [Constructor(self.get_name("tensor_nil"), [], var)]
        for rank in range(_MAX_RANK + 1):
            ty = TensorType([AnyDim()] * rank, self.dtype)
            constructors.append(Constructor(self.get_name(f"tensor{rank}"), [ty], var))
        self.prelude.mod[var] = TypeData(var, [], constructors)

    def _by_rank(self, data: Any, ranks: Sequence[int], body: Any) -> Match:
        """Takes the tensor out of `data` by its rank; `body` is a function of the rank and the tensor."""
        clauses = []
        for rank in ranks:
            tensor = Var(f"t{rank}")
            pattern = PatternConstructor(self.get_ctor(f"tensor{rank}"), [PatternVar(tensor)])
            clauses.append(Clause(pattern, body(rank, tensor)))
        return Match(data, clauses, False)

    def define_tensor_take(self) -> None:
        """Defines `tensor_take(tensor, lower, upper)`: the range of its first axis."""
        tensor, lower, upper = Var("tensor", self.tensor_type_var()), _int("lower"), _int("upper")

        def taken(rank: int, t: Var) -> Any:
            places = op.arange(lower, upper, dtype="int32")
            return self.get_ctor(f"tensor{rank}")(op.take(t, places, axis=0))

        body = self._by_rank(tensor, range(1, _MAX_RANK + 1), taken)
        self._define(self.get_name("tensor_take"), [tensor, lower, upper], body, self.tensor_type_var())

    def define_tensor_expand_dims(self) -> None:
        """Defines `tensor_expand_dims(tensor)`: the tensor with a new first axis."""
        tensor = Var("x", self.tensor_type_var())
        body = self._by_rank(
            tensor, range(_MAX_RANK), lambda rank, t: self.get_ctor(f"tensor{rank + 1}")(op.expand_dims(t, 0, 1))
        )
        self._define(self.get_name("tensor_expand_dims"), [tensor], body, self.tensor_type_var())

    def define_tensor_concat(self) -> None:
        """Defines `tensor_concatenate(x, y)`: two tensors of one rank, joined along their first axes."""
        x, y = Var("x", self.tensor_type_var()), Var("y", self.tensor_type_var())

        def joined(rank: int, left: Var) -> Match:
            constructor = self.get_ctor(f"tensor{rank}")
            return _match(y, constructor, lambda right: constructor(op.concatenate([left, right], axis=0)))

        body = self._by_rank(x, range(1, _MAX_CONCATENATED + 1), joined)
        self._define(self.get_name("tensor_concatenate"), [x, y], body, self.tensor_type_var())

    def define_tensor_array_unstack(self, rank: int) -> None:
        """Defines `tensor_array_unstack_tensorN(tensor)` for tensors of a rank from 1 to 6."""
        self._define_unstack(
            f"tensor_array_unstack_tensor{rank}",
            [AnyDim()] * rank,
            self.get_ctor(f"tensor{rank - 1}"),
            self.tensor_type_var,
        )

    def define_tensor_array_scatter(self) -> None:
        """Defines `tensor_array_scatter(array, indices, values)`."""
        self._define_scatter(
            self.get_name("tensor_array_scatter"), self.get_name("tensor_array_scatter_helper"), None
        )

    def define_tensor_array_split(self) -> None:
        """Defines `tensor_array_split(array, value, lengths)`."""
        self._define_split(self, self.tensor_type_var, self.get_global_var("tensor_take"), None)

    def define_tensor_array_concat(self) -> None:
        """Defines `tensor_array_concat(array)`."""
        self._define_concat(self)

    def define_tensor_array_stack(self) -> None:
        """Defines `tensor_array_stack(array)`."""
        self._define_stack(self)

    def define_tensor_array_gather(self) -> None:
        """Defines `tensor_array_gather(array, indices)`; `register` does not."""
        self._define_gather(self)

    def register(self) -> None:
        """Defines the type and all functions but `tensor_array_gather`."""
        self.define_tensor_adt()
        self.define_tensor_take()
        self.define_tensor_expand_dims()
        self.define_tensor_concat()
        self.define_tensor_array()
        self.define_tensor_array_read()
        self.define_tensor_array_write()
        for rank in range(1, _MAX_RANK + 1):
            self.define_tensor_array_unstack(rank)
        self.define_tensor_array_scatter()
        self.define_tensor_array_split()
        self.define_tensor_array_concat()
        self.define_tensor_array_stack()


class StaticTensorArrayOps(_TensorArrays):
    """Tensor arrays of tensors of one shape: `static_tensor_float32_2_3_t`, `tensor_array_read_float32_2_3`, ...

    Dimensions may be `Any`. With `batch_dim=1`, a stack has one item.
    """

    def __init__(self, prelude: Any, dtype: str, shape: Sequence[Any], batch_dim: Optional[int] = None):
        super().__init__(prelude, dtype)
        self.shape = shape
        self.batch_dim = batch_dim

    def get_name(self, canonical: str, extra_shapes: Optional[Dict[str, Sequence[Any]]] = None) -> str:
        """The name of a definition."""
        return static_name(canonical, self.dtype, self.shape, self.batch_dim, extra_shapes)

    def get_type(self, canonical: str) -> Any:
        """A type that is defined."""
        return self.prelude.get_type_static(canonical, self.dtype, self.shape)

    def get_ctor(self, canonical: str) -> Any:
        """A constructor of the type of tensors: `tensor_nil` or `tensor_constructor`."""
        return self.prelude.get_ctor_static("tensor_t", canonical, self.dtype, self.shape)

    def define_tensor_adt(self) -> None:
        """Defines the type of tensors of this shape, unless the module has it."""
        name = self.get_name("tensor_t")
        if any(var.name_hint == name for var in self.prelude.mod.get_global_type_vars()):
            self.tensor_type_var = self.get_type("tensor_t")
            return
        self.tensor_type_var = var = GlobalTypeVar(name)
        ty = TensorType(self.shape, self.dtype)
        constructors = [
            Constructor(self.get_name("tensor_nil"), [], var),
            Constructor(self.get_name("tensor_constructor"), [ty], var),
        ]
        self.prelude.mod[var] = TypeData(var, [], constructors)

    def _of(self, shape: Sequence[Any]) -> "StaticTensorArrayOps":
        """The arrays of tensors of another shape, whose type is defined."""
        other = StaticTensorArrayOps(self.prelude, self.dtype, shape, self.batch_dim)
        other.define_tensor_adt()
        return other

    def _any_length(self) -> "StaticTensorArrayOps":
        """The arrays of tensors whose first axis may have any length."""
        return self._of([AnyDim(), *self.shape[1:]])

    def _expanded(self) -> "StaticTensorArrayOps":
        """The arrays of tensors with a new first axis: of any length, as stacks are concatenated."""
        return self._of([1 if self.batch_dim == 1 else AnyDim(), *self.shape])

    def define_tensor_take(self) -> None:
        """Defines `tensor_take(tensor, lower, upper)`; scalars have none."""
        name = self.get_name("tensor_take")
        if len(self.shape) == 0 or self.is_cached(name):
            return
        out = self._any_length()
        tensor, lower, upper = Var("tensor", self.tensor_type_var()), _int("lower"), _int("upper")
        places = op.arange(lower, upper, dtype="int32")
        make = out.get_ctor("tensor_constructor")
        body = _match(tensor, self.get_ctor("tensor_constructor"), lambda t: make(op.take(t, places, axis=0)))
        self._define(name, [tensor, lower, upper], body, out.tensor_type_var())

    def define_tensor_concatenate(self) -> None:
        """Defines `tensor_concatenate(x, y)`; scalars have none."""
        name = self.get_name("tensor_concatenate")
        if len(self.shape) == 0 or self.is_cached(name):
            return
        out = self._any_length()
        x, y = Var("x", self.tensor_type_var()), Var("y", self.tensor_type_var())
        take, make = self.get_ctor("tensor_constructor"), out.get_ctor("tensor_constructor")
        body = _match(
            x, take, lambda left: _match(y, take, lambda right: make(op.concatenate([left, right], axis=0)))
        )
        self._define(name, [x, y], body, out.tensor_type_var())

    def define_tensor_expand_dims(self) -> None:
        """Defines `tensor_expand_dims(tensor)`."""
        out = self._expanded()
        x, make = Var("x", self.tensor_type_var()), out.get_ctor("tensor_constructor")
        body = _match(x, self.get_ctor("tensor_constructor"), lambda t: make(op.expand_dims(t, 0, 1)))
        self._define(self.get_name("tensor_expand_dims"), [x], body, out.tensor_type_var())

    def define_tensor_array_unstack(self) -> None:
        """Defines `tensor_array_unstack(tensor)`; scalars have none."""
        if len(self.shape) > 0:
            items = self._of(self.shape[1:])
            self._define_unstack(
                "tensor_array_unstack", self.shape, items.get_ctor("tensor_constructor"), items.tensor_type_var
            )

    def define_tensor_array_scatter(
        self, indices_shape: Optional[Sequence[Any]] = None, force_update: bool = False
    ) -> None:
        """Defines `tensor_array_scatter(array, indices, values)`, for indices of a known shape if one is given."""
        extra = None if indices_shape is None else {"indices": indices_shape}
        name = self.get_name("tensor_array_scatter", extra)
        if force_update or not self.is_cached(name):
            self._define_scatter(name, self.get_name("tensor_array_scatter_helper", extra), indices_shape)

    def define_tensor_array_split(
        self,
        value_shape: Optional[Sequence[Any]] = None,
        lengths_shape: Optional[Sequence[Any]] = None,
        force_update: bool = False,
    ) -> None:
        """Defines `tensor_array_split(array, value, lengths)`, for known shapes if they are given; not of scalars."""
        if len(self.shape) == 0 or (self.is_cached(self.get_name("tensor_array_split")) and not force_update):
            return
        out = self._any_length()
        if not out.is_cached(out.get_name("tensor_array_write")):
            out.define_tensor_array_write()
        value = self if value_shape is None else self._of(value_shape)
        value.define_tensor_take()
        self._define_split(out, value.tensor_type_var, value.get_global_var("tensor_take"), lengths_shape)

    def define_tensor_array_concat(self) -> None:
        """Defines `tensor_array_concat(array)`; scalars have none."""
        if len(self.shape) > 0 and not self.is_cached(self.get_name("tensor_array_concat")):
            out = self._any_length()
            out.define_tensor_concatenate()
            self._define_concat(out)

    def define_tensor_array_stack(self) -> None:
        """Defines `tensor_array_stack(array)`."""
        out = self._expanded()
        out.define_tensor_concatenate()
        if self.batch_dim != 1:
            self._define_stack(out)
            return
        array, prelude = Var("tensor_array", self._array()), self.prelude
        first = prelude.hd(prelude.map(self.get_global_var("tensor_expand_dims"), array))
        self._define(self.get_name("tensor_array_stack"), [array], prelude.id(first), out.tensor_type_var())

    def define_tensor_array_gather(self) -> None:
        """Defines `tensor_array_gather(array, indices)`."""
        self._define_gather(self._expanded())

    def define_tensor_get_data(self) -> None:
        """Defines `tensor_get_data(tensor)`: the tensor itself, as a value of a tensor type."""
        tensor = Var("tensor", self.tensor_type_var())
        body = _match(tensor, self.get_ctor("tensor_constructor"), lambda t: t)
        ret = TensorType(self.shape, self.dtype)
        self._define(self.get_name("tensor_get_data"), [tensor], body, ret)

    def register(self) -> None:
        """Defines the type and all functions."""
        self.define_tensor_adt()
        self.define_tensor_take()
        self.define_tensor_concatenate()
        self.define_tensor_expand_dims()
        self.define_tensor_array()
        self.define_tensor_array_read()
        self.define_tensor_array_write()
        self.define_tensor_array_unstack()
        self.define_tensor_array_scatter()
        self.define_tensor_array_split()
        self.define_tensor_array_concat()
        self.define_tensor_array_stack()
        self.define_tensor_array_gather()
        self.define_tensor_get_data()
