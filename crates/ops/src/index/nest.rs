//! Lowers gathers to loop nests: reads indices as positions, and the elements at these positions.

use super::{GatherAttrs, GatherNdAttrs, OneHotAttrs, TakeAttrs};
use crate::gather_lowering::cast;
use crate::lower::{IndexMode, Positions, lane, tabled};
use crate::prelude::*;

/// A read of operand `arg`, whose elements count along an axis of this length, as a position there.
fn position(
    body: &mut Body,
    template: &mut Template,
    call: &Call,
    (arg, read): (usize, Read),
    length: u64,
    outside: IndexMode,
) -> Val {
    template.reads.push(read);
    let at = body.read(template.reads.len() - 1);
    if outside == IndexMode::Nearest && call.arg(arg).dtype == DType::I32 {
        let (least, most) = (body.i32(0), body.i32((length - 1).min(i32::MAX as u64) as i32));
        let at = body.bin(BinaryOp::Max, at, least);
        return body.bin(BinaryOp::Min, at, most);
    }
    template.positions.push(Positions { arg, lengths: vec![length], outside });
    at
}

pub(super) fn take(call: &Call) -> Option<Template> {
    let attrs = TakeAttrs::read(call.attrs);
    let (data, indices) = (call.arg(0), call.arg(1));
    let mut template = Template { dims: call.out().shape.clone(), ..Template::default() };
    let (shape, axis, batch) = match attrs.axis {
        Some(axis) => (data.shape.clone(), call.axis(axis, data.shape.len())?, attrs.batch_dims.unwrap_or(0) as usize),
        None => (vec![data.shape.iter().product()], 0, 0),
    };
    if shape.len() != data.shape.len() {
        template.shapes.push((0, shape.clone()));
    }
    let outside = match attrs.mode.as_str() {
        "clip" => IndexMode::Nearest,
        "wrap" => IndexMode::Round,
        _ => IndexMode::Trap,
    };
    // There is no position on an axis of nothing.
    (shape[axis] > 0).then_some(())?;
    let taken = indices.shape.len() - batch;
    let mut body = Body::new();
    let of_index = |at: usize| AxisMap::of(if at < batch { at } else { axis + at - batch });
    let read = Read::of(Source::Arg(1), (0..indices.shape.len()).map(of_index).collect());
    let at = position(&mut body, &mut template, call, (1, read), shape[axis], outside);
    let of_data = |own: usize| match own {
        _ if own < axis => AxisMap::of(own),
        _ if own == axis => AxisMap::zero(),
        _ => AxisMap::of(own + taken - 1),
    };
    let axes = (0..shape.len()).map(of_data).collect();
    template.reads.push(Read { picked: vec![(axis, at)], ..Read::of(Source::Arg(0), axes) });
    let val = body.read(1);
    template.finish(body, val)
}

pub(super) fn gather(call: &Call) -> Option<Template> {
    let data = call.arg(0);
    let axis = call.axis(GatherAttrs::read(call.attrs).axis?, data.shape.len())?;
    (data.shape[axis] > 0).then_some(())?;
    let mut template = Template { dims: call.out().shape.clone(), ..Template::default() };
    let mut body = Body::new();
    let mut axes: Vec<AxisMap> = (0..data.shape.len()).map(AxisMap::of).collect();
    let read = Read::of(Source::Arg(1), axes.clone());
    let at = position(&mut body, &mut template, call, (1, read), data.shape[axis], IndexMode::Trap);
    axes[axis] = AxisMap::zero();
    template.reads.push(Read { picked: vec![(axis, at)], ..Read::of(Source::Arg(0), axes) });
    let val = body.read(1);
    template.finish(body, val)
}

/// Lowers `gather_nd`: one row of indices for each axis that it indexes.
pub(super) fn gather_nd(call: &Call) -> Option<Template> {
    let (data, indices) = (call.arg(0), call.arg(1));
    indices.dtype.is_int().then_some(())?;
    let batch = GatherNdAttrs::read(call.attrs).batch_dims.unwrap_or(0) as usize;
    let columns = indices.shape[0] as usize;
    let lengths = data.shape[batch..batch + columns].to_vec();
    (columns > 0 && !lengths.contains(&0)).then_some(())?;
    let mut template = Template { dims: call.out().shape.clone(), ..Template::default() };
    template.positions.push(Positions { arg: 1, lengths, outside: IndexMode::Trap });
    let found = indices.shape.len() - 1;
    let mut body = Body::new();
    let mut picked = vec![];
    for column in 0..columns {
        let mut axes = vec![AxisMap { offset: column as i64, terms: vec![] }];
        axes.extend((0..found).map(AxisMap::of));
        template.reads.push(Read::of(Source::Arg(1), axes));
        picked.push((batch + column, body.read(column)));
    }
    let of_data = |own: usize| match own {
        _ if own < batch => AxisMap::of(own),
        _ if own < batch + columns => AxisMap::zero(),
        _ => AxisMap::of(own - batch - columns + found),
    };
    let axes = (0..data.shape.len()).map(of_data).collect();
    template.reads.push(Read { picked, ..Read::of(Source::Arg(0), axes) });
    let val = body.read(columns);
    template.finish(body, val)
}

/// Lowers `one_hot`: compares positions along the new axis with the indices.
pub(super) fn one_hot(call: &Call) -> Option<Template> {
    let attrs = OneHotAttrs::read(call.attrs);
    let (indices, out) = (call.arg(0), call.out());
    let to = lane(out.dtype)?;
    tabled(u64::try_from(attrs.depth).ok()?)?;
    let depth = attrs.depth as i32;
    let new = if attrs.axis < 0 { indices.shape.len() } else { attrs.axis as usize };
    let mut template = Template { dims: out.shape.clone(), ..Template::default() };
    let mut body = Body::new();
    let axes = (0..indices.shape.len()).map(|at| AxisMap::of(if at < new { at } else { at + 1 })).collect();
    template.reads.push(Read::of(Source::Arg(0), axes));
    if indices.dtype != DType::I32 {
        template.positions.push(Positions { arg: 0, lengths: vec![depth as u64], outside: IndexMode::Nowhere });
    }
    template.reads.push(Read::table(Table::ints(0..depth), AxisMap::of(new)));
    template.reads.extend([1, 2].map(|arg| Read::of(Source::Arg(arg), vec![])));
    let [index, place, on, off] = [0, 1, 2, 3].map(|read| body.read(read));
    let (on, off) = (cast(&mut body, on, lane(call.arg(1).dtype)?, to)?, cast(&mut body, off, lane(call.arg(2).dtype)?, to)?);
    let marked = body.cmp(Cmp::Eq, index, place);
    let val = body.select(marked, on, off);
    template.finish(body, val)
}
