"""Named tensors in TVM's `.params` format."""

from __future__ import annotations

from typing import Any, Dict, Mapping

from . import ndarray
from ._dltensor import load_params, save_params
from .ndarray import NDArray


def _to_ndarray(params: Mapping[str, Any]) -> Dict[str, NDArray]:
    return {name: value if isinstance(value, NDArray) else ndarray.array(value) for name, value in params.items()}


def save_param_dict(params: Mapping[str, Any]) -> bytearray:
    """Named arrays as bytes."""
    return save_params(_to_ndarray(params))


def save_param_dict_to_file(params: Mapping[str, Any], path: str) -> None:
    """Writes named arrays to a file."""
    with open(path, "wb") as file:
        file.write(save_param_dict(params))


def load_param_dict(param_bytes: Any) -> Dict[str, NDArray]:
    """The named tensors that `save_param_dict` wrote. Raises TVMError for other bytes."""
    return load_params(param_bytes.encode("latin-1") if isinstance(param_bytes, str) else bytes(param_bytes))


def load_param_dict_from_file(path: str) -> Dict[str, NDArray]:
    """The named tensors of a file."""
    with open(path, "rb") as file:
        return load_params(file.read())
