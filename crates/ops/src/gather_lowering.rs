//! Gather lowering by tables: each axis of the result takes its positions from an axis of the operand. Pads, mirrors, gaps and
//! repetitions use it.

use super::lower::{self, lane, tabled};
use crate::prelude::*;

/// The origin of an axis's positions.
pub(crate) enum AxisOrigin {
    /// Each position comes from the same position of the operand.
    Same,
    /// Each position comes from the given position of the operand; `None` is filled.
    Table(Vec<Option<usize>>),
}

impl AxisOrigin {
    /// The table of an axis of `n` positions; `None` if it is too long.
    pub(crate) fn table(n: u64, source: impl Fn(u64) -> Option<usize>) -> Option<AxisOrigin> {
        tabled(n)?;
        Some(AxisOrigin::Table((0..n).map(source).collect()))
    }
}

/// The value of positions without an origin in the operand.
#[derive(Clone, Copy)]
pub(crate) enum Fill {
    /// The first element of an operand.
    Arg(usize),
    Number(f64),
}

/// Gathers from operand 0 by one table for each axis.
pub(crate) fn gather(call: &Call, axes: &[AxisOrigin], fill: Fill) -> Option<Template> {
    let (data, out) = (call.arg(0), call.out());
    let lane_of_data = lane(data.dtype)?;
    // Of nothing a table has nothing to show.
    (!data.shape.contains(&0)).then_some(())?;
    let mut template = Template { dims: out.shape.clone(), ..Template::default() };
    let mut body = Body::new();
    let mut index: Vec<AxisMap> = (0..axes.len()).map(AxisMap::of).collect();
    let (mut places, mut inside) = (vec![], None);
    for (axis, along) in axes.iter().enumerate() {
        let AxisOrigin::Table(sources) = along else { continue };
        // A position that is filled shows the element of the one before, so that neighbours lie near each other.
        let mut shown = sources.iter().flatten().next().copied().unwrap_or(0);
        let table = Table::ints(sources.iter().map(|source| {
            shown = source.unwrap_or(shown);
            shown as i32
        }));
        places.push((axis, read(&mut template, &mut body, Read::table(table, AxisMap::of(axis)))));
        index[axis] = AxisMap::zero();
        if sources.contains(&None) {
            let shown = Table::bools(sources.iter().map(Option::is_some));
            let shown = read(&mut template, &mut body, Read::table(shown, AxisMap::of(axis)));
            inside = Some(inside.map_or(shown, |inside| body.bin(BinaryOp::And, inside, shown)));
        }
    }
    let mut val = read(&mut template, &mut body, Read { picked: places, ..Read::of(Source::Arg(0), index) });
    if let Some(inside) = inside {
        let other = match fill {
            Fill::Number(value) => constant(&mut body, lane_of_data, value)?,
            Fill::Arg(arg) => {
                let operand = call.arg(arg);
                (!operand.shape.contains(&0)).then_some(())?;
                let first = Read::of(Source::Arg(arg), vec![AxisMap::zero(); operand.shape.len()]);
                let first = read(&mut template, &mut body, first);
                cast(&mut body, first, lane(operand.dtype)?, lane_of_data)?
            }
        };
        val = body.select(inside, val, other);
    }
    template.finish(body, val)
}

pub(crate) fn read(template: &mut Template, body: &mut Body, read: Read) -> Val {
    template.reads.push(read);
    body.read(template.reads.len() - 1)
}

/// A constant of a lane type, rounded to the nearest element; integers saturate.
pub(crate) fn constant(body: &mut Body, lane: ScalarType, value: f64) -> Option<Val> {
    lower::constant(body, &Tensor::full(lane.dtype()?, &[], value)?)
}

/// Converts a value from one lane type to another, as `cast` does.
pub(crate) fn cast(body: &mut Body, val: Val, from: ScalarType, to: ScalarType) -> Option<Val> {
    if to == ScalarType::Bool && from != to {
        let zero = constant(body, from, 0.0)?;
        return Some(body.cmp(Cmp::Ne, val, zero));
    }
    Some(lower::converted(body, val, from, to))
}

/// Gathers from operand 0 by one table for all elements: `source` finds the position of each in row-major order.
pub(crate) fn gather_each(call: &Call, source: impl Fn(usize) -> usize) -> Option<Template> {
    let (data, out) = (call.arg(0), &call.out().shape);
    lane(data.dtype)?;
    let n = out.iter().product();
    tabled(n)?;
    (!data.shape.contains(&0)).then_some(())?;
    let mut template =
        Template { dims: out.clone(), shapes: vec![(0, vec![data.shape.iter().product()])], ..Template::default() };
    let mut body = Body::new();
    let table = Table::ints((0..n as usize).map(|i| source(i) as i32));
    let dims: Vec<(usize, u64)> = out.iter().copied().enumerate().collect();
    let place = read(&mut template, &mut body, Read::table(table, counted(&dims)));
    let element = Read { picked: vec![(0, place)], ..Read::of(Source::Arg(0), vec![AxisMap::zero()]) };
    let val = read(&mut template, &mut body, element);
    template.finish(body, val)
}

/// Copies operand 0, with loops over `dims`.
pub(crate) fn copy(call: &Call, dims: Vec<u64>, data: Vec<AxisMap>, out: Vec<AxisMap>) -> Option<Template> {
    lane(call.arg(0).dtype)?;
    Some(Template::copy(dims, Read::of(Source::Arg(0), data), out))
}

/// An index over several dimensions, the last fastest: (dimension, its extent).
pub(crate) fn counted(dims: &[(usize, u64)]) -> AxisMap {
    let mut step = 1;
    let mut terms = vec![];
    for &(dim, extent) in dims.iter().rev() {
        terms.push((dim, step));
        step *= extent as i64;
    }
    AxisMap { offset: 0, terms }
}

/// Requires an operand of f32, the only type that float functions support.
pub(crate) fn is_float(call: &Call, arg: usize) -> Option<()> {
    (call.arg(arg).dtype == DType::F32).then_some(())
}
