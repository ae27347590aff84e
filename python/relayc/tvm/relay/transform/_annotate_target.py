"""`AnnotateTarget`: puts `compiler_begin` and `compiler_end` around what a compiler takes.

Rules of TVM: `src/relay/transforms/annotate_target.cc`. What no compiler takes is
marked `default`. A marked program may be annotated again for more compilers.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Sequence, Tuple

from ...ir import Op
from ..analysis._walk import is_call
from ..expr import Call, If, Let, RefCreate, RefRead, RefWrite, TupleGetItem, Var, with_fields
from ..expr import Tuple as RelayTuple
from ..function import Function
from ._rewrites import rewrite

__all__ = ["annotate_target"]

_DEFAULT = "default"
_BEGIN = "annotation.compiler_begin"
_END = "annotation.compiler_end"


def annotate_target(
    targets: Sequence[str], include_non_call_ops: bool
) -> Callable[[Any, Any, Any], Any]:
    """The function that annotates; with `include_non_call_ops`, tuples and references too."""

    def run(func: Any, mod: Any, ctx: Any) -> Any:
        return rewrite(func, _Annotator(targets, include_non_call_ops).visit)

    return run


class _Annotator:
    """The rewriting of one function; `target_of` has the compiler of each new node."""

    def __init__(self, targets: Sequence[str], include_non_call_ops: bool) -> None:
        self.targets = targets
        self.everything = include_non_call_ops
        self.target_of: Dict[int, str] = {}
        #: The nodes of `target_of`, kept so that no other gets their `id`.
        self.kept: List[Any] = []

    def visit(self, pre: Any, post: Any) -> Any:
        """The annotated form of one node whose parts are annotated."""
        if isinstance(pre, Call):
            return self._call(pre, post)
        if isinstance(pre, Function):
            return self._function(pre, post)
        if isinstance(pre, Let):
            return self._let(post)
        if isinstance(pre, If):
            return If(*map(self._ended, (post.cond, post.true_branch, post.false_branch)))
        if isinstance(pre, RelayTuple):
            return self._parts(post.fields, lambda fields: with_fields(post, fields=fields))
        if isinstance(pre, TupleGetItem):
            return self._parts([post.tuple_value], lambda x: TupleGetItem(x[0], post.index))
        if isinstance(pre, RefCreate):
            return self._parts([post.value], lambda x: RefCreate(x[0]))
        if isinstance(pre, RefRead):
            return self._parts([post.ref], lambda x: RefRead(x[0]))
        if isinstance(pre, RefWrite):
            return self._parts([post.ref, post.value], lambda x: RefWrite(x[0], x[1]))
        return post

    def _parts(self, parts: Sequence[Any], make: Callable[[List[Any]], Any]) -> Any:
        """A node that is no call: it follows its parts, if such nodes are annotated."""
        if not self.everything:
            return make([self._ended(part) for part in parts])
        target, annotated = self._begun(parts)
        return self._remember(make(annotated), target)

    def _remember(self, expr: Any, target: str) -> Any:
        self.target_of[id(expr)] = target
        self.kept.append(expr)
        return expr

    def _annotation(self, expr: Any, target: str, make: str) -> Any:
        from ..op import annotation

        annotated = getattr(annotation, make)(expr, target)
        annotated._checked_type_ = expr._checked_type_
        return annotated

    def _call(self, pre: Any, post: Any) -> Any:
        if is_call(pre, _BEGIN):
            return post
        if is_call(pre, _END):
            inner = post.args[0]
            if id(inner) not in self.target_of:
                self._remember(inner, str(post.attrs.compiler))
            return post
        if pre.args and is_call(pre.args[0], _BEGIN):
            if str(pre.args[0].attrs.compiler) != _DEFAULT:
                return post
        supported = self._supported(pre)
        if isinstance(pre.op, Var) and not self.everything:
            ends = [self._ended(arg) for arg in post.args]
            return self._typed(Call(post.op, ends, post.attrs), post)
        target = supported[0] if supported else _DEFAULT
        _, begun = self._begun(post.args, target)
        return self._remember(self._typed(Call(post.op, begun, post.attrs), pre), target)

    def _typed(self, call: Any, like: Any) -> Any:
        call._checked_type_ = like._checked_type_
        return with_fields(call, span=like.span)

    def _supported(self, call: Any) -> List[str]:
        """The compilers that take a call, in their order."""
        if isinstance(call.op, Op):
            takes = ((t, call.op.get_attr(f"target.{t}")) for t in self.targets)
            return [t for t, check in takes if check is not None and check(call)]
        if isinstance(call.op, Function):
            attrs = call.op.attrs
            if attrs is not None and "Composite" in attrs.keys():
                compiler, dot, _ = str(attrs["Composite"]).partition(".")
                if dot and compiler in self.targets:
                    return [compiler]
        return []

    def _begun(self, args: Sequence[Any], target: str = "") -> Tuple[str, List[Any]]:
        """The arguments, ended for their compilers and begun for that of their user.

        Without a target, the user's is that of all arguments, or `default`.
        """
        begins: List[Any] = []
        ends: List[Any] = []
        common = ""
        for arg in args:
            arg_target = _DEFAULT
            if is_call(arg, _BEGIN):
                if str(arg.attrs.compiler) != _DEFAULT:
                    begins.append(arg)
                else:
                    ends.append(arg.args[0])
                if is_call(arg.args[0], _END):
                    arg_target = str(arg.args[0].attrs.compiler)
            elif id(arg) in self.target_of:
                arg_target = self.target_of[id(arg)]
                # A call without arguments, such as zeros, is an input.
                without = isinstance(arg, Call) and not arg.args
                ends.append(arg if without else self._annotation(arg, arg_target, "compiler_end"))
            else:
                ends.append(arg)
            common = arg_target if common in ("", arg_target) else _DEFAULT
        chosen = target or common
        if not common:
            return chosen, list(args)
        begins += [self._annotation(end, chosen, "compiler_begin") for end in ends]
        return chosen, begins

    def _ended(self, expr: Any) -> Any:
        """An expression that leaves its region: with an end, if it has a compiler."""
        if id(expr) in self.target_of:
            ends = isinstance(expr, (RefWrite, RefCreate, RefRead, TupleGetItem))
            ends = ends or bool(isinstance(expr, Call) and expr.args)
            if ends or (isinstance(expr, RelayTuple) and expr.fields):
                target = self.target_of[id(expr)]
                return self._remember(self._annotation(expr, target, "compiler_end"), target)
        elif is_call(expr, _END) and str(expr.attrs.compiler) == _DEFAULT:
            target = self.target_of[id(expr.args[0])]
            ended = self._annotation(expr.args[0], target, "compiler_end")
            return self._remember(ended, target)
        return expr

    def _function(self, pre: Any, post: Any) -> Any:
        # Composite functions are as their pattern made them.
        if pre.attrs is not None and "Composite" in pre.attrs.keys():
            return pre
        return with_fields(post, body=self._ended(post.body))

    def _let(self, post: Any) -> Any:
        body = self._ended(post.body)
        value = post.value
        if not isinstance(value, Function):
            value = self._begun([value])[1][0]
        return Let(post.var, value, body)
