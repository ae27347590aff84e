#!/usr/bin/env python3
"""Runs networks and requires their memory to be what they need: weights as kept, the arena, and at most 20 MiB of everything else.

Everything else is the process itself, so this is for the release binary. Networks and weights are made beside it, in target/memory.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "target" / "memory"
NETWORKS = ["mlp", "dqn", "lstm", "squeezenet --version 1.1", "mobilenet", "densenet --batch 1", "inception_v3", "resnet", "resnet --layers 50"]
MIB = 1 << 20
MOST = 20 * MIB


def peak_of(command):
    """The most memory that a command has at one time, in bytes."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"{' '.join(command)} failed")
    return used.ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--relayc", default="target/release/relayc")
    relayc = parser.parse_args().relayc
    FOLDER.mkdir(parents=True, exist_ok=True)
    too_much = 0
    for network in NETWORKS:
        files = [str(FOLDER / f"network{end}") for end in (".relay", ".params")]
        subprocess.run([relayc, "model", *network.split(), "-o", files[0], "--params", files[1]], check=True)
        given = [files[0], "--params", files[1], "--fill", "rand"]
        for threads in ("1", "2"):
            given_threads = [*given, "--threads", threads]
            out = subprocess.run([relayc, "profile", *given_threads, "--json"], check=True, stdout=subprocess.PIPE).stdout
            memory = json.loads(out)["memory"]
            needed = memory["weight_bytes"] + memory["arena_bytes"]
            for command, peak in (("profile", memory["peak_bytes"]), ("run", peak_of([relayc, "run", *given_threads]))):
                beside = peak - needed
                too_much += beside > MOST
                print(f"{network}, {threads} threads, {command}: {needed / MIB:.1f} MiB of weights and arena, {beside / MIB:.1f} beside")
    if too_much:
        sys.exit(f"{too_much} runs have more than {MOST // MIB} MiB beside weights and arena")


main()
