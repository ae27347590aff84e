"""Every pass under the name and the signature that TVM gives it.

Levels and required passes are those of `src/relay/transforms` of TVM. A pass that
`relayc passes` lists runs on the native side, except those whose form in TVM differs
(`_fold_constant`, `_fold_scale_axis`, `_fuse_ops`, `_simplify_expr`); these and the
others, among them all that call functions of Python, are in the modules beside this one.
"""

from __future__ import annotations

import warnings
from typing import Any, Callable, List, Mapping, Optional, Sequence

from ...ir.transform import ModulePass, Pass, PassContext, Sequential
from ..analysis._walk import post_order
from ..expr import Call, TupleGetItem
from . import _partitioning, _sparse
from ._engine import FunctionPass, NativePass, function_native, function_pass, module_native, on_expr
from ._partitioning import *  # noqa: F403
from ._sparse import *  # noqa: F403

__all__ = [
    "AlterOpLayout",
    "AnnotateSpans",
    "BackwardFoldScaleAxis",
    "BatchingOps",
    "CanonicalizeCast",
    "CanonicalizeOps",
    "CapturePostDfsIndexInSpans",
    "ChangeBatch",
    "CombineParallelBatchMatmul",
    "CombineParallelConv2D",
    "CombineParallelDense",
    "ConvertLayout",
    "DeadCodeElimination",
    "Defunctionalization",
    "DefuseOps",
    "DivToMul",
    "DynamicToStatic",
    "EliminateCommonSubexpr",
    "EtaExpand",
    "FakeQuantizationToInteger",
    "FastMath",
    "FirstOrderGradient",
    "FlattenAtrousConv",
    "FoldConstant",
    "FoldConstantExpr",
    "FoldExplicitPadding",
    "FoldScaleAxis",
    "ForwardFoldScaleAxis",
    "FunctionPass",
    "FuseOps",
    "InferType",
    "InferTypeLocal",
    "Inline",
    "LambdaLift",
    "LayoutConfig",
    "LazyGradientInit",
    "Legalize",
    "PartialEvaluate",
    "RemoveUnusedFunctions",
    "SimplifyExpr",
    "SimplifyInference",
    "SplitArgs",
    "ToANormalForm",
    "ToANormalFormExpr",
    "ToBasicBlockNormalForm",
    "ToCPS",
    "ToGraphNormalForm",
    "ToMixedPrecision",
    "build_config",
    "function_pass",
    "gradient",
    "to_cps",
    "un_cps",
    *_partitioning.__all__,
    *_sparse.__all__,
]


def build_config(
    opt_level: int = 2,
    required_pass: Optional[Sequence[str]] = None,
    disabled_pass: Optional[Sequence[str]] = None,
    trace: Any = None,
) -> PassContext:
    """A `PassContext`; the name that TVM had before 0.7."""
    warnings.warn(
        "relay.build_config will be deprecated. Please use tvm.transform.PassContext directly",
        DeprecationWarning,
        stacklevel=2,
    )
    return PassContext(opt_level, required_pass, disabled_pass, trace)


def InferType() -> Pass:
    """Infers the type of every expression. Raises `DiagnosticError` for a wrong program."""
    return module_native("InferType", 0, "infer-type")


def InferTypeLocal(expr: Any) -> Any:
    """The type of one expression, left in its `checked_type` too."""
    from ._local import infer_type_local

    return infer_type_local(expr)


def FoldScaleAxis() -> Pass:
    """Moves multiplications of channels into weights, backward then forward, and folds constants."""
    steps = [BackwardFoldScaleAxis(), ForwardFoldScaleAxis(), FoldConstant()]
    return Sequential(steps, name="FoldScaleAxis")


def BackwardFoldScaleAxis() -> Pass:
    """Moves multiplications behind convolutions and dense layers into their weights."""
    from ._fold_scale_axis import backward_fold_scale_axis

    info = _info("BackwardFoldScaleAxis", 3, ["InferType"])
    return FunctionPass(lambda func, mod, ctx: backward_fold_scale_axis(_typed(func, mod)), info)


def ForwardFoldScaleAxis() -> Pass:
    """Moves multiplications before convolutions and dense layers into their weights."""
    from ._fold_scale_axis import forward_fold_scale_axis

    info = _info("ForwardFoldScaleAxis", 3, ["InferType"])
    return FunctionPass(lambda func, mod, ctx: forward_fold_scale_axis(_typed(func, mod)), info)


def RemoveUnusedFunctions(entry_functions: Optional[Sequence[str]] = None) -> Pass:
    """Removes the functions that none of the entry functions (`main`) calls."""
    names = ["main"] if entry_functions is None else [str(name) for name in entry_functions]

    def options(ctx: PassContext, mod: Any) -> Mapping[str, Any]:
        return {"entries": [name for name in names if name in mod]}

    return NativePass.of(ModulePass, "RemoveUnusedFunctions", 1, [], "remove-unused-functions", options)


def SimplifyInference() -> Pass:
    """Writes normalisations as arithmetic, and dropout as its operand."""
    return function_native("SimplifyInference", 0, "simplify-inference")


def FastMath() -> Pass:
    """Replaces exp, erf, tanh and softmax by faster approximations."""
    return function_native("FastMath", 4, "fast-math")


def CanonicalizeOps() -> Pass:
    """Writes `nn.bias_add` as `expand_dims` and `add`."""
    return function_native("CanonicalizeOps", 3, "canonicalize-ops")


def DeadCodeElimination(inline_once: bool = False, ignore_impurity: bool = False) -> Pass:
    """Removes bindings that nothing uses.

    `inline_once` writes a binding that is used once in its place; `ignore_impurity`
    removes unused bindings of values with effects too.
    """
    return module_native(
        "DeadCodeElimination",
        1,
        "dead-code",
        ["InferType"],
        inline_once=inline_once,
        ignore_impurity=ignore_impurity,
    )


def LazyGradientInit() -> Pass:
    """Delays or avoids gradients that are zeros or ones."""
    from ._lazy_gradient import lazy_gradient_init

    return FunctionPass(lazy_gradient_init, _info("LazyGradientInit", 2))


def FoldConstantExpr(expr: Any, mod: Any, fold_qnn: bool = False) -> Any:
    """`FoldConstant` of one expression, whose global functions are in `mod`."""
    return on_expr(FoldConstant(fold_qnn), expr, mod)


def FoldConstant(fold_qnn: bool = False) -> Pass:
    """Computes what depends on constants only; operators of `qnn` with `fold_qnn`."""
    from ._fold_constant import fold_constant

    return FunctionPass(lambda func, mod, ctx: fold_constant(func, mod, fold_qnn), _info("FoldConstant", 2))


def FuseOps(fuse_opt_level: int = -1) -> Pass:
    """Makes one `Primitive` function of operators that one kernel computes.

    The level is the context's if negative. Reads `relay.FuseOps.max_depth` and
    `relay.FuseOps.link_params` of the context.
    """

    from ._fuse_ops import MAX_DEPTH, fuse_ops

    def run(func: Any, mod: Any, ctx: PassContext) -> Any:
        level = ctx.opt_level if fuse_opt_level < 0 else fuse_opt_level
        max_depth = ctx.config.get("relay.FuseOps.max_depth", MAX_DEPTH)
        func = _typed(func, mod)
        return fuse_ops(func, level, int(max_depth), bool(ctx.config.get("relay.FuseOps.link_params", False)))

    return FunctionPass(run, _info("FuseOps", 0, ["InferType"]))


def DefuseOps() -> Pass:
    """Writes the operators of `Primitive` functions in the place of their calls."""
    return function_native("DefuseOps", 3, "defuse-ops")


def CombineParallelConv2D(min_num_branches: int = 3) -> Pass:
    """Makes one convolution of those with the same input, of this many at least."""
    return function_native(
        "CombineParallelConv2d", 4, "combine-parallel-conv2d", min_branches=min_num_branches
    )


def CombineParallelDense(min_num_branches: int = 3, to_batch: bool = True) -> Pass:
    """Makes one `nn.batch_matmul`, or one `nn.dense`, of dense layers with the same input."""
    return function_native(
        "CombineParallelDense",
        4,
        "combine-parallel-dense",
        min_branches=min_num_branches,
        to_batch=to_batch,
    )


def CombineParallelBatchMatmul(min_num_branches: int = 3) -> Pass:
    """Makes one `nn.batch_matmul` of those with the same first operand."""
    return function_native(
        "CombineParallelBatchMatmul",
        4,
        "combine-parallel-batch-matmul",
        min_branches=min_num_branches,
    )


def BatchingOps() -> Pass:
    """Combines parallel convolutions, dense layers and batched products."""
    return Sequential(
        [CombineParallelConv2D(), CombineParallelDense(), CombineParallelBatchMatmul()]
    )


def AlterOpLayout() -> Pass:
    """Replaces operators by what their attribute `FTVMAlterOpLayout` returns, and converts
    layouts between them."""
    from ._layouts import alter_op_layout

    return FunctionPass(alter_op_layout, _info("AlterOpLayout", 3, ["InferType"]))


class LayoutConfig:
    """A `with` scope that excludes convolutions, by their number, from `ConvertLayout`."""

    current: Optional["LayoutConfig"] = None

    def __init__(self, skip_layers: Optional[Sequence[int]] = None) -> None:
        self.reset()
        self.skip_layers = list(skip_layers or [])

    def check_skip(self) -> bool:
        """Whether the next convolution is excluded."""
        skip = self.skip_counter in self.skip_layers
        self.skip_counter += 1
        return skip

    def reset(self) -> None:
        """Begins to count anew, and excludes none."""
        self.skip_counter = 0
        self.skip_layers: List[int] = []

    def __enter__(self) -> "LayoutConfig":
        self._outer = LayoutConfig.current
        LayoutConfig.current = self
        return self

    def __exit__(self, *error: Any) -> None:
        LayoutConfig.current = self._outer


def ConvertLayout(desired_layouts: Mapping[str, Sequence[str]]) -> Pass:
    """Has operators work on these layouts, and converts as rarely as possible.

    `desired_layouts` maps an operator to the layouts of its data and of its weights;
    `"default"` is the layout that the operator takes for granted.
    """

    from ._layouts import convert_layout

    required = ["InferType", "CanonicalizeOps"]
    return FunctionPass(convert_layout(desired_layouts), _info("ConvertLayout", 3, required))


def Legalize(legalize_map_attr_name: str = "FTVMLegalize") -> Pass:
    """Replaces operators by what their attribute of this name returns."""
    from ._rewrites import legalize

    return FunctionPass(
        lambda func, mod, ctx: legalize(func, legalize_map_attr_name),
        _info("Legalize", 1, ["InferType"]),
    )


def ToANormalForm() -> Pass:
    """Binds every value that is computed to a variable."""
    return module_native("ToANormalForm", 1, "to-a-normal-form")


def ToANormalFormExpr(e: Any) -> Any:
    """`ToANormalForm` of one expression."""
    return on_expr(ToANormalForm(), e)


def ToBasicBlockNormalForm() -> Pass:
    """Binds the values that more than one block of the scopes uses."""
    return module_native("ToBasicBlockNormalForm", 1, "to-basic-block-normal-form")


def ToCPS(expr: Any, mod: Any = None) -> Any:
    """A function in continuation passing style; as `to_cps`."""
    return to_cps(expr, mod)


def EtaExpand(expand_constructor: bool = False, expand_global_var: bool = False) -> Pass:
    """Writes constructors, or global functions, that are values as function literals."""
    return module_native(
        "EtaExpand",
        1,
        "eta-expand",
        constructors=expand_constructor,
        globals=expand_global_var,
    )


def ToGraphNormalForm() -> Pass:
    """Writes bindings of values without effects as shared expressions."""
    return function_native("ToGraphNormalForm", 1, "to-graph-normal-form", [])


def EliminateCommonSubexpr(fskip: Optional[Callable[[Any], bool]] = None) -> Pass:
    """Computes once what is computed twice; `fskip(expr)` keeps a call or an element of a tuple as it is."""

    def options(ctx: PassContext, mod: Any) -> Mapping[str, Any]:
        if fskip is None:
            return {}
        nodes = [node for func in mod.functions.values() for node in post_order(func)]
        return {"skip": [n for n in nodes if isinstance(n, (Call, TupleGetItem)) and fskip(n)]}

    name = "eliminate-common-subexpr"
    return NativePass.of(FunctionPass, "EliminateCommonSubexpr", 3, ["InferType"], name, options)


def PartialEvaluate() -> Pass:
    """Evaluates what does not depend on the inputs, control flow and calls included."""
    return module_native("PartialEval", 1, "partial-evaluate")


def CanonicalizeCast() -> Pass:
    """Gives each user of a cast its own, so that it fuses into every one."""
    return function_native("CanonicalizeCast", 3, "canonicalize-cast")


def LambdaLift() -> Pass:
    """Makes global functions of function literals."""
    return module_native("LambdaLift", 1, "lambda-lift")


def DynamicToStatic() -> Pass:
    """Writes operators of `dyn` whose operands are constants with attributes."""
    return function_native("DynamicToStatic", 2, "dynamic-to-static", [])


def Inline() -> Pass:
    """Puts the bodies of global functions marked `Inline=1` in the place of their calls."""
    return module_native("InlineGlobals", 1, "inline-globals")


def gradient(expr: Any, mod: Any = None, mode: str = "higher_order") -> Any:
    """The function that computes a function's result with the gradients of its inputs.

    `mode` is `"higher_order"` (any code, by way of closures and references) or
    `"first_order"` (dataflow alone). Raises `Exception` for another mode.
    """
    from ...ir.module import IRModule

    if mode == "first_order":
        warnings.warn(
            "using transform.gradient for first-order AD is deprecated, please use the "
            "FirstOrderGradient module pass",
            DeprecationWarning,
            stacklevel=2,
        )
        if mod is not None:
            raise RuntimeError(
                "to run first-order AD on a module, please use the FirstOrderGradient module pass."
            )
        return FirstOrderGradient()(IRModule.from_expr(expr))["main"]
    if mode != "higher_order":
        raise Exception("unknown mode")
    return _on_function(module_native("Gradient", 0, "gradient"), expr, mod)


def FirstOrderGradient() -> Pass:
    """Has each function return its result and the gradients of its inputs; dataflow alone."""
    return module_native("FirstOrderGradient", 0, "first-order-gradient")


def Defunctionalization(func: Any, mod: Any) -> Any:
    """A function of `mod` without function values; adds what it needs to the module."""
    for var, own in mod.functions.items():
        if own is func:
            func = var
    return _on_function(module_native("Defunctionalization", 0, "defunctionalization"), func, mod)


def to_cps(func: Any, mod: Any = None) -> Any:
    """A function in continuation passing style, its continuation the last parameter."""
    return _on_function(module_native("ToCPS", 1, "to-cps"), func, mod)


def un_cps(func: Any) -> Any:
    """A function of `to_cps` without its continuation."""
    from ._cps import un_cps as run

    return run(func)


def _on_function(step: Any, func: Any, mod: Any) -> Any:
    """A native pass over one function of a module, whose name it gets as `function`.

    The functions and types that the pass adds are added to `mod`.
    """
    from ...ir.module import IRModule
    from ..expr import GlobalVar

    module = IRModule() if mod is None else mod._copy()
    if isinstance(func, GlobalVar):
        name = func.name_hint
    else:
        name = "__function"
        module[GlobalVar(name)] = func
    step.options = {"function": name}
    result = step(module)
    if mod is not None:
        functions = {v: f for v, f in result.functions.items() if v.name_hint not in module}
        known = {var.name_hint for var in module.type_definitions.keys()}
        types = {v: t for v, t in result.type_definitions.items() if v.name_hint not in known}
        mod.update(IRModule._from_nodes(functions, types, None))
    return result[name]


def SimplifyExpr() -> Pass:
    """Shortens chains of reshapes, transpositions, casts and arithmetic."""
    from ._simplify_expr import simplify_expr

    return FunctionPass(simplify_expr, _info("SimplifyExpr", 0, ["InferType"]))


def FoldExplicitPadding() -> Pass:
    """Moves `nn.pad` into the convolution or pooling behind it."""
    return function_native(" FoldExplicitPadding", 0, "fold-explicit-padding")


def AnnotateSpans() -> Pass:
    """Gives every node the place that it has in the printed text."""
    from ._local import annotate_spans

    return ModulePass(annotate_spans, _info("AnnotateSpans", 0))


def FakeQuantizationToInteger(
    hard_fail: bool = False,
    use_qat: bool = False,
    optional_qnn_ops: Optional[Sequence[str]] = None,
) -> Pass:
    """Computes on integers what stands between `qnn.dequantize` and `qnn.quantize`.

    `hard_fail` raises where it cannot; `use_qat` converts single operators too;
    `optional_qnn_ops` names operators that are converted only on request.
    """
    names = [str(name) for name in optional_qnn_ops or ()]

    def options(ctx: PassContext, mod: Any) -> Mapping[str, Any]:
        from ._fake_quantization import ruled_in_python

        return {
            "hard_fail": hard_fail,
            "use_qat": use_qat,
            "optional_qnn_ops": names,
            "excluded": ruled_in_python(mod),
        }

    required = ["InferType", "DivToMul"]
    native = "fake-quantization-to-integer"
    return NativePass.of(FunctionPass, "FakeQuantizationToInteger", 0, required, native, options)


def FlattenAtrousConv() -> Pass:
    """Writes space_to_batch_nd, conv2d, batch_to_space_nd as one dilated convolution."""
    return function_native("FlattenAtrousConv", 0, "flatten-atrous-conv")


def ToMixedPrecision(mixed_precision_type: str = "float16", missing_op_mode: int = 1) -> Pass:
    """Computes in a narrow float where the operators allow it.

    An operator without a rule is computed as it is; with `missing_op_mode` 0 it is an error. 1, which warns in TVM,
    is as 2 here.
    Reads `relay.ToMixedPrecision.keep_orig_output_dtype` of the context.
    """
    if not 0 <= missing_op_mode <= 2:
        raise ValueError("Missing op mode is either 0, 1, or 2")

    def options(ctx: PassContext, mod: Any) -> Mapping[str, Any]:
        from ._mixed_precision import listed

        return {
            "dtype": mixed_precision_type,
            "keep_output": ctx.config.get("relay.ToMixedPrecision.keep_orig_output_dtype"),
            "refuse_unlisted": missing_op_mode == 0,
            **listed(mod, mixed_precision_type),
        }

    return NativePass.of(FunctionPass, "ToMixedPrecision", 0, [], "to-mixed-precision", options)


def SplitArgs(max_function_args: int) -> Pass:
    """Splits `concatenate` of more than this many operands; 0 splits none."""
    return function_native("SplitArgs", 1, "split-args", max=max_function_args)


def CapturePostDfsIndexInSpans() -> Pass:
    """Writes each node's number in post order, and its dominator's, into its span."""
    from ._local import capture_post_dfs_index

    return FunctionPass(capture_post_dfs_index, _info("CapturePostDfsIndexInSpans", 0))


def DivToMul() -> Pass:
    """Writes division by a constant as multiplication."""
    return function_native("DivToMul", 0, "div-to-mul", ["InferType", "FoldConstant"])


def _typed(func: Any, mod: Any) -> Any:
    """A function of a module with types, which a pass that is called on its own may find without."""
    if func._checked_type_ is not None:
        return func
    var = next(var for var, own in mod.functions.items() if own is func)
    return InferType()(mod)[var]


def _info(name: str, level: int, required: Sequence[str] = ()) -> Any:
    from ...ir.transform import PassInfo

    return PassInfo(level, name, required)


@function_pass(opt_level=1)
class ChangeBatch:
    """Changes the size of the batch: `data` maps parameters to their batch's dimension."""

    def __init__(self, data: Mapping[Any, int], batch_size: int = 16) -> None:
        self.data = data
        self.batch_size = batch_size

    def transform_function(self, func: Any, mod: Any, ctx: PassContext) -> Any:
        """The function with the new size, without types."""
        from ._rewrites import change_batch

        return change_batch(func, self.data, self.batch_size)
