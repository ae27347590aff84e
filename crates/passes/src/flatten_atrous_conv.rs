//! Writes a convolution between `nn.space_to_batch_nd` and `nn.batch_to_space_nd` as a dilated one: TVM's `FlattenAtrousConv`
//! (`src/relay/transforms/flatten_atrous_conv.cc`).
//!
//! Position `i` of a batch with the offset `o` is position `i * d + o` of the image, for blocks of `d`. So neighbours that the convolution
//! sees there are `d` apart in the image, which is what `dilation=d` says. With `b` zeros before the image and `c` results cut off, the
//! first result begins `c - b` behind the first element. The rewrite is sound because it checks that the padding of the new convolution
//! begins there too, that the result has its old shape, and that both pad with the same value. As TVM's, the new padding keeps the size
//! of the image.
//!
//! ```text
//! nn.batch_to_space_nd(nn.conv2d(nn.space_to_batch_nd(%x, …), %w), …)    →    nn.conv2d(%x, %w, padding=…, dilation=[2, 2])
//! ```

use super::build::{args, attr, changed_attrs, ints_attr, number, shape, sides, str_attr};
use super::rewrite::rewrite;
use super::{Pass, PassCx};
use relayc_ir::{AttrValue, ExprId, Module};
use relayc_ops::declarations::{BATCH_TO_SPACE_ND, CONV2D, QNN_CONV2D, SPACE_TO_BATCH_ND};

pub(crate) const PASS: Pass = Pass {
    name: "flatten-atrous-conv",
    doc: "Makes one dilated convolution of `nn.space_to_batch_nd`, a convolution and `nn.batch_to_space_nd`, in the layout NHWC.",
    run: |module, cx| Ok(run(module, cx)),
    ..Pass::BASE
};

fn run(module: &mut Module, cx: &PassCx) -> bool {
    rewrite(module, |module, expr| flatten(module, cx, expr))
}

fn flatten(module: &mut Module, cx: &PassCx, to_space: ExprId) -> Option<ExprId> {
    if !cx.calls(module, to_space, &BATCH_TO_SPACE_ND) {
        return None;
    }
    let conv = *args(module, to_space).first()?;
    if !cx.calls_any(module, conv, &[&CONV2D, &QNN_CONV2D]) || str_attr(cx, module, conv, "data_layout") != Some("NHWC") {
        return None;
    }
    let to_batch = *args(module, conv).first()?;
    if !cx.calls(module, to_batch, &SPACE_TO_BATCH_ND) {
        return None;
    }
    let data = *args(module, to_batch).first()?;
    let blocks: [i64; 2] = ints_attr(cx, module, to_space, "block_shape")?.try_into().ok()?;
    let plain = [("strides", [1, 1]), ("dilation", [1, 1])];
    let is_plain = plain.iter().all(|(name, ones)| ints_attr(cx, module, conv, name).is_some_and(|found| found == ones));
    let out_layout = str_attr(cx, module, conv, "out_layout").unwrap_or_default();
    if !is_plain
        || !["", "NHWC"].contains(&out_layout)
        || ints_attr(cx, module, to_batch, "block_shape")? != blocks
        || !pads_alike(cx, module, conv, to_batch)
    {
        return None;
    }
    let image = shape(module, data)?;
    let kernel = ints_attr(cx, module, conv, "kernel_size")?;
    let own = sides(&ints_attr(cx, module, conv, "padding")?)?;
    let (before, cut) = (firsts(cx, module, to_batch, "paddings")?, firsts(cx, module, to_space, "crops")?);
    let mut padding = [0; 4];
    for axis in 0..2 {
        let reach = (kernel.get(axis)? - 1).checked_mul(blocks[axis])?;
        if image.get(1 + axis)? <= &0 || before[axis] + own[axis] * blocks[axis] - cut[axis] != reach / 2 {
            return None;
        }
        (padding[axis], padding[2 + axis]) = (reach / 2, reach - reach / 2);
    }
    let changes = [("padding", AttrValue::ints(&padding)), ("dilation", AttrValue::ints(&blocks))];
    let attrs = changed_attrs(cx, module, conv, &changes);
    let mut operands = args(module, conv);
    operands[0] = data;
    let def = cx.called(module, conv)?;
    let same = cx.call_ty(module, def, &operands, &attrs)? == module.ty(to_space);
    same.then(|| cx.call(module, module.exprs[to_space].span, def, &operands, attrs))
}

/// Whether elements of the batches beyond the image are what the convolution pads with.
fn pads_alike(cx: &PassCx, module: &Module, conv: ExprId, to_batch: ExprId) -> bool {
    let Some(AttrValue::Float { value: with, .. }) = attr(cx, module, to_batch, "pad_value") else { return false };
    if !cx.calls(module, conv, &QNN_CONV2D) {
        return *with == 0.0;
    }
    args(module, conv).get(2).is_some_and(|&zero_point| number(module, zero_point) == Some(*with))
}

/// The first number of each pair of an attribute.
fn firsts(cx: &PassCx, module: &Module, call: ExprId, name: &str) -> Option<Vec<i64>> {
    let pairs = attr(cx, module, call, name)?.as_list()?;
    pairs.iter().map(|pair| pair.as_list()?.first()?.as_int()).collect::<Option<Vec<i64>>>().filter(|firsts| firsts.len() == 2)
}
