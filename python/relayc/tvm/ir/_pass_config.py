"""The options of `PassContext(config=…)` and the check of their types.

Options of TIR and of other targets are accepted, so that scripts with them run;
nothing here reads them.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping

__all__ = ["CONFIG_OPTIONS", "checked_config"]

_INTEGER = "IntImm"
_STRING = "runtime.String"
_ARRAY = "Array"

#: Option to the key of its type, as TVM's `PassContext.list_configs()` names them.
CONFIG_OPTIONS: Dict[str, str] = {
    **dict.fromkeys(
        (
            "ir.enable_si_builder",
            "relay.FuseOps.link_params",
            "relay.FuseOps.max_depth",
            "relay.ToMixedPrecision.keep_orig_output_dtype",
            "relay.backend.use_auto_scheduler",
            "relay.backend.use_meta_schedule",
            "relay.backend.use_meta_schedule_dispatch",
            "relay.collage.byoc_max_depth",
            "relay.collage.tvm_max_depth",
            "relay.fallback_device_type",
            "relay.frontend.fill_span",
            "relay.remove_standalone_reshapes.enable",
            "te.keep_schedule_record",
            "testing.immutable_module",
            "tir.debug_keep_trivial_loop",
            "tir.detect_global_barrier",
            "tir.disable_assert",
            "tir.disable_cse_tir",
            "tir.disable_storage_rewrite",
            "tir.disable_vectorize",
            "tir.enable_debug",
            "tir.enable_equiv_terms_in_cse_tir",
            "tir.experimental_dma_bypass_cache",
            "tir.instrument_bound_checkers",
            "tir.instrument_lwp",
            "tir.is_entry_func",
            "tir.lwp_disable_func_prof",
            "tir.lwp_max_depth",
            "tir.lwp_min_height",
            "tir.merge_static_smem",
            "tir.noalias",
            "tir.ptx_ldg32",
            "tir.reset_start_id",
            "tir.usmp.enable",
            "tir.usmp.use_workspace_io",
            "tir.use_async_copy",
            "tir.vtcm_capacity",
        ),
        _INTEGER,
    ),
    **dict.fromkeys(
        (
            "relay.backend.tir_converter",
            "relay.ext.vitis_ai.options.build_dir",
            "relay.ext.vitis_ai.options.export_runtime_module",
            "relay.ext.vitis_ai.options.load_runtime_module",
            "relay.ext.vitis_ai.options.target",
            "relay.ext.vitis_ai.options.work_dir",
            "tir.usmp.algorithm",
        ),
        _STRING,
    ),
    **dict.fromkeys(
        ("relay.collage.byoc_fusion_style", "tir.add_lower_pass", "tir.merge_async_commit_queue_scope"),
        _ARRAY,
    ),
    "relay.ext.cmsisnn.options": "relay.ext.attrs.CMSISNNCompilerConfigNode",
    "relay.ext.ethos-n.options": "ext.attrs.EthosnCompilerConfig",
    "relay.ext.ethos-u.options": "relay.ext.attrs.EthosUCompilerConfigNode",
    "relay.ext.verilator.options": "relay.ext.attrs.VerilatorOptionsNode",
    "relay.ext.vitis_ai.options": "ext.attrs.VitisAICompilerConfig",
    "tir.HoistExpression": "tir.transform.HoistExpressionConfig",
    "tir.HoistIfThenElse": "tir.transform.HoistIfThenElseConfig",
    "tir.InjectDoubleBuffer": "tir.transform.InjectDoubleBufferConfig",
    "tir.LoopPartition": "tir.transform.LoopPartitionConfig",
    "tir.ReduceBranchingThroughOvercompute": (
        "tir.transform.ReduceBranchingThroughOvercomputeConfig"
    ),
    "tir.RemoveNoOp": "tir.transform.RemoveNoOpConfig",
    "tir.Simplify": "tir.transform.SimplifyConfig",
    "tir.UnrollLoop": "tir.transform.UnrollLoopConfig",
    "tir.usmp.custom_algorithm": _STRING,
}


def checked_config(config: Mapping[str, Any]) -> Dict[str, Any]:
    """The options as Python values. Raises `AttributeError` for a wrong name or type."""
    checked = {}
    for name, value in config.items():
        if name not in CONFIG_OPTIONS:
            candidates = ", ".join(CONFIG_OPTIONS)
            raise AttributeError(f"Invalid config option '{name}' candidates are: {candidates}")
        if value is None:
            raise AttributeError(f"{name} is None")
        value = getattr(value, "value", value)
        expected, found = CONFIG_OPTIONS[name], _type_key(value)
        if found not in ("Map", expected):
            raise AttributeError(
                f"expect config {name} to have type {expected} but get {found}"
            )
        checked[name] = value
    return checked


def _type_key(value: Any) -> str:
    if isinstance(value, int):
        return _INTEGER
    if isinstance(value, float):
        return "FloatImm"
    if isinstance(value, str):
        return _STRING
    if isinstance(value, (list, tuple)):
        return _ARRAY
    if isinstance(value, Mapping):
        return "Map"
    return type(value).__name__
