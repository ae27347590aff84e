"""How `qnn.requantize` computes if its attributes do not say it (`python/tvm/relay/qnn/op/qnn.py`)."""

from __future__ import annotations

import threading
from typing import Any, List

from ....runtime.object import Object

__all__ = ["RequantizeConfig", "configured", "current_requantize_config", "requantize_config"]

_DEFAULTS = {"rounding": "UPWARD", "compute_dtype": "int64"}


class _Scopes(threading.local):
    """The configurations of a thread, the innermost last."""

    def __init__(self) -> None:
        self.stack: List["RequantizeConfig"] = []


_scopes = _Scopes()


class RequantizeConfig(Object):
    """A rounding and a dtype for the block of a `with` statement."""

    rounding: str
    compute_dtype: str
    is_default: bool

    def __init__(self, rounding: str, compute_dtype: str, is_default: bool = False) -> None:
        values = {"rounding": rounding, "compute_dtype": compute_dtype, "is_default": is_default}
        self.__dict__.update(values)

    def __enter__(self) -> "RequantizeConfig":
        _scopes.stack.append(self)
        return self

    def __exit__(self, ptype: Any, value: Any, trace: Any) -> None:
        _scopes.stack.pop()

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _DEFAULTS:
            raise AttributeError(f"'{type(self)}' object cannot set attribute '{name}'")
        super().__setattr__(name, value)


def current_requantize_config() -> RequantizeConfig:
    """The innermost configuration of this thread; by default upward rounding in int64."""
    return _scopes.stack[-1] if _scopes.stack else RequantizeConfig(**_DEFAULTS, is_default=True)


def requantize_config(**kwargs: Any) -> RequantizeConfig:
    """A configuration for a `with` statement.

    Parameters
    ----------
    rounding : str, optional
        `"UPWARD"` or `"TONEAREST"`.
    compute_dtype : str, optional
        `"int64"`, `"float32"` or `"float64"`.
    """
    return RequantizeConfig(**{name: kwargs.get(name, default) for name, default in _DEFAULTS.items()})


def configured(mod: Any) -> Any:
    """The module with the values of the current configuration for attributes of `qnn.requantize` that are `"None"`.

    Rule of TVM: `SelectRequntizeParameter` in `src/relay/qnn/op/requantize.cc`, when the operator is lowered.
    """
    config = current_requantize_config()
    if config.is_default:
        return mod
    from ....ir.attrs import changed
    from ....ir.module import IRModule
    from ...expr import Call
    from ...transform._rewrites import rewrite

    def choose(pre: Any, post: Any) -> Any:
        if not isinstance(post, Call) or getattr(post.op, "name", None) != "qnn.requantize" or post.attrs is None:
            return post
        values = {name: getattr(config, name) for name in _DEFAULTS if post.attrs[name] == "None"}
        return Call(post.op, post.args, changed(post.attrs, **values), span=post.span)

    functions = {var: rewrite(func, choose) for var, func in mod.functions.items()}
    return IRModule._from_nodes(functions, mod.type_definitions, mod.attrs)
