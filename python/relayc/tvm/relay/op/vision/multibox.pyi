"""Made by `python/tools/stubs.py`: edit the table of signatures, or the module."""

from relayc.tvm.relay.expr import Call, Expr, TupleWrapper
from relayc.tvm.relay.op._types import Numbers

__all__ = [
    "multibox_prior",
    "multibox_transform_loc",
]

def multibox_prior(
    data: Expr,
    sizes: Numbers = (1.0,),
    ratios: Numbers = (1.0,),
    steps: Numbers = (-1.0, -1.0),
    offsets: Numbers = (0.5, 0.5),
    clip: bool = False,
) -> Call: ...
def multibox_transform_loc(
    cls_prob: Expr,
    loc_pred: Expr,
    anchor: Expr,
    clip: bool = True,
    threshold: float = 0.01,
    variances: Numbers = (0.1, 0.1, 0.2, 0.2),
    keep_background: bool = False,
) -> TupleWrapper: ...
