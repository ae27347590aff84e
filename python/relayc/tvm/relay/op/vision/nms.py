"""Non-maximum suppression (`python/tvm/relay/op/vision/nms.py`)."""

from __future__ import annotations

from typing import Any

from ...expr import Expr, TupleWrapper
from .._call import call, results
from .._constants import constant
from .._documentation import documented
from .._factory import define

__all__ = [
    *define("op.vision.nms", globals()),
    "all_class_non_max_suppression",
    "get_valid_counts",
    "non_max_suppression",
]


@documented("vision.get_valid_counts")
def get_valid_counts(data: Expr, score_threshold: Any, id_index: int = 0, score_index: int = 1) -> TupleWrapper:
    """The boxes with a score above a threshold, moved to the front.

    Parameters
    ----------
    data : Expr
        The boxes, 3-D.
    score_threshold : float or Expr
        The threshold.
    id_index : int
        Where a box has its class; below 0 for nowhere.
    score_index : int
        Where a box has its score.

    Returns
    -------
    result : TupleWrapper
        How many they are in each batch, the boxes, and where each was.
    """
    operands = (data, constant(score_threshold, "float32"))
    return results(call("vision.get_valid_counts", operands, id_index=id_index, score_index=score_index), 3)


@documented("vision.non_max_suppression")
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
) -> Any:
    """The boxes that overlap no better one too much.

    Parameters
    ----------
    data, valid_count, indices : Expr
        The boxes, how many count in each batch, and where each was: results of `get_valid_counts`.
    max_output_size : int or Expr
        How many are kept; all if -1.
    iou_threshold : float or Expr
        How much they may overlap: intersection over union.

    The other parameters are attributes of the operator.

    Returns
    -------
    result : TupleWrapper or Call
        Where the boxes kept were, and how many they are, with `return_indices`; else the boxes.
    """
    operands = (data, valid_count, indices, constant(max_output_size, "int32"), constant(iou_threshold, "float32"))
    found = call(
        "vision.non_max_suppression",
        operands,
        force_suppress=force_suppress,
        top_k=top_k,
        coord_start=coord_start,
        score_index=score_index,
        id_index=id_index,
        return_indices=return_indices,
        invalid_to_bottom=invalid_to_bottom,
    )
    return results(found, 2) if return_indices else found


@documented("vision.all_class_non_max_suppression")
def all_class_non_max_suppression(
    boxes: Expr,
    scores: Expr,
    max_output_boxes_per_class: Any = -1,
    iou_threshold: Any = -1.0,
    score_threshold: Any = -1.0,
    output_format: str = "onnx",
) -> TupleWrapper:
    """The boxes of each class that overlap no better one too much.

    Parameters
    ----------
    boxes, scores : Expr
        The boxes, and their scores for each class.
    max_output_boxes_per_class : int or Expr
        How many are kept for each class; all if -1.
    iou_threshold : float or Expr
        How much they may overlap: intersection over union.
    score_threshold : float or Expr
        The least score of a box.
    output_format : str
        `"onnx"` or `"tensorflow"`.

    Returns
    -------
    result : TupleWrapper
        Batch, class and box of those kept, and how many they are; for `"tensorflow"` the scores between these.
    """
    operands = (
        boxes,
        scores,
        constant(max_output_boxes_per_class, "int32"),
        constant(iou_threshold, "float32"),
        constant(score_threshold, "float32"),
    )
    found = call("vision.all_class_non_max_suppression", operands, output_format=output_format)
    return results(found, 2 if output_format == "onnx" else 3)
