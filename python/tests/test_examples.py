"""The examples of Python: scripts run, notebooks show what is stored in them, and `mypy --strict` passes.

`mxnet_resnet.py` and `torch_tensors.py` need mxnet and torch: `.ci/long` runs them. `BLESS=1` stores what
notebooks show. A cell tagged `changes` shows something else each time: something must be shown, and it is not
compared.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, List

import nbclient
import nbformat
import pytest
from test_book import BLOCK

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python"


def python(*arguments: str) -> str:
    """What a run of Python prints; it must end well. It finds no other program, such as Graphviz."""
    done = subprocess.run(
        [sys.executable, *arguments], env={**os.environ, "PATH": ""},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_two_functions_run_and_are_drawn(tmp_path: Path) -> None:
    printed = python(str(EXAMPLES / "add_func.py"), str(tmp_path))
    text, tree = printed.split("[  0. 111. 222. 333.]\n")
    assert text.count("@AddFunc(%input") == 2 and "def @AddFunc(%data" in text
    assert [line.count("GlobalVar AddFunc") for line in tree.splitlines()].count(1) == 2
    drawn = (tmp_path / "add_func.dot").read_text()
    assert re.findall(r'subgraph "(\w+)"', drawn) == ["cluster_main", "cluster_AddFunc"]
    assert drawn.count("GlobalVar.name_hint: AddFunc") == 2 and drawn.count("{") == drawn.count("}") == 3


def test_types_hold(tmp_path: Path) -> None:
    # Of `examples/distributed`, what needs no engine: their packages have no types.
    scripts = [str(EXAMPLES.parent / "distributed/network.py"), *sorted(map(str, EXAMPLES.glob("*.py")))]
    assert len(scripts) >= 4
    readme = BLOCK.search((EXAMPLES.parents[1] / "README.md").read_text())
    assert readme is not None
    (tmp_path / "readme.py").write_text(readme["code"])
    scripts.append(str(tmp_path / "readme.py"))
    # Without a cache: mypy would write it into the folder that the test runs in.
    assert "Success" in python("-m", "mypy", "--strict", f"--cache-dir={os.devnull}", *scripts)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebook(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What Jupyter keeps, it keeps here.
    for kept in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(kept, str(tmp_path / kept))
    notebook = nbformat.read(path, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    stored = [shown(cell) for cell in cells]
    # What is printed arrives in as many pieces as the machine makes of it: `coalesce_streams` makes one.
    nbclient.NotebookClient(
        notebook,
        timeout=300,
        startup_timeout=300,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    now = [shown(cell) for cell in cells]
    if os.environ.get("BLESS"):
        for cell in cells:
            cell.outputs = [storable(output) for output in cell.outputs]
        # The version of Python is no part of it.
        notebook.metadata["language_info"] = {"name": "python"}
        nbformat.write(notebook, path)
        return
    for cell, before, after in zip(cells, stored, now):
        if "changes" in cell.metadata.get("tags", ()):
            assert before and after, cell.source
        else:
            assert before == after, cell.source


def shown(cell: Any) -> List[str]:
    """The text of a cell's outputs."""
    return [text_of(output) for output in cell.outputs]


def text_of(output: Any) -> str:
    if output.output_type == "stream":
        return str(output.text)
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"
    return str(output.data["text/plain"])


def storable(output: Any) -> Any:
    """An output without what is large or of this machine: pages, and the places of an error."""
    if output.output_type == "error":
        output.traceback = [text_of(output)]
    elif output.output_type != "stream":
        output.data.pop("text/html", None)
    return output
