//! Resizing as loops: the taps of each axis are tables, since they follow from the sizes alone.
//!
//! Sums go in the order of the evaluation, the last axis innermost, so that both give the same floats.

use super::{Resize, Sampling};
use crate::kernel::{Bin, Body, Val};
use crate::ops::layout::Layout;
use crate::ops::lower::{AxisMap, Call, Read, Source, Table, Template};
use crate::ops::picked::{Along, Fill, is_float, picked, read};
use crate::ops::taps::Taps;
use crate::types::DType;

pub(super) fn resize(call: &Call, resize: &Resize) -> Option<Template> {
    sampled(call, &resize.layout, &resize.letters[2..], resize.roi.as_deref().unwrap_or_default(), &resize.sampling)
}

/// Operand 0 with other lengths of the spatial axes of a layout, those of the result.
pub fn sampled(call: &Call, layout: &str, spatial: &str, roi: &[f64], sampling: &Sampling) -> Option<Template> {
    let layout = Layout::parse(layout).ok()?;
    let (data, out) = (call.arg(0), call.out());
    // Blocks of a resized axis cut it into two.
    let axis = |letter| layout.axis(letter).filter(|_| layout.block(letter) == 1);
    let axes = spatial.chars().map(axis).collect::<Option<Vec<usize>>>()?;
    (data.dtype == out.dtype && !data.shape.contains(&0)).then_some(())?;
    let n = axes.len();
    let part = |i: usize| Some((*roi.get(i)?, *roi.get(i + n)?));
    let lengths = |axis: usize| (data.shape[axis] as usize, out.shape[axis] as usize);
    if sampling.method == "nearest_neighbor" {
        let mut tables: Vec<Along> = data.shape.iter().map(|_| Along::Same).collect();
        for (i, &axis) in axes.iter().enumerate() {
            let (from, to) = lengths(axis);
            // Coordinates are computed in the float of the data.
            let only = |taps: &[(usize, f64)]| taps.first().map(|tap| tap.0);
            let table = match data.dtype {
                DType::F32 => {
                    sampling.axis::<f32>(from, to, part(i)?).iter().map(|taps| Some(taps.as_ref()?.first()?.0)).collect()
                }
                _ => sampling.axis::<f64>(from, to, part(i)?).iter().map(|taps| only(taps.as_deref()?)).collect(),
            };
            tables[axis] = Along::Table(table);
        }
        return picked(call, &tables, Fill::Number(sampling.extrapolation));
    }
    is_float(call, 0)?;
    let mut weighing = Weighing { axes: vec![], template: Template { dims: out.shape.clone(), ..Template::default() } };
    let (mut body, mut inside) = (Body::new(), None);
    for (i, &axis) in axes.iter().enumerate() {
        let (from, to) = lengths(axis);
        let taps = sampling.axis::<f32>(from, to, part(i)?);
        if taps.contains(&None) {
            let shown = Read::table(Table::bools(taps.iter().map(Option::is_some)), AxisMap::of(axis));
            let shown = read(&mut weighing.template, &mut body, shown);
            inside = Some(inside.map_or(shown, |inside| body.bin(Bin::And, inside, shown)));
        }
        weighing.along(&mut body, axis, &taps)?;
    }
    let mut val = weighing.sum(&mut body, 0, &mut vec![], data.shape.len());
    if let Some(inside) = inside {
        let fill = body.f32(sampling.extrapolation as f32);
        val = body.select(inside, val, fill);
    }
    weighing.template.finish(body, val)
}

/// A tap of an axis: the place and the weight, and whether it counts where that depends on the position.
struct Tap {
    place: Val,
    weight: Val,
    counts: Option<Val>,
}

struct Weighing {
    /// For each axis resized, outermost first, its number and its taps.
    axes: Vec<(usize, Vec<Tap>)>,
    template: Template,
}

impl Weighing {
    /// Reads the taps of an axis.
    fn along(&mut self, body: &mut Body, axis: usize, all: &[Option<Taps<f32>>]) -> Option<()> {
        let most = all.iter().flatten().map(|taps| taps.len()).max().unwrap_or(0);
        (most > 0).then_some(())?;
        let mut taps = vec![];
        for at in 0..most {
            let of = |taps: &Option<Taps<f32>>| taps.as_ref().and_then(|taps| taps.get(at).copied());
            let mut table = |table| read(&mut self.template, body, Read::table(table, AxisMap::of(axis)));
            let place = table(Table::ints(all.iter().map(|taps| of(taps).map_or(0, |tap| tap.0 as i32))));
            let weight = table(Table::floats(all.iter().map(|taps| of(taps).map_or(0.0, |tap| tap.1))));
            let short = all.iter().flatten().any(|taps| taps.len() <= at);
            let counts = short.then(|| table(Table::bools(all.iter().map(|taps| of(taps).is_some()))));
            taps.push(Tap { place, weight, counts });
        }
        self.axes.push((axis, taps));
        Some(())
    }

    /// The weighted sum along the axes from `level` on, at places along those before. What does not count is left out of sums,
    /// whatever it is.
    fn sum(&mut self, body: &mut Body, level: usize, places: &mut Vec<(usize, Val)>, rank: usize) -> Val {
        let Some((axis, n)) = self.axes.get(level).map(|(axis, taps)| (*axis, taps.len())) else {
            let resized = |axis: usize| self.axes.iter().any(|(own, _)| *own == axis);
            let index = (0..rank).map(|axis| if resized(axis) { AxisMap::zero() } else { AxisMap::of(axis) }).collect();
            return read(&mut self.template, body, Read { picked: places.clone(), ..Read::of(Source::Arg(0), index) });
        };
        let mut sum: Option<Val> = None;
        for at in 0..n {
            let Tap { place, weight, counts } = self.axes[level].1[at];
            places.push((axis, place));
            let value = self.sum(body, level + 1, places, rank);
            places.pop();
            let value = body.bin(Bin::Mul, value, weight);
            let joined = sum.map_or(value, |sum| body.bin(Bin::Add, sum, value));
            sum = Some(match counts {
                None => joined,
                Some(counts) => {
                    let before = sum.unwrap_or_else(|| body.f32(0.0));
                    body.select(counts, joined, before)
                }
            });
        }
        sum.unwrap_or_else(|| body.f32(0.0))
    }
}
