"""The exceptions of TVM, under their names; `relayc.RelayError` raised here is a `TVMError` as well."""

from __future__ import annotations

from .._errors import DiagnosticError
from ._ffi.base import TVMError, register_error


@register_error
class InternalError(TVMError):
    """A broken invariant of the toolchain."""


@register_error
class RPCError(TVMError):
    """An error of a remote session."""


@register_error
class RPCSessionTimeoutError(RPCError, TimeoutError):
    """A remote session that took too long."""


@register_error
class OpError(TVMError):
    """The base of the errors about one operator."""


@register_error
class OpNotImplemented(OpError, NotImplementedError):
    """An operator that an importer or a back end does not know."""


@register_error
class OpAttributeRequired(OpError, AttributeError):
    """An attribute that an operator of a foreign format must have and has not."""


@register_error
class OpAttributeInvalid(OpError, AttributeError):
    """An attribute of an operator with a value that it cannot have."""


@register_error
class OpAttributeUnImplemented(OpError, NotImplementedError):
    """An attribute of an operator with a value that is not supported."""


register_error(DiagnosticError)

for _builtin in (ValueError, TypeError, AttributeError, KeyError, IndexError):
    register_error(_builtin.__name__, _builtin)
