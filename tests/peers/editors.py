#!/usr/bin/env python3
"""The language server driven by real editors: Neovim, and Emacs with Eglot.

    apt-get install neovim emacs-nox elpa-eglot
    tests/peers/editors.py [--relayc target/release/relayc]

Each editor opens a text with a mistake, applies the fix, formats, hovers, renames and
completes (tests/peers/editors/), and says what it has then. Both must say the same.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

FIXED = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4), float32]) {
    let %y = nn.relu(%x);
  nn.softmax(%y)
}
"""
FORMATTED = FIXED.replace("    let", "  let")

#: What an editor says, and whether that is right.
WANTED = {
    "diagnostics": lambda found: found == [2, "E0204"],
    "code action": lambda found: found == FIXED,
    "format": lambda found: found == FORMATTED,
    "hover": lambda found: "%y: Tensor[(1, 4), float32]" in found,
    "rename": lambda found: found == FORMATTED.replace("%y", "%scores"),
    "completion": lambda found: "nn.softmax" in found and "add" not in found,
}

EDITORS = {
    "nvim": ["--headless", "-u", "NONE", "-c", f"luafile {HERE}/editors/neovim.lua"],
    "emacs": ["-q", "--batch", "-l", "package", "--eval", "(package-initialize)", "-l", f"{HERE}/editors/emacs.el"],
}


def judge(editor, relayc):
    """Whether an editor says what is wanted; prints a line for each thing it says."""
    if shutil.which(editor) is None:
        print(f"{editor} is not installed")
        return False
    with tempfile.TemporaryDirectory() as folder:
        text = pathlib.Path(folder) / "net.relay"
        shutil.copy(HERE / "editors" / "wrong.relay", text)
        environment = dict(os.environ, RELAYC=str(relayc), RELAYC_TEXT=str(text))
        command = [editor, *EDITORS[editor]]
        run = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=120)
    said = {}
    for line in (run.stdout + run.stderr).splitlines():
        if line.startswith("["):
            try:
                what, value = json.loads(line)
            except ValueError:
                continue
            said[what] = value
    fine = True
    for what, is_right in WANTED.items():
        right = what in said and is_right(said[what])
        fine &= right
        print(f"{editor}: {what}: {'ok' if right else said.get(what, 'nothing was said')}")
    if not fine:
        print(run.stderr[-2000:])
    return fine


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--relayc", type=pathlib.Path, default=ROOT / "target" / "release" / "relayc")
    arguments = parser.parse_args()
    relayc = arguments.relayc.resolve()
    return 0 if all([judge(editor, relayc) for editor in EDITORS]) else 1


if __name__ == "__main__":
    sys.exit(main())
