"""pytest plugin of TVM's tests: the fixtures `target` and `dev`, parameter groups, marks.

Loaded by `-p relayc.tvm_alias`, and by TVM's own conftest as `tvm.testing.plugin`.
"""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

import pytest

from . import features


def pytest_configure(config: Any) -> None:
    """Registers the marks of all features."""
    for feature in features.Feature._all_features.values():
        feature._register_marker(config)


def pytest_addoption(parser: Any) -> None:
    """Takes the option that TVM's plugin has."""
    parser.addoption("--gtest_args", action="store", default="")


def pytest_generate_tests(metafunc: Any) -> None:
    """Runs a test once per set of `parameters`, and over its targets."""
    _parametrize_groups(metafunc)
    if "target" in metafunc.fixturenames:
        if not any("target" in _names(m) for m in _parametrizations(metafunc)):
            excluded = getattr(metafunc.function, "tvm_excluded_targets", ())
            targets = [t for t in features._test_targets() if t.split()[0] not in excluded]
            metafunc.definition.add_marker(
                pytest.mark.parametrize("target", targets, scope="session")
            )
        for mark in _parametrizations(metafunc):
            if "target" in _names(mark):
                _mark_targets(metafunc, mark)
    if "gtest_args" in metafunc.fixturenames:
        metafunc.parametrize("gtest_args", [metafunc.config.option.gtest_args])


@pytest.fixture
def dev(target: Any) -> Any:
    """The device of the test's target."""
    from ..runtime import device
    from ..target import Target

    kind = target if isinstance(target, str) else Target(target).kind.name
    return device(kind)


def _parametrizations(metafunc: Any) -> List[Any]:
    return list(metafunc.definition.iter_markers("parametrize"))


def _names(mark: Any) -> List[str]:
    names = mark.args[0] if mark.args else mark.kwargs["argnames"]
    if isinstance(names, str):
        names = names.split(",")
    return [name.strip() for name in names if name.strip()]


def _mark_targets(metafunc: Any, mark: Any) -> None:
    """Adds what each target requires to the values of a parametrization, in place."""
    names = _names(mark)
    values = mark.args[1] if len(mark.args) > 1 else mark.kwargs["argvalues"]
    failing = getattr(metafunc.function, "tvm_known_failing_targets", ())
    position = names.index("target")
    marked = []
    for value in values:
        if isinstance(value, type(pytest.param())):
            found: Tuple[Any, ...] = value.values
            marks = list(value.marks)
            ids = value.id
        else:
            found = (value,) if len(names) == 1 else tuple(value)
            marks, ids = [], None
        kind = _kind(found[position])
        if not marks:
            marks = _requirement(kind)
            if kind in failing:
                reason = f'Known failing test for target "{kind}"'
                marks.append(pytest.mark.xfail(reason=reason))
        marked.append(pytest.param(*found, marks=marks, id=ids))
    try:
        values[:] = marked
    except TypeError as error:
        name = metafunc.function.__name__
        raise TypeError(f"{name} is parametrized by a tuple of targets: use a list") from error


def _kind(target: Any) -> str:
    if isinstance(target, str):
        return target.split()[0]
    from ..target import Target

    return Target(target).kind.name


def _requirement(kind: str) -> List[Any]:
    feature = features.Feature._all_features.get(kind)
    return feature.marks() if feature else []


def _parametrize_groups(metafunc: Any) -> None:
    """Parametrizes the fixtures that one call of `parameters` made, together."""
    groups: Dict[int, Tuple[List[str], List[Any], Any]] = {}
    for name, definitions in metafunc.definition._fixtureinfo.name2fixturedefs.items():
        func = definitions[-1].func
        if hasattr(func, "parametrize_group"):
            names, values, _ = groups.setdefault(
                func.parametrize_group, ([], [], func.parametrize_ids)
            )
            names.append(name)
            values.append(func.parametrize_values)
    for names, values, ids in groups.values():
        if len(names) == 1:
            metafunc.parametrize(names[0], values[0], indirect=True, ids=ids)
        else:
            metafunc.parametrize(",".join(names), list(zip(*values)), indirect=True, ids=ids)
