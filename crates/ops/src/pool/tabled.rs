//! Lowers pools with arbitrary windows: tables give the elements that each position covers, and the divisors of means.
//!
//! It covers pools that a clip cannot express: windows of different sizes, windows outside the data, dilation beyond its ends.

use super::{AdaptivePool2dAttrs, AvgPool2dAttrs, MaxPool2dAttrs};
use crate::gather_lowering::read;
use crate::lower;
use crate::prelude::*;
use crate::window::{self, Cover};
use relayc_ir::kernel::{ReduceDim, Reduction, Stage, Store};

/// The elements that the positions along an axis of the operand cover.
struct Covered {
    axis: usize,
    covers: Vec<Cover>,
}

/// The function of a window.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PoolKind {
    Max,
    /// The sum divided by the number of elements.
    Mean,
    /// The sum divided by the number of elements, padding included.
    MeanOfAll,
}

pub(super) fn pool(call: &Call, spatial: &str, mean: bool) -> Option<Template> {
    let attrs = MaxPool2dAttrs::read(call.attrs);
    let layout = Layout::parse(&attrs.layout).ok()?;
    let windows = window::windows(&attrs.pool_size, &attrs.strides, &attrs.dilation, &attrs.padding);
    let along = |(letter, window): (char, window::Window)| {
        let axis = layout.axis(letter)?;
        let (input, n) = (call.arg(0).shape[axis] as usize, call.out().shape[axis] as usize);
        lower::tabled(n as u64)?;
        Some(Covered { axis, covers: (0..n).map(|o| window.cover(o, input)).collect() })
    };
    let covered = spatial.chars().zip(windows).map(along).collect::<Option<Vec<Covered>>>()?;
    let of = match mean {
        false => PoolKind::Max,
        true if AvgPool2dAttrs::read(call.attrs).count_include_pad => PoolKind::MeanOfAll,
        true => PoolKind::Mean,
    };
    tabled(call, &covered, of)
}

pub(super) fn adaptive(call: &Call, spatial: &str, mean: bool) -> Option<Template> {
    let layout = Layout::parse(&AdaptivePool2dAttrs::read(call.attrs).layout).ok()?;
    let along = |letter| {
        let axis = layout.axis(letter)?;
        let (input, n) = (call.arg(0).shape[axis], call.out().shape[axis]);
        lower::tabled(n)?;
        let at = |i: u64| u128::from(i) * u128::from(input);
        let cover = |i: u64| Cover::range((at(i) / u128::from(n)) as usize, at(i + 1).div_ceil(u128::from(n)) as usize);
        Some(Covered { axis, covers: (0..n).map(cover).collect() })
    };
    let covered = spatial.chars().map(along).collect::<Option<Vec<Covered>>>()?;
    tabled(call, &covered, if mean { PoolKind::Mean } else { PoolKind::Max })
}

fn tabled(call: &Call, covered: &[Covered], of: PoolKind) -> Option<Template> {
    let (data, out) = (call.arg(0), call.out());
    let lane = lower::lane(data.dtype).filter(|&lane| lower::summing(lane) == ScalarType::F32)?;
    (!data.shape.contains(&0)).then_some(())?;
    let rank = data.shape.len();
    let mut template = Template { dims: out.shape.clone(), ..Template::default() };
    let (mut body, mut last) = (Body::new(), Body::new());
    let mut index: Vec<AxisMap> = (0..rank).map(AxisMap::of).collect();
    let (mut places, mut inside, mut number) = (vec![], None, None);
    for Covered { axis, covers } in covered {
        let most = covers.iter().map(|cover| cover.inputs().len()).max().unwrap_or(0).max(1);
        lower::tabled((covers.len() as u64).checked_mul(most as u64)?)?;
        let lists: Vec<Vec<usize>> = covers.iter().map(|cover| cover.inputs().collect()).collect();
        let cells = || lists.iter().flat_map(|list| (0..most).map(|at| list.get(at).copied()));
        let map = AxisMap { offset: 0, terms: vec![(*axis, most as i64), (rank + template.reduce.len(), 1)] };
        // A point beyond the window's end shows its first one again, and is then left out.
        let table = Table::ints(cells().map(|cell| cell.unwrap_or(0) as i32));
        places.push((*axis, read(&mut template, &mut body, Read::table(table, map.clone()))));
        index[*axis] = AxisMap::zero();
        if cells().any(|cell| cell.is_none()) {
            let shown = Table::bools(cells().map(|cell| cell.is_some()));
            let shown = read(&mut template, &mut body, Read::table(shown, map));
            inside = Some(inside.map_or(shown, |inside| body.bin(BinaryOp::And, inside, shown)));
        }
        template.reduce.push(ReduceDim { extent: most as u64, clip: None });
        let count = |(cover, list): (&Cover, &Vec<usize>)| {
            if of == PoolKind::MeanOfAll { cover.padded as f32 } else { list.len() as f32 }
        };
        let counts = Table::floats(covers.iter().zip(&lists).map(count));
        let n = read(&mut template, &mut last, Read::table(counts, AxisMap::of(*axis)));
        number = Some(number.map_or(n, |number| last.bin(BinaryOp::Mul, number, n)));
    }
    let x = read(&mut template, &mut body, Read { picked: places, ..Read::of(Source::Arg(0), index) });
    let mut x = lower::converted(&mut body, x, lane, ScalarType::F32);
    if let Some(inside) = inside {
        let nothing = body.f32(if of == PoolKind::Max { f32::NEG_INFINITY } else { 0.0 });
        x = body.select(inside, x, nothing);
    }
    let fold = if of == PoolKind::Max { Reduction::Max } else { Reduction::Sum };
    let folds = Stage { each: true, body, reductions: vec![(x, fold)], stores: vec![] };
    let val = of_window(&mut last, number?, of, super::eval::least(data.dtype));
    let val = lower::converted(&mut last, val, ScalarType::F32, lane);
    let last = Stage { each: false, body: last, reductions: vec![], stores: vec![Store { val, write: 0 }] };
    template.stages = vec![folds, last];
    template.outs = vec![(0..rank).map(AxisMap::of).collect()];
    Some(template)
}

/// The result of a window of so many elements: of none it is 0, or the `least` number of the operand's dtype.
fn of_window(body: &mut Body, number: Val, of: PoolKind, least: f64) -> Val {
    let (folded, zero) = (body.folded(0), body.f32(0.0));
    let (val, nothing) = match of {
        PoolKind::Max => (folded, body.f32(least as f32)),
        _ => (body.bin(BinaryOp::Div, folded, number), zero),
    };
    let is_empty = body.cmp(Cmp::Eq, number, zero);
    body.select(is_empty, nothing, val)
}
