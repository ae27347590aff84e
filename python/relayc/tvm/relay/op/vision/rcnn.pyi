"""Made by `python/tools/stubs.py`: edit the table of signatures, or the module."""

from relayc.tvm.relay.expr import Call, Expr
from relayc.tvm.relay.op._types import Ints, Numbers

__all__ = [
    "proposal",
    "roi_align",
    "roi_pool",
]

def proposal(
    cls_prob: Expr,
    bbox_pred: Expr,
    im_info: Expr,
    scales: Numbers,
    ratios: Numbers,
    feature_stride: int,
    threshold: float,
    rpn_pre_nms_top_n: int,
    rpn_post_nms_top_n: int,
    rpn_min_size: int,
    iou_loss: bool,
) -> Call: ...
def roi_align(
    data: Expr,
    rois: Expr,
    pooled_size: Ints,
    spatial_scale: float,
    sample_ratio: int = -1,
    layout: str = "NCHW",
    mode: str = "avg",
) -> Call: ...
def roi_pool(data: Expr, rois: Expr, pooled_size: Ints, spatial_scale: float, layout: str = "NCHW") -> Call: ...
