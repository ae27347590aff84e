"""`PartitionGraph`: a global function for each region that is marked for a compiler.

Rules of TVM: `src/relay/transforms/partition_graph.cc`. A region with several results
returns a tuple; names are `<compiler>_<function>_<number>`, mangled in the end.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Sequence, Tuple

from ..._ffi import get_global_func
from ...error import InternalError
from ...ir import Op
from ..analysis._walk import operands, post_order
from ..analysis.annotated_regions import AnnotatedRegion, AnnotatedRegionSet
from ..dataflow_pattern.graph import _parts
from ..expr import Call, Constant, GlobalVar, TupleGetItem, Var, bind, with_fields
from ..expr import Tuple as RelayTuple
from ..function import Function
from ._merge_regions import BEGIN, END, is_annotation
from ._rewrites import rewrite

__all__ = ["steps"]


def _each(visit: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A pass that rewrites the bodies of all functions, and infers their types."""

    def run(mod: Any, ctx: Any) -> Any:
        from .transform import InferType

        output = mod._copy()
        for var, func in mod.functions.items():
            if isinstance(func, Function):
                output.update_func(var, with_fields(func, body=rewrite(func.body, visit)))
        return InferType()(output)

    return run


def _flattened(pre: Any, post: Any) -> Any:
    from ..op.annotation import compiler_end

    if not is_annotation(pre, END) or not isinstance(post.args[0], RelayTuple):
        return post
    target = str(pre.attrs.compiler)
    fields = post.args[0].fields
    return with_fields(post.args[0], fields=[compiler_end(field, target) for field in fields])


def _without_default(pre: Any, post: Any) -> Any:
    marked = is_annotation(pre, BEGIN) or is_annotation(pre, END)
    return post.args[0] if marked and str(pre.attrs.compiler) == "default" else post


#: An end of a tuple becomes ends of its fields: results are no tuples of tuples.
flatten_tuples = _each(_flattened)
#: What is marked `default` is compiled as usual.
remove_defaults = _each(_without_default)


def partition(bind_constants: bool) -> Callable[[Any, Any], Any]:
    """The pass that makes the functions; constants may be arguments or part of them."""

    def run(mod: Any, ctx: Any) -> Any:
        from .transform import InferType

        return InferType()(_Partitioner(InferType()(mod), bind_constants).run())

    return run


class _Made:
    """A region's function: what it is called with, and where its results are."""

    def __init__(self, region: AnnotatedRegion) -> None:
        self.region = region
        self.args: List[Tuple[Any, Any]] = []
        self.variables: Dict[int, Any] = {}
        self.outputs: Dict[int, Any] = {}


class _Partitioner:
    def __init__(self, mod: Any, bind_constants: bool) -> None:
        self.mod, self.bind_constants = mod._copy(), bind_constants
        self.source = mod
        self.memo: Dict[int, Any] = {}
        self.made: Dict[int, _Made] = {}

    def run(self) -> Any:
        for var, func in self.source.functions.items():
            if not isinstance(func, Function):
                continue
            self.name = var.name_hint
            self.regions = AnnotatedRegionSet(func, Op.get(BEGIN), Op.get(END))
            self.memo, self.made = {}, {}
            for node in post_order(func.body, self._needs):
                self.memo[id(node)] = self._visit(node)
            self.mod.update_func(var, with_fields(func, body=self.memo[id(func.body)]))
        return self.mod

    def _region(self, annotation: Any) -> _Made:
        region = self.regions.get_region(annotation)
        if region is None:
            raise InternalError(f"Region not defined for {annotation}")
        return self.made.setdefault(id(region), _Made(region))

    def _needs(self, expr: Any) -> Tuple[Any, ...]:
        """What has to be converted before: all results of a region before the first of its ends."""
        if is_annotation(expr, END):
            return tuple(end.args[0] for end in self._region(expr).region.rets)
        return operands(expr)

    def _visit(self, node: Any) -> Any:
        if is_annotation(node, BEGIN):
            return self._input(node)
        if is_annotation(node, END):
            made = self._region(node)
            if not made.outputs:
                self._function(made, node)
            return made.outputs[id(node.args[0])]
        of, rebuild = _parts(node)
        old = of(node)
        new = [self.memo.get(id(part), part) for part in old]
        return node if all(a is b for a, b in zip(old, new)) else rebuild(node, new)

    def _input(self, begin: Any) -> Any:
        """The parameter of a value that goes into a region; one for each value."""
        made = self._region(begin)
        source = begin.args[0]
        while is_annotation(source, BEGIN) or is_annotation(source, END):
            source = source.args[0]
        if id(source) not in made.variables:
            number = next(i for i, arg in enumerate(made.region.args) if arg is begin)
            name = f"{begin.attrs.compiler}_{made.region.id}_i{number}"
            made.variables[id(source)] = var = Var(name, begin.checked_type)
            made.args.append((var, self.memo[id(begin.args[0])]))
        return made.variables[id(source)]

    def _function(self, made: _Made, end: Any) -> None:
        """Adds the function of a region to the module, and notes its results."""
        results: Dict[int, Any] = {}
        for ret in made.region.rets:
            results.setdefault(id(ret.args[0]), ret.args[0])
        fields = [self.memo[at] for at in results]
        ret_type = None
        body = RelayTuple(fields)
        if len(fields) == 1:
            body, ret_type = fields[0], end.args[0].checked_type
        bound = {v: e for v, e in made.args if self.bind_constants and _is_constant(e)}
        params = [var for var, _ in made.args if var not in bound]
        func = Function(params, bind(body, bound) if bound else body, ret_type)
        target = str(end.attrs.compiler)
        name = f"{target}_{self.name}_{made.region.id}"
        func = _optimized(func, target)
        for key, value in (("global_symbol", name), ("Primitive", 1), ("Compiler", target), ("Inline", 1)):
            func = func.with_attr(key, value)
        var = GlobalVar(_fresh(name, self.mod))
        self.mod[var] = func
        call = Call(var, [expr for v, expr in made.args if v not in bound])
        for index, (at, result) in enumerate(results.items()):
            made.outputs[at] = call
            if len(results) > 1:
                item = TupleGetItem(call, index)
                item._checked_type_ = result.checked_type
                made.outputs[at] = item


def _is_constant(expr: Any) -> bool:
    if isinstance(expr, RelayTuple):
        return all(isinstance(field, Constant) for field in expr.fields)
    return isinstance(expr, Constant)


def _fresh(name: str, mod: Any) -> str:
    """The name, with a number if the module has it."""
    found, number = name, 0
    while found in mod:
        number += 1
        found = f"{name}_{number}"
    return found


def _optimized(func: Any, target: str) -> Any:
    """The function after the compiler's own passes, if it registered any."""
    optimize = get_global_func(f"relay.ext.{target}.optimize", allow_missing=True)
    if optimize is None:
        return func
    from ...ir import IRModule
    from .transform import InferType

    return optimize(InferType()(IRModule.from_expr(func)))["main"]


def mangle_names(prefix: str) -> Callable[[Any, Any], Any]:
    """The pass that puts a prefix before the names of functions for other compilers."""

    def run(mod: Any, ctx: Any) -> Any:
        names: Dict[str, Any] = {}
        for var, func in mod.functions.items():
            if _is_for_a_compiler(func):
                mangled = re.sub(r"[^0-9A-Za-z_]", "_", f"{prefix}_{var.name_hint}")
                names[var.name_hint] = GlobalVar(mangled)

        def visit(pre: Any, post: Any) -> Any:
            if isinstance(post, Call) and isinstance(post.op, GlobalVar):
                return with_fields(post, op=names.get(post.op.name_hint, post.op))
            return post

        functions: Dict[Any, Any] = {}
        for var, func in mod.functions.items():
            changed = with_fields(func, body=rewrite(func.body, visit))
            if var.name_hint in names:
                var = names[var.name_hint]
                changed = changed.with_attr("global_symbol", var.name_hint)
            functions[var] = changed
        return type(mod)._from_nodes(functions, mod.type_definitions, mod.attrs)

    return run


def _is_for_a_compiler(func: Any) -> bool:
    return isinstance(func, Function) and func.attrs is not None and "Compiler" in func.attrs.keys()


def steps(mod_name: str, bind_constants: bool) -> Sequence[Tuple[str, Callable[[Any, Any], Any]]]:
    """The passes of `PartitionGraph` with their names."""
    return [
        ("FlattenNestedTuples", flatten_tuples),
        ("RemoveDefaultAnnotations", remove_defaults),
        ("PartitionGraph", partition(bind_constants)),
        ("NameMangleExtFuncs", mangle_names(mod_name)),
    ]
