"""Parameters and fixtures of tests: `parameter`, `parameters`, `fixture`, targets.

The plugin (`tvm.testing.plugin`) gives them their meaning when pytest collects.
"""

from __future__ import annotations

import copy
import functools
import inspect
import itertools
import os
import pickle
import sys
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

__all__ = [
    "disable_span_filling",
    "enable_span_filling",
    "exclude_targets",
    "fixture",
    "known_failing_targets",
    "main",
    "parameter",
    "parameters",
    "parametrize_targets",
    "skip_parameterizations",
    "xfail_parameterizations",
]

_group = itertools.count()


def parametrize_targets(*targets: Any) -> Any:
    """Runs a test over these targets; without any, over the enabled ones."""
    import pytest

    if len(targets) == 1 and callable(targets[0]):
        return targets[0]
    return pytest.mark.parametrize("target", list(targets), scope="session")


def exclude_targets(*targets: str) -> Callable[[Any], Any]:
    """Runs a test over all targets but these kinds."""

    def decorate(func: Any) -> Any:
        func.tvm_excluded_targets = targets
        return func

    return decorate


def known_failing_targets(*targets: str) -> Callable[[Any], Any]:
    """Expects a test to fail on targets of these kinds."""

    def decorate(func: Any) -> Any:
        func.tvm_known_failing_targets = targets
        return func

    return decorate


def parameter(
    *values: Any, ids: Optional[Sequence[str]] = None, by_dict: Optional[Mapping[str, Any]] = None
) -> Any:
    """A fixture that is each of the values in turn, named by `ids` or by the keys of `by_dict`."""
    import pytest

    if by_dict is not None:
        if values or ids:
            raise RuntimeError("by_dict stands alone: pass either it or values and ids")
        ids, values = list(by_dict.keys()), tuple(by_dict.values())

    @pytest.fixture(params=values, ids=ids)
    def as_fixture(*_cls: Any, request: Any) -> Any:
        return request.param

    return as_fixture


def parameters(*value_sets: Sequence[Any], ids: Optional[Sequence[str]] = None) -> List[Any]:
    """One fixture per position; a test runs once for each set, not for all combinations."""
    import pytest

    group = next(_group)
    outputs = []
    for values in zip(*value_sets):

        def as_fixture(*_cls: Any, request: Any) -> Any:
            return request.param

        as_fixture.parametrize_group = group  # type: ignore[attr-defined]
        as_fixture.parametrize_values = values  # type: ignore[attr-defined]
        as_fixture.parametrize_ids = ids  # type: ignore[attr-defined]
        outputs.append(pytest.fixture(as_fixture))
    return outputs


def fixture(func: Any = None, *, cache_return_value: bool = False) -> Any:
    """A fixture; with `cache_return_value`, computed once for equal arguments and copied."""
    import pytest

    cached = cache_return_value and not int(os.environ.get("TVM_TEST_DISABLE_CACHE", "0"))

    def decorate(function: Any) -> Any:
        return pytest.fixture(_cached(function) if cached else function)

    return decorate if func is None else decorate(func)


def _cached(func: Callable[..., Any]) -> Callable[..., Any]:
    cache: Dict[Any, Any] = {}

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        key = (args, tuple(kwargs.items()))
        try:
            hash(key)
        except TypeError:
            key = pickle.dumps(key)  # type: ignore[assignment]
        if key not in cache:
            cache[key] = func(*args, **kwargs)
        return copy.deepcopy(cache[key])

    return wrapper


def xfail_parameterizations(*ids: str, reason: str) -> Callable[[Any], Any]:
    """Expects a test to fail with the parameters of these ids."""
    return _at_parameters(ids, "xfail", reason)


def skip_parameterizations(*ids: str, reason: str) -> Callable[[Any], Any]:
    """Skips a test with the parameters of these ids."""
    return _at_parameters(ids, "skip", reason)


def _at_parameters(ids: Sequence[str], outcome: str, reason: str) -> Callable[[Any], Any]:
    def decorate(func: Any) -> Any:
        @functools.wraps(func)
        def wrapper(request: Any, *args: Any, **kwargs: Any) -> Any:
            import pytest

            name = request.node.name
            if "[" in name and name[len(request.node.originalname) + 1 : -1] in ids:
                getattr(pytest, outcome)(reason=f"{outcome} on {request.node.nodeid}: {reason}")
            return func(request, *args, **kwargs)

        return wrapper

    return decorate


def main() -> None:
    """Runs the tests of the calling file and exits."""
    import pytest

    file = inspect.getsourcefile(sys._getframe(1))
    sys.exit(pytest.main([str(file), *sys.argv[1:]]))


class _SpanFilling:
    """A pass context in which importers fill spans, or do not."""

    on = True

    def __init__(self) -> None:
        from ..ir.transform import PassContext

        self._context = PassContext(config={"relay.frontend.fill_span": self.on})

    def __enter__(self) -> None:
        self._context.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._context.__exit__(*error)


class enable_span_filling(_SpanFilling):
    """Importers fill spans inside."""


class disable_span_filling(_SpanFilling):
    """Importers leave spans empty inside."""

    on = False
