"""Lets unchanged programs that say `import tvm` run on `relayc.tvm`.

Importing this module is what does it: from then on `tvm` and every `tvm.x` are the
very module objects of `relayc.tvm` and `relayc.tvm.x`. `python -m relayc script.py`
imports it first; so does pytest with `-p relayc.tvm_alias`, which also loads the
plugin that TVM's tests expect (`tvm.testing.plugin`).

While the environment variable `RELAYC_TVM_TREE` names a checkout of TVM, the
references of its tests, modules of NumPy alone (`_TREE`), come from there. The
package itself has none of them.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import types
from typing import Any, Optional, Sequence

__all__ = ["install"]

_REAL = "relayc.tvm"

#: Modules of TVM's tree that compute references with NumPy, below `tvm`, with the
#: packages that only lead to them.
_TREE = (
    "topi.nn.qnn",
    "topi.nn.utils",
    "topi.sparse.utils",
    "topi.tag",
    "topi.testing",
    "topi.utils",
)

#: pytest loads it under the name by which TVM's own conftest asks for it.
pytest_plugins = ["tvm.testing.plugin"]


class _Alias(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `tvm.x` as the module `relayc.tvm.x`."""

    def find_spec(
        self, fullname: str, path: Optional[Sequence[str]] = None, target: Any = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        if fullname != "tvm" and not fullname.startswith("tvm."):
            return None
        real = _REAL + fullname[len("tvm") :]
        if real not in sys.modules and importlib.util.find_spec(real) is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = importlib.import_module(_REAL + spec.name[len("tvm") :])
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        # The machinery has put the alias's spec into the module; its own comes back.
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


class _Tree(importlib.abc.MetaPathFinder):
    """Finds `relayc.tvm.x` in a checkout of TVM, for the modules of `_TREE`."""

    def __init__(self, tree: str) -> None:
        self.root = os.path.join(tree, "python", "tvm")

    def find_spec(
        self, fullname: str, path: Optional[Sequence[str]] = None, target: Any = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        below = fullname[len(_REAL) + 1 :]
        if not fullname.startswith(_REAL + ".") or not any(
            below == name or below.startswith(name + ".") for name in _TREE
        ):
            return None
        place = os.path.join(self.root, *below.split("."))
        package = os.path.join(place, "__init__.py")
        if os.path.exists(package):
            return importlib.util.spec_from_file_location(
                fullname, package, submodule_search_locations=[place]
            )
        return importlib.util.spec_from_file_location(fullname, place + ".py")


def install() -> None:
    """Makes `tvm` mean `relayc.tvm`. Raises `ImportError` if another `tvm` is loaded."""
    if any(isinstance(finder, _Alias) for finder in sys.meta_path):
        return
    if "tvm" in sys.modules:
        raise ImportError("another `tvm` is loaded already: import relayc.tvm_alias before it")
    sys.meta_path.insert(0, _Alias())
    tree = os.environ.get("RELAYC_TVM_TREE")
    if tree:
        sys.meta_path.insert(0, _Tree(tree))


install()
