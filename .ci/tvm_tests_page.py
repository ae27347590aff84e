#!/usr/bin/env python3
"""Writes the figures of a whole run of .ci/tvm_tests.py into the page about it.

    .ci/tvm_tests.py --tvm ~/tvm --reasons reasons.txt > table.txt
    .ci/tvm_tests_page.py table.txt reasons.txt "commit $(git rev-parse --short HEAD)"

Replaces everything behind the mark in docs/src/python/tvm-tests.md.
"""

import collections
import pathlib
import re
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs/src/python/tvm-tests.md"
MARK = "<!-- written by .ci/tvm_tests_page.py -->\n"
RELAY = "tests/python/relay/"

#: The files about Relay's language, operators and passes.
CORE = re.compile(
    RELAY + r"(dyn/|test_(op_level([1-6]|10)|op_qnn_\w+|type_infer|ir_\w+|adt|any|vm|backend_interpreter"
    r"|backend_graph_executor|expr_functor|dataflow_pattern|analysis_\w+|pass_\w+)\.py)"
)

#: Words of reasons, first match first, and what they mean.
NEEDS = [
    ("a GPU, or another processor", r"Support for (a GPU|ARM)|AMDGPU|GPU"),
    ("microcontrollers", r"CMSIS|MicroTVM|tvm\.micro|testing\.aot|AOT_DEFAULT_RUNNER|AOTTest|Pool|generate_ref_data"),
    ("tuning", r"autotvm|auto_scheduler|meta_schedule|collage|partition_for_testing"),
    ("TE, TIR or TOPI", r"\bte\.|topi|tir|script|prim_func|function_metadata|\bT\.|[Ll]ower"),
    ("RPC", r"rpc"),
    ("something else", r""),
]
FAILED = [
    ("TVM skips it", r"^skip"),
    ("TVM expects it to fail", r"^xfail"),
    ("needs PyTorch", r"torch"),
    ("needs `relay.quantize`", r"quantize"),
    ("needs `PlanDevices`", r"PlanDevices|RecoverVirtualDeviceMap"),
    ("ONNX: a model that relayc does not import", r"E0715"),
    ("the file cannot be collected", r"^collection"),
    ("relayc refuses the program", r"RelayError|DiagnosticError|TVMError"),
    ("another result, text or form of the program", r""),
]


def main():
    table, reasons, commit = sys.argv[1:]
    rows, versions = read_table(pathlib.Path(table).read_text().splitlines())
    outcomes = read_reasons(pathlib.Path(reasons).read_text().splitlines())
    text = PAGE.read_text()
    PAGE.write_text(text[: text.index(MARK) + len(MARK)] + page(rows, outcomes, versions, commit))


def read_table(lines):
    """The numbers of each file, and the first line, which names versions."""
    rows = {}
    for line in lines[1:]:
        words = line.split()
        if len(words) == 4 and words[3].endswith(".py"):
            rows[words[3]] = [int(word) for word in words[:3]]
    return rows, lines[0]


def read_reasons(lines):
    """The reasons of failures and of needs."""
    outcomes = {"FAILED": {}, "NEEDS": {}}
    for line in lines:
        kind, _, rest = line.partition(" ")
        name, mark, reason = rest.strip().partition("  # ")
        if mark and kind in outcomes:
            outcomes[kind][name] = reason
    return outcomes


def page(rows, outcomes, versions, commit):
    """The part of the page that a run decides."""
    core = [numbers for path, numbers in rows.items() if CORE.match(path)]
    lines = [
        "",
        f"At {commit}, one run over all {len(rows)} files. {versions_in_words(versions)}.",
        "",
        "| tests | passed | failed | of what is portable | need what is not Relay |",
        "|---|---|---|---|---|",
        total("language, operators and passes", core),
        total("all files", list(rows.values())),
        "",
        "## What the others need",
        "",
        *kinds("need", NEEDS, outcomes["NEEDS"]),
        "",
        "## What fails",
        "",
        *kinds("reason", FAILED, outcomes["FAILED"]),
        "",
        "## By file",
        "",
        "| file of TVM below tests/python | passed | failed | needs |",
        "|---|---|---|---|",
        *(f"| {path[len('tests/python/'):]} | {p} | {f} | {n} |" for path, (p, f, n) in rows.items()),
        "",
    ]
    return "\n".join(lines)


def versions_in_words(line):
    words = line.split()
    return ", ".join(f"{name} {version}" for name, version in zip(words[::2], words[1::2]))


def total(name, rows):
    passed, failed, needs = (sum(column) for column in zip(*rows))
    return f"| {name} | {passed} | {failed} | {100 * passed / (passed + failed):.1f} % | {needs} |"


def kinds(title, patterns, reasons):
    """A table that counts reasons by the first pattern that fits."""
    counts = collections.Counter()
    for reason in reasons.values():
        counts[next(label for label, pattern in patterns if re.search(pattern, reason))] += 1
    rows = [f"| {label} | {counts[label]} |" for label, _ in patterns if counts[label]]
    return [f"| {title} | tests |", "|---|---|", *rows]


if __name__ == "__main__":
    main()
