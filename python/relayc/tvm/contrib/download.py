"""`tvm.contrib.download`: files of the network, kept in a directory of the user."""

from __future__ import annotations

import os
import pathlib
import shutil
import tempfile
import urllib.request
from typing import List, Union

__all__ = ["download", "download_testdata"]


def download(
    url: str,
    path: Union[str, os.PathLike],
    overwrite: bool = False,
    size_compare: bool = False,
    retries: int = 3,
) -> None:
    """Fetches a file to `path`, unless one is there; `overwrite` fetches it anyway.

    `size_compare` keeps a file whose size is that of the remote one. Raises `OSError`
    after so many failures.
    """
    target = pathlib.Path(path)
    if target.is_file() and not overwrite:
        if not size_compare or target.stat().st_size == _remote_size(url):
            return
    target.parent.mkdir(parents=True, exist_ok=True)
    for attempt in range(retries + 1):
        try:
            with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as file:
                try:
                    with urllib.request.urlopen(url) as response:
                        shutil.copyfileobj(response, file)
                except BaseException:
                    os.unlink(file.name)
                    raise
            os.replace(file.name, target)
            return
        except OSError:
            if attempt == retries:
                raise


def _remote_size(url: str) -> int:
    with urllib.request.urlopen(urllib.request.Request(url, method="HEAD")) as response:
        return int(response.headers.get("Content-Length", -1))


def download_testdata(
    url: str, relpath: str, module: Union[str, List[str], None] = None, overwrite: bool = False
) -> str:
    """The path of a file of test data, fetched if it is not there.

    The directory is `TEST_DATA_ROOT_PATH`, or `~/.tvm_test_data`.
    """
    root = os.environ.get("TEST_DATA_ROOT_PATH", os.path.join("~", ".tvm_test_data"))
    parts = [module] if isinstance(module, str) else list(module or [])
    path = os.path.join(os.path.expanduser(root), *parts, relpath)
    download(url, path, overwrite=overwrite, size_compare=False)
    return path
