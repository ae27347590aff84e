"""Which variables a program still needs at each `let`, and two passes that ask for it.

Programs are in A-normal form: every `if` and `match` is the value of a `let`. Rules of
TVM: `src/relay/backend/{liveness_analysis,annotate_used_memory}.cc` and
`src/relay/backend/vm/manifest_lifetimes.cc`.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, NamedTuple, Tuple

from ...error import TVMError
from ...ir import Op
from ...ir.type import TupleType
from ...tir.expr import Any as AnyDim
from ...tir.expr import IntImm
from ..dataflow_pattern.graph import mutate
from ..expr import Call, Let, Var
from ._rewrites import rewrite

__all__ = ["annotate_used_memory", "manifest_lifetimes"]

#: Variables by identity, in the order they were found.
Vars = Dict[int, Any]


class _Site(NamedTuple):
    """What lives before and after the binding of a `let`."""

    let: Any
    before: Vars
    after: Vars


def _liveness(func: Any) -> List[_Site]:
    """The bindings of a function in the order they run."""
    body = func.body
    if func.attrs is not None and "Closure" in func.attrs.keys() and body._kind == "Function":
        body = body.body
    sites: List[_Site] = []
    _block(body, {}, sites)
    sites.reverse()
    return sites


def _block(expr: Any, after: Vars, sites: List[_Site]) -> Vars:
    """What lives before a block of bindings; its sites are added, the last one first."""
    lets = []
    while expr._kind == "Let":
        lets.append(expr)
        expr = expr.body
    if expr._kind in ("If", "Match"):
        raise TVMError(f"{expr._kind} expressions should be bound to variables.")
    live = {**_uses(expr), **after}
    for let in reversed(lets):
        out: Vars = live
        branches = _branches(let.value)
        if branches:
            out = {}
            for branch in reversed(branches):
                out.update(_block(branch, live, sites))
        own = id(let.var)
        live = {**_uses(let.value), **{key: var for key, var in out.items() if key != own}}
        sites.append(_Site(let, live, out))
    return live


def _branches(value: Any) -> List[Any]:
    if value._kind == "If":
        return [value.true_branch, value.false_branch]
    if value._kind == "Match":
        return [clause.rhs for clause in value.clauses]
    return []


def _uses(expr: Any) -> Vars:
    """The variables that a value reads before any of its branches runs."""
    found: Vars = {}
    stack = [expr]
    while stack:
        part = stack.pop()
        if part._kind == "Var":
            found[id(part)] = part
        else:
            stack.extend(reversed(list(_read(part))))
    return found


def _read(expr: Any) -> Iterator[Any]:
    kind = expr._kind
    if kind == "Call":
        yield expr.op
        yield from expr.args
    elif kind == "Tuple":
        yield from expr.fields
    elif kind == "TupleGetItem":
        yield expr.tuple_value
    elif kind == "If":
        yield expr.cond
    elif kind == "Match":
        yield expr.data
    elif kind == "RefCreate":
        yield expr.value
    elif kind == "RefRead":
        yield expr.ref
    elif kind == "RefWrite":
        yield expr.ref
        yield expr.value
    elif kind == "Function":
        from ..analysis import free_vars

        yield from free_vars(expr)


def _bytes(ty: Any) -> int:
    """The bytes of a value's tensors. Raises `TVMError` if types are missing or shapes unknown."""
    if ty is None:
        raise TVMError("InferType pass should be run before AnnotateUsedMemory.")
    if isinstance(ty, TupleType):
        return sum(_bytes(field) for field in ty.fields)
    if any(isinstance(dim, AnyDim) for dim in ty.shape):
        raise TVMError("AnnotateUsedMemory does not support dynamic shapes.")
    from ...runtime import DataType

    dtype = DataType(ty.dtype)
    size = (dtype.bits * dtype.lanes + 7) // 8
    for dim in ty.shape:
        size *= int(dim)
    return size


def annotate_used_memory(mod: Any, ctx: Any) -> Any:
    """`mod` whose `main` says how many bytes live at each call of a primitive function.

    The functions that `main` binds get `used_memory`, a number for each of their calls;
    `main` gets `io_used_memory`, the bytes of its inputs and its result.
    """
    main = mod["main"]
    total = sum(_bytes(_checked(param)) for param in main.params) + _bytes(_checked(main.body))
    bound: Dict[int, Any] = {}
    used: Dict[int, List[Any]] = {}
    for let, before, after in _liveness(main):
        value = let.value
        if value._kind == "Function":
            if value.attrs is None or "Primitive" not in value.attrs.keys():
                raise TVMError("Expect top-level functions to be primitive.")
            bound[id(let.var)] = value
            used[id(value)] = []
        elif value._kind == "Call" and id(value.op) in bound:
            live = {**before, **after}
            live.pop(id(value.op))
            size = sum(_bytes(_checked(var)) for var in live.values())
            used[id(bound[id(value.op)])].append(IntImm("uint64", size))

    def stop(expr: Any) -> Any:
        if id(expr) not in used:
            return None
        if not used[id(expr)]:
            raise TVMError("Could not find used_memory value for primitive function")
        return expr.with_attr("used_memory", used[id(expr)])

    annotated = mutate(main, stop, lambda pre, post, _: post)
    result = mod._copy()
    result[mod.get_global_var("main")] = annotated.with_attr("io_used_memory", IntImm("uint64", total))
    return result


def _checked(expr: Any) -> Any:
    return getattr(expr, "_checked_type_", None) or expr.checked_type


def manifest_lifetimes(func: Any, mod: Any, ctx: Any) -> Any:
    """`func` with `memory.kill` of each variable behind the last binding that reads it.

    Variables that only name another one go first.
    """
    func = _without_aliases(func)
    kills: Dict[int, List[Any]] = {}
    for let, before, after in _liveness(func):
        kills[id(let)] = [var for key, var in before.items() if key not in after]
    kill = Op.get("memory.kill")

    def visit(pre: Any, post: Any) -> Any:
        dead = kills.get(id(pre))
        if not dead:
            return post
        body = post.body
        for number, var in reversed(list(enumerate(dead))):
            body = Let(Var(f"_{number}"), Call(kill, [var]), body)
        return Let(post.var, post.value, body, post.span)

    return rewrite(func, visit)


def _without_aliases(func: Any) -> Any:
    alias: Dict[int, Any] = {}
    names: List[Tuple[Any, Any]] = []

    def found(pre: Any, post: Any) -> Any:
        if pre._kind == "Let" and pre.value._kind == "Var":
            names.append((pre.var, pre.value))
        elif pre._kind == "Match" and pre.data._kind == "Var":
            names.extend(
                (c.lhs.var, pre.data) for c in pre.clauses if type(c.lhs).__name__ == "PatternVar"
            )
        return post

    rewrite(func, found)
    if not names:
        return func
    for var, target in names:
        alias[id(var)] = target

    def root(var: Any) -> Any:
        while id(var) in alias:
            var = alias[id(var)]
        return var

    def visit(pre: Any, post: Any) -> Any:
        if pre._kind == "Var":
            return root(pre)
        if pre._kind == "Let" and id(pre.var) in alias:
            return post.body
        return post

    return rewrite(func, visit)
