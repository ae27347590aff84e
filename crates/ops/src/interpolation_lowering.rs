//! Lowers interpolation to loop nests: the weighted sum of elements around a coordinate.
//!
//! Sums are computed in the order of the evaluation, the last axis innermost, so that both give the same floats.

use super::gather_lowering::read;
use crate::prelude::*;

/// A position on an axis with its weight. The position is in range for any data. `counts` says whether it counts, if that depends
/// on data.
#[derive(Clone, Copy)]
pub(crate) struct Tap {
    pub(crate) place: Val,
    pub(crate) weight: Val,
    pub(crate) counts: Option<Val>,
}

/// An interpolation of operand 0.
pub(crate) struct Interpolation {
    /// For each interpolated axis, outermost first, its number and its positions.
    pub(crate) axes: Vec<(usize, Vec<Tap>)>,
    /// The index of each axis; those of interpolated axes come from the positions.
    pub(crate) index: Vec<AxisMap>,
    pub(crate) template: Template,
}

impl Interpolation {
    pub(crate) fn sum(&mut self, body: &mut Body) -> Val {
        for (axis, _) in &self.axes {
            self.index[*axis] = AxisMap::zero();
        }
        self.sum_from(body, 0, &mut vec![])
    }

    /// The weighted sum along the axes from `level` on, at fixed positions along the axes before. Positions that do not count are
    /// left out, whatever their value.
    fn sum_from(&mut self, body: &mut Body, level: usize, places: &mut Vec<(usize, Val)>) -> Val {
        let Some((axis, n)) = self.axes.get(level).map(|(axis, taps)| (*axis, taps.len())) else {
            return self.element(body, places.clone());
        };
        let mut sum: Option<Val> = None;
        for at in 0..n {
            let Tap { place, weight, counts } = self.axes[level].1[at];
            places.push((axis, place));
            let value = self.sum_from(body, level + 1, places);
            places.pop();
            let value = body.bin(BinaryOp::Mul, value, weight);
            let joined = sum.map_or(value, |sum| body.bin(BinaryOp::Add, sum, value));
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

    /// Reads the element at the first position of each axis.
    pub(crate) fn only(&mut self, body: &mut Body) -> Val {
        let places: Vec<(usize, Val)> = self.axes.iter().map(|(axis, taps)| (*axis, taps[0].place)).collect();
        for (axis, _) in &self.axes {
            self.index[*axis] = AxisMap::zero();
        }
        self.element(body, places)
    }

    fn element(&mut self, body: &mut Body, picked: Vec<(usize, Val)>) -> Val {
        read(&mut self.template, body, Read { picked, ..Read::of(Source::Arg(0), self.index.clone()) })
    }
}
