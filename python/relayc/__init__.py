"""Relay from Python: read, check, run and compile programs of the Relay text language.

    import relayc

    module = relayc.load("net.relay", params="net.params")
    net = module.compile(threads=2)
    scores = net(data=picture)

`relayc.tvm` has the Relay API of TVM v0.14.
"""

from __future__ import annotations

from . import ops, zoo
from ._diagnostics import Diagnostic, Edit, Fix, Span
from ._errors import RelayError
from ._executable import Bench, Executable, Profile
from ._images import read_image
from ._module import Module, load, parse
from ._params import import_mxnet, import_onnx, load_params, save_params
from ._relayc import Port, __version__
from ._values import Adt, Ref

__all__ = [
    "Adt",
    "Bench",
    "Diagnostic",
    "Edit",
    "Executable",
    "Fix",
    "Module",
    "Port",
    "Profile",
    "Ref",
    "RelayError",
    "Span",
    "__version__",
    "import_mxnet",
    "import_onnx",
    "load",
    "load_params",
    "ops",
    "parse",
    "read_image",
    "save_params",
    "zoo",
]
