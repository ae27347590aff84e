//! Lowers resizing to loop nests: interpolation points and weights are tables, since they depend on the sizes alone.

use super::{Resize, Sampling};
use crate::gather_lowering::{AxisOrigin, Fill, gather, is_float, read};
use crate::interpolation::Taps;
use crate::interpolation_lowering::{Interpolation, Tap};
use crate::lower::tabled;
use crate::prelude::*;

pub(super) fn resize(call: &Call, resize: &Resize) -> Option<Template> {
    sampled(call, &resize.layout, &resize.letters[2..], resize.roi.as_deref().unwrap_or_default(), &resize.sampling)
}

/// Resizes operand 0 along the spatial axes of a layout to the lengths of the result.
pub(crate) fn sampled(call: &Call, layout: &str, spatial: &str, roi: &[f64], sampling: &Sampling) -> Option<Template> {
    let layout = Layout::parse(layout).ok()?;
    let (data, out) = (call.arg(0), call.out());
    // Blocks of a resized axis cut it into two.
    let axis = |letter| layout.axis(letter).filter(|_| layout.block(letter) == 1);
    let axes = spatial.chars().map(axis).collect::<Option<Vec<usize>>>()?;
    (data.dtype == out.dtype && !data.shape.contains(&0)).then_some(())?;
    axes.iter().try_for_each(|&axis| tabled(out.shape[axis]))?;
    let n = axes.len();
    let part = |i: usize| Some((*roi.get(i)?, *roi.get(i + n)?));
    let lengths = |axis: usize| (data.shape[axis] as usize, out.shape[axis] as usize);
    if sampling.method == "nearest_neighbor" {
        let mut tables: Vec<AxisOrigin> = data.shape.iter().map(|_| AxisOrigin::Same).collect();
        for (i, &axis) in axes.iter().enumerate() {
            let (from, to) = lengths(axis);
            // Coordinates are computed in the float of the data.
            let only = |taps: &[(usize, f64)]| taps.first().map(|tap| tap.0);
            let table = match data.dtype {
                DType::F32 => {
                    sampling.axis::<f32>(from, to, part(i)?).ok()?.iter().map(|taps| Some(taps.as_ref()?.first()?.0)).collect()
                }
                _ => sampling.axis::<f64>(from, to, part(i)?).ok()?.iter().map(|taps| only(taps.as_deref()?)).collect(),
            };
            tables[axis] = AxisOrigin::Table(table);
        }
        return gather(call, &tables, Fill::Number(sampling.extrapolation));
    }
    is_float(call, 0)?;
    let mut weighing = Interpolation {
        axes: vec![],
        index: (0..data.shape.len()).map(AxisMap::of).collect(),
        template: Template { dims: out.shape.clone(), ..Template::default() },
    };
    let (mut body, mut inside) = (Body::new(), None);
    for (i, &axis) in axes.iter().enumerate() {
        let (from, to) = lengths(axis);
        let taps = sampling.axis::<f32>(from, to, part(i)?).ok()?;
        if taps.contains(&None) {
            let shown = Read::table(Table::bools(taps.iter().map(Option::is_some)), AxisMap::of(axis));
            let shown = read(&mut weighing.template, &mut body, shown);
            inside = Some(inside.map_or(shown, |inside| body.bin(BinaryOp::And, inside, shown)));
        }
        let taps = along(&mut weighing.template, &mut body, axis, &taps)?;
        weighing.axes.push((axis, taps));
    }
    let mut val = weighing.sum(&mut body);
    if let Some(inside) = inside {
        let fill = body.f32(sampling.extrapolation as f32);
        val = body.select(inside, val, fill);
    }
    weighing.template.finish(body, val)
}

/// The taps of an axis, read from tables.
fn along(template: &mut Template, body: &mut Body, axis: usize, all: &[Option<Taps<f32>>]) -> Option<Vec<Tap>> {
    let most = all.iter().flatten().map(|taps| taps.len()).max().unwrap_or(0);
    (most > 0).then_some(())?;
    let mut taps = vec![];
    for at in 0..most {
        let of = |taps: &Option<Taps<f32>>| taps.as_ref().and_then(|taps| taps.get(at).copied());
        let mut table = |table| read(template, body, Read::table(table, AxisMap::of(axis)));
        let place = table(Table::ints(all.iter().map(|taps| of(taps).map_or(0, |tap| tap.0 as i32))));
        let weight = table(Table::floats(all.iter().map(|taps| of(taps).map_or(0.0, |tap| tap.1))));
        let short = all.iter().flatten().any(|taps| taps.len() <= at);
        let counts = short.then(|| table(Table::bools(all.iter().map(|taps| of(taps).is_some()))));
        taps.push(Tap { place, weight, counts });
    }
    Some(taps)
}
