"""What can be found out about a program: its variables, whether it is well formed, its operators."""

from __future__ import annotations

from . import analysis as _analysis
from . import call_graph, feature, sparse_conv2d, sparse_dense
from ._blocks import check_basic_block_normal_form
from ._counts import get_total_mac_number, list_fake_quantized_op_freqs, list_op_freqs
from ._extract import (
    extract_fused_functions,
    extract_intermdeiate_expr,
    get_calibration_data,
    search_fc_transpose,
)
from ._kinds import check_kind
from ._matches import unmatched_cases
from .analysis import *  # noqa: F403
from .annotated_regions import AnnotatedRegionSet
from .call_graph import CallGraph
from .count_layers import count_layers
from .feature import Feature, detect_feature

__all__ = [
    "AnnotatedRegionSet",
    "CallGraph",
    "Feature",
    "check_basic_block_normal_form",
    "check_kind",
    "count_layers",
    "detect_feature",
    "extract_fused_functions",
    "extract_intermdeiate_expr",
    "get_calibration_data",
    "get_total_mac_number",
    "list_fake_quantized_op_freqs",
    "list_op_freqs",
    "search_fc_transpose",
    "unmatched_cases",
    *_analysis.__all__,
]
