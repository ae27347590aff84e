//! Lowers pools to loop nests.
//!
//! Padding takes no memory: windows are clipped to the data. A pool with a window entirely outside the data has no kernel here.

use super::{AdaptivePool2dAttrs, AvgPool2dAttrs, GlobalPool2dAttrs, MaxPool2dAttrs};
use crate::lower::{self, stored};
use crate::prelude::*;
use crate::window::{self, Window};
use relayc_ir::kernel::{Clip, Instr, ReduceDim, Reduction, Stage};

pub(super) fn max_pool(call: &Call, spatial: &str) -> Option<Template> {
    pool(call, &MaxPool2dAttrs::read(call.attrs), spatial, None)
}

pub(super) fn avg_pool(call: &Call, spatial: &str) -> Option<Template> {
    let attrs = MaxPool2dAttrs::read(call.attrs);
    let include_pad = AvgPool2dAttrs::read(call.attrs).count_include_pad;
    pool(call, &attrs, spatial, Some(include_pad))
}

pub(super) fn global_pool(call: &Call, mean: bool) -> Option<Template> {
    let layout = Layout::parse(&GlobalPool2dAttrs::read(call.attrs).layout).ok()?;
    let along = |letter| {
        let axis = layout.axis(letter)?;
        let kernel = call.arg(0).shape[axis] as i64;
        Some((axis, Window { kernel, ..Window::ONE }))
    };
    windows(call, &"HW".chars().map(along).collect::<Option<Vec<_>>>()?, mean.then_some(true))
}

/// Lowers adaptive pools whose windows all have one size: the result's extent must divide the operand's.
pub(super) fn adaptive_pool(call: &Call, spatial: &str, mean: bool) -> Option<Template> {
    let layout = Layout::parse(&AdaptivePool2dAttrs::read(call.attrs).layout).ok()?;
    let along = |letter| {
        let axis = layout.axis(letter)?;
        let (input, n) = (call.arg(0).shape[axis], call.out().shape[axis]);
        let kernel = input.checked_div(n).filter(|size| size * n == input)? as i64;
        Some((axis, Window { kernel, stride: kernel, ..Window::ONE }))
    };
    windows(call, &spatial.chars().map(along).collect::<Option<Vec<_>>>()?, mean.then_some(true))
}

fn pool(call: &Call, attrs: &MaxPool2dAttrs, spatial: &str, mean: Option<bool>) -> Option<Template> {
    let layout = Layout::parse(&attrs.layout).ok()?;
    let windows_of = window::windows(&attrs.pool_size, &attrs.strides, &attrs.dilation, &attrs.padding);
    let axes = spatial.chars().map(|letter| layout.axis(letter)).collect::<Option<Vec<_>>>()?;
    // A mean that counts padding divides by what lies in it, which differs where a window hangs over it.
    if mean == Some(true) {
        let whole = |(&axis, window): (&usize, &Window)| hangs_over(window, call.arg(0).shape[axis], call.out().shape[axis]);
        if axes.iter().zip(&windows_of).any(whole) {
            return None;
        }
    }
    windows(call, &axes.into_iter().zip(windows_of).collect::<Vec<_>>(), mean)
}

/// Whether the last position reaches behind the padding.
fn hangs_over(window: &Window, input: u64, positions: u64) -> bool {
    let of = |n: i64, step: i64| (i128::from(n) - 1) * i128::from(step);
    let last = of(positions as i64, window.stride) + of(window.kernel, window.dilation) - i128::from(window.before);
    last >= i128::from(input) + i128::from(window.after)
}

/// Windows along axes; a mean divides by the size of the window if `Some(true)`, by the number of elements inside if
/// `Some(false)`.
fn windows(call: &Call, pooled: &[(usize, Window)], mean: Option<bool>) -> Option<Template> {
    let (data, out) = (call.arg(0), call.out());
    let lane = lower::lane(data.dtype).filter(|lane| *lane != ScalarType::Bool && (mean.is_none() || lane.is_float()))?;
    if data.shape.contains(&0) || out.shape.contains(&0) {
        return None;
    }
    let rank = data.shape.len();
    let mut index: Vec<AxisMap> = (0..rank).map(AxisMap::of).collect();
    let mut reduce = vec![];
    let mut size = 1i64;
    for &(axis, window) in pooled {
        let Window { kernel, stride, dilation, before, .. } = window;
        index[axis] = AxisMap { offset: -before, terms: vec![(axis, stride), (rank + reduce.len(), dilation)] };
        let extent = u64::try_from(kernel).ok()?;
        let (least, most) = index[axis].range(&[out.shape.as_slice(), &vec![1; reduce.len()], &[extent]].concat());
        let inside = least >= 0 && most < data.shape[axis] as i64;
        let clip = Clip { dim: axis, stride, dilation, before, size: data.shape[axis] as i64 };
        // The first and the last position must hold something.
        let of = |n: i64, step: i64| (i128::from(n) - 1) * i128::from(step);
        let last = of(out.shape[axis] as i64, stride) - i128::from(before);
        let misses = i128::from(before) > of(kernel, dilation) || last >= i128::from(clip.size);
        if !inside && (misses || dilation > 1) {
            return None;
        }
        reduce.push(ReduceDim { extent, clip: (!inside).then_some(clip) });
        size = size.checked_mul(kernel)?;
    }
    let mut body = Body::new();
    let x = body.read(0);
    let (fold, summing) = if mean.is_some() { (Reduction::Sum, lower::summing(lane)) } else { (Reduction::Max, lane) };
    let x = lower::converted(&mut body, x, lane, summing);
    let folds = Stage { each: true, body, reductions: vec![(x, fold)], stores: vec![] };
    let mut body = Body::new();
    let mut val = body.folded(0);
    if let Some(include_pad) = mean {
        let n = if include_pad { body.f32(size as f32) } else { body.push(Instr::Count) };
        let n = lower::converted(&mut body, n, ScalarType::F32, summing);
        val = body.bin(BinaryOp::Div, val, n);
    }
    let val = lower::converted(&mut body, val, summing, lane);
    let last = stored(body, val);
    let reads = vec![Read::of(Source::Arg(0), index)];
    let outs = vec![(0..rank).map(AxisMap::of).collect()];
    Some(Template { dims: out.shape.clone(), reduce, reads, stages: vec![folds, last], outs, ..Template::default() })
}
