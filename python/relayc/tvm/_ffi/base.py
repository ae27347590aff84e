"""The base of TVM's errors and the groups of Python types that its functions accept."""

from __future__ import annotations

from typing import Any, Callable, Optional

import numpy as np

from ..._errors import TVMError as TVMError

__version__ = "0.14.0"

string_types = (str,)
integer_types = (int, np.int32)
numeric_types = integer_types + (float, np.float16, np.float32)

ERROR_TYPE: dict[str, type] = {}


def register_error(func_name: Any = None, cls: Optional[type] = None) -> Any:
    """Names an exception type, so that a message that begins with the name raises it. Also a decorator."""
    if callable(func_name):
        func_name, cls = func_name.__name__, func_name

    def register(error: type) -> type:
        ERROR_TYPE[func_name if isinstance(func_name, str) else error.__name__] = error
        return error

    return register if cls is None else register(cls)


def py_str(data: bytes) -> str:
    """Bytes as text."""
    return data.decode("utf-8")


def decorate(func: Callable, fwrapped: Callable) -> Callable:
    """`func` replaced by `fwrapped(func, *args, **kwargs)`."""
    import functools

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        return fwrapped(func, *args, **kwargs)

    return call
