"""The matcher: whether an expression matches a pattern, and which part matches which sub-pattern.

The rules are those of `src/relay/ir/dataflow_matcher.cc`. A sub-pattern that occurs twice must match the same
expression, except within the path of a dominator pattern. Rules of patterns with parts are generators: they yield
`(pattern, expression)` and are sent whether it matches, so patterns as deep as programs need no deep stack.
"""

from __future__ import annotations

from typing import Any, Dict, Generator, List, Optional, Tuple

from ... import ir as _ir
from ...error import TVMError
from ...ir import Op, TensorType
from ..expr import Call, Constant, If, Let, TupleGetItem, Var
from ..expr import Tuple as RelayTuple
from ..function import Function
from .graph import ExprGraph, children
from .pattern import (
    AltPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataTypePattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    FunctionPattern,
    IfPattern,
    LetPattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    VarPattern,
    WildcardPattern,
)

#: A rule in progress: yields questions, is sent answers, returns whether its pattern matches.
Rule = Generator[Tuple[DFPattern, Any], Optional[bool], bool]
#: Each pattern that matched, with the expressions that it matched.
Matches = Dict[DFPattern, List[Any]]

_COMMUTATIVE = ("add", "multiply")


def infer_types(root: Any) -> Dict[int, Any]:
    """The types of all expressions within `root`, by `id`. Raises what inference raises."""
    from ..transform import InferType

    main = InferType()(_ir.IRModule.from_expr(root))["main"]
    types: Dict[int, Any] = {}
    stack = [(root, main if isinstance(root, Function) else main.body)]
    while stack:
        before, after = stack.pop()
        if id(before) not in types:
            types[id(before)] = after._checked_type_
            stack.extend(zip(children(before), children(after)))
    return types


def _op_name(expr: Any) -> Optional[str]:
    """The name of the operator that `expr` calls or, for a pattern, calls for."""
    callee = getattr(expr, "op", None)
    if isinstance(callee, ExprPattern):
        callee = callee.expr
    return callee.name if isinstance(callee, Op) else None


class Matcher:
    """Matches patterns against the expressions within `root`."""

    def __init__(self, root: Any, graph: Optional[ExprGraph] = None):
        self._root = root
        self._graph = graph
        self._types: Optional[Dict[int, Any]] = None
        self._memo: Matches = {}
        self._matched: List[DFPattern] = []
        self._memoize = True

    @property
    def graph(self) -> ExprGraph:
        """The dataflow graph of the root."""
        if self._graph is None:
            self._graph = ExprGraph(self._root)
        return self._graph

    def match(self, pattern: DFPattern, expr: Any) -> Optional[Matches]:
        """The expressions that matched each pattern within `pattern`; `None` if `expr` does not match it."""
        self._memo, self._matched, self._memoize = {}, [], True
        return self._memo if self._run(pattern, expr) else None

    def _run(self, pattern: DFPattern, expr: Any) -> bool:
        frames: List[Tuple[Rule, DFPattern, Any, int]] = []
        answer = self._ask(frames, pattern, expr)
        while frames:
            rule, pattern, expr, mark = frames[-1]
            try:
                question = rule.send(answer)
            except StopIteration as end:
                frames.pop()
                answer = bool(end.value)
                if answer:
                    self._note(pattern, expr)
                else:
                    self._forget(mark)
            else:
                answer = self._ask(frames, *question)
        return bool(answer)

    def _ask(self, frames: List[Any], pattern: DFPattern, expr: Any) -> Optional[bool]:
        """Answers a question at once, or begins its rule and returns `None`."""
        if self._memoize:
            before = self._memo.get(pattern)
            if before:
                return before[0] is expr
        leaf = _LEAVES.get(type(pattern))
        if leaf is not None:
            answer = leaf(pattern, expr)
        elif type(pattern) is WildcardPattern and pattern.pattern is None:
            answer = True
        else:
            frames.append((_rule(pattern)(self, pattern, expr), pattern, expr, len(self._matched)))
            return None
        if answer:
            self._note(pattern, expr)
        return answer

    def _note(self, pattern: DFPattern, expr: Any) -> None:
        self._memo.setdefault(pattern, []).append(expr)
        self._matched.append(pattern)

    def _forget(self, mark: int) -> None:
        """Forgets all matches since there were `mark` of them."""
        for pattern in self._matched[mark:]:
            self._memo.pop(pattern, None)
        del self._matched[mark:]

    def _type_of(self, expr: Any) -> Any:
        """The type of `expr`: of all expressions at once if the root has a type, else of this one alone."""
        if self._types is None:
            try:
                self._types = infer_types(self._root)
            except TVMError:
                self._types = {}
        if id(expr) not in self._types:
            self._types.update(infer_types(expr))
        return self._types[id(expr)]

    def _all(self, patterns: Any, exprs: Any) -> Rule:
        """Whether all match, in order; `None` stands for patterns that match anything."""
        if patterns is None:
            return True
        if len(patterns) != len(exprs):
            return False
        for pattern, expr in zip(patterns, exprs):
            if not (yield pattern, expr):
                return False
        return True

    def _alt(self, pattern: AltPattern, expr: Any) -> Rule:
        return (yield pattern.left, expr) or (yield pattern.right, expr)

    def _wildcard(self, pattern: WildcardPattern, expr: Any) -> Rule:
        return (yield pattern.pattern, expr)

    def _attr(self, pattern: AttrPattern, expr: Any) -> Rule:
        if not (yield pattern.pattern, expr):
            return False
        if isinstance(expr, Op):
            return all(_same_value(value, expr.get_attr(name)) for name, value in pattern.attrs.items())
        if isinstance(expr, (Call, Function)):
            attrs = expr.attrs
            names = () if attrs is None else attrs.keys()
            return all(name in names and _same_value(value, attrs[name]) for name, value in pattern.attrs.items())
        return False

    def _call(self, pattern: CallPattern, expr: Any) -> Rule:
        if not isinstance(expr, Call):
            return False
        if not (yield pattern.op, expr.op):
            return (yield from self._associated(pattern, expr))
        mark = len(self._matched)
        if (yield from self._all(pattern.args, expr.args)):
            return True
        self._forget(mark)
        if _op_name(pattern) in _COMMUTATIVE:
            return (yield from self._all(pattern.args[::-1], expr.args))
        return False

    def _associated(self, pattern: CallPattern, expr: Call) -> Rule:
        """Matches `(a * b) / c` with `a * (b / c)` or `b * (a / c)`, and `a * (b / c)` with `(a * b) / c`."""
        args = pattern.args or ()
        name, called = _op_name(pattern), _op_name(expr)
        mark = len(self._matched)
        if name == "divide" and called == "multiply" and any(_op_name(a) == "divide" for a in expr.args):
            product = args[0] if args else None
            if isinstance(product, CallPattern) and _op_name(product) == "multiply" and product.args:
                for i in range(2):
                    quotient = CallPattern(pattern.op, [product.args[i], args[1]])
                    if (yield CallPattern(product.op, [product.args[1 - i], quotient]), expr):
                        return True
                    self._forget(mark)
            return False
        if name == "multiply" and called == "divide" and any(_op_name(a) == "multiply" for a in expr.args):
            for i, quotient in enumerate(args):
                if isinstance(quotient, CallPattern) and _op_name(quotient) == "divide" and quotient.args:
                    product = CallPattern(pattern.op, [quotient.args[0], args[1 - i]])
                    return (yield CallPattern(quotient.op, [product, quotient.args[1]]), expr)
        return False

    def _dominator(self, pattern: DominatorPattern, expr: Any) -> Rule:
        if not (yield pattern.child, expr):
            return False
        reached = yield from self._reaches_parent(pattern, expr)
        self._memoize = True
        return reached and self.graph.dominates(expr, self._memo[pattern.parent][0])

    def _reaches_parent(self, pattern: DominatorPattern, expr: Any) -> Rule:
        """Whether all ways up from `expr` lead over nodes of the path to the parent, the same one each time."""
        accepted = set()
        pending = self._dataflow(expr)
        if not pending:
            return False
        while pending:
            current = pending.pop()
            if id(current) in accepted:
                continue
            accepted.add(id(current))
            self._memoize = True
            if (yield pattern.parent, current):
                continue
            # Each node of the path matches the path anew.
            self._memoize = False
            if not (yield pattern.path, current):
                return False
            above = self._dataflow(current)
            if not above:
                return False
            pending += above
        return True

    def _dataflow(self, expr: Any) -> List[Any]:
        """What flows into `expr`, without the operator or function that is called; the last first."""
        callee = expr.op if isinstance(expr, Call) else None
        return [node.expr for node in reversed(self.graph.node(expr).inputs) if node.expr is not callee]

    def _function(self, pattern: FunctionPattern, expr: Any) -> Rule:
        if not isinstance(expr, Function):
            return False
        return (yield from self._all(pattern.params, expr.params)) and (yield pattern.body, expr.body)

    def _tuple(self, pattern: TuplePattern, expr: Any) -> Rule:
        return isinstance(expr, RelayTuple) and (yield from self._all(pattern.fields, expr.fields))

    def _tuple_get_item(self, pattern: TupleGetItemPattern, expr: Any) -> Rule:
        if not isinstance(expr, TupleGetItem) or pattern.index not in (-1, expr.index):
            return False
        return (yield pattern.tuple, expr.tuple_value)

    def _if(self, pattern: IfPattern, expr: Any) -> Rule:
        if not isinstance(expr, If):
            return False
        return (yield from self._all(pattern.sub_patterns(), (expr.cond, expr.true_branch, expr.false_branch)))

    def _let(self, pattern: LetPattern, expr: Any) -> Rule:
        if not isinstance(expr, Let):
            return False
        return (yield from self._all(pattern.sub_patterns(), (expr.var, expr.value, expr.body)))

    def _type(self, pattern: TypePattern, expr: Any) -> Rule:
        return _ir.structural_equal(pattern.type, self._type_of(expr)) and (yield pattern.pattern, expr)

    def _shape(self, pattern: ShapePattern, expr: Any) -> Rule:
        ty = self._type_of(expr)
        if not isinstance(ty, TensorType) or not _same_shape(pattern.shape, ty.shape):
            return False
        return (yield pattern.pattern, expr)

    def _dtype(self, pattern: DataTypePattern, expr: Any) -> Rule:
        ty = self._type_of(expr)
        return isinstance(ty, TensorType) and pattern.dtype == ty.dtype and (yield pattern.pattern, expr)


def _same_shape(expected: Any, found: Any) -> bool:
    """Whether two shapes are structurally equal; quick for numbers."""
    if len(expected) != len(found):
        return False
    pairs = [(_plain(a), _plain(b)) for a, b in zip(expected, found)]
    return all(a == b if isinstance(a, int) and isinstance(b, int) else _ir.structural_equal(a, b) for a, b in pairs)


def _same_value(expected: Any, found: Any) -> bool:
    """Whether an attribute has the expected value. A number matches no text, and an int no float."""
    expected, found = _plain(expected), _plain(found)
    if isinstance(expected, (list, tuple)) and isinstance(found, (list, tuple)):
        return len(expected) == len(found) and all(_same_value(a, b) for a, b in zip(expected, found))
    for kind in (str, float, int):
        if isinstance(expected, kind) or isinstance(found, kind):
            return isinstance(expected, kind) and isinstance(found, kind) and expected == found
    if expected is None or found is None:
        return expected is found
    return _ir.structural_equal(expected, found, map_free_vars=True)


def _plain(value: Any) -> Any:
    """The number or text within an immediate value."""
    inner = getattr(value, "value", None)
    return inner if isinstance(inner, (int, float, str)) else value


def _equal_expr(pattern: ExprPattern, expr: Any) -> bool:
    if pattern.expr is expr:
        return True
    if type(pattern.expr) is not type(expr) or isinstance(expr, (Op, Var)):
        return False
    return _ir.structural_equal(pattern.expr, expr)


def _equal_var(pattern: VarPattern, expr: Any) -> bool:
    return isinstance(expr, Var) and pattern.name in ("", expr.name_hint)


_LEAVES: Dict[type, Any] = {
    ExprPattern: _equal_expr,
    VarPattern: _equal_var,
    ConstantPattern: lambda pattern, expr: isinstance(expr, Constant),
}

_RULES: Dict[type, Any] = {
    AltPattern: Matcher._alt,
    AttrPattern: Matcher._attr,
    CallPattern: Matcher._call,
    DataTypePattern: Matcher._dtype,
    DominatorPattern: Matcher._dominator,
    FunctionPattern: Matcher._function,
    IfPattern: Matcher._if,
    LetPattern: Matcher._let,
    ShapePattern: Matcher._shape,
    TupleGetItemPattern: Matcher._tuple_get_item,
    TuplePattern: Matcher._tuple,
    TypePattern: Matcher._type,
    WildcardPattern: Matcher._wildcard,
}


def _rule(pattern: DFPattern) -> Any:
    """The rule of a pattern with parts."""
    rule = _RULES.get(type(pattern))
    if rule is None:
        raise TypeError(f"{type(pattern).__name__} is not a pattern that can be matched")
    return rule
