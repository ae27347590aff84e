"""Relay programs as Python scripts that compute the same (`to_python`), and their results (`run_as_python`).

A function becomes a function, a `let` an assignment, an `if` and a `match` become `if` statements. Each call of an
operator becomes a call of a registered function that runs this operator alone. The statements keep the order of
effects, and an expression that is shared is computed once. Only what the program reaches is converted.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections import ChainMap
from typing import Any, Callable, Dict, Generator, List, MutableMapping, Optional, Tuple, Union

import numpy as np

from ..._ffi.registry import register_func
from ...ir import GlobalVar, IRModule, Op, TensorType, TupleType
from ...runtime import ndarray as nd
from ..adt import Constructor, Match, Pattern, PatternConstructor, PatternTuple, PatternVar
from ..analysis import well_formed
from ..expr import (
    Call,
    Constant,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    TupleGetItem,
    TupleWrapper,
    Var,
)
from ..expr import Tuple as RelayTuple
from ..function import Function

OUTPUT_VAR_NAME = "_py_out"

_PROLOGUE = """
import numpy
from numpy import inf, nan
from relayc import tvm
from relayc.tvm import nd
from relayc.tvm.runtime import container as _container
from relayc.tvm.relay.backend.interpreter import RefValue, ConstructorValue
"""

_op_numbers = itertools.count()

#: Statements in the making, and the names of what they have computed so far, by the `id` of expressions.
Block = Tuple[List[ast.stmt], MutableMapping[int, str]]
#: A conversion in progress: yields an expression and its block, is sent the name of its value, returns a name.
Step = Generator[Tuple[Any, Block], str, str]


def _statement(text: str) -> ast.stmt:
    return ast.parse(text).body[0]


class PythonConverter:
    """Converts expressions of one module."""

    def __init__(self, mod: IRModule, target: Any = None):
        self._mod = mod
        self._target = target
        self._numbers = itertools.count()
        self._var_names: Dict[Var, str] = {}
        self._globals: Dict[str, str] = {}
        self._waiting: List[GlobalVar] = []
        self._operators: Dict[Any, str] = {}

    def convert(self, prog: Any) -> ast.Module:
        """The script that leaves the value of `prog` in the variable `_py_out`."""
        prog = prog.astuple() if isinstance(prog, TupleWrapper) else prog
        assert well_formed(prog)
        main: Block = ([], ChainMap())
        name = self._run(prog, main)
        main[0].append(_statement(f"{OUTPUT_VAR_NAME} = {name}"))
        definitions: List[ast.stmt] = []
        while self._waiting:
            var = self._waiting.pop()
            block: Block = (definitions, ChainMap())
            self._drive(self._define(self._mod[var], self._globals[var.name_hint], block))
        body = ast.parse(_PROLOGUE).body + definitions + main[0]
        return ast.fix_missing_locations(ast.Module(body=body, type_ignores=[]))

    def _run(self, expr: Any, block: Block) -> str:
        return self._drive(self._visit(expr, block))

    def _drive(self, step: Step) -> str:
        """Runs a conversion with all that it asks for, on a stack of its own."""
        stack, answer = [step], None
        while stack:
            try:
                expr, block = stack[-1].send(answer)
            except StopIteration as end:
                stack.pop()
                answer = end.value
            else:
                known = block[1].get(id(expr))
                if known is None:
                    stack.append(self._visit(expr, block))
                answer = known
        return answer

    def _fresh(self, hint: str) -> str:
        return f"{re.sub(r'[^0-9A-Za-z_]', '', hint)}_{next(self._numbers)}"

    def _var(self, var: Var) -> str:
        if var not in self._var_names:
            self._var_names[var] = self._fresh(f"v_{var.name_hint}")
        return self._var_names[var]

    def _assign(self, block: Block, value: str, hint: str = "t") -> str:
        name = self._fresh(hint)
        block[0].append(_statement(f"{name} = {value}"))
        return name

    def _visit(self, expr: Any, block: Block) -> Step:
        for cls, rule in _RULES.items():
            if isinstance(expr, cls):
                name = rule(self, expr, block)
                if not isinstance(name, str):
                    name = yield from name
                block[1][id(expr)] = name
                return name
        raise TypeError(f"{type(expr).__name__} has no form in Python")

    def _names(self, exprs: Any, block: Block) -> Generator[Tuple[Any, Block], str, List[str]]:
        names = []
        for expr in exprs:
            names.append((yield expr, block))
        return names

    def _visit_var(self, expr: Var, block: Block) -> str:
        return self._var(expr)

    def _visit_global(self, expr: GlobalVar, block: Block) -> str:
        name = expr.name_hint
        if name not in self._globals:
            self._globals[name] = self._fresh(f"g_{name}")
            self._waiting.append(expr)
        return self._globals[name]

    def _visit_constant(self, expr: Constant, block: Block) -> str:
        array = expr.data.numpy()
        return self._assign(block, f"nd.array(numpy.array({array.tolist()!r}, dtype={str(array.dtype)!r}))")

    def _visit_tuple(self, expr: RelayTuple, block: Block) -> Step:
        fields = yield from self._names(expr.fields, block)
        return self._assign(block, f"_container.tuple_object([{', '.join(fields)}])")

    def _visit_tuple_get_item(self, expr: TupleGetItem, block: Block) -> Step:
        value = yield expr.tuple_value, block
        return self._assign(block, f"{value}[{expr.index}]")

    def _visit_let(self, expr: Let, block: Block) -> Step:
        lets = []
        body = expr
        while isinstance(body, Let):
            lets.append(body)
            var = self._var(body.var)
            if isinstance(body.value, Function):
                # Under the variable's own name, so that it can call itself.
                yield from self._define(body.value, var, block)
            else:
                value = yield body.value, block
                block[0].append(_statement(f"{var} = {value}"))
            body = body.body
        return (yield body, block)

    def _visit_function(self, expr: Function, block: Block) -> Step:
        return (yield from self._define(expr, self._fresh("f"), block))

    def _define(self, function: Function, name: str, block: Block) -> Step:
        """Adds the definition of `function` under this name."""
        inner: Block = ([], ChainMap({}, *_maps(block[1])))
        result = yield function.body, inner
        params = ", ".join(self._var(param) for param in function.params)
        definition = _statement(f"def {name}({params}): return {result}")
        definition.body = inner[0] + definition.body
        block[0].append(definition)
        return name

    def _visit_call(self, expr: Call, block: Block) -> Step:
        if isinstance(expr.op, (Op, Constructor)):
            callee = None
        else:
            callee = yield expr.op, block
        args = ", ".join((yield from self._names(expr.args, block)))
        if isinstance(expr.op, Op):
            callee = f"tvm.get_global_func({self._operator(expr.op, expr.attrs, expr.type_args)!r})"
        elif isinstance(expr.op, Constructor):
            return self._assign(block, f"ConstructorValue({expr.op.tag}, [{args}], None)")
        return self._assign(block, f"{callee}({args})")

    def _operator(self, op: Op, attrs: Any, type_args: Any) -> str:
        """Registers a function that runs calls of `op` with these attributes; returns its name."""
        key = op.name if attrs is None else attrs
        if key not in self._operators:
            self._operators[key] = name = f"relayc.py_converter.{op.name}.{next(_op_numbers)}"
            register_func(name, _OperatorCall(op, attrs, type_args, self._target), override=True)
        return self._operators[key]

    def _visit_op(self, expr: Op, block: Block) -> str:
        return self._assign(block, f"tvm.get_global_func({self._operator(expr, None, None)!r})")

    def _visit_constructor(self, expr: Constructor, block: Block) -> str:
        return self._assign(block, f"lambda *fields: ConstructorValue({expr.tag}, list(fields), None)")

    def _visit_ref_create(self, expr: RefCreate, block: Block) -> Step:
        value = yield expr.value, block
        return self._assign(block, f"RefValue({value})")

    def _visit_ref_read(self, expr: RefRead, block: Block) -> Step:
        ref = yield expr.ref, block
        return self._assign(block, f"{ref}.value")

    def _visit_ref_write(self, expr: RefWrite, block: Block) -> Step:
        ref = yield expr.ref, block
        value = yield expr.value, block
        block[0].append(_statement(f"{ref}.value = {value}"))
        return self._assign(block, "_container.tuple_object([])")

    def _branch(
        self, expr: Any, result: str, outer: Block, before: List[ast.stmt]
    ) -> Generator[Tuple[Any, Block], str, List[ast.stmt]]:
        """Statements that do `before` and leave the value of `expr` in `result`; nothing else is known after them."""
        inner: Block = (before, ChainMap({}, *_maps(outer[1])))
        value = yield expr, inner
        inner[0].append(_statement(f"{result} = {value}"))
        return inner[0]

    def _visit_if(self, expr: If, block: Block) -> Step:
        cond = yield expr.cond, block
        result = self._fresh("t")
        choice = _statement(f"if {cond}.numpy(): pass")
        choice.body = yield from self._branch(expr.true_branch, result, block, [])
        choice.orelse = yield from self._branch(expr.false_branch, result, block, [])
        block[0].append(choice)
        return result

    def _visit_match(self, expr: Match, block: Block) -> Step:
        data = yield expr.data, block
        result = self._fresh("t")
        cases = []
        for clause in expr.clauses:
            checks, bindings = self._pattern(clause.lhs, data)
            case = _statement(f"if {' and '.join(checks) or 'True'}: pass")
            case.body = yield from self._branch(clause.rhs, result, block, bindings)
            cases.append(case)
        rest = [_statement("assert False, 'Match was not exhaustive'")]
        for case in reversed(cases):
            case.orelse = rest
            rest = [case]
        block[0].extend(rest)
        return result

    def _pattern(self, pattern: Pattern, data: str) -> Tuple[List[str], List[ast.stmt]]:
        """The conditions under which a value matches, and the assignments of the variables."""
        checks, bindings = [], []
        stack = [(pattern, data)]
        while stack:
            pattern, value = stack.pop()
            if isinstance(pattern, PatternVar):
                bindings.append(_statement(f"{self._var(pattern.var)} = {value}"))
            elif isinstance(pattern, PatternConstructor):
                checks.append(f"{value}.tag == {pattern.constructor.tag}")
                inner = [(part, f"{value}.fields[{i}]") for i, part in enumerate(pattern.patterns)]
                stack.extend(reversed(inner))
            elif isinstance(pattern, PatternTuple):
                inner = [(part, f"{value}[{i}]") for i, part in enumerate(pattern.patterns)]
                stack.extend(reversed(inner))
        return checks, bindings


def _maps(known: MutableMapping[int, str]) -> List[Any]:
    return known.maps if isinstance(known, ChainMap) else [known]


#: Converts an expression of a class; those without parts at once.
_RULES: Dict[type, Callable[[PythonConverter, Any, Block], Union[str, Step]]] = {
    Call: PythonConverter._visit_call,
    Var: PythonConverter._visit_var,
    GlobalVar: PythonConverter._visit_global,
    Constant: PythonConverter._visit_constant,
    RelayTuple: PythonConverter._visit_tuple,
    TupleGetItem: PythonConverter._visit_tuple_get_item,
    Let: PythonConverter._visit_let,
    Function: PythonConverter._visit_function,
    If: PythonConverter._visit_if,
    Match: PythonConverter._visit_match,
    RefCreate: PythonConverter._visit_ref_create,
    RefRead: PythonConverter._visit_ref_read,
    RefWrite: PythonConverter._visit_ref_write,
    Op: PythonConverter._visit_op,
    Constructor: PythonConverter._visit_constructor,
}


class _OperatorCall:
    """Runs one operator on values, compiled once for each combination of their types."""

    def __init__(self, op: Op, attrs: Any, type_args: Any, target: Any):
        self._call = (op, attrs, type_args)
        self._target = target
        self._compiled: Dict[str, Any] = {}

    def __call__(self, *args: Any) -> Any:
        from ..build_module import create_executor

        types = [_type_of(arg) for arg in args]
        key = repr(types)
        if key not in self._compiled:
            op, attrs, type_args = self._call
            params = [Var(f"x{i}", ty) for i, ty in enumerate(types)]
            function = Function(params, Call(op, params, attrs, type_args))
            executor = create_executor("debug", target=self._target)
            self._compiled[key] = executor.evaluate(function)
        return self._compiled[key](*args)


def _type_of(value: Any) -> Any:
    if isinstance(value, nd.NDArray):
        return TensorType(value.shape, value.dtype)
    if isinstance(value, (np.ndarray, np.generic)):
        return TensorType(value.shape, str(value.dtype))
    return TupleType([_type_of(field) for field in value])


def to_python(expr: Any, mod: Optional[IRModule] = None, target: Any = "llvm") -> ast.Module:
    """The Python script for `expr`, whose global functions are those of `mod`; it leaves the value in `_py_out`."""
    return PythonConverter(IRModule() if mod is None else mod, target).convert(expr)


def run_as_python(expr: Any, mod: Optional[IRModule] = None, target: Any = "llvm") -> Any:
    """The value that the script of `to_python` computes; closures come as Python functions."""
    script = compile(to_python(expr, mod, target), "<relay>", "exec")
    names: Dict[str, Any] = {OUTPUT_VAR_NAME: None}
    exec(script, names, names)
    return names[OUTPUT_VAR_NAME]
