//! Lowers convolutions to contractions: the points are the positions of the window, the columns the output channels.
//!
//! A transposed convolution is one contraction for each remainder of the result's indices by the strides. Each uses the points of
//! the window that fall on elements of the data.

use super::{Conv2dAttrs, read_transpose};
use crate::lower::{self, Product, stored};
use crate::prelude::*;
use crate::window::{self, Window};
use relayc_ir::kernel::{Clip, ReduceDim, Reduction, Stage};

/// The parts of a convolution that its kind does not change.
struct Parts {
    attrs: Conv2dAttrs,
    data: Layout,
    kernel: Layout,
    out: Layout,
    windows: Vec<Window>,
    groups: u64,
    /// Input and output channels of a group.
    inputs: u64,
    outputs: u64,
    /// The innermost block of the data's and of the result's channels inside of a group.
    in_block: u64,
    out_block: u64,
}

impl Parts {
    /// `None` for calls without a kernel: bools, and groups that blocks do not fit.
    fn new(call: &Call, attrs: Conv2dAttrs, spatial: &str) -> Option<Parts> {
        let (data_ty, weight, out_ty) = (call.arg(0), call.arg(1), call.out());
        if !lower::multiplies([data_ty, weight, out_ty]) || out_ty.shape.contains(&0) {
            return None;
        }
        let (data, kernel) = (Layout::parse(&attrs.data_layout).ok()?, Layout::parse(&attrs.kernel_layout).ok()?);
        let out = if attrs.out_layout.is_empty() { data.clone() } else { Layout::parse(&attrs.out_layout).ok()? };
        let size = |layout: &Layout, letter, shape: &[u64]| {
            let shape: Vec<i64> = shape.iter().map(|&dim| dim as i64).collect();
            layout.size(letter, &shape) as u64
        };
        let groups = u64::try_from(attrs.groups).ok()?;
        let inputs = size(&data, 'C', &data_ty.shape) / groups;
        let outputs = size(&out, 'C', &out_ty.shape) / groups;
        if kernel.axis('G').is_some() || inputs == 0 {
            return None;
        }
        let sizes: Vec<i64> = spatial.chars().map(|letter| size(&kernel, letter, &weight.shape) as i64).collect();
        let windows = window::windows(&sizes, &attrs.strides, &attrs.dilation, &attrs.padding);
        let block = |layout: &Layout, channels: u64| match layout.block('C') as u64 {
            1 => Some(channels),
            block if groups == 1 || channels.is_multiple_of(block) => Some(block),
            block if block.is_multiple_of(channels) => Some(channels),
            _ => None,
        };
        let depthwise = groups > 1 && inputs == 1 && outputs == 1;
        let (in_block, out_block) = if depthwise { (1, 1) } else { (block(&data, inputs)?, block(&out, outputs)?) };
        Some(Parts { attrs, data, kernel, out, windows, groups, inputs, outputs, in_block, out_block })
    }

    /// Whether each channel is a group of its own.
    fn is_depthwise(&self) -> bool {
        self.groups > 1 && self.inputs == 1 && self.outputs == 1
    }

    /// The indices of a tensor's axes: of its channels by the channel's index, of the others by `of`.
    fn indices(layout: &Layout, channel: &Channel, of: impl Fn(char) -> Option<AxisMap>) -> Option<Vec<AxisMap>> {
        let letters: Vec<(char, Option<i64>)> = layout.axes().collect();
        let inner =
            |at: usize| letters[at + 1..].iter().filter(|(l, _)| *l == letters[at].0).filter_map(|(_, b)| *b).product::<i64>();
        let one = |(at, &(letter, block)): (usize, &(char, Option<i64>))| {
            if letter != channel.letter {
                return if block.is_some() { None } else { of(letter) };
            }
            let below = if block.is_some() { inner(at) } else { layout.block(letter) };
            channel.part(below, block)
        };
        letters.iter().enumerate().map(one).collect()
    }
}

/// The index of a channel: `Σ step · index` of loop dimensions with their extents, the largest step first.
struct Channel {
    letter: char,
    terms: Vec<(usize, i64, u64)>,
}

impl Channel {
    /// The part of the index that counts steps of `below`, up to `block` of them.
    fn part(&self, below: i64, block: Option<i64>) -> Option<AxisMap> {
        let above = block.map_or(i64::MAX, |block| block.saturating_mul(below));
        let mut map = AxisMap::zero();
        for &(dim, step, extent) in &self.terms {
            if extent == 1 {
                continue;
            }
            let reach = step.checked_mul(extent as i64)?;
            if step >= above || reach <= below {
                continue;
            }
            // A dimension that lies in two parts cannot be said by strides.
            if step % below != 0 || reach > above {
                return None;
            }
            map.terms.push((dim, step / below));
        }
        Some(map)
    }
}

pub(crate) fn conv_product(call: &Call, spatial: &str) -> Option<Vec<Product>> {
    let parts = Parts::new(call, Conv2dAttrs::read(call.attrs), spatial)?;
    if parts.is_depthwise() {
        return depthwise_product(call, &parts, spatial).map(|product| vec![product]);
    }
    let n = spatial.len();
    let batch = call.out().shape[parts.out.axis('N')?];
    let mut points = vec![batch];
    points.extend(spatial.chars().map(|letter| Some(call.out().shape[parts.out.axis(letter)?])).collect::<Option<Vec<_>>>()?);
    // The sum: blocks of channels, the window, the channels of a block.
    let mut sum = vec![parts.inputs / parts.in_block];
    sum.extend(parts.windows.iter().map(|window| window.kernel as u64));
    sum.push(parts.in_block);
    // Weights of depthwise form may have several outputs for each channel on `I`.
    (parts.kernel.size('I', &shape_of(call, 1)) as u64 == parts.inputs).then_some(())?;
    let (first_column, first_sum) = (1 + points.len(), 3 + points.len());
    let (blocks, inner) = (first_sum, first_sum + 1 + n);
    let input = |letter, group: bool| {
        let mut terms = vec![(blocks, parts.in_block as i64, sum[0]), (inner, 1, parts.in_block)];
        if group {
            terms.insert(0, (0, parts.inputs as i64, parts.groups));
        }
        Channel { letter, terms }
    };
    let output = |letter| Channel {
        letter,
        terms: vec![
            (0, parts.outputs as i64, parts.groups),
            (first_column, parts.out_block as i64, parts.outputs / parts.out_block),
            (first_column + 1, 1, parts.out_block),
        ],
    };
    let at = |letter: char| spatial.chars().position(|own| own == letter);
    let data = Parts::indices(&parts.data, &input('C', true), |letter| {
        let Some(at) = at(letter) else { return (letter == 'N').then(|| AxisMap::of(1)) };
        let Window { stride, dilation, before, .. } = parts.windows[at];
        Some(AxisMap { offset: -before, terms: vec![(2 + at, stride), (first_sum + 1 + at, dilation)] })
    })?;
    let out =
        Parts::indices(&parts.out, &output('C'), |letter| Some(AxisMap::of(if letter == 'N' { 1 } else { 2 + at(letter)? })))?;
    let weight =
        weight_indices(&parts.kernel, &input('I', false), &output('O'), |letter| Some(AxisMap::of(first_sum + 1 + at(letter)?)))?;
    let columns = [parts.outputs / parts.out_block, parts.out_block];
    Some(vec![Product { groups: parts.groups, points, columns, sum, data, weight, out, data_arg: 0, depthwise: false }])
}

/// A convolution of each channel by itself, the channels being the columns.
fn depthwise_product(call: &Call, parts: &Parts, spatial: &str) -> Option<Product> {
    let channels = parts.groups;
    let block = match parts.out.block('C') as u64 {
        1 => channels,
        block => block,
    };
    let mut points = vec![call.out().shape[parts.out.axis('N')?]];
    points.extend(spatial.chars().map(|letter| Some(call.out().shape[parts.out.axis(letter)?])).collect::<Option<Vec<_>>>()?);
    let (first_column, first_sum) = (1 + points.len(), 3 + points.len());
    let channel =
        |letter| Channel { letter, terms: vec![(first_column, block as i64, channels / block), (first_column + 1, 1, block)] };
    let at = |letter: char| spatial.chars().position(|own| own == letter);
    let data = Parts::indices(&parts.data, &channel('C'), |letter| {
        let Some(at) = at(letter) else { return (letter == 'N').then(|| AxisMap::of(1)) };
        let Window { stride, dilation, before, .. } = parts.windows[at];
        Some(AxisMap { offset: -before, terms: vec![(2 + at, stride), (first_sum + at, dilation)] })
    })?;
    let out =
        Parts::indices(&parts.out, &channel('C'), |letter| Some(AxisMap::of(if letter == 'N' { 1 } else { 2 + at(letter)? })))?;
    let weight = Parts::indices(&parts.kernel, &channel('O'), |letter| match letter {
        'I' => Some(AxisMap::zero()),
        _ => Some(AxisMap::of(first_sum + at(letter)?)),
    })?;
    let sum = parts.windows.iter().map(|window| window.kernel as u64).collect();
    Some(Product { groups: 1, points, columns: [channels / block, block], sum, data, weight, out, data_arg: 0, depthwise: true })
}

/// A depthwise convolution as a loop nest: each element of the result sums over the window, clipped to the data.
pub(crate) fn depthwise_nest(call: &Call, spatial: &str) -> Option<Template> {
    // Of other dtypes the product is a nest already.
    (call.out().dtype == DType::F32 && call.arg(0).dtype == DType::F32 && call.arg(1).dtype == DType::F32).then_some(())?;
    let attrs = Conv2dAttrs::read(call.attrs);
    let (data, out) = (Layout::parse(&attrs.data_layout).ok()?, &call.out().shape);
    let parts = Parts::new(call, attrs, spatial).filter(Parts::is_depthwise)?;
    // The result's axes are the loops: those of the channels are the data's.
    (parts.out == data).then_some(())?;
    let rank = out.len();
    let mut index: Vec<AxisMap> = (0..rank).map(AxisMap::of).collect();
    let mut reduce = vec![];
    for (letter, window) in spatial.chars().zip(&parts.windows) {
        let axis = data.axis(letter)?;
        let Window { kernel, stride, dilation, before, .. } = *window;
        index[axis] = AxisMap { offset: -before, terms: vec![(axis, stride), (rank + reduce.len(), dilation)] };
        let size = call.arg(0).shape[axis] as i64;
        let reach = (out[axis] as i64 - 1) * stride + (kernel - 1) * dilation - before;
        let clip = Clip { dim: axis, stride, dilation, before, size };
        reduce.push(ReduceDim { extent: kernel as u64, clip: (before > 0 || reach >= size).then_some(clip) });
    }
    let mut channels = vec![];
    let mut step = 1;
    for (axis, (letter, _)) in data.axes().enumerate().collect::<Vec<_>>().into_iter().rev() {
        // Inner blocks stand behind the axis they are cut from.
        if letter == 'C' {
            channels.push((axis, step));
            step *= out[axis] as i64;
        }
    }
    let weight = parts.kernel.axes().map(|(letter, block)| match (letter, block) {
        ('O', None) => Some(AxisMap { offset: 0, terms: channels.clone() }),
        ('I', None) => Some(AxisMap::zero()),
        (_, None) => Some(AxisMap::of(rank + spatial.chars().position(|own| own == letter)?)),
        _ => None,
    });
    let weight = weight.collect::<Option<Vec<_>>>()?;
    let mut body = Body::new();
    let (x, w) = (body.read(0), body.read(1));
    let product = body.bin(BinaryOp::Mul, x, w);
    let folds = Stage { each: true, body, reductions: vec![(product, Reduction::Sum)], stores: vec![] };
    let mut body = Body::new();
    let val = body.folded(0);
    let last = stored(body, val);
    let reads = vec![Read::of(Source::Arg(0), index), Read::of(Source::Arg(1), weight)];
    let outs = vec![(0..rank).map(AxisMap::of).collect()];
    Some(Template { dims: out.clone(), reduce, reads, stages: vec![folds, last], outs, ..Template::default() })
}

fn shape_of(call: &Call, arg: usize) -> Vec<i64> {
    call.arg(arg).shape.iter().map(|&dim| dim as i64).collect()
}

/// As [`Product::indices`] with two axes that may be in blocks.
fn weight_indices(
    layout: &Layout,
    inputs: &Channel,
    outputs: &Channel,
    of: impl Fn(char) -> Option<AxisMap>,
) -> Option<Vec<AxisMap>> {
    let by_output = Parts::indices(layout, outputs, |_| Some(AxisMap::zero()));
    let by_input = Parts::indices(layout, inputs, |letter| if letter == 'O' { Some(AxisMap::zero()) } else { of(letter) });
    if let (Some(by_output), Some(by_input)) = (&by_output, &by_input) {
        let letters = layout.axes().zip(by_output.iter().zip(by_input));
        return Some(letters.map(|((letter, _), (o, i))| if letter == 'O' { o.clone() } else { i.clone() }).collect());
    }
    // Both in blocks.
    let letters: Vec<(char, Option<i64>)> = layout.axes().collect();
    let one = |(at, &(letter, block)): (usize, &(char, Option<i64>))| {
        let channel = match letter {
            'O' => outputs,
            'I' => inputs,
            _ => return if block.is_some() { None } else { of(letter) },
        };
        let inner = letters[at + 1..].iter().filter(|(l, _)| *l == letter).filter_map(|(_, b)| *b).product::<i64>();
        channel.part(if block.is_some() { inner } else { layout.block(letter) }, block)
    };
    letters.iter().enumerate().map(one).collect()
}

pub(super) fn transpose_product(call: &Call, spatial: &str) -> Option<Vec<Product>> {
    let (_, attrs) = read_transpose(call.attrs);
    let parts = Parts::new(call, attrs, spatial)?;
    (parts.attrs.channels.is_some() || parts.groups == 1).then_some(())?;
    let extents: Vec<u64> =
        spatial.chars().map(|letter| Some(call.out().shape[parts.out.axis(letter)?])).collect::<Option<Vec<_>>>()?;
    let sizes: Vec<u64> =
        spatial.chars().map(|letter| Some(call.arg(0).shape[parts.data.axis(letter)?])).collect::<Option<Vec<_>>>()?;
    let steps: Vec<u64> = parts.windows.iter().map(|window| window.stride as u64).collect();
    let n_phases = steps.iter().try_fold(1u64, |n, &step| n.checked_mul(step).filter(|&n| n <= 64))?;
    let mut products = vec![];
    for number in 0..n_phases {
        let mut rest = number;
        let mut axes = vec![];
        for (axis, window) in parts.windows.iter().enumerate() {
            let phase = rest % steps[axis];
            rest /= steps[axis];
            axes.push(Phase::new(window, phase, extents[axis], sizes[axis]));
        }
        if axes.iter().all(|axis| axis.positions > 0) {
            products.push(transpose_phase(call, &parts, spatial, &axes)?);
        }
    }
    Some(products)
}

/// Along one axis, the results `o = first + stride · p` and the points of the window `k = last - step · t` that reach them:
/// from the data at `p + shift + down · t`. So each phase is a convolution, with its window in reverse.
struct Phase {
    first: u64,
    positions: u64,
    last: i64,
    step: i64,
    taps: u64,
    shift: i64,
    down: i64,
}

impl Phase {
    /// `o + before = i · stride + k · dilation`: the points `k` with `(o + before - k · dilation) % stride == 0`, for data of `size`
    /// elements.
    fn new(window: &Window, phase: u64, extent: u64, size: u64) -> Phase {
        let Window { kernel, stride, dilation, before, .. } = *window;
        let o = phase as i64;
        let fits = |k: &i64| (o + before - k * dilation).rem_euclid(stride) == 0;
        let taps: Vec<i64> = (0..kernel).filter(fits).collect();
        let positions = extent.saturating_sub(phase).div_ceil(stride as u64);
        let (Some(&start), Some(&last)) = (taps.first(), taps.last()) else {
            // A result that no point reaches is 0: a sum of one product outside of the data, which is 0 there.
            return Phase { first: phase, positions, last: 0, step: 1, taps: 1, shift: size as i64, down: 1 };
        };
        let step = taps.get(1).map_or(1, |second| second - start);
        Phase {
            first: phase,
            positions,
            last,
            step,
            taps: taps.len() as u64,
            shift: (o + before - last * dilation).div_euclid(stride),
            down: step * dilation / stride,
        }
    }
}

fn transpose_phase(call: &Call, parts: &Parts, spatial: &str, axes: &[Phase]) -> Option<Product> {
    let n = spatial.len();
    let mut points = vec![call.out().shape[parts.out.axis('N')?]];
    points.extend(axes.iter().map(|axis| axis.positions));
    let mut sum = vec![parts.inputs / parts.in_block];
    sum.extend(axes.iter().map(|axis| axis.taps));
    sum.push(parts.in_block);
    let (first_column, first_sum) = (1 + points.len(), 3 + points.len());
    let input = |letter| Channel {
        letter,
        terms: vec![
            (0, parts.inputs as i64, parts.groups),
            (first_sum, parts.in_block as i64, sum[0]),
            (first_sum + 1 + n, 1, parts.in_block),
        ],
    };
    let output = |letter, group: bool| {
        let blocks = parts.outputs / parts.out_block;
        let mut terms = vec![(first_column, parts.out_block as i64, blocks), (first_column + 1, 1, parts.out_block)];
        if group {
            terms.insert(0, (0, parts.outputs as i64, parts.groups));
        }
        Channel { letter, terms }
    };
    let at = |letter: char| spatial.chars().position(|own| own == letter);
    let data = Parts::indices(&parts.data, &input('C'), |letter| {
        let Some(at) = at(letter) else { return (letter == 'N').then(|| AxisMap::of(1)) };
        let Phase { shift, down, .. } = axes[at];
        Some(AxisMap { offset: shift, terms: vec![(2 + at, 1), (first_sum + 1 + at, down)] })
    })?;
    let out = Parts::indices(&parts.out, &output('C', true), |letter| {
        let Some(at) = at(letter) else { return (letter == 'N').then(|| AxisMap::of(1)) };
        Some(AxisMap { offset: axes[at].first as i64, terms: vec![(2 + at, parts.windows[at].stride)] })
    })?;
    let weight = weight_indices(&parts.kernel, &input('I'), &output('O', false), |letter| {
        let Phase { last, step, .. } = axes[at(letter)?];
        Some(AxisMap { offset: last, terms: vec![(first_sum + 1 + at(letter)?, -step)] })
    })?;
    let columns = [parts.outputs / parts.out_block, parts.out_block];
    Some(Product { groups: parts.groups, points, columns, sum, data, weight, out, data_arg: 0, depthwise: false })
}
