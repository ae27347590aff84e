#!/usr/bin/env python3
"""The language server driven by real editors: Neovim, and Emacs with Eglot.

    apt-get install neovim emacs-nox elpa-eglot
    tests/peers/editors.py [--relayc target/release/relayc]

Each editor opens a text with a mistake, applies the fix, formats, hovers, renames and
completes, and uses the commands of its plugin or mode in editors/ (tests/peers/editors/);
both must say the same. Kakoune, where it is installed, colours a text.
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
// run: @main(0) == 0.25
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
    "tests": lambda found: found == [[True], "✓ holds"],
    "profile": lambda found: len(found) > 0 and all(" %, " in words and words.endswith("s") for words in found),
    "picture": lambda found: found == "<!DOCTYPE html>",
    "pass": lambda found: "let %scores: Tensor[(1, 4), float32] = nn.relu(%x);" in found and "run:" not in found,
    "explain": lambda found: found.startswith("# E0301"),
}

EDITORS = {
    "nvim": ["--headless", "-u", "NONE", "-c", f"luafile {HERE}/editors/neovim.lua", "-c", "qall!"],
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
        environment = dict(os.environ, RELAYC=str(relayc), RELAYC_TEXT=str(text), RELAYC_EDITORS=str(ROOT / "editors"))
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


def kakoune():
    """Whether Kakoune takes its script and gives a Relay text its file type and indents it."""
    if shutil.which("kak") is None:
        print("kak is not installed")
        return True
    with tempfile.TemporaryDirectory() as folder:
        text, said = pathlib.Path(folder) / "net.relay", pathlib.Path(folder) / "said"
        shutil.copy(HERE / "editors" / "wrong.relay", text)
        script = f"""
            try %{{
                source {ROOT}/editors/kakoune/relay.kak
                edit {text}
                execute-keys -with-hooks 'ge<a-o>jidef @g() {{<ret>1<ret>}}<esc>'
                write
                nop %sh{{ printf '%s' "$kak_opt_filetype" > {said} }}
            }} catch %{{ nop %sh{{ printf '%s' "$kak_error" > {said} }} }}
            quit! 0
        """
        subprocess.run(["kak", "-n", "-ui", "dummy", "-e", script], cwd=folder, capture_output=True, timeout=60)
        found = (said.read_text(), text.read_text())
    right = found[0] == "relay" and found[1].endswith("def @g() {\n  1\n}\n")
    print(f"kak: file type, indents: {'ok' if right else found}")
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--relayc", type=pathlib.Path, default=ROOT / "target" / "release" / "relayc")
    arguments = parser.parse_args()
    relayc = arguments.relayc.resolve()
    return 0 if all([judge(editor, relayc) for editor in EDITORS] + [kakoune()]) else 1


if __name__ == "__main__":
    sys.exit(main())
