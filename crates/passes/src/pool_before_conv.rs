//! Moves an average pool before a 1x1 convolution: fewer positions are left to convolve.
//!
//! The rewrite is sound because both operators are linear, one along the positions, the other along the channels:
//! `avg_pool(conv(x, W)) == conv(avg_pool(x), W)` for a window of one position without strides and padding. The order of the sum
//! changes, so a result differs in its last bits. The convolution must have no other use. No bias or activation may stand between
//! the two. Integers stay, because their means are rounded.
//!
//! ```text
//! nn.avg_pool2d(nn.conv2d(%x, W, 1x1), pool_size=[2, 2], strides=[2, 2])
//!     →    nn.conv2d(nn.avg_pool2d(%x, pool_size=[2, 2], strides=[2, 2]), W, 1x1)
//! ```

use super::build::{args, dtype, shape};
use super::rewrite::rewrite;
use super::users::Users;
use super::{Pass, PassCx};
use relayc_ir::{AttrValue, ExprId, Module};
use relayc_ops::OpDef;
use relayc_ops::declarations::{
    AVG_POOL1D, AVG_POOL2D, AVG_POOL3D, CONV1D, CONV2D, CONV3D, Conv2dAttrs, GLOBAL_AVG_POOL2D, Layout,
};

pub(crate) const PASS: Pass = Pass {
    name: "pool-before-conv",
    doc: "Takes the mean over windows before a 1x1 convolution rather than behind it. Sums are in another order.",
    level: 3,
    run: |module, cx| Ok(run(module, cx)),
    ..Pass::BASE
};

/// Each convolution with the pools along the same axes.
const PAIRS: [(&OpDef, &[&OpDef]); 3] =
    [(&CONV1D, &[&AVG_POOL1D]), (&CONV2D, &[&AVG_POOL2D, &GLOBAL_AVG_POOL2D]), (&CONV3D, &[&AVG_POOL3D])];

fn run(module: &mut Module, cx: &PassCx) -> bool {
    let (users, _) = Users::of(module);
    rewrite(module, |module, expr| swap(module, cx, &users, expr))
}

fn swap(module: &mut Module, cx: &PassCx, users: &Users, pool: ExprId) -> Option<ExprId> {
    let conv = *args(module, pool).first()?;
    if !PAIRS.iter().any(|(of, pools)| cx.calls(module, conv, of) && cx.calls_any(module, pool, pools)) || !users.only(conv, pool)
    {
        return None;
    }
    let operands: [ExprId; 2] = args(module, conv).try_into().ok()?;
    let one_dtype = dtype(module, operands[0]) == dtype(module, conv) && dtype(module, conv)?.is_float();
    let attrs_of_conv = Conv2dAttrs::read(module.call_attrs(conv));
    if !one_dtype || !is_point(module, &attrs_of_conv, operands[1]) || !shrinks(module, conv, pool)? {
        return None;
    }
    let def = cx.called(module, pool)?;
    let schema = def.attrs?;
    let mut values = module.call_attrs(pool).to_vec();
    let conv_out = if attrs_of_conv.out_layout.is_empty() { &attrs_of_conv.data_layout } else { &attrs_of_conv.out_layout };
    let layout = schema.position("layout")?;
    // The pool has the layout of what the convolution gives; before it, that of what it takes.
    if values[layout] != AttrValue::str(conv_out) {
        return None;
    }
    values[layout] = AttrValue::str(&attrs_of_conv.data_layout);
    values[schema.position("out_layout")?] = AttrValue::str("");
    cx.call_ty(module, def, &operands[..1], &values)?;
    let (pool_span, conv_span) = (module.exprs[pool].span, module.exprs[conv].span);
    let pooled = cx.call(module, pool_span, def, &operands[..1], values);
    let values = module.call_attrs(conv).to_vec();
    Some(cx.call(module, conv_span, cx.called(module, conv)?, &[pooled, operands[1]], values))
}

/// Whether every window is one position, and every position has one.
fn is_point(module: &Module, attrs: &Conv2dAttrs, weight: ExprId) -> bool {
    let sizes = || {
        let (layout, shape) = (Layout::parse(&attrs.kernel_layout).ok()?, shape(module, weight)?);
        let axes = ['D', 'H', 'W'].into_iter().flat_map(|letter| layout.axes_of(letter));
        Some(axes.into_iter().all(|axis| shape.get(axis) == Some(&1)))
    };
    attrs.strides.iter().all(|&stride| stride == 1) && attrs.padding.iter().all(|&padding| padding == 0) && sizes() == Some(true)
}

/// Whether the pool leaves at most half of the positions.
fn shrinks(module: &Module, conv: ExprId, pool: ExprId) -> Option<bool> {
    let elements = |expr: ExprId| Some(shape(module, expr)?.iter().map(|&dim| i128::from(dim)).product::<i128>());
    Some(elements(pool)?.checked_mul(2)? <= elements(conv)?)
}
