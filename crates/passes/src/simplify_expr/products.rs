//! Rules on convolutions, pools and matrix products.

use super::{Cx, operand};
use crate::build::{args, sized, value_of};
use relayc_ir::{AttrValue, ExprId, Module};
use relayc_ops::OpDef;
use relayc_ops::declarations::{
    AVG_POOL1D, AVG_POOL2D, AVG_POOL3D, AvgPool2dAttrs, BATCH_MATMUL, BatchMatmulAttrs, CONV1D, CONV2D, CONV3D, Conv2dAttrs,
    DENSE, Layout, MATMUL, MatmulAttrs, PAD, PadAttrs, TRANSPOSE, TransposeAttrs,
};

const CONVS: [&OpDef; 3] = [&CONV1D, &CONV2D, &CONV3D];
const MEANS: [&OpDef; 3] = [&AVG_POOL1D, &AVG_POOL2D, &AVG_POOL3D];

/// `conv(pad(x, 0, p), W, padding=q) == conv(x, W, padding=p+q)`, because a convolution pads with 0. For a mean, `avg_pool(pad(x,
/// 0, p)) == avg_pool(x, padding=p, count_include_pad=True)`, because the added positions count as elements.
pub(crate) fn padded(cx: &Cx, module: &mut Module, expr: ExprId) -> Option<ExprId> {
    let mean = cx.passes.calls_any(module, expr, &MEANS);
    if !mean && !cx.passes.calls_any(module, expr, &CONVS) {
        return None;
    }
    let mut operands = args(module, expr);
    let pad = *operands.first()?;
    if !cx.passes.calls(module, pad, &PAD) {
        return None;
    }
    let [data, value] = args(module, pad).try_into().ok()?;
    let attrs_of_pad = PadAttrs::read(module.call_attrs(pad));
    let zero = value_of(module, value).is_some_and(|value| !value.any(|x| x != 0.0, |x| x != 0));
    if !zero || attrs_of_pad.pad_mode != "constant" {
        return None;
    }
    let (layout, own) = if mean {
        let pool = AvgPool2dAttrs::read(module.call_attrs(expr));
        if !pool.count_include_pad && pool.padding.iter().any(|&padding| padding != 0) {
            return None;
        }
        (pool.layout, pool.padding)
    } else {
        let conv = Conv2dAttrs::read(module.call_attrs(expr));
        (conv.data_layout, conv.padding)
    };
    let padding = AttrValue::ints(&added(&layout, &own, &attrs_of_pad.pad_width)?);
    operands[0] = data;
    let mut set = vec![("padding", padding)];
    if mean {
        set.push(("count_include_pad", AttrValue::Bool(true)));
    }
    cx.with_attrs(module, expr, &operands, &set)
}

/// The padding of a window with more before and after each axis; `None` where that is not along its axes, or takes away.
fn added(layout: &str, own: &[i64], more: &[Vec<i64>]) -> Option<Vec<i64>> {
    let layout = Layout::parse(layout).ok()?;
    let spatial: Vec<char> = ['D', 'H', 'W'].into_iter().filter(|&letter| layout.axis(letter).is_some()).collect();
    if spatial.iter().any(|&letter| layout.block(letter) != 1) {
        return None;
    }
    let axes: Vec<usize> = spatial.iter().filter_map(|&letter| layout.axis(letter)).collect();
    let elsewhere = more.iter().enumerate().any(|(axis, widths)| !axes.contains(&axis) && widths.iter().any(|&n| n != 0));
    if elsewhere || more.iter().flatten().any(|&width| width < 0) {
        return None;
    }
    let n = axes.len();
    // One value for all sides, one for each axis, or all before and then all after.
    let own = |side: usize, at: usize| match own.len() {
        1 => own[0],
        len if len == n => own[at],
        _ => own[side * n + at],
    };
    let side = |side: usize| axes.iter().enumerate().map(move |(at, &axis)| (side, at, axis));
    side(0).chain(side(1)).map(|(side, at, axis)| more.get(axis)?.get(side)?.checked_add(own(side, at))).collect()
}

/// Whether an expression swaps the last two axes of its operand, and only those; then the operand.
fn swapped(cx: &Cx, module: &Module, expr: ExprId) -> Option<ExprId> {
    if !cx.passes.calls(module, expr, &TRANSPOSE) {
        return None;
    }
    let rank = module.types.as_tensor(module.ty(expr))?.0.len();
    let mut swap: Vec<usize> = (0..rank).collect();
    swap.swap(rank.checked_sub(2)?, rank - 1);
    if TransposeAttrs::read(module.call_attrs(expr)).permutation(rank) == swap { operand(module, expr) } else { None }
}

/// `dense(x, W) == matmul(x, W, transpose_b)`. A transposition of an operand becomes the attribute; without any transposition,
/// the product becomes `dense` again.
pub(crate) fn transposed_operand(cx: &Cx, module: &mut Module, expr: ExprId) -> Option<ExprId> {
    let [a, b] = args(module, expr).try_into().ok()?;
    let batched = cx.passes.calls(module, expr, &BATCH_MATMUL);
    let (mut flags, dense) = if cx.passes.calls(module, expr, &DENSE) {
        ([false, true], true)
    } else if cx.passes.calls(module, expr, &MATMUL) {
        let attrs = MatmulAttrs::read(module.call_attrs(expr));
        ([attrs.transpose_a, attrs.transpose_b], false)
    } else if batched {
        let attrs = BatchMatmulAttrs::read(module.call_attrs(expr));
        ([attrs.transpose_a, attrs.transpose_b], false)
    } else {
        return None;
    };
    let mut operands = [a, b];
    let mut changed = false;
    for (at, operand) in operands.iter_mut().enumerate() {
        if let Some(data) = swapped(cx, module, *operand) {
            *operand = data;
            flags[at] = !flags[at];
            changed = true;
        }
    }
    let [transpose_a, transpose_b] = [("transpose_a", AttrValue::Bool(flags[0])), ("transpose_b", AttrValue::Bool(flags[1]))];
    if batched {
        let flags = [transpose_a, transpose_b];
        return if changed { cx.with_attrs(module, expr, &operands, &flags) } else { None };
    }
    let schema = if dense { DENSE.attrs? } else { MATMUL.attrs? };
    let value = |name: &str| Some(module.call_attrs(expr)[schema.position(name)?].clone());
    let (units, out_dtype) = (value("units")?, value("out_dtype")?);
    let common = [("units", units), ("out_dtype", out_dtype)];
    if flags == [false, true] {
        // The lengths of what is summed are compared when checking only by one of the two.
        let (a, b) = (sized(module, operands[0])?.last(), sized(module, operands[1])?.last());
        let fits = a.zip(b).is_some_and(|(a, b)| a.same(*b));
        return if (changed || !dense) && fits { cx.call(module, expr, &DENSE, &operands, &common) } else { None };
    }
    if !changed {
        return None;
    }
    let [units, out_dtype] = common;
    cx.call(module, expr, &MATMUL, &operands, &[units, out_dtype, transpose_a, transpose_b])
}
