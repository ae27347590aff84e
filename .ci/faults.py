#!/usr/bin/env python3
"""Puts known faults into the sources and requires the test named beside each to find it: the suite proves itself.

tests/faults/*.toml lists the faults, under the file that each is in: `find` is what stands there now, exactly once, `put` what a
careless hand would have written instead, and `test` the target and filter that must then fail. Where `find` has «…», only what is
between is replaced. What ends in `;` is a statement, anything else an expression of the same type.

The tracked files are copied to target/faults/tree, where each fault becomes a branch that the environment switches on. So all are
compiled once, and no source in the repository knows of them. Arguments: parts of files, of tests or numbers of faults to try alone.

A test is written as its target, `suite` of the root, `relayc-ops` for the unit tests of a crate or `relayc-lsp/protocol` for others, and
what filters it; `NAME=value` before these is set in its environment.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "target" / "faults"
TREE = FOLDER / "tree"
VARIABLE = "RELAYC_SEEDED_FAULT"
GIB = 1 << 30

# At the end of each crate that has a fault. What artifacts carry of the runtime is compiled without the standard library, and is right.
SWITCH = f"""
#[cfg(not(relayc_freestanding))]
pub(crate) fn seeded_fault(number: u32) -> bool {{
    extern crate std;
    static ON: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *ON.get_or_init(|| std::env::var("{VARIABLE}").ok().and_then(|text| text.parse().ok()).unwrap_or(0)) == number
}}
#[cfg(relayc_freestanding)]
pub(crate) fn seeded_fault(_: u32) -> bool {{
    false
}}
"""

# Compiles faster than a release and is as lenient: no assertion finds what a release would not.
PROFILE = """
[profile.faults]
inherits = "dev"
opt-level = 1
debug = false
debug-assertions = false
incremental = true
"""


# Sessions give their commands an environment of their own, which must have the variable too.
SESSIONS = "crates/testing/src/session.rs"
CLEARED = ".env_clear()"
KEPT = f'{CLEARED}.envs(std::env::var("{VARIABLE}").map(|number| ("{VARIABLE}", number)))'


class Fault:
    """One entry of a list."""

    def __init__(self, area, file, entry):
        self.area, self.file, self.put, self.test = area, file, entry["put"], entry["test"]
        before, mark, rest = entry["find"].partition("«")
        self.find, after = rest.split("»") if mark else (before, "")
        self.before = before if mark else ""
        self.context = self.before + self.find + after
        # Stays as it is when others are added, so that little is compiled anew.
        self.number = zlib.crc32(f"{file}\n{entry['find']}\n{self.put}".encode())

    def place(self, text):
        """Where the replaced part is in the text of the file."""
        if text.count(self.context) != 1:
            sys.exit(f"{self.file}: stands {text.count(self.context)} times, not once: {self.context}")
        start = text.index(self.context) + len(self.before)
        return start, start + len(self.find)

    def switched(self):
        """The part with its wrong form beside it."""
        condition = f"crate::seeded_fault({self.number})"
        if self.find.endswith(";"):
            return f"if {condition} {{ {self.put} }} else {{ {self.find} }}"
        return f"(if {condition} {{ ({self.put}) }} else {{ ({self.find}) }})"

    def line(self):
        """As it is shown."""
        return f"{self.number:10} {self.file}: `{' '.join(self.find.split())}` as `{' '.join(self.put.split())}` ({self.test})"


def faults():
    """All lists, in order."""
    found = []
    for path in sorted((ROOT / "tests" / "faults").glob("*.toml")):
        for file, entries in tomllib.loads(path.read_text()).items():
            found += [Fault(path.stem, file, entry) for entry in entries]
    return found


def crate_root(file):
    """The root of the crate that a file belongs to."""
    folder = pathlib.Path(*pathlib.Path(file).parts[:2]) if file.startswith("crates/") else pathlib.Path()
    name = "src/lib.rs" if file.startswith("crates/") else "src/main.rs"
    return str(folder / name)


def seed(found):
    """Makes the tree with all faults in it; files that stay the same keep their time."""
    by_file = {}
    for fault in found:
        by_file.setdefault(fault.file, []).append(fault)
    roots = {crate_root(file) for file in by_file}
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.split("\0")
    wanted = {name for name in tracked if name and (ROOT / name).is_file()}
    for name in wanted:
        content = (ROOT / name).read_bytes()
        if name in by_file:
            text = content.decode()
            places = sorted((*fault.place(text), fault) for fault in by_file[name])
            for (_, end, first), (start, _, second) in zip(places, places[1:]):
                if start < end:
                    sys.exit(f"two faults in one place:\n{first.line()}\n{second.line()}")
            for start, end, fault in reversed(places):
                text = text[:start] + fault.switched() + text[end:]
            content = text.encode()
        if name == SESSIONS:
            if content.count(CLEARED.encode()) != 1:
                sys.exit(f"{name}: {CLEARED} stands {content.count(CLEARED.encode())} times, not once")
            content = content.replace(CLEARED.encode(), KEPT.encode())
        if name in roots:
            content += SWITCH.encode()
        if name == "Cargo.toml":
            content += PROFILE.encode()
        to = TREE / name
        to.parent.mkdir(parents=True, exist_ok=True)
        if not to.is_file() or to.read_bytes() != content:
            to.write_bytes(content)
            to.chmod((ROOT / name).stat().st_mode)
    for path in TREE.rglob("*"):
        if path.is_file() and str(path.relative_to(TREE)) not in wanted:
            path.unlink()


def parts(test):
    """The environment of a test, the name of its target, and its arguments."""
    words = test.split()
    n = next(n for n, word in enumerate(words) if "=" not in word)
    return dict(word.split("=", 1) for word in words[:n]), words[n], words[n + 1 :]


def target_of(test):
    """The package and the target of a test."""
    package, _, target = parts(test)[1].partition("/")
    if package.startswith("relayc-"):
        return package, target or package.replace("-", "_")
    return "relayc", package


def build(found):
    """Compiles every test that is named; where each is, with its folder."""
    targets = {target_of(fault.test) for fault in found}
    command = ["cargo", "test", "--no-run", "--locked", "--profile", "faults", "--message-format", "json-render-diagnostics"]
    command += ["--target-dir", str(FOLDER / "build")]
    command += [word for package in sorted({package for package, _ in targets}) for word in ("--package", package)]
    if any(name == package.replace("-", "_") != "relayc" for package, name in targets):
        command.append("--lib")
    tests = sorted({name for package, name in targets if package == "relayc" or name != package.replace("-", "_")})
    command += [word for name in tests for word in ("--test", name)]
    made = subprocess.run(command, cwd=TREE, stdout=subprocess.PIPE, text=True, env={**os.environ, "RUSTFLAGS": "--cap-lints=warn"})
    if made.returncode:
        sys.exit("the tree does not compile")
    programs = {}
    for line in made.stdout.splitlines():
        message = json.loads(line)
        if message["reason"] == "compiler-artifact" and message["executable"] and message["target"]["kind"] != ["bin"]:
            package = pathlib.Path(message["manifest_path"]).parent
            name = "relayc" if package == TREE else f"relayc-{package.name}"
            programs[name, message["target"]["name"]] = message["executable"], package
    return programs


def limits():
    """What a fault may take: some forget to check a size."""
    resource.setrlimit(resource.RLIMIT_AS, (12 * GIB, 12 * GIB))
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 * GIB, 4 * GIB))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(programs, test, number, timeout):
    """Whether a test passes with a fault, how many do, and what it printed. Its caches and files are in a folder of its own."""
    program, folder = programs[target_of(test)]
    asked, _, words = parts(test)
    with tempfile.TemporaryDirectory(dir=FOLDER, ignore_cleanup_errors=True) as home:
        own = dict.fromkeys(["HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"], home)
        environment = {**os.environ, **own, **asked, "PROPTEST_RNG_SEED": "1", VARIABLE: str(number)}
        environment.pop("BLESS", None)
        with open(pathlib.Path(home) / "output", "w+b") as output:
            child = subprocess.Popen(
                [program, *words],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=limits,
            )
            try:
                code = child.wait(timeout)
            except subprocess.TimeoutExpired:
                code = None
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            child.wait()
            output.seek(0)
            text = output.read().decode(errors="replace")
    passed = re.findall(r"^test result: ok\. (\d+) passed", text, re.MULTILINE)
    return code == 0 and bool(passed), sum(map(int, passed)), text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="*")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="tests at one time")
    parser.add_argument("--seed", action="store_true", help="make the tree and end, to compile it by hand")
    parser.add_argument("--nice", type=int, default=10, help="how far others go first")
    given = parser.parse_args()
    os.nice(given.nice)
    found = faults()
    started = time.monotonic()
    TREE.mkdir(parents=True, exist_ok=True)
    seed(found)
    if given.seed:
        return
    if given.only:
        found = [fault for fault in found if any(word in fault.line() for word in given.only)]
    programs = build(found)
    built = time.monotonic()
    tests = sorted({fault.test for fault in found})
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        times = {}

        def right(test):
            begun = time.monotonic()
            passed, count, text = run(programs, test, 0, 1800)
            times[test] = time.monotonic() - begun
            if not passed or count == 0:
                return f"{test}: {count} tests pass without any fault\n{text[-4000:]}"

        if wrong := [line for line in pool.map(right, tests) if line]:
            sys.exit("\n".join(wrong))
        missed = []

        def wrong(fault):
            passed, _, _ = run(programs, fault.test, fault.number, 60 + 10 * times[fault.test])
            if passed:
                missed.append(fault)
                print(f"not found: {fault.line()}", flush=True)

        list(pool.map(wrong, found))
    areas = {fault.area: 0 for fault in found}
    for fault in found:
        areas[fault.area] += fault not in missed
    print(", ".join(f"{area}: {n} of {sum(fault.area == area for fault in found)}" for area, n in areas.items()))
    compiling, testing = built - started, time.monotonic() - built
    print(f"{len(found) - len(missed)} of {len(found)} faults found; {compiling:.0f} s to compile, {testing:.0f} s of tests")
    if missed:
        sys.exit(1)


if __name__ == "__main__":
    main()
