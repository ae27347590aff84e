"""The pass infrastructure: `PassContext`, `Pass`, `Sequential`, `module_pass`.

Same names, order of callbacks and rules as `src/ir/transform.cc` of TVM. Passes work
on an `IRModule` and return one; contexts are a stack of the thread.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from .._ffi import get_global_func, register_object
from ..error import InternalError
from ..runtime.object import Object
from ._pass_config import CONFIG_OPTIONS, checked_config

__all__ = [
    "ModulePass",
    "Pass",
    "PassContext",
    "PassInfo",
    "PrintIR",
    "Sequential",
    "module_pass",
]


@register_object("transform.PassInfo")
class PassInfo(Object):
    """What is known of a pass: its name, the level that enables it and the names of
    the passes that `Sequential` runs before it."""

    def __init__(self, opt_level: int, name: str, required: Optional[Sequence[str]] = None) -> None:
        self.opt_level = opt_level
        self.name = name
        self.required = list(required or [])

    def __repr__(self) -> str:
        required = f"[{', '.join(self.required)}]"
        return (
            f"The meta data of the pass - pass name: {self.name}, "
            f"opt_level: {self.opt_level}, required passes: {required}\n"
        )

    __str__ = __repr__


class _Contexts(threading.local):
    """The stack of contexts of a thread; the first is the default one."""

    def __init__(self) -> None:
        self.stack = [PassContext()]


@register_object("transform.PassContext")
class PassContext(Object):
    """What passes run under: a level, required and disabled passes, instruments and
    options of single passes. A `with` statement makes it the current one.

    Raises `AttributeError` for an unknown option, or for one of another type.
    """

    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Optional[Sequence[str]] = None,
        disabled_pass: Optional[Sequence[str]] = None,
        instruments: Optional[Sequence[Any]] = None,
        config: Optional[Mapping[str, Any]] = None,
    ) -> None:
        self.opt_level = int(opt_level)
        self.required_pass = list(required_pass or [])
        self.disabled_pass = list(disabled_pass or [])
        self.instruments: List[Any] = list(instruments or [])
        self.config = checked_config(config or {})
        self.diag_ctx: Any = None

    def __enter__(self) -> "PassContext":
        self._enter_instruments()
        _contexts.stack.append(self)
        return self

    def __exit__(self, *error: Any) -> None:
        assert _contexts.stack.pop() is self, "contexts are left in the order of entering"
        self._exit_instruments()

    def override_instruments(self, instruments: Optional[Sequence[Any]]) -> None:
        """Leaves the instruments of the context, and enters these."""
        self._exit_instruments()
        self.instruments = list(instruments or [])
        self._enter_instruments()

    @staticmethod
    def current() -> "PassContext":
        """The innermost context of this thread, or the default one."""
        return _contexts.stack[-1]

    @staticmethod
    def list_configs() -> Dict[str, Dict[str, str]]:
        """Every option, with the key of its type."""
        return {name: {"type": kind} for name, kind in CONFIG_OPTIONS.items()}

    def pass_enabled(self, info: PassInfo) -> bool:
        """Whether `Sequential` runs a pass: by its name, else by its level."""
        if info.name in self.disabled_pass:
            return False
        return info.name in self.required_pass or self.opt_level >= info.opt_level

    def _enter_instruments(self) -> None:
        """After an error, those that were entered are left, and none stays."""
        entered: List[Any] = []
        try:
            for instrument in self.instruments:
                instrument.enter_pass_ctx()
                entered.append(instrument)
        except BaseException:
            self.instruments = []
            for instrument in reversed(entered):
                instrument.exit_pass_ctx()
            raise

    def _exit_instruments(self) -> None:
        try:
            for instrument in self.instruments:
                instrument.exit_pass_ctx()
        except BaseException:
            self.instruments = []
            raise

    def _before_pass(self, mod: Any, info: PassInfo) -> bool:
        run = True
        if info.name not in self.required_pass:
            for instrument in self.instruments:
                run &= bool(instrument.should_run(mod, info))
        if run:
            for instrument in self.instruments:
                instrument.run_before_pass(mod, info)
        return run

    def _after_pass(self, mod: Any, info: PassInfo) -> None:
        for instrument in self.instruments:
            instrument.run_after_pass(mod, info)

    def __repr__(self) -> str:
        return (
            "Pass context information: \n"
            f"\topt_level: {self.opt_level}\n"
            f"\trequired passes: {self.required_pass}\n"
            f"\tdisabled passes: {self.disabled_pass}\n"
            f"\tinstruments: {self.instruments}\n"
            f"\tconfig: {self.config}"
        )

    __str__ = __repr__


_contexts = _Contexts()


@register_object("transform.Pass")
class Pass(Object):
    """Base of all passes: `pass_(mod)` gives the module after the pass."""

    #: How `repr` names the kind of pass.
    _what = "Module"

    def __init__(self, info: PassInfo) -> None:
        self.pass_info = info

    @property
    def info(self) -> PassInfo:
        """Name, level and required passes."""
        return self.pass_info

    def __call__(self, mod: Any) -> Any:
        return self._under(mod, PassContext.current())

    def _under(self, mod: Any, ctx: PassContext) -> Any:
        """Runs the pass and the instruments of a context around it."""
        from .module import IRModule

        if not isinstance(mod, IRModule):
            how = "IRModule.from_expr makes one of an expression"
            raise TypeError(f"{self.info.name} works on an IRModule, not on {type(mod).__name__}: {how}")
        if not ctx._before_pass(mod, self.info):
            return mod
        if ctx.config.get("testing.immutable_module"):
            result = self._immutable(mod, ctx)
        else:
            result = self._run(mod, ctx)
        ctx._after_pass(result, self.info)
        return result

    def _immutable(self, mod: Any, ctx: PassContext) -> Any:
        from .base import structural_hash

        before = structural_hash(mod)
        result = self._run(mod, ctx)
        if structural_hash(mod) != before:
            raise InternalError(f"Immutable module has been modified in pass: {self.info.name}")
        return result

    def _run(self, mod: Any, ctx: PassContext) -> Any:
        raise NotImplementedError

    def __repr__(self) -> str:
        info = self.info
        return f"Run {self._what} pass: {info.name} at the optimization level {info.opt_level}"

    __str__ = __repr__


@register_object("transform.ModulePass")
class ModulePass(Pass):
    """A pass over a whole module; made by `module_pass`."""

    def __init__(self, pass_func: Callable[[Any, PassContext], Any], info: PassInfo) -> None:
        super().__init__(info)
        self.pass_func = pass_func

    def _run(self, mod: Any, ctx: PassContext) -> Any:
        result = self.pass_func(mod, ctx)
        if result is None:
            raise InternalError("The return value of a module pass must be set.")
        return result


@register_object("transform.Sequential")
class Sequential(Pass):
    """Runs the passes that the context enables in order, each after those it requires."""

    _what = "Sequential"

    def __init__(
        self,
        passes: Optional[Sequence[Pass]] = None,
        opt_level: int = 0,
        name: str = "sequential",
        required: Optional[Sequence[str]] = None,
    ) -> None:
        passes = passes or []
        if not isinstance(passes, (list, tuple)):
            raise TypeError("passes must be a list of Pass objects.")
        for step in passes:
            if not isinstance(step, Pass):
                name = getattr(step, "__name__", repr(step))
                raise TypeError(f"`{name}` is no pass, but may make one: write {name}()" if callable(step) else f"{name} is no pass")
        required = required or []
        if not isinstance(required, (list, tuple)):
            raise TypeError("Required is expected to be the type of list/tuple.")
        super().__init__(PassInfo(opt_level, name, required))
        self.passes = list(passes)

    def _run(self, mod: Any, ctx: PassContext) -> Any:
        for step in self.passes:
            if not ctx.pass_enabled(step.info):
                continue
            for name in step.info.required:
                mod = _pass_of_name(name)._under(mod, ctx)
            mod = step._under(mod, ctx)
        return mod

    def __repr__(self) -> str:
        names = "".join(f"{step.info.name} " for step in self.passes)
        return f"{super().__repr__()}. The passes will be executed are: [{names}]"

    __str__ = __repr__


def _pass_of_name(name: str) -> Pass:
    """A pass that another requires: a registered function, or one of `relay.transform`."""
    from ..relay import transform

    make: Any = get_global_func(name if "transform." in name else f"transform.{name}", True)
    make = make or get_global_func(f"relay._transform.{name}", True)
    make = make or getattr(transform, name, None)
    if make is None:
        raise InternalError(f"Cannot use {name} to create the pass")
    return make()  # type: ignore[no-any-return]


def wrap_class(
    pass_cls: type, base: type, method: str, make: Callable[[Any, Callable[..., Any]], None]
) -> type:
    """The pass class of a user's class: its instances run `method`, and have its attributes.

    `make` finishes a new instance with the function to run.
    """

    class PyPass(base):  # type: ignore[misc, valid-type]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            inner = pass_cls(*args, **kwargs)
            make(self, getattr(inner, method))
            self._inst = inner

        def __getattr__(self, name: str) -> Any:
            if name == "_inst":
                raise AttributeError(name)
            return getattr(self._inst, name)

    functools.update_wrapper(PyPass.__init__, pass_cls.__init__)  # type: ignore[misc]
    for attribute in ("__name__", "__qualname__", "__doc__", "__module__"):
        setattr(PyPass, attribute, getattr(pass_cls, attribute))
    return PyPass


def decorated(
    pass_func: Any,
    opt_level: Optional[int],
    name: Optional[str],
    required: Optional[Sequence[str]],
    base: type,
    method: str,
    kind: str,
) -> Any:
    """What `module_pass` and `function_pass` share: a decorator, or its result."""
    if opt_level is None:
        raise ValueError(f"Please provide opt_level for the {kind} pass.")
    required = required or []
    if not isinstance(required, (list, tuple)):
        raise TypeError("Required is expected to be the type of list/tuple.")

    def decorate(argument: Any) -> Any:
        info = PassInfo(opt_level, name or argument.__name__, required)
        if inspect.isclass(argument):
            finish = lambda self, run: base.__init__(self, run, info)  # type: ignore[misc]  # noqa: E731
            return wrap_class(argument, base, method, finish)
        if not callable(argument):
            raise TypeError("pass_func must be a callable for Module pass")
        return base(argument, info)

    return decorate(pass_func) if pass_func else decorate


def module_pass(
    pass_func: Any = None,
    opt_level: Optional[int] = None,
    name: Optional[str] = None,
    required: Optional[Sequence[str]] = None,
) -> Any:
    """Makes a pass of a function `(mod, ctx) -> mod`, or a pass class of a class with
    `transform_module(self, mod, ctx)`; a decorator when `pass_func` is missing.

    Its name is the function's unless given. Raises `ValueError` without `opt_level`.
    """
    return decorated(
        pass_func, opt_level, name, required, ModulePass, "transform_module", "module"
    )


def PrintIR(header: str = "", show_meta_data: bool = False) -> ModulePass:
    """A pass that writes the module to stderr and leaves it as it is."""

    def print_ir(mod: Any, ctx: PassContext) -> Any:
        print(f"PrintIR({header}):\n{mod.astext(show_meta_data)}", file=sys.stderr)
        return mod

    return ModulePass(print_ir, PassInfo(0, "PrintIR"))
