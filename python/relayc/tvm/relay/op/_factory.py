"""Operator functions, made from their signatures and the operators' declarations."""

from __future__ import annotations

import __future__
import ast
import functools
import linecache
import re
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from ... import _operators
from . import _types
from ._call import call, results
from ._documentation import document
from ._padding import each, pad
from ._signatures import NAMESPACES

__all__ = ["define"]

#: `names(parameters) -> operator * n`, on one line.
_LINE = re.compile(r"([\w ]+)\((.*)\)(?: -> ([\w.]+)(?: \* (\d))?)?")

#: The type of a parameter by the kind of the attribute it sets.
_TYPES: Dict[str, str] = {
    "Int": "int",
    "IndexExpr": "Int",
    "OptInt": "Int",
    "Ints": "Ints",
    "IntsOrNone": "Ints",
    "OptInts": "Ints",
    "IntLists": "IntLists",
    "Float": "float",
    "OptFloat": "Number",
    "Floats": "Numbers",
    "Numbers": "Numbers",
    "Bool": "bool",
    "OptBool": "bool",
    "Str": "str",
    "StdStr": "str",
    "DType": "DType",
}


class _Line(NamedTuple):
    """A function to make."""

    name: str
    #: The parameters as Python source, with the annotations of the signature table.
    parameters: str
    operator: str
    #: The number of fields of the result; 0 for a tensor.
    fields: int


class _Parameter(NamedTuple):
    """A parameter of a function to make."""

    name: str
    #: The attribute that it sets; `None` for an operand.
    field: Optional[_operators.Field]
    #: The source of the attribute's value.
    value: str
    type: str
    #: The source of its default; `None` if it must be given.
    default: Optional[str]

    def source(self) -> str:
        return f"{self.name}: {self.type}" + ("" if self.default is None else f" = {self.default}")


def define(path: str, module: Dict[str, Any]) -> List[str]:
    """Adds the functions of a module below `tvm.relay` to its globals; returns their names."""
    filename = f"<operator functions of {module['__name__']}>"
    lines = list(_lines(path))
    parameters = [_parameters(line) for line in lines]
    text = "\n\n\n".join(map(_source, lines, parameters)) + "\n"
    # Tracebacks and `inspect.getsource` show the lines.
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    scope = {**_SCOPE, "__name__": module["__name__"]}
    exec(compile(text, filename, "exec", __future__.annotations.compiler_flag, dont_inherit=True), scope)
    for line, of in zip(lines, parameters):
        function = scope[line.name]
        operands = [parameter.name for parameter in of if parameter.field is None]
        attrs = {parameter.name: parameter.field.name for parameter in of if parameter.field is not None}
        function.__doc__ = document(line.operator, operands, attrs, line.fields)
        module[line.name] = function
    return [line.name for line in lines]


_SCOPE: Dict[str, Any] = {"call": call, "results": results, "each": each, "pad": pad, **vars(_types)}


def _lines(path: str) -> Iterator[_Line]:
    prefix, text = NAMESPACES[path]
    for line in re.sub(r"\n\s+", " ", text).strip().splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            raise SyntaxError(f"no signature of an operator function: {line}")
        names, parameters, operator, count = match.groups()
        for name in names.split():
            yield _Line(name, parameters, operator or prefix + name, int(count or 0))


def _parameters(line: _Line) -> List[_Parameter]:
    fields = {field.name: field for field in _operators.declaration(line.operator).fields}
    return [_parameter(arg, default, fields) for arg, default in _parsed(line.parameters)]


@functools.lru_cache(maxsize=None)
def _parsed(parameters: str) -> List[Tuple[ast.arg, Optional[str]]]:
    """Each parameter, with the source of its default."""
    function = ast.parse(f"def f({parameters}): ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    declared = function.args
    missing = len(declared.args) - len(declared.defaults)
    defaults = [None] * missing + [ast.unparse(default) for default in declared.defaults]
    return list(zip(declared.args, defaults))


def _parameter(arg: ast.arg, default: Optional[str], fields: Dict[str, _operators.Field]) -> _Parameter:
    name, value, renamed = arg.arg, arg.arg, arg.arg
    type_name = None
    if isinstance(arg.annotation, ast.Constant):
        renamed = str(arg.annotation.value)
    elif isinstance(arg.annotation, ast.Name):
        helper, axes = arg.annotation.id[:-1], arg.annotation.id[-1]
        value, type_name = f"{helper}({name}, {axes})", "IntOrInts"
    field = fields.get(renamed)
    if field is None:
        type_name = "Expr"
    elif type_name is None:
        # TVM writes some defaults of flags as numbers.
        type_name = "int" if default in ("0", "1") and field.type == "Bool" else _TYPES.get(field.type, "Any")
    return _Parameter(name, field, value, f"Optional[{type_name}]" if default == "None" else type_name, default)


def _source(line: _Line, parameters: List[_Parameter]) -> str:
    operands = "".join(f"{parameter.value}, " for parameter in parameters if parameter.field is None)
    attrs = [f"{parameter.field.name}={parameter.value}" for parameter in parameters if parameter.field is not None]
    made = f"call({', '.join([repr(line.operator), f'({operands})', *attrs])})"
    body, result = (f"results({made}, {line.fields})", "TupleWrapper") if line.fields else (made, "Call")
    signature = ", ".join(parameter.source() for parameter in parameters)
    return f"def {line.name}({signature}) -> {result}:\n    return {body}"
