"""A virtual environment below `target/` for the scripts that compare relayc with its peers."""
import os
import pathlib
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def enter(name, packages):
    """Goes on in the environment `target/NAME`, made where there is none that has these packages. Call it before any other import."""
    home = ROOT / "target" / name
    python = home / "bin" / "python"
    if pathlib.Path(sys.prefix).resolve() == home.resolve():
        return
    wanted = "\n".join(packages)
    stamp = home / "packages.txt"
    if not stamp.exists() or stamp.read_text() != wanted:
        print("making", home.relative_to(ROOT), file=sys.stderr)
        venv.create(home, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
        stamp.write_text(wanted)
    os.execv(python, [python, *sys.argv])
