"""`python -m relayc script.py args…`: runs a script, with `tvm` meaning `relayc.tvm`.

As for `python script.py`: the script is `__main__`, its directory leads `sys.path`
and `sys.argv` begins with its name. `-m module` runs a module instead, `-c text` a
text.
"""

from __future__ import annotations

import os
import runpy
import sys
from typing import List

USAGE = "usage: python -m relayc (SCRIPT | -m MODULE | -c TEXT) [ARGUMENT ...]"


def main(arguments: List[str]) -> int:
    """Runs what the arguments name; an exit status is that of the script."""
    from . import tvm_alias  # noqa: F401  from here on `tvm` is ours

    if not arguments or (arguments[0] in ("-m", "-c") and len(arguments) < 2):
        print(USAGE, file=sys.stderr)
        return 2
    if arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0
    if arguments[0] == "-m":
        sys.path[0] = os.getcwd()
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    elif arguments[0] == "-c":
        sys.path[0] = ""
        sys.argv = ["-c", *arguments[2:]]
        exec(compile(arguments[1], "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
        sys.argv = arguments
        runpy.run_path(arguments[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
