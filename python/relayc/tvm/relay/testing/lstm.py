"""A long short-term memory, unrolled: each step has an input and weights of its own."""

from __future__ import annotations

from typing import Any, Dict, Tuple

from .. import op
from ..analysis import free_vars
from ..expr import Call, TupleGetItem, Var
from ..expr import Tuple as RelayTuple
from ..function import Function
from ..scope_builder import ScopeBuilder
from ..ty import TensorType, TupleType
from . import layers
from .init import create_workload

_WEIGHTS = ("i2h_weight", "i2h_bias", "h2h_weight", "h2h_bias")


def _types(num_hidden: int, batch_size: int, dtype: str) -> Tuple[TensorType, TensorType, TensorType]:
    """The types of a state, of weights and of a bias."""
    return (
        TensorType((batch_size, num_hidden), dtype),
        TensorType((4 * num_hidden, num_hidden), dtype),
        TensorType((4 * num_hidden,), dtype),
    )


def lstm_cell(num_hidden: int, batch_size: int = 1, dtype: str = "float32", name: str = "") -> Function:
    """One step: a function of inputs, a pair of states, two weights and two biases.

    It returns the output and the pair of the next states.
    """
    state, weight, bias = _types(num_hidden, batch_size, dtype)
    dense = TensorType((batch_size, 4 * num_hidden), dtype)
    result = TupleType([state, TupleType([state, state])])
    inputs, states = Var("inputs", state), Var("states", TupleType([state, state]))
    weights = [Var(w, weight if w.endswith("weight") else bias) for w in _WEIGHTS]
    scope = ScopeBuilder()

    def layer(part: str, data: Any, params: Any) -> Any:
        out = layers.dense_add_bias(data, *params, units=num_hidden * 4, name=f"{name}{part}")
        return scope.let((part, dense), out)

    i2h = layer("i2h", inputs, weights[:2])
    h2h = layer("h2h", TupleGetItem(states, 0), weights[2:])
    gates = scope.let(("gates", dense), op.add(i2h, h2h))
    split = op.split(gates, indices_or_sections=4, axis=1).astuple()
    parts = scope.let(("slice_gates", TupleType([state] * 4)), split)
    functions = (op.sigmoid, op.sigmoid, op.tanh, op.sigmoid)
    names = ("in_gate", "forget_gate", "in_transform", "out_gate")
    in_gate, forget_gate, in_transform, out_gate = (
        scope.let((gate, state), function(TupleGetItem(parts, i)))
        for i, (gate, function) in enumerate(zip(names, functions))
    )
    kept = op.multiply(forget_gate, TupleGetItem(states, 1))
    next_c = scope.let(("next_c", state), op.add(kept, op.multiply(in_gate, in_transform)))
    next_h = scope.let(("next_h", state), op.multiply(out_gate, op.tanh(next_c)))
    scope.ret(scope.let(("ret", result), RelayTuple([next_h, RelayTuple([next_h, next_c])])))
    return Function([inputs, states, *weights], scope.get(), result)


def get_net(iterations: int, num_hidden: int, batch_size: int = 1, dtype: str = "float32") -> Function:
    """The steps one after another, as a function of the inputs `data` and the parameters; returns the last output."""
    state, weight, bias = _types(num_hidden, batch_size, dtype)
    states_type = TupleType([state, state])
    scope = ScopeBuilder()
    zeros = scope.let(("zeros", state), op.zeros((batch_size, num_hidden), dtype))
    states = scope.let(("init_states", states_type), RelayTuple([zeros, zeros]))
    out = None
    for i in range(iterations):
        params = []
        for w in _WEIGHTS:
            layer, part = w.split("_")
            params.append(Var(f"{layer}_{i}_{part}", weight if part == "weight" else bias))
        cell = lstm_cell(num_hidden, batch_size, dtype, f"lstm_{i}")
        call = Call(cell, [Var("data", state), states, *params])
        step = scope.let((f"call_{i}", TupleType([state, states_type])), call)
        out = scope.let((f"out_{i}", state), TupleGetItem(step, 0))
        states = scope.let((f"states_{i}", states_type), TupleGetItem(step, 1))
    scope.ret(out)
    body = scope.get()
    return Function(free_vars(body), body, state)


def get_workload(
    iterations: int, num_hidden: int, batch_size: int = 1, dtype: str = "float32"
) -> Tuple[Any, Dict[str, Any]]:
    """A module of the network, and initial values of its parameters."""
    return create_workload(get_net(iterations, num_hidden, batch_size, dtype))
