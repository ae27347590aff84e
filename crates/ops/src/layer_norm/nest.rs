//! Lowers normalisation by the moments of rows to loop nests.
//!
//! Three passes over a row compute the mean, the mean of squared differences from it, and the elements. So a mean far from 0
//! costs no precision.

use super::{GroupNormAttrs, InstanceNormAttrs, L2NormalizeAttrs, LayerNormAttrs};
use crate::gather_lowering::{counted, is_float};
use crate::lower::Rows;
use crate::prelude::*;
use relayc_ir::kernel::{Reduction, Stage, Store};

pub(super) fn layer_norm(call: &Call) -> Option<Template> {
    let LayerNormAttrs { axis, epsilon, center, scale } = LayerNormAttrs::read(call.attrs);
    let shape = &call.arg(0).shape;
    let axis = call.axis(axis, shape.len())?;
    let rows = Rows::new(shape, &[axis]);
    let (index, channel) = (rows.index.clone(), rows.index[axis].clone());
    moments(call, rows, (index, channel), epsilon, (scale, center))
}

/// Splits the axis of channels in two: the groups, which are kept, and the channels of one group.
pub(super) fn group_norm(call: &Call) -> Option<Template> {
    let GroupNormAttrs { num_groups, axis, epsilon, center, scale } = GroupNormAttrs::read(call.attrs);
    let shape = &call.arg(0).shape;
    let axis = call.axis(axis, shape.len())?;
    let groups = u64::try_from(num_groups).ok()?;
    let each = shape[axis].checked_div(groups)?;
    let mut cut = shape.clone();
    cut.splice(axis..=axis, [groups, each]);
    let rows = Rows::new(&cut, &(axis + 1..cut.len()).collect::<Vec<_>>());
    let dim = |axis: usize| rows.index[axis].terms[0].0;
    let channel = counted(&[(dim(axis), groups), (dim(axis + 1), each)]);
    let mut index = rows.index.clone();
    index.splice(axis..=axis + 1, [channel.clone()]);
    moments(call, rows, (index, channel), epsilon, (scale, center))
}

pub(super) fn instance_norm(call: &Call) -> Option<Template> {
    let InstanceNormAttrs { axis, epsilon, center, scale } = InstanceNormAttrs::read(call.attrs);
    let shape = &call.arg(0).shape;
    let axis = call.axis(axis, shape.len())?;
    let rows = Rows::new(shape, &(1..shape.len()).filter(|&own| own != axis).collect::<Vec<_>>());
    let (index, channel) = (rows.index.clone(), rows.index[axis].clone());
    moments(call, rows, (index, channel), epsilon, (scale, center))
}

/// The index of each axis of the data, and that of the channel among those of the slopes and shifts.
type Places = (Vec<AxisMap>, AxisMap);

fn moments(call: &Call, rows: Rows, (index, channel): Places, epsilon: f64, (scale, center): (bool, bool)) -> Option<Template> {
    is_float(call, 0)?;
    let n = rows.count() as f32;
    let mut body = Body::new();
    let x = body.read(0);
    let sum = Stage { each: true, body, reductions: vec![(x, Reduction::Sum)], stores: vec![] };
    let mut body = Body::new();
    let difference = centred(&mut body, n);
    let square = body.bin(BinaryOp::Mul, difference, difference);
    let squares = Stage { each: true, body, reductions: vec![(square, Reduction::Sum)], stores: vec![] };
    let mut body = Body::new();
    let difference = centred(&mut body, n);
    let (squares_of_row, n, epsilon) = (body.folded(1), body.f32(n), body.f32(epsilon as f32));
    let variance = body.bin(BinaryOp::Div, squares_of_row, n);
    let shifted = body.bin(BinaryOp::Add, variance, epsilon);
    let (deviation, one) = (body.un(UnaryOp::Sqrt, shifted), body.f32(1.0));
    let inverse = body.bin(BinaryOp::Div, one, deviation);
    let mut val = body.bin(BinaryOp::Mul, difference, inverse);
    if scale {
        let gamma = body.read(1);
        val = body.bin(BinaryOp::Mul, val, gamma);
    }
    if center {
        let beta = body.read(2);
        val = body.bin(BinaryOp::Add, val, beta);
    }
    let last = Stage { each: true, body, reductions: vec![], stores: vec![Store { val, write: 0 }] };
    let along = |arg: usize| Read::of(Source::Arg(arg), vec![channel.clone()]);
    let reads = vec![Read::of(Source::Arg(0), index.clone()), along(1), along(2)];
    let stages = vec![sum, squares, last];
    Some(Template { dims: rows.dims, reduce: rows.reduce, reads, stages, outs: vec![index], ..Template::default() })
}

/// The element less the mean of its row of `n`.
fn centred(body: &mut Body, n: f32) -> Val {
    let (x, sum, n) = (body.read(0), body.folded(0), body.f32(n));
    let mean = body.bin(BinaryOp::Div, sum, n);
    body.bin(BinaryOp::Sub, x, mean)
}

/// Computes the sum of squares, then the elements.
pub(super) fn l2_normalize(call: &Call) -> Option<Template> {
    is_float(call, 0)?;
    let attrs = L2NormalizeAttrs::read(call.attrs);
    let shape = &call.arg(0).shape;
    let named = attrs.axis.unwrap_or_default();
    let named = named.iter().map(|&axis| call.axis(axis, shape.len())).collect::<Option<Vec<usize>>>()?;
    let axes: Vec<usize> = (0..shape.len()).filter(|axis| named.is_empty() || named.contains(axis)).collect();
    let rows = Rows::new(shape, &axes);
    let mut body = Body::new();
    let x = body.read(0);
    let square = body.bin(BinaryOp::Mul, x, x);
    let squares = Stage { each: true, body, reductions: vec![(square, Reduction::Sum)], stores: vec![] };
    let mut body = Body::new();
    let (x, sum, least) = (body.read(0), body.folded(0), body.f32(attrs.eps as f32));
    let sum = body.bin(BinaryOp::Max, sum, least);
    let length = body.un(UnaryOp::Sqrt, sum);
    let val = body.bin(BinaryOp::Div, x, length);
    let last = Stage { each: true, body, reductions: vec![], stores: vec![Store { val, write: 0 }] };
    let index = rows.index.clone();
    Some(rows.nest(vec![], vec![squares, last], index))
}
