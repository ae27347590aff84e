"""Visitors and mutators of types, for users to derive from."""

from __future__ import annotations

from typing import Any, Dict

from .adt import TypeData
from .expr_functor import _abstract
from .ty import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeRelation,
    TypeVar,
)

#: The method of each class of types.
_METHODS: Dict[type, str] = {
    TypeVar: "visit_type_var",
    IncompleteType: "visit_incomplete_type",
    TensorType: "visit_tensor_type",
    FuncType: "visit_func_type",
    TupleType: "visit_tuple_type",
    TypeRelation: "visit_type_relation",
    RefType: "visit_ref_type",
    GlobalTypeVar: "visit_global_type_var",
    TypeCall: "visit_type_call",
    TypeData: "visit_type_data",
}


class TypeFunctor:
    """Calls the method of a type's kind."""

    def visit(self, typ: Type) -> Any:
        """The result for a type."""
        for cls in type(typ).__mro__:
            if cls in _METHODS:
                return getattr(self, _METHODS[cls])(typ)
        raise Exception(f"unhandled case: {type(typ)}")


for _name in _METHODS.values():
    setattr(TypeFunctor, _name, _abstract(_name))


class TypeVisitor(TypeFunctor):
    """Visits all that a type is made of."""

    def visit_type_var(self, tv: TypeVar) -> Any:
        """Does nothing."""

    def visit_incomplete_type(self, it: IncompleteType) -> Any:
        """Does nothing."""

    def visit_tensor_type(self, tt: TensorType) -> Any:
        """Does nothing."""

    def visit_func_type(self, ft: FuncType) -> Any:
        """Visits arguments, result, parameters and constraints."""
        for part in (*ft.arg_types, ft.ret_type, *ft.type_params, *ft.type_constraints):
            self.visit(part)

    def visit_tuple_type(self, tt: TupleType) -> Any:
        """Visits the fields."""
        for field in tt.fields:
            self.visit(field)

    def visit_type_relation(self, tr: TypeRelation) -> Any:
        """Visits the arguments."""
        for arg in tr.args:
            self.visit(arg)

    def visit_ref_type(self, rt: RefType) -> Any:
        """Visits the type of the value."""
        self.visit(rt.value)

    def visit_global_type_var(self, gtv: GlobalTypeVar) -> Any:
        """Does nothing."""

    def visit_type_call(self, tc: TypeCall) -> Any:
        """Visits the function, then the arguments."""
        self.visit(tc.func)
        for arg in tc.args:
            self.visit(arg)

    def visit_type_data(self, td: TypeData) -> Any:
        """Visits the name, then the variables."""
        self.visit(td.header)
        for var in td.type_vars:
            self.visit(var)


class TypeMutator(TypeFunctor):
    """Rebuilds a type from the results for its parts; variables become new ones."""

    def visit_type_var(self, tv: TypeVar) -> Any:
        """A new variable."""
        return TypeVar(tv.name_hint, tv.kind)

    def visit_incomplete_type(self, it: IncompleteType) -> Any:
        """A new unknown type."""
        return IncompleteType(it.kind)

    def visit_tensor_type(self, tt: TensorType) -> Any:
        """The type of the same shape."""
        return TensorType(tt.shape, tt.dtype)

    def visit_func_type(self, ft: FuncType) -> Any:
        """The type with new parts."""
        return FuncType(
            [self.visit(part) for part in ft.arg_types],
            self.visit(ft.ret_type),
            [self.visit(part) for part in ft.type_params],
            [self.visit(part) for part in ft.type_constraints],
        )

    def visit_tuple_type(self, tt: TupleType) -> Any:
        """The type with new fields."""
        return TupleType([self.visit(field) for field in tt.fields])

    def visit_type_relation(self, tr: TypeRelation) -> Any:
        """The relation of new arguments."""
        return TypeRelation(tr.func, [self.visit(arg) for arg in tr.args], tr.num_inputs, tr.attrs)

    def visit_ref_type(self, rt: RefType) -> Any:
        """The type of a reference to the new type."""
        return RefType(self.visit(rt.value))

    def visit_global_type_var(self, gtv: GlobalTypeVar) -> Any:
        """A new name."""
        return GlobalTypeVar(gtv.name_hint, gtv.kind)

    def visit_type_call(self, tc: TypeCall) -> Any:
        """The call with new parts."""
        return TypeCall(self.visit(tc.func), [self.visit(arg) for arg in tc.args])

    def visit_type_data(self, td: TypeData) -> Any:
        """The definition with new name and variables."""
        return TypeData(self.visit(td.header), [self.visit(var) for var in td.type_vars], td.constructors)
