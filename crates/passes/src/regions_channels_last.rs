//! Takes regions of interest out of images whose channels lie one after the other, so that a point has its weights once for all channels
//! and is read in whole vectors.
//!
//! Images as they were, channel by channel, are read element by element, far from each other. Transposing them and the result is work
//! on all elements once, where each element of a region's bins is made of sixteen or more.
//!
//! ```text
//! vision.roi_align(%x, %rows, pooled_size=[7, 7])
//!     →    transpose(vision.roi_align(transpose(%x, axes=[0, 2, 3, 1]), %rows, pooled_size=[7, 7], layout="NHWC"), axes=[0, 3, 1, 2])
//! ```

use super::build::{args, changed_attrs, dims, str_attr};
use super::rewrite::rewrite;
use super::{Pass, PassCx};
use relayc_ir::{AttrValue, ExprId, Module};
use relayc_ops::declarations::{ROI_ALIGN, ROI_POOL};

pub(crate) const PASS: Pass = Pass {
    name: "regions-channels-last",
    doc: "Takes regions out of images whose channels lie one after the other.",
    level: 2,
    run: |module, cx| Ok(rewrite(module, |module, expr| channels_last(module, cx, expr))),
    ..Pass::BASE
};

/// Fewer channels are read as fast where they are.
const LEAST_CHANNELS: i64 = 8;

fn channels_last(module: &mut Module, cx: &PassCx, expr: ExprId) -> Option<ExprId> {
    let def = cx.called(module, expr).filter(|_| cx.calls_any(module, expr, &[&ROI_ALIGN, &ROI_POOL]))?;
    let [images, rows] = args(module, expr)[..] else { return None };
    (str_attr(cx, module, expr, "layout") == Some("NCHW")).then_some(())?;
    (dims(module, images)?.get(1)?.value()? >= LEAST_CHANNELS).then_some(())?;
    let span = module.exprs[expr].span;
    let attrs = changed_attrs(cx, module, expr, &[("layout", AttrValue::str("NHWC"))]);
    let images = cx.transposed(module, span, images, &[0, 2, 3, 1])?;
    let regions = cx.typed_call(module, span, def, &[images, rows], attrs)?;
    cx.transposed(module, span, regions, &[0, 3, 1, 2])
}
