"""Made by `python/tools/stubs.py`: edit the table of signatures, or the module."""

from relayc.tvm.relay.expr import Expr, TupleWrapper
from typing import Any

__all__ = [
    "all_class_non_max_suppression",
    "get_valid_counts",
    "non_max_suppression",
    "regular_non_max_suppression",
]

def all_class_non_max_suppression(
    boxes: Expr,
    scores: Expr,
    max_output_boxes_per_class: Any = -1,
    iou_threshold: Any = -1.0,
    score_threshold: Any = -1.0,
    output_format: str = "onnx",
) -> TupleWrapper: ...
def get_valid_counts(data: Expr, score_threshold: Any, id_index: int = 0, score_index: int = 1) -> TupleWrapper: ...
def non_max_suppression(
    data: Expr,
    valid_count: Expr,
    indices: Expr,
    max_output_size: Any = -1,
    iou_threshold: Any = 0.5,
    force_suppress: bool = False,
    top_k: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = 0,
    return_indices: bool = True,
    invalid_to_bottom: bool = False,
) -> Any: ...
def regular_non_max_suppression(
    boxes: Expr,
    scores: Expr,
    max_detections_per_class: int,
    max_detections: int,
    num_classes: int,
    iou_threshold: float,
    score_threshold: float,
) -> TupleWrapper: ...
