"""The pages of the book about Python, and README.md: every block of Python runs and prints what the page shows.

The blocks of a page are one program. A block of text after a block of Python is what it prints, or the error that it ends with;
`BLESS=1` writes it into the page.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs/src/python").glob("*.md"))]

BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<shown>.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def run(code: str, names: dict, path: Path) -> str:
    """What the code prints; an error of relayc, TVM or Python that ends it is part of that."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            exec(compile(code, str(path.relative_to(ROOT)), "exec"), names)
        except Exception as error:
            print(f"{type(error).__name__}: {error}")
    return printed.getvalue()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_page(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    text = path.read_text()
    names: dict = {"__name__": "__main__"}
    outputs = [(block, run(block["code"], names, path)) for block in BLOCK.finditer(text)]
    assert outputs, f"{path} has no block of Python"
    if os.environ.get("BLESS"):
        for block, printed in reversed(outputs):
            shown = f"\n```text\n{printed}```\n" if printed else ""
            text = f"{text[:block.start()]}```python\n{block['code']}```\n{shown}{text[block.end():]}"
        path.write_text(text)
    for block, printed in outputs:
        assert printed == (block["shown"] or ""), block["code"]
