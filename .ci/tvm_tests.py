#!/usr/bin/env python3
"""Runs TVM's own tests of Relay on relayc.tvm, file by file, and counts what passes.

    .ci/tvm_tests.py --tvm ~/tvm                    all files, then the table
    .ci/tvm_tests.py --tvm ~/tvm test_op_level1     files whose path has that word
    .ci/tvm_tests.py --tvm ~/tvm --check            fails if a test of the list fails
    .ci/tvm_tests.py --tvm ~/tvm --keep             adds what passes to the list

The checkout of TVM is at v0.14.0 and stays as it is. A test passes, fails, or needs
what is not Relay: it *uses* a name that relayc.tvm refuses (TE, TIR, TOPI, tuning, …)
or requires a device that is no CPU; the line that does is printed. A skip, an xfail,
a crash, a timeout and a file that cannot be collected count as failed.

Files that import torch are collected without it: where it is not installed, modules stand
in that import, and fail the tests that use them.

The same file is the pytest plugin that writes one JSON line for each test.
"""

from __future__ import annotations

import argparse
import ast
import collections
import fnmatch
import importlib.machinery
import inspect
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "python" / "tests" / "tvm_passing.txt"
PLACES = ("tests/python/relay", "tests/python/frontend/onnx")
PACKAGES = ("numpy", "scipy", "pytest", "onnx", "onnxruntime", "protobuf")
#: What files of tests import for a few of their tests.
OPTIONAL = ("torch", "torchvision")
#: What relayc.tvm refuses although it is Relay: its tests fail.
RELAY = ("relay.quantize", "relay.transform.PlanDevices", "relay.transform.RecoverVirtualDeviceMap")
LOG = os.environ.get("RELAYC_TVM_TESTS_LOG")
TEST_SECONDS = int(os.environ.get("RELAYC_TVM_TESTS_SECONDS", "0"))

# ---- the plugin: what one pytest process does -------------------------------------

_items = {}
_reports = collections.defaultdict(list)


class _AbsentType(type):
    """The type of names of a package that is not installed. They have no instances."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _AbsentType(f"{cls.__name__}.{name}", (), {})

    def __call__(cls, *_, **__):
        raise ModuleNotFoundError(f"{cls.__name__} is not installed")


class _Absent(types.ModuleType):
    """A module of a package that is not installed."""

    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _AbsentType(f"{self.__name__}.{name}", (), {})


class _Optional:
    """Finds the modules of `OPTIONAL`, after all other finders."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in OPTIONAL:
            return importlib.machinery.ModuleSpec(name, _Optional, is_package=True)
        return None

    @staticmethod
    def create_module(spec):
        return _Absent(spec.name)

    @staticmethod
    def exec_module(module):
        pass


if LOG:
    sys.meta_path.append(_Optional)


def _write(entry):
    with open(LOG, "a", encoding="utf-8") as log:
        log.write(json.dumps(entry) + "\n")


def pytest_collection_modifyitems(config, items):
    for item in items:
        _items[item.nodeid] = item


def pytest_collectreport(report):
    if LOG and report.failed:
        _write({"id": report.nodeid, "outcome": "collection", "why": _last_line(str(report.longrepr))})


def pytest_runtest_logstart(nodeid, location):
    if LOG:
        _write({"id": nodeid, "outcome": "begun"})
        if TEST_SECONDS:
            signal.signal(signal.SIGALRM, _too_long)
            signal.alarm(TEST_SECONDS)


def _too_long(*_):
    raise TimeoutError(f"over {TEST_SECONDS} seconds")


def pytest_runtest_logreport(report):
    if LOG:
        _reports[report.nodeid].append(report)


def pytest_runtest_logfinish(nodeid, location):
    if not LOG:
        return
    signal.alarm(0)
    outcome, why = "passed", ""
    for report in _reports.pop(nodeid, []):
        if report.failed:
            outcome, why = "failed", _crash(report)
        elif report.skipped and outcome == "passed":
            outcome = "xfail" if hasattr(report, "wasxfail") else "skip"
            why = report.wasxfail if outcome == "xfail" else str(report.longrepr[2])
    entry = {"id": nodeid, "outcome": outcome, "why": why}
    if outcome != "passed" and nodeid in _items:
        entry["needs"] = _needs(_items[nodeid], why)
    _write(entry)


def _crash(report):
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is None:
        return _last_line(str(report.longrepr))
    lines = [line for line in crash.message.splitlines() if line.strip()]
    return f"{pathlib.Path(crash.path).name}:{crash.lineno}: {' | '.join(lines[:2])[:300]}"


def _last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""


def _needs(item, why):
    """What a test uses that is not Relay, with the line; `None` if it is nothing."""
    place = f"{item.path.name}:{item.function.__code__.co_firstlineno}"
    if "Support for " in why and "not present" in why:
        # A feature of this processor is no other device.
        return None if "x86" in why else f"{place}: {why.removeprefix('Skipped: ')}"
    if why.startswith("Skipped: ") and ("GPU" in why or "MicroTVM" in why):
        return f"{place}: {why.removeprefix('Skipped: ')}"
    if "is not part of Relay: " in why and not any(name in why for name in RELAY):
        return why
    if "NotImplementedError" in why and "microTVM" in why:
        return why
    try:
        return _refused_use(item.function, set())
    except (OSError, TypeError, SyntaxError):
        return None


def _refused_use(function, seen):
    """The first refused name that a function, or a function of its file that it names, uses."""
    from relayc.tvm._refused import RefusedType

    function = inspect.unwrap(function)
    function = getattr(function, "__func__", function)
    if function in seen or not isinstance(function, types.FunctionType):
        return None
    seen.add(function)
    lines, first = inspect.getsourcelines(function)
    tree = ast.parse(textwrap.dedent("".join(lines)))
    names = dict(function.__globals__)
    names.update(_local_imports(tree))
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Name, ast.Attribute)) or not isinstance(node.ctx, ast.Load):
            continue
        value = _resolve(node, names)
        if isinstance(value, RefusedType) and not any(name in value._path for name in RELAY):
            place = pathlib.Path(function.__code__.co_filename).name
            return f"{place}:{first + node.lineno - 1}: {ast.unparse(node)}"
        if isinstance(node, ast.Name) and inspect.isfunction(value):
            if value.__code__.co_filename == function.__code__.co_filename:
                found = _refused_use(value, seen)
                if found:
                    return found
    return None


def _local_imports(tree):
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)) and not getattr(node, "level", 0):
            try:
                exec(compile(ast.Module([node], []), "<import>", "exec"), found)
            except Exception:
                continue
    return found


def _resolve(node, names):
    """The object that a dotted name stands for, or `None`."""
    path = []
    while isinstance(node, ast.Attribute):
        path.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in names:
        return None
    value = names[node.id]
    for attribute in reversed(path):
        if not isinstance(value, (types.ModuleType, type)):
            return None
        try:
            value = getattr(value, attribute, None)
        except Exception:
            # A module that is loaded on request, and cannot be.
            return None
    return value


# ---- the runner -------------------------------------------------------------------


def run_file(arguments, path):
    """The entries of a file's tests. After a crash or a timeout, runs the tests that are left."""
    entries, dead = {}, []
    while True:
        finished = [name for name, entry in entries.items() if entry["outcome"] != "begun"]
        with tempfile.NamedTemporaryFile("r", suffix=".jsonl") as log:
            status = pytest(arguments, path, log.name, finished)
            for line in log:
                entry = json.loads(line)
                entries[entry["id"]] = entry
        begun = [name for name, entry in entries.items() if entry["outcome"] == "begun"]
        for name in begun:
            entries[name] = {"id": name, "outcome": "failed", "why": status or "ended pytest"}
        if not begun or len(dead) >= arguments.crashes:
            return list(entries.values()), status
        dead += begun


def pytest(arguments, path, log, without):
    """Runs pytest on a file; returns why it ended early, if it did."""
    environment = dict(
        os.environ,
        PYTHONPATH=os.pathsep.join([str(ROOT / "python"), str(ROOT / ".ci")]),
        RELAYC_TVM_TREE=str(arguments.tvm),
        RELAYC_TVM_TESTS_LOG=log,
        RELAYC_TVM_TESTS_SECONDS=str(arguments.test_seconds),
        TVM_TEST_TARGETS="llvm",
    )
    command = [arguments.python, "-m", "pytest", "-q", "--tb=short"]
    command += ["-p", "relayc.tvm_alias", "-p", "tvm_tests", "-p", "no:cacheprovider"]
    command += ["-W", "ignore", path, *(f"--deselect={name}" for name in without)]
    output = open(arguments.output, "a") if arguments.output else subprocess.DEVNULL
    process = subprocess.Popen(
        command, cwd=arguments.tvm, env=environment, stdout=output, stderr=subprocess.STDOUT
    )
    try:
        code = process.wait(arguments.seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return f"the file took over {arguments.seconds} seconds"
    return f"signal {-code}" if code < 0 else None


def test_names(tvm, path):
    """The test functions of a file that cannot be collected."""
    tree = ast.parse((tvm / path).read_text())
    return [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]


def files(tvm, words):
    """The test files below the places of Relay's tests whose paths have one of the words, or lie below one that is a path."""
    words = [in_checkout(tvm, word) for word in words]
    found = []
    for place in PLACES:
        found += (str(p.relative_to(tvm)) for p in (tvm / place).rglob("test_*.py"))
    fits = lambda p: any(w in p or fnmatch.fnmatch(p, w) for w in words)  # noqa: E731
    return sorted(p for p in found if not words or fits(p))


def in_checkout(tvm, word):
    """A path into the checkout, from the current folder, as the checkout has it; other words as they are."""
    path = pathlib.Path(word).resolve()
    return str(path.relative_to(tvm)) if path.exists() and path.is_relative_to(tvm) else word


def versions(python):
    """The versions of Python and of the packages that the tests use."""
    program = (
        "import sys, importlib.metadata as m\n"
        "def v(p):\n"
        "    try: return m.version(p)\n"
        "    except m.PackageNotFoundError: return 'absent'\n"
        f"print('python', sys.version.split()[0], *(w for p in {PACKAGES!r} for w in (p, v(p))))"
    )
    return subprocess.run([python, "-c", program], capture_output=True, text=True).stdout.strip()


def judge(arguments, path):
    """Passed, failed and needs-other names of a file; failed and needs with their reasons."""
    entries, status = run_file(arguments, path)
    passed, failed, needs = [], {}, {}
    for entry in entries:
        name = entry["id"]
        if entry["outcome"] == "collection":
            for test in test_names(arguments.tvm, path):
                failed[f"{path}::{test}"] = f"collection: {entry['why']}"
        elif entry["outcome"] == "passed":
            passed.append(name)
        elif entry.get("needs"):
            needs[name] = entry["needs"]
        else:
            failed[name] = f"{entry['outcome']}: {entry['why']}"
    if not entries:
        for test in test_names(arguments.tvm, path):
            failed[f"{path}::{test}"] = f"collection: {status or 'pytest did not begin'}"
    return passed, failed, needs


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="*", help="parts of paths, or patterns, of files to run")
    parser.add_argument("--tvm", type=pathlib.Path, default=os.environ.get("RELAYC_TVM_TREE"))
    parser.add_argument("--python", default=sys.executable, help="the Python that runs the tests")
    parser.add_argument("--seconds", type=int, default=900, help="for a file")
    parser.add_argument("--test-seconds", type=int, default=120, help="for a test")
    parser.add_argument("--crashes", type=int, default=10, help="crashes after which a file ends")
    parser.add_argument("--check", action="store_true", help="fail if a kept name does not pass")
    parser.add_argument("--keep", action="store_true", help="add the names that pass to the list")
    parser.add_argument("--reasons", type=pathlib.Path, help="write every name with its reason here")
    parser.add_argument("--output", type=pathlib.Path, help="append what pytest prints here")
    arguments = parser.parse_args()
    if not arguments.tvm:
        parser.error("say where a checkout of TVM v0.14.0 is: --tvm PATH")
    arguments.tvm = arguments.tvm.resolve()
    # Tests run in the checkout, where another path would mean another program.
    arguments.python = os.path.abspath(shutil.which(arguments.python) or arguments.python)

    ran = files(arguments.tvm, arguments.words)
    if not ran:
        parser.error(f"no file of tests below {' or '.join(PLACES)} of {arguments.tvm} fits")
    print(versions(arguments.python))
    print(f"{'passed':>7}{'failed':>7}{'needs':>7}  file")
    all_passed, all_failed, all_needs = [], {}, {}
    for path in ran:
        passed, failed, needs = judge(arguments, path)
        print(f"{len(passed):7}{len(failed):7}{len(needs):7}  {path}", flush=True)
        all_passed += passed
        all_failed.update(failed)
        all_needs.update(needs)
        if arguments.keep:
            keep(passed)
        if arguments.reasons:
            with open(arguments.reasons, "a") as out:
                out.writelines(f"FAILED {n}  # {why}\n" for n, why in failed.items())
                out.writelines(f"NEEDS  {n}  # {why}\n" for n, why in needs.items())
    print_total("cases", all_passed, all_failed, all_needs)
    # A function passes if all its portable cases do.
    failed = {function(name) for name in all_failed}
    passed = {function(name) for name in all_passed} - failed
    print_total("functions", passed, failed, {function(n) for n in all_needs} - passed - failed)
    return compare(arguments, ran, set(all_passed))


def function(name):
    """The test function of a case."""
    return name.partition("[")[0]


def print_total(what, passed, failed, needs):
    """One line with the sums and the share of what is portable that passes."""
    portable = len(passed) + len(failed)
    share = f"{100 * len(passed) / portable:.1f} % of {portable} portable" if portable else "none"
    print(f"{len(passed):7}{len(failed):7}{len(needs):7}  {what}: {share}")


def listed():
    """The names that are known to pass."""
    return set(LIST.read_text().splitlines()) if LIST.exists() else set()


def keep(passed):
    """Adds names to the list."""
    LIST.write_text("".join(f"{name}\n" for name in sorted(listed() | set(passed))))


def compare(arguments, ran, passed):
    """Compares with the kept list of the files that ran."""
    kept = listed()
    fallen = sorted(n for n in kept - passed if n.partition("::")[0] in ran)
    print(f"{len(kept)} names in {LIST.relative_to(ROOT)}")
    for name in fallen:
        print(f"passed before: {name}")
    return 1 if arguments.check and fallen else 0


if __name__ == "__main__":
    sys.exit(main())
