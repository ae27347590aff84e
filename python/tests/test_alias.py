"""The alias: `tvm` is `relayc.tvm`, in scripts, in pytest, and for names that are not Relay."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import textwrap
from typing import Any

import pytest

import relayc
import relayc.tvm as tvm
from relayc.tvm import _refused, relay

#: Where the package under test lies.
PACKAGE = pathlib.Path(relayc.__file__).resolve().parents[1]


def python(*arguments: str, cwd: pathlib.Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    variables = {**os.environ, "PYTHONPATH": str(PACKAGE), **environment}
    variables.pop("RELAYC_TVM_TREE", None) if "RELAYC_TVM_TREE" not in environment else None
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd, env=variables, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def write(path: pathlib.Path, text: str) -> str:
    path.write_text(textwrap.dedent(text))
    return str(path)


def test_modules_of_a_script_are_the_very_same(tmp_path: pathlib.Path) -> None:
    script = write(
        tmp_path / "script.py",
        """
        import sys
        import tvm
        import tvm.relay.analysis as analysis
        from tvm import relay
        from tvm.relay import transform
        from tvm.ir.transform import PassContext
        import relayc.tvm.relay.transform
        assert tvm is relayc.tvm and relay is relayc.tvm.relay
        assert transform is relayc.tvm.relay.transform
        assert analysis is sys.modules["tvm.relay.analysis"]
        assert PassContext is tvm.transform.PassContext
        assert tvm.relay.__spec__.name == "relayc.tvm.relay"
        print(__name__, sys.argv)
        """,
    )
    result = python("-m", "relayc", script, "-v", "2", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"__main__ {[script, '-v', '2']}\n"


def test_a_script_imports_its_neighbours_and_its_status_is_kept(tmp_path: pathlib.Path) -> None:
    write(tmp_path / "neighbour.py", "import tvm\nstatus = 3\n")
    script = write(tmp_path / "script.py", "import neighbour\nraise SystemExit(neighbour.status)\n")
    assert python("-m", "relayc", script, cwd=tmp_path.parent).returncode == 3


def test_text_and_modules_run_too(tmp_path: pathlib.Path) -> None:
    write(tmp_path / "module.py", "import sys, tvm\nprint(tvm.__name__, sys.argv[1:])\n")
    assert python("-m", "relayc", "-m", "module", "x", cwd=tmp_path).stdout == "relayc.tvm ['x']\n"
    text = "import sys, tvm; print(tvm.__name__, sys.argv)"
    assert python("-m", "relayc", "-c", text, "x", cwd=tmp_path).stdout == "relayc.tvm ['-c', 'x']\n"


def test_without_a_script_the_usage_is_shown(tmp_path: pathlib.Path) -> None:
    result = python("-m", "relayc", cwd=tmp_path)
    assert result.returncode == 2 and "usage: python -m relayc" in result.stderr


def test_a_missing_module_is_named_as_it_was_asked_for(tmp_path: pathlib.Path) -> None:
    result = python("-m", "relayc", "-c", "import tvm.no_such_module", cwd=tmp_path)
    assert "No module named 'tvm.no_such_module'" in result.stderr


def test_another_tvm_is_not_replaced(tmp_path: pathlib.Path) -> None:
    write(tmp_path / "tvm.py", "")
    result = python("-c", "import tvm, relayc.tvm_alias", cwd=tmp_path)
    assert "another `tvm` is loaded already" in result.stderr


def test_pytest_runs_unchanged_tests(tmp_path: pathlib.Path) -> None:
    write(tmp_path / "conftest.py", "pytest_plugins = ['tvm.testing.plugin']\n")
    write(
        tmp_path / "test_unchanged.py",
        """
        import pytest
        import tvm
        import tvm.testing

        size = tvm.testing.parameter(1, 2)
        low, high = tvm.testing.parameters((0, 1), (10, 20))
        calls = []

        @tvm.testing.fixture(cache_return_value=True)
        def doubled(size):
            calls.append(size)
            return [2 * size]

        def test_parameters(size, low, high, doubled):
            assert low < high and doubled == [2 * size]
            doubled.append(0)

        def test_cached(size, doubled):
            assert doubled == [2 * size] and len(calls) <= 2

        def test_target(target, dev):
            assert target == "llvm" and dev == tvm.cpu()

        @tvm.testing.parametrize_targets("llvm -mcpu=skylake", "cuda")
        def test_targets(target):
            assert target.startswith("llvm")

        @tvm.testing.known_failing_targets("llvm")
        def test_known(target):
            assert False

        @tvm.testing.exclude_targets("llvm")
        def test_none(target):
            assert False

        @tvm.testing.requires_cuda
        def test_gpu():
            assert False

        @tvm.testing.uses_gpu
        def test_maybe_gpu():
            assert [str(d) for _, d in tvm.testing.enabled_targets()] == ["cpu(0)"]

        @tvm.testing.requires_package("no_such_package")
        def test_package():
            assert False
        """,
    )
    result = python(
        "-m", "pytest", "-q", "-p", "relayc.tvm_alias", "-p", "no:cacheprovider", "-rA", cwd=tmp_path
    )
    # 4 sets, 2 sizes, 2 targets of which one is skipped, and one test each.
    assert "9 passed, 4 skipped, 1 xfailed" in result.stdout, result.stdout
    assert "Support for a GPU not present" in result.stdout


def test_references_come_from_a_checkout_only_while_it_is_named(tmp_path: pathlib.Path) -> None:
    place = tmp_path / "python" / "tvm" / "topi" / "testing"
    place.mkdir(parents=True)
    write(place / "__init__.py", "from tvm import relay\ndef reference(x): return x + 1\n")
    text = "import tvm.topi.testing as t, tvm; print(t.reference(1), t.__name__)"
    found = python("-m", "relayc", "-c", text, cwd=tmp_path, RELAYC_TVM_TREE=str(tmp_path))
    assert found.stdout == "2 relayc.tvm.topi.testing\n", found.stderr
    assert "not part of Relay" in python("-m", "relayc", "-c", text, cwd=tmp_path).stderr


@pytest.mark.parametrize("path", sorted(_refused._MODULES))
def test_what_is_not_relay_imports_and_refuses_when_called(path: str) -> None:
    import importlib

    module = importlib.import_module(f"relayc.tvm.{path}")
    with pytest.raises(NotImplementedError, match="is not part of Relay: [a-z`].*"):
        module.anything(1, 2)


@pytest.mark.parametrize(
    "name", ["compute", "strategy", "schedule", "injective_schedule", "broadcast_schedule", "reduce_schedule", "gradient"]
    + ["shape_func", "external_compiler"]
)
def test_registrations_that_nothing_reads_are_refused(name: str) -> None:
    from relayc.tvm.relay.op import op

    register = getattr(op, f"register_{name}")
    with pytest.raises(NotImplementedError, match=f"register_{name} is not part of Relay: .*: "):
        register("nn.relu", lambda *args: None)
    with pytest.raises(NotImplementedError, match=f"register_{name}"):

        @register("nn.relu")
        def registered(*args: Any) -> None: ...


def test_attributes_that_nothing_reads_are_refused() -> None:
    for name in ("FTVMCompute", "FTVMStrategy", "FPrimalGradient", "FTVMExternalCompiler", "FShapeFunc"):
        with pytest.raises(NotImplementedError, match=f"nothing reads the attribute `{name}`"):
            tvm.ir.register_op_attr("nn.relu", name, lambda *args: None)
    with pytest.raises(NotImplementedError, match="its own operators"):
        relay.op.get("nn.relu").add_type_rel("of_mine", lambda types, attrs: types[0])
    with pytest.raises(NotImplementedError, match="--save-steps"):
        relay.op.debug(relay.var("x"), print)


def test_memory_pools_are_refused() -> None:
    from relayc.tvm import WorkspaceMemoryPools
    from relayc.tvm.ir import ConstantPoolInfo

    for name in (WorkspaceMemoryPools, ConstantPoolInfo):
        with pytest.raises(NotImplementedError, match="x86-64 processors with an operating system"):
            name([])


def test_what_is_below_a_refused_module_is_refused_too() -> None:
    from relayc.tvm.autotvm.deep.below import anything

    with pytest.raises(NotImplementedError, match="tvm.autotvm.deep.below.anything"):
        anything()


def test_refused_names_stand_where_they_are_only_named() -> None:
    from relayc import tvm
    from relayc.tvm import autotvm, te

    assert not isinstance(1, autotvm.task.Task)

    @autotvm.register_topi_compute
    def decorated(x: te.Tensor) -> None: ...

    @autotvm.register_topi_compute("name")
    def named(x: te.Tensor) -> None: ...

    class Tuner(autotvm.tuner.Tuner): ...

    for use in (
        lambda: decorated(1),
        lambda: named(1),
        lambda: te.compute((2,), lambda i: i),
        lambda: autotvm.template("name"),
        lambda: [x for x in tvm.topi.nn],
        lambda: tvm.lower(1),
        lambda: tvm.get_global_func("relay.tec.LowerTE")(1),
    ):
        with pytest.raises(NotImplementedError):
            use()
    assert isinstance(te.var("n"), tvm.tir.Var)
    with pytest.raises(AttributeError):
        tvm.no_such_name
    assert not hasattr(te, "__no_such_dunder__")
