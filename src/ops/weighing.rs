//! Interpolation as loops: the elements at the taps of each axis, weighed.
//!
//! Sums go in the order of the evaluation, the last axis innermost, so that both give the same floats.

use super::lower::{AxisMap, Read, Source, Template};
use super::picked::read;
use crate::kernel::{Bin, Body, Val};

/// A tap of an axis: the place, which is inside whatever the data, the weight, and whether it counts where that depends.
#[derive(Clone, Copy)]
pub struct Tap {
    pub place: Val,
    pub weight: Val,
    pub counts: Option<Val>,
}

/// An interpolation of operand 0.
pub struct Weighing {
    /// For each axis interpolated, outermost first, its number and its taps.
    pub axes: Vec<(usize, Vec<Tap>)>,
    /// The index of each axis; those interpolated have theirs from the taps.
    pub index: Vec<AxisMap>,
    pub template: Template,
}

impl Weighing {
    /// The weighted sum.
    pub fn sum(&mut self, body: &mut Body) -> Val {
        for (axis, _) in &self.axes {
            self.index[*axis] = AxisMap::zero();
        }
        self.sum_from(body, 0, &mut vec![])
    }

    /// The weighted sum along the axes from `level` on, at places along those before. What does not count is left out of sums,
    /// whatever it is.
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

    /// The element of the first tap of each axis as it is.
    pub fn only(&mut self, body: &mut Body) -> Val {
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
