//! Lowers Fourier transforms to loop nests: sums of products with a table of roots of unity, in float32.

use super::{DftAttrs, StftAttrs};
use crate::gather_lowering::{constant, read};
use crate::lower::{converted, lane, stored, summing, tabled};
use crate::prelude::*;
use relayc_ir::kernel::{ReduceDim, Reduction, Stage};
use std::f64::consts::TAU;

/// The cosines, or the sines, of `2π f k / length` for each frequency and position below these numbers.
fn roots(of: fn(f64) -> f64, [n_frequencies, n_positions]: [u64; 2], length: u64) -> Option<Table> {
    tabled(n_frequencies.checked_mul(n_positions)?)?;
    let pairs = (0..n_frequencies).flat_map(|f| (0..n_positions).map(move |k| f * k % length));
    Some(Table::floats(pairs.map(|turn| of(TAU * turn as f64 / length as f64) as f32)))
}

/// Reads an operand as a float to sum with.
fn float(template: &mut Template, body: &mut Body, call: &Call, arg: usize, index: Vec<AxisMap>) -> Option<Val> {
    let lane = lane(call.arg(arg).dtype)?;
    let val = read(template, body, Read::of(Source::Arg(arg), index));
    Some(converted(body, val, lane, ScalarType::F32))
}

/// The real part, or the imaginary one.
pub(super) fn dft(call: &Call, part: usize) -> Option<Template> {
    let inverse = DftAttrs::read(call.attrs).inverse.0 == Some(true);
    let shape = &call.arg(0).shape;
    let (&length, batch) = shape.split_last()?;
    let to = lane(call.out().dtype)?;
    (summing(to) == ScalarType::F32 && length > 0).then_some(())?;
    let (at, rank) = (batch.len(), shape.len());
    let reduce = vec![ReduceDim { extent: length, clip: None }];
    let mut template = Template { dims: shape.clone(), reduce, ..Template::default() };
    let mut body = Body::new();
    let index: Vec<AxisMap> = (0..at).map(AxisMap::of).chain([AxisMap::of(rank)]).collect();
    let own = float(&mut template, &mut body, call, part, index.clone())?;
    let other = float(&mut template, &mut body, call, 1 - part, index)?;
    let of_root = AxisMap { offset: 0, terms: vec![(at, length as i64), (rank, 1)] };
    let [cos, sin] = [f64::cos, f64::sin].map(|of| {
        let table = roots(of, [length; 2], length)?;
        Some(read(&mut template, &mut body, Read::table(table, of_root.clone())))
    });
    let (own, other) = (body.bin(BinaryOp::Mul, own, cos?), body.bin(BinaryOp::Mul, other, sin?));
    let join = if inverse == (part == 0) { BinaryOp::Sub } else { BinaryOp::Add };
    let term = body.bin(join, own, other);
    let scale = if inverse { length as f64 } else { 1.0 };
    summed(template, body, term, scale, to)
}

/// The sum of a term divided by a number.
fn summed(template: Template, body: Body, term: Val, scale: f64, to: ScalarType) -> Option<Template> {
    let folds = Stage { each: true, body, reductions: vec![(term, Reduction::Sum)], stores: vec![] };
    let mut body = Body::new();
    let mut sum = body.folded(0);
    if scale != 1.0 {
        let scale = constant(&mut body, ScalarType::F32, scale)?;
        sum = body.bin(BinaryOp::Div, sum, scale);
    }
    let val = converted(&mut body, sum, ScalarType::F32, to);
    let out = (0..template.dims.len()).map(AxisMap::of).collect();
    Some(Template { stages: vec![folds, stored(body, val)], outs: vec![out], ..template })
}

pub(super) fn stft(call: &Call) -> Option<Template> {
    let attrs = StftAttrs::read(call.attrs);
    let out = &call.out().shape;
    let (width, to) = (attrs.win_length as u64, lane(call.out().dtype)?);
    (summing(to) == ScalarType::F32).then_some(())?;
    let (of_part, rank) = (out.len() - 1, out.len());
    let (frequency, frame) = (rank - 3, rank - 2);
    let reduce = vec![ReduceDim { extent: width, clip: None }];
    let mut template = Template { dims: out.clone(), reduce, ..Template::default() };
    let mut body = Body::new();
    let signal = AxisMap { offset: 0, terms: vec![(frame, attrs.hop_length), (rank, 1)] };
    let index = (0..frequency).map(AxisMap::of).chain([signal]).collect();
    let x = float(&mut template, &mut body, call, 0, index)?;
    let w = float(&mut template, &mut body, call, 1, vec![AxisMap::of(rank)])?;
    // All cosines, then all sines, which are turned the other way.
    let n = [out[frequency], width];
    let (cosines, sines) = (roots(f64::cos, n, width)?, roots(|x| -x.sin(), n, width)?);
    let table = Table { dtype: cosines.dtype, bits: cosines.bits.iter().chain(sines.bits.iter()).copied().collect() };
    let n = (out[frequency] * width) as i64;
    let of_root = AxisMap { offset: 0, terms: vec![(of_part, n), (frequency, width as i64), (rank, 1)] };
    let root = read(&mut template, &mut body, Read::table(table, of_root));
    let windowed = body.bin(BinaryOp::Mul, x, w);
    let term = body.bin(BinaryOp::Mul, windowed, root);
    let scale = if attrs.normalized { (attrs.n_fft as f64).sqrt() } else { 1.0 };
    summed(template, body, term, scale, to)
}
