//! Drops the rows and columns of a convolution's weight that only ever meet padding.
//!
//! The windows of a dilated convolution may be wider than its data, as on the small maps at the end of a segmentation network:
//! with a dilation of 24 over 14 positions, only the middle of three taps is ever inside. A 3x3 window then is a 1x1 window.
//!
//! The rewrite is sound because padding is zero and the products with it are zeros, which a sum of floats that starts at zero
//! does not show: the weight is a constant without NaN and infinities.
//!
//! Does not rewrite weights that are not constant, and windows whose other taps begin inside the data.
//!
//! ```text
//! nn.conv2d(%x, W, padding=[24, 24, 24, 24], dilation=[24, 24], kernel_size=[3, 3])    →    nn.conv2d(%x, W[:, :, 1:2, 1:2])
//! ```

use super::build::{args, dims, sides, value_of};
use super::rewrite::rewrite;
use super::{Pass, PassCx};
use relayc_ir::{AttrValue, ExprId, Module};
use relayc_ops::declarations::{CONV2D, Conv2dAttrs, STRIDED_SLICE};
use std::ops::RangeInclusive;

pub(crate) const PASS: Pass = Pass {
    name: "crop-windows",
    doc: "Drops the taps of 2D convolutions that only ever meet padding, as dilated windows on small maps have them.",
    level: 2,
    run: |module, cx| Ok(run(module, cx)),
    ..Pass::BASE
};

fn run(module: &mut Module, cx: &PassCx) -> bool {
    rewrite(module, |module, expr| cropped(module, cx, expr))
}

fn cropped(module: &mut Module, cx: &PassCx, conv: ExprId) -> Option<ExprId> {
    cx.calls(module, conv, &CONV2D).then_some(())?;
    let of = Conv2dAttrs::read(module.call_attrs(conv));
    let plain = of.data_layout == "NCHW" && of.kernel_layout == "OIHW" && ["", "NCHW"].contains(&of.out_layout.as_str());
    let &[data, weight] = &args(module, conv)[..] else { return None };
    let [top, left, bottom, right] = sides(&of.padding)?;
    let window = value_of(module, weight)?.shape().to_vec();
    (plain && window.len() == 4).then_some(())?;
    let mut padding = [[top, bottom], [left, right]];
    let mut kept = [0..=0, 0..=0];
    for axis in 0..2 {
        let [n, n_out] = [data, conv].map(|tensor| dims(module, tensor).and_then(|dims| dims.get(2 + axis)?.value()));
        let (taps, dilation) = (window[2 + axis] as i64, of.dilation[axis]);
        let first = |tap: i64| tap * dilation - padding[axis][0];
        kept[axis] = met(taps, first, (n_out?, of.strides[axis]), n?)?;
        let (before, behind) = (*kept[axis].start(), taps - 1 - kept[axis].end());
        padding[axis] = [padding[axis][0] - before * dilation, padding[axis][1] - behind * dilation];
    }
    let sizes = [0, 1].map(|axis| kept[axis].end() - kept[axis].start() + 1);
    let smaller = sizes[0] < window[2] as i64 || sizes[1] < window[3] as i64;
    let [[top, bottom], [left, right]] = padding;
    (smaller && [top, left, bottom, right].iter().all(|&pad| pad >= 0)).then_some(())?;
    value_of(module, weight)?.to_f64s().into_iter().all(f64::is_finite).then_some(())?;
    let span = module.exprs[conv].span;
    let begin = [0, 0, *kept[0].start(), *kept[1].start()];
    let end = [window[0] as i64, window[1] as i64, kept[0].end() + 1, kept[1].end() + 1];
    let bounds = [("begin", begin), ("end", end), ("strides", [1; 4])].map(|(name, ints)| (name, AttrValue::ints(&ints)));
    let slice = STRIDED_SLICE.attrs?.values(&bounds);
    let weight = cx.typed_call(module, span, &STRIDED_SLICE, &[weight], slice)?;
    let mut values = module.call_attrs(conv).to_vec();
    let schema = CONV2D.attrs?;
    values[schema.position("padding")?] = AttrValue::ints(&[top, left, bottom, right]);
    values[schema.position("kernel_size")?] = AttrValue::ints(&sizes);
    let new = cx.typed_call(module, span, &CONV2D, &[data, weight], values)?;
    (module.ty(new) == module.ty(conv)).then_some(new)
}

/// The taps from the first to the last that meet one of `n` positions, where a tap begins at `first` and takes a number of steps.
fn met(taps: i64, first: impl Fn(i64) -> i64, (steps, step): (i64, i64), n: i64) -> Option<RangeInclusive<i64>> {
    let meets = |&tap: &i64| (0..steps).any(|at| (0..n).contains(&(first(tap) + at * step)));
    Some((0..taps).find(meets)?..=(0..taps).rev().find(meets)?)
}
