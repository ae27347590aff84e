"""Virtual environments below `target/` for the scripts that compare relayc with its peers."""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def make(name, packages, python=sys.executable, *options):
    """The Python of the environment `target/NAME`, made where there is none that has these packages."""
    home = ROOT / "target" / name
    own = home / "bin" / "python"
    wanted = "\n".join(packages)
    stamp = home / "packages.txt"
    if not stamp.exists() or stamp.read_text() != wanted:
        print("making", home.relative_to(ROOT), file=sys.stderr)
        subprocess.run([python, "-m", "venv", *options, home], check=True)
        subprocess.run([own, "-m", "pip", "install", "--quiet", *packages], check=True)
        stamp.write_text(wanted)
    return own


def enter(name, packages):
    """Goes on in the environment `target/NAME`. Call it before any other import."""
    if pathlib.Path(sys.prefix).resolve() == (ROOT / "target" / name).resolve():
        return
    own = make(name, packages)
    os.execv(own, [own, *sys.argv])
