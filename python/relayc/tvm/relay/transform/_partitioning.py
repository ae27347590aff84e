"""The passes that divide a program among compilers, and those that need more devices than one."""

from __future__ import annotations

from typing import Any, Sequence, Union

from ...ir.transform import ModulePass, Pass, PassInfo, Sequential
from ..._refused import refuse
from ._engine import FunctionPass, function_native, module_native

__all__ = [
    "AnnotateTarget",
    "AnnotateUsedMemory",
    "CollagePartition",
    "InlineCompilerFunctionsBoundTo",
    "ManifestLifetimes",
    "MarkCompilerFunctionsAsExtern",
    "MergeCompilerRegions",
    "MergeComposite",
    "OutlineCompilerFunctionsWithExistingGlobalSymbols",
    "PartitionGraph",
    "PlanDevices",
]


def MergeComposite(pattern_table: Sequence[Any]) -> Pass:
    """Makes functions with the attribute `Composite` of what the patterns match.

    `pattern_table` has tuples of name, pattern and, if wanted, a predicate over the
    matched expression; earlier patterns come first.
    """
    from ._merge_composite import merge_composite

    return FunctionPass(merge_composite(pattern_table), PassInfo(0, "MergeComposite"))


def MergeCompilerRegions() -> Pass:
    """Joins regions that `AnnotateTarget` marked for the same compiler."""
    step = function_native("MergeCompilerRegions", 0, "merge-compiler-regions", [])
    return Sequential([step, module_native("InferType", 0, "infer-type")])


def PartitionGraph(mod_name: str = "default", bind_constants: bool = True) -> Pass:
    """Makes a global function of each region that is marked for a compiler.

    Names begin with `tvmgen_<mod_name>_`, or `tvmgen_` without a name; `bind_constants` moves constants into them.
    A registered global function `relay.ext.<compiler>.optimize` rewrites the module of each function made. Raises
    ValueError for a name with other characters than letters, digits and underscores.
    """
    from ..backend.utils import mangle_module_name
    from ._compiler_functions import partition

    mangle_module_name(mod_name)
    step = ModulePass(partition(mod_name or "", bind_constants), PassInfo(0, "PartitionGraph"))
    return Sequential([step, module_native("InferType", 0, "infer-type")])


def AnnotateTarget(targets: Union[str, Sequence[str]], include_non_call_ops: bool = True) -> Pass:
    """Marks the operators that one of these compilers takes: those whose attribute
    `target.<compiler>` says so, and calls of its composite functions."""
    from ._annotate_target import annotate_target

    names = [targets] if isinstance(targets, str) else [str(t) for t in targets]
    step = FunctionPass(
        annotate_target(names, include_non_call_ops), PassInfo(0, "AnnotateTargetFunc", ["InferType"])
    )
    return Sequential([step, module_native("InferType", 0, "infer-type")], name="AnnotateTarget")


def ManifestLifetimes() -> Pass:
    """Writes `memory.kill` behind the last use of each variable, for programs in A-normal form."""
    return function_native("ManifestLifetimes", 0, "manifest-lifetimes", [])


def AnnotateUsedMemory() -> Pass:
    """Writes how many bytes live at each call of a primitive function as `used_memory`."""
    required = ["ToANormalForm", "InferType"]
    return module_native("AnnotateUsedMemory", 0, "annotate-used-memory", required)


def OutlineCompilerFunctionsWithExistingGlobalSymbols(compiler_filter: str = "") -> Pass:
    """Makes global functions of called literals with the attribute `Compiler`."""
    from ._compiler_functions import outline

    return ModulePass(outline(compiler_filter), PassInfo(0, "OutlineCompilerFunctions"))


def MarkCompilerFunctionsAsExtern(compiler_filter: str = "") -> Pass:
    """Gives global functions with the attribute `Compiler` the sole attribute `Extern`."""
    from ._compiler_functions import mark_extern

    return ModulePass(mark_extern(compiler_filter), PassInfo(0, "MarkCompilerFunctionsAsExtern"))


def InlineCompilerFunctionsBoundTo(global_vars: Sequence[Any]) -> Pass:
    """Puts the bodies of these functions, and of composite ones in them, in their calls' place."""
    from ._compiler_functions import inline_bound_to

    return ModulePass(inline_bound_to(global_vars), PassInfo(0, "InlineCompilerFunctionsBoundTo"))


#: Every expression runs on the one CPU.
PlanDevices = refuse("relay.transform.PlanDevices")
CollagePartition = refuse("relay.transform.CollagePartition")
