//! Results whose axes each take their positions from an axis of the operand, by a table: pads, mirrors, gaps, repetitions.

use super::lower::{AxisMap, Call, Read, Source, Table, Template, lane};
use crate::kernel::{Bin, Body, Cmp, Lane, Un, Val};
use crate::types::DType;

/// Where the positions of an axis come from.
pub enum Along {
    /// Each from the same one.
    Same,
    /// For each the position in the operand; where there is none it is filled.
    Table(Vec<Option<usize>>),
}

/// What stands where an axis takes nothing from the operand.
#[derive(Clone, Copy)]
pub enum Fill {
    /// The first element of an operand.
    Arg(usize),
    Number(f64),
}

/// Operand 0 as these tables show it, which are one for each axis.
pub fn picked(call: &Call, axes: &[Along], fill: Fill) -> Option<Template> {
    let (data, out) = (call.arg(0), call.out());
    let lane_of_data = lane(data.dtype)?;
    // Of nothing a table has nothing to show.
    (!data.shape.contains(&0)).then_some(())?;
    let mut template = Template { dims: out.shape.clone(), ..Template::default() };
    let mut body = Body::new();
    let mut index: Vec<AxisMap> = (0..axes.len()).map(AxisMap::of).collect();
    let (mut places, mut inside) = (vec![], None);
    for (axis, along) in axes.iter().enumerate() {
        let Along::Table(sources) = along else { continue };
        let table = Table::ints(sources.iter().map(|source| source.unwrap_or(0) as i32));
        places.push((axis, read(&mut template, &mut body, Read::table(table, AxisMap::of(axis)))));
        index[axis] = AxisMap::zero();
        if sources.contains(&None) {
            let shown = Table::bools(sources.iter().map(Option::is_some));
            let shown = read(&mut template, &mut body, Read::table(shown, AxisMap::of(axis)));
            inside = Some(inside.map_or(shown, |inside| body.bin(Bin::And, inside, shown)));
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
                converted(&mut body, first, lane(operand.dtype)?, lane_of_data)?
            }
        };
        val = body.select(inside, val, other);
    }
    template.finish(body, val)
}

/// The value of a read that a template gets.
pub fn read(template: &mut Template, body: &mut Body, read: Read) -> Val {
    template.reads.push(read);
    body.read(template.reads.len() - 1)
}

/// A number in a lane, as the element that is nearest; integers saturate.
pub fn constant(body: &mut Body, lane: Lane, value: f64) -> Option<Val> {
    if lane == Lane::F32 {
        return Some(body.f32(value as f32));
    }
    let number = body.i32(value as i32);
    if lane == Lane::Bool {
        let (one, zero) = (body.i32(i32::from(value != 0.0)), body.i32(0));
        return Some(body.cmp(Cmp::Ne, one, zero));
    }
    (lane == Lane::I32).then_some(number)
}

fn converted(body: &mut Body, val: Val, from: Lane, to: Lane) -> Option<Val> {
    match (from, to) {
        _ if from == to => Some(val),
        (Lane::I32, Lane::F32) => Some(body.un(Un::ToFloat, val)),
        (Lane::F32, Lane::I32) => Some(body.un(Un::SaturateToInt, val)),
        _ => None,
    }
}

/// Operand 0 copied, the loops being over `dims`.
pub fn copied(call: &Call, dims: Vec<u64>, data: Vec<AxisMap>, out: Vec<AxisMap>) -> Option<Template> {
    lane(call.arg(0).dtype)?;
    Some(Template::copy(dims, Read::of(Source::Arg(0), data), out))
}

/// An index that counts along several dimensions, the last fastest: (dimension, its extent).
pub fn counted(dims: &[(usize, u64)]) -> AxisMap {
    let mut step = 1;
    let mut terms = vec![];
    for &(dim, extent) in dims.iter().rev() {
        terms.push((dim, step));
        step *= extent as i64;
    }
    AxisMap { offset: 0, terms }
}

/// Whether an operand holds f32, which is all that a function of floats takes.
pub fn is_float(call: &Call, arg: usize) -> Option<()> {
    (call.arg(arg).dtype == DType::F32).then_some(())
}
