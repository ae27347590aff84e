"""`tvm.testing.utils`: the names of this package where TVM has them."""

from __future__ import annotations

import os

from . import features, fixtures, numeric
from .features import *  # noqa: F403
from .features import Feature, _test_targets  # noqa: F401
from .fixtures import *  # noqa: F403
from .numeric import *  # noqa: F403

#: Whether tests run in continuous integration.
IS_IN_CI = os.environ.get("CI") == "true"

__all__ = ["IS_IN_CI", *features.__all__, *fixtures.__all__, *numeric.__all__]
