"""Dense layers over transposed weights, over weights that are transposed once."""

from __future__ import annotations

from typing import Any, Dict, Tuple

import numpy as np

from ..analysis import search_fc_transpose
from ..transform import SimplifyFCTranspose
from .utils import run_opt_pass

__all__ = ["convert"]


def convert(func: Any, params: Dict[str, Any]) -> Tuple[Any, Dict[str, Any]]:
    """The function and the parameters, with the transposed weight `w` as `w.T`."""
    from ...runtime.ndarray import array

    names = search_fc_transpose(func)
    for name in names:
        params[f"{name}.T"] = array(np.transpose(params.pop(name).numpy(), axes=[1, 0]))
    return run_opt_pass(func, SimplifyFCTranspose(names)), params
