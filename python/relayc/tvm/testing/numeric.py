"""Comparison of arrays and of gradients, with NumPy alone."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional, Sequence, Union

import numpy as np

__all__ = ["assert_allclose", "check_numerical_grads"]

_Values = Union[Mapping[str, np.ndarray], Sequence[np.ndarray]]


def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7) -> None:
    """Raises `AssertionError` unless the shapes agree and
    `|actual - desired| <= atol + rtol * |desired|` everywhere."""
    actual, desired = np.asanyarray(actual), np.asanyarray(desired)
    np.testing.assert_allclose(actual.shape, desired.shape)
    np.testing.assert_allclose(actual, desired, rtol=rtol, atol=atol, verbose=True)


def check_numerical_grads(
    function: Callable[..., Any],
    input_values: _Values,
    grad_values: _Values,
    function_value: Optional[float] = None,
    delta: float = 1e-3,
    atol: float = 1e-2,
    rtol: float = 0.1,
) -> None:
    """Raises `AssertionError` unless gradients agree with difference quotients.

    `function` takes the inputs by position (a sequence) or by name (a mapping) and
    gives a scalar. A position where the forward difference disagrees is tried with
    the central and the five-point formula. The distance of the whole gradient may
    be `atol * sqrt(size) + rtol * norm`. Raises `ValueError` if it is not finite.
    """
    if isinstance(input_values, Mapping):
        names = list(input_values)
        at = lambda values: function(**values)  # noqa: E731
        grads = dict(grad_values)  # type: ignore[arg-type]
    else:
        names = [str(i) for i in range(len(input_values))]
        at = lambda values: function(*(values[name] for name in names))  # noqa: E731
        input_values = dict(zip(names, input_values))
        grads = dict(zip(names, grad_values))
    value = at(input_values) if function_value is None else function_value

    for name, grad in grads.items():
        shape = input_values[name].shape
        if grad.shape != shape:
            raise AssertionError(
                f"Gradient wrt '{name}' has unexpected shape {grad.shape}, expected {shape} "
            )
        numeric = np.zeros_like(grad)
        for index in np.ndindex(*grad.shape):
            numeric[index] = _derivative(
                at, input_values, name, index, value, delta, grad[index], atol, rtol
            )
        _compare(name, grad, numeric, atol, rtol)


def _derivative(
    at: Callable[[Mapping[str, np.ndarray]], Any],
    inputs: Mapping[str, np.ndarray],
    name: str,
    index: Any,
    value: float,
    delta: float,
    expected: float,
    atol: float,
    rtol: float,
) -> Any:
    """A difference quotient at one position; the cheapest formula that agrees with `expected`."""

    def quotient(step: float) -> Any:
        moved = inputs[name].copy()
        moved[index] += step
        return (at({**inputs, name: moved}) - value) / step

    def agrees(found: Any) -> Any:
        return np.abs(found - expected) < atol + rtol * np.abs(found)

    found = quotient(delta)
    if not agrees(found):
        found = (quotient(-delta) + found) / 2
    if not agrees(found):
        half = (quotient(delta / 2) + quotient(-delta / 2)) / 2
        # Richardson: the errors of order delta^2 of both central formulas cancel.
        found = (4 * half - found) / 3
    return found


def _compare(name: str, grad: np.ndarray, numeric: np.ndarray, atol: float, rtol: float) -> None:
    distance = np.sqrt(np.sum((numeric - grad) ** 2))
    norm = np.sqrt(np.sum(numeric**2))
    if not (np.isfinite(distance) and np.isfinite(norm)):
        raise ValueError(f"gradient wrt '{name}' is not finite: {grad}, numerically {numeric}")
    limit = atol * np.sqrt(float(grad.size)) + rtol * norm
    if distance > limit:
        raise AssertionError(
            f"gradient wrt '{name}' is {grad}, numerically {numeric}: "
            f"their distance {distance} is over {limit}"
        )
