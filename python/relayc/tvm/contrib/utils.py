"""Directories that are removed at exit, file locks, and programs by name."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import pathlib
import shutil
import tempfile
from typing import ClassVar, Iterator, List, Optional, Set, Union

__all__ = [
    "DirectoryCreatedPastAtExit",
    "FileLock",
    "TempDirectory",
    "filelock",
    "is_source_path",
    "tempdir",
    "which",
]


class DirectoryCreatedPastAtExit(Exception):
    """A temporary directory was asked for while Python shuts down."""


class TempDirectory:
    """A temporary directory; removed with the object, or at exit at the latest.

    While `set_keep_for_debug` is on, directories are kept under one of the day.
    """

    TEMPDIRS: ClassVar[Optional[Set[str]]] = set()
    _keep: ClassVar[bool] = False
    _numbers: ClassVar[Iterator[int]] = itertools.count()
    _parent: ClassVar[Optional[str]] = None

    def __init__(
        self, custom_path: Optional[str] = None, keep_for_debug: Optional[bool] = None
    ) -> None:
        if self.TEMPDIRS is None:
            raise DirectoryCreatedPastAtExit()
        self._kept = self._keep if keep_for_debug is None else keep_for_debug
        self.temp_dir: Optional[str] = custom_path
        if custom_path:
            os.mkdir(custom_path)
        elif self._kept:
            if TempDirectory._parent is None:
                TempDirectory._parent = tempfile.mkdtemp(prefix="tvm-debug-mode-tempdirs-")
            self.temp_dir = os.path.join(TempDirectory._parent, f"{next(self._numbers):05d}")
            os.mkdir(self.temp_dir)
        else:
            self.temp_dir = tempfile.mkdtemp()
        if not self._kept:
            self.TEMPDIRS.add(str(self.temp_dir))

    @classmethod
    @contextlib.contextmanager
    def set_keep_for_debug(cls, set_to: bool = True) -> Iterator[None]:
        """A scope whose directories are kept."""
        before = cls._keep
        cls._keep = set_to
        try:
            yield
        finally:
            cls._keep = before

    @classmethod
    def remove_tempdirs(cls) -> None:
        """Removes all directories; called at exit."""
        for path in cls.TEMPDIRS or ():
            shutil.rmtree(path, ignore_errors=True)
        cls.TEMPDIRS = None

    def remove(self) -> None:
        """Removes the directory, unless it is kept."""
        if self.temp_dir is not None and not self._kept and self.TEMPDIRS is not None:
            shutil.rmtree(self.temp_dir, ignore_errors=True)
            self.TEMPDIRS.discard(self.temp_dir)
        self.temp_dir = None

    @property
    def path(self) -> pathlib.Path:
        """The directory."""
        return pathlib.Path(str(self.temp_dir))

    def __truediv__(self, other: Union[str, pathlib.Path]) -> pathlib.Path:
        if not isinstance(other, (str, pathlib.Path)):
            raise TypeError(f"a path in a TempDirectory is a str or a Path, not {other!r}")
        return self.path / other

    def __del__(self) -> None:
        if getattr(self, "temp_dir", None) is not None:
            self.remove()

    def relpath(self, name: str) -> str:
        """The path of a file in the directory."""
        return os.path.join(str(self.temp_dir), name)

    def listdir(self) -> List[str]:
        """The names in the directory."""
        return os.listdir(str(self.temp_dir))


atexit.register(TempDirectory.remove_tempdirs)


def tempdir(
    custom_path: Optional[str] = None, keep_for_debug: Optional[bool] = None
) -> TempDirectory:
    """A temporary directory, or one at `custom_path`."""
    return TempDirectory(custom_path=custom_path, keep_for_debug=keep_for_debug)


class FileLock:
    """A lock on a file, held until `release`."""

    def __init__(self, path: str) -> None:
        import fcntl

        self.lock_file = open(path, "w")
        fcntl.lockf(self.lock_file, fcntl.LOCK_EX)

    def release(self) -> None:
        """Gives the lock back."""
        if not self.lock_file.closed:
            import fcntl

            fcntl.lockf(self.lock_file, fcntl.LOCK_UN)
            self.lock_file.close()


def filelock(path: str) -> FileLock:
    """Waits for a lock on a file, and takes it."""
    return FileLock(path)


def is_source_path(path: str) -> bool:
    """Whether a string is a path rather than source text."""
    if os.path.exists(path):
        return True
    head, dot, ending = path.rpartition(".")
    return "\n" not in path and bool(dot) and "." not in head and ending.strip() == ending


def which(exec_name: str) -> Optional[str]:
    """The path of a program, or `None`."""
    return shutil.which(exec_name)
