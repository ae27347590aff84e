"""`FakeQuantizationToInteger`: floats between `qnn.dequantize` and `qnn.quantize` become integers.

A region is what a `qnn.quantize` computes from `qnn.dequantize` and constants by
operators that have rules. A rule takes a call on integers and the map of affine types,
`real = (integer - zero_point) * scale`, and returns the call to make and its affine
type. With `use_qat`, single operators on dequantized values are converted after that.
Rules of TVM: `src/relay/transforms/fake_quantization_to_integer.cc`.
"""

from __future__ import annotations

from typing import Any, Collection, Dict, Iterator, List, Optional, Tuple

from ...error import TVMError
from ...ir import Op, TensorAffineType, TupleAffineType
from ..dataflow_pattern.graph import mutate
from ..expr import Call
from ._fake_quantization_rules import OPTIONAL_RULES, QAT_OPERATORS, RULES

__all__ = ["AffineTypes", "fake_quantization_to_integer"]


class AffineTypes:
    """Affine types by expression, which is compared by identity; `root` is the region's quantize."""

    def __init__(self, root: Any = None) -> None:
        self.root = root
        self._entries: Dict[int, Tuple[Any, Any]] = {}

    def __contains__(self, expr: Any) -> bool:
        return id(expr) in self._entries

    def __getitem__(self, expr: Any) -> Any:
        return self._entries[id(expr)][1]

    def __setitem__(self, expr: Any, affine_type: Any) -> None:
        self._entries[id(expr)] = (expr, affine_type)

    def items(self) -> Iterator[Tuple[Any, Any]]:
        """Expressions and types in the order they were added."""
        return iter(self._entries.values())


def _is(expr: Any, name: str) -> bool:
    return isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name == name


def _parts(expr: Any) -> Optional[List[Any]]:
    """What an expression of a dataflow is computed from; `None` for other expressions."""
    if isinstance(expr, Call):
        return list(expr.args) if isinstance(expr.op, Op) else None
    if expr._kind == "Tuple":
        return list(expr.fields)
    if expr._kind == "TupleGetItem":
        return [expr.tuple_value]
    return [] if expr._kind == "Constant" else None


def _type_of(call: Any, dtype: str) -> Any:
    """The affine type that a quantize or dequantize says."""
    return TensorAffineType(call.args[1], call.args[2], dtype, call.attrs.axis)


class _Converter:
    def __init__(self, hard_fail: bool, optional: Collection[str]) -> None:
        self.hard_fail = hard_fail
        self.optional = set(optional)

    def rule(self, op: Any) -> Any:
        """The rule of an operator: one that was registered, or one of TVM's; `None` if there is none."""
        rule = op.get_attr("FTVMFakeQuantizationToInteger") or RULES.get(op.name)
        if rule is None and op.name in self.optional:
            rule = op.get_attr("FTVMOptionalFakeQuantizationToInteger") or OPTIONAL_RULES.get(op.name)
        return rule

    def region(self, pre: Any, post: Any, memo: Dict[int, Any]) -> Any:
        """`post`, or what takes the place of it if it quantizes a region."""
        if not _is(pre, "qnn.quantize"):
            return post
        types = AffineTypes(post)
        types[post] = _type_of(pre, pre.attrs.out_dtype)
        calls = []
        seen = set()
        stack = [pre.args[0]]
        while stack:
            expr = stack.pop()
            if id(expr) in seen:
                continue
            seen.add(id(expr))
            new = memo[id(expr)]
            if _is(expr, "qnn.dequantize"):
                types[new] = _type_of(expr, expr.args[0].checked_type.dtype)
                calls.append(expr)
            elif _is(expr, "qnn.quantize"):
                types[new] = _type_of(expr, expr.attrs.out_dtype)
                stack.append(expr.args[0])
            else:
                parts = _parts(expr)
                if parts is None:
                    return post
                stack.extend(parts)
                if isinstance(expr, Call):
                    calls.append(expr)
        for call in calls:
            if self.rule(call.op) is None:
                return self._failed(f"Found no rewrite rule for {call.op.name}", post)
        if not calls:
            return post
        try:
            return self._rewritten(post, types, types[post])
        except Exception as error:
            return self._failed(str(error), post, error)

    def _failed(self, why: str, kept: Any, error: Optional[Exception] = None) -> Any:
        if self.hard_fail:
            raise TVMError(why) from error
        return kept

    def _rewritten(self, root: Any, types: AffineTypes, out_type: Any) -> Any:
        def apply(call: Any) -> Any:
            out, affine_type = self.rule(call.op)(call, types)
            types[out] = affine_type
            return out

        def stop(expr: Any) -> Any:
            return apply(expr) if _is(expr, "qnn.dequantize") else None

        def visit(pre: Any, post: Any, memo: Dict[int, Any]) -> Any:
            if isinstance(post, Call):
                if self.rule(post.op) is None:
                    raise TVMError(f"When rewriting a fake quantized graph, found an invalid node {post.op.name}")
                if out_type is not None:
                    types[post] = out_type
                return apply(post)
            if post._kind == "Tuple":
                types[post] = TupleAffineType([types[field] for field in post.fields])
            elif post._kind == "TupleGetItem":
                types[post] = types[post.tuple_value].types[post.index]
            return post

        return mutate(root, stop, visit)


class _Single(_Converter):
    """Converts operators whose operands are all dequantized or constants."""

    def __init__(self, hard_fail: bool, optional: Collection[str]) -> None:
        super().__init__(hard_fail, optional)
        #: The affine types of the integers below the dequantizes made here.
        self.made = AffineTypes()

    def visit(self, pre: Any, post: Any, memo: Dict[int, Any]) -> Any:
        """`post`, or a dequantize of the same operator on integers."""
        from ..qnn.op import dequantize

        if not isinstance(post, Call) or not isinstance(post.op, Op) or post.op.name not in QAT_OPERATORS:
            return post
        types = AffineTypes()
        stack = list(post.args)
        while stack:
            expr = stack.pop()
            if _is(expr, "qnn.dequantize"):
                types[expr] = self.made[expr] if expr in self.made else _type_of(expr, _dtype(expr.args[0]))
                continue
            parts = _parts(expr)
            if parts is None:
                return post
            if isinstance(expr, Call):
                return self._failed(f"Not dequantization was found in the input arguments for {expr.op.name}", post)
            stack.extend(parts)
        if not list(types.items()):
            return post
        try:
            out = self._rewritten(post, types, None)
            affine_type = types[out]
            call = dequantize(out, affine_type.scale, affine_type.zero_point, affine_type.axis)
        except Exception as error:
            return self._failed(str(error), post, error)
        self.made[call] = affine_type
        return call


def _dtype(expr: Any) -> str:
    from ._local import infer_type_local

    known = getattr(expr, "_checked_type_", None)
    return str((known or infer_type_local(expr)).dtype)


def fake_quantization_to_integer(
    func: Any, mod: Any, hard_fail: bool, use_qat: bool, optional_qnn_ops: Collection[str]
) -> Any:
    """`func` with integers in its quantized regions.

    Raises `TVMError` for a region that cannot be converted if `hard_fail`.
    """
    from .transform import InferType

    var = next(var for var, own in mod.functions.items() if own is func)
    func = mutate(func, lambda _: None, _Converter(hard_fail, optional_qnn_ops).region)
    if use_qat:
        mod = mod._copy()
        mod[var] = func
        func = mutate(InferType()(mod)[var], lambda _: None, _Single(hard_fail, optional_qnn_ops).visit)
    return func
