"""Parts of programs: fused functions, single expressions, transposed weights, calibration data."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping

from ...error import InternalError
from ._walk import is_call, post_order

__all__ = [
    "extract_fused_functions",
    "extract_intermdeiate_expr",
    "get_calibration_data",
    "search_fc_transpose",
]


def extract_fused_functions(mod: Any) -> Dict[Any, Any]:
    """The functions that `FuseOps` makes of `main`, equal ones once, by the text of their hash."""
    from ...ir import structural_hash
    from ...ir.transform import Sequential
    from ..transform import FuseOps, SimplifyInference

    fused = Sequential([SimplifyInference(), FuseOps(3)])(mod)
    functions: Dict[Any, Any] = {}
    for node in post_order(fused["main"]):
        if node._kind == "Function" and node.attrs is not None:
            if "Primitive" in node.attrs.keys() and node.attrs["Primitive"]:
                functions[str(structural_hash(node))] = node
    return functions


def extract_intermdeiate_expr(mod: Any, expr_id: int) -> Any:
    """A module whose `main` is the expression with the number that the printed `main` shows.

    Raises `InternalError` if there is no such number.
    """
    from ...ir.module import IRModule

    shown = (n for n in post_order(mod["main"]) if n._kind in ("Call", "Tuple", "TupleGetItem"))
    for number, node in enumerate(shown):
        if number == expr_id:
            return IRModule.from_expr(node)
    raise InternalError(f"there is no expression with the number {expr_id}")


def search_fc_transpose(expr: Any) -> List[str]:
    """The names of the variables whose transposition is the weight of an `nn.dense`."""
    names = []
    for node in post_order(expr):
        if not is_call(node, "nn.dense") or not is_call(node.args[1], "transpose"):
            continue
        weight = node.args[1].args[0]
        if weight._kind == "Var":
            names.append(weight.name_hint)
    return names


def get_calibration_data(mod: Any, data: Mapping[str, Any]) -> Dict[Any, Dict[str, List[Any]]]:
    """What goes into and comes out of each function with the attribute `Compiler`.

    `main` runs on `data` without control flow, and calls each function once; inputs
    are no tuples. Keys are the functions' variables, values have `inputs` and `outputs`.
    """
    from ...runtime.ndarray import cpu
    from ..build_module import create_executor
    from ..transform import Inline

    calls = _compiler_calls(mod)
    collecting = Inline()(_collecting(mod, calls))
    found = create_executor("graph", mod=collecting, device=cpu(0)).evaluate()(**data)
    result: Dict[Any, Dict[str, List[Any]]] = {}
    at = 0
    for call in calls:
        body = mod[call.op].body
        n_inputs = len(call.args)
        n_outputs = len(body.fields) if body._kind == "Tuple" else 1
        end = at + n_inputs
        outputs = list(found[end : end + n_outputs])
        result[call.op] = {"inputs": list(found[at:end]), "outputs": outputs}
        at = end + n_outputs
    return result


def _compiler_calls(mod: Any) -> List[Any]:
    calls: List[Any] = []
    for node in post_order(mod["main"].body):
        if node._kind != "Call" or node.op._kind != "GlobalVar":
            continue
        attrs = mod[node.op].attrs
        if attrs is not None and "Compiler" in attrs.keys():
            if any(call.op is node.op for call in calls):
                raise InternalError(f"Repeated function call {node.op} is not supported.")
            calls.append(node)
    return calls


def _collecting(mod: Any, calls: List[Any]) -> Any:
    """The module whose `main` returns what goes in and comes out; the functions are inlined."""
    from ..expr import Tuple, TupleGetItem
    from ..function import Function

    fields: List[Any] = []
    for call in calls:
        fields += call.args
        ty = call.checked_type
        if ty._kind == "TupleType":
            fields += [TupleGetItem(call, i) for i in range(len(ty.fields))]
        else:
            fields.append(call)
    result = mod._copy()
    main = mod["main"]
    result["main"] = Function(main.params, Tuple(fields), None, main.type_params, main.attrs)
    for call in calls:
        func = mod[call.op].without_attr("Compiler").with_attr("Inline", 1)
        result.update_func(call.op, func)
    return result
