//! Filters transformed, in double precision, into the packed weights of the products: `U = G·g·Gᵀ`.

use super::transform::Size;
use crate::jit::contract::pack::Packing;
use crate::kernel::ContractDim;
use rayon::prelude::*;

/// How filters are transformed and packed: as the weights of `products` independent products, one after another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filters {
    pub size: Size,
    /// Of one product. Its sum is over the channels, whose steps in the source are those of the filters.
    pub packing: Packing,
    /// The steps of the window's rows and columns in the source.
    pub taps: [i64; 2],
}

impl Filters {
    /// Elements of the packed weights.
    pub fn len(&self) -> u64 {
        self.packing.part_len() * self.size.products() as u64
    }

    /// Packs. Answers whether it did: not if a side is too short.
    pub fn pack(&self, source: &[f32], packed: &mut [f32]) -> bool {
        let taps = self.taps.map(|step| ContractDim { extent: 3, input: 0, other: step });
        let whole = Packing { sum: self.packing.sum.iter().copied().chain(taps).collect(), ..self.packing.clone() };
        if (packed.len() as u64) < self.len() || !whole.inside(source.len()) {
            return false;
        }
        let part = self.packing.part_len() as usize;
        let group = self.packing.group_len() as usize;
        let mut products: Vec<_> =
            packed[..part * self.size.products()].chunks_mut(part).map(|part| part.chunks_mut(group)).collect();
        // The pieces of one group of columns in all products.
        let groups: Vec<Vec<&mut [f32]>> =
            (0..self.packing.n_groups()).map(|_| products.iter_mut().filter_map(Iterator::next).collect()).collect();
        let steps = self.packing.source_steps();
        groups.into_par_iter().enumerate().for_each(|(at, pieces)| self.pack_group(source, at as u64, &steps, pieces));
        true
    }

    fn pack_group(&self, source: &[f32], group: u64, steps: &[i64], mut pieces: Vec<&mut [f32]>) {
        let width = self.packing.group_vectors(group) as usize * self.packing.lanes;
        let first = group * (self.packing.vectors * self.packing.lanes) as u64;
        let n_columns = (width as u64).min(self.packing.columns - first) as usize;
        let columns: Vec<i64> = (first..first + n_columns as u64).map(|column| self.packing.source_column(column)).collect();
        let n = self.size.inputs();
        let mut taps = vec![[0f64; 9]; width];
        let mut half = vec![[0f64; 18]; width];
        let mut row = vec![0f64; width];
        for (at, step) in steps.iter().enumerate() {
            for (taps, column) in taps.iter_mut().zip(&columns) {
                for (tap, value) in taps.iter_mut().enumerate() {
                    let place =
                        self.packing.offset + step + column + (tap / 3) as i64 * self.taps[0] + (tap % 3) as i64 * self.taps[1];
                    *value = source.get(place as usize).copied().map_or(0.0, f64::from);
                }
            }
            for (half, g) in half.iter_mut().zip(&taps) {
                for column in 0..3 {
                    let made = self.size.filter([g[column], g[3 + column], g[6 + column]]);
                    (0..n).for_each(|i| half[3 * i + column] = made[i]);
                }
            }
            for i in 0..n {
                let lines: Vec<[f64; 6]> =
                    half.iter().map(|half| self.size.filter([half[3 * i], half[3 * i + 1], half[3 * i + 2]])).collect();
                for j in 0..n {
                    row.iter_mut().zip(&lines).for_each(|(to, line)| *to = line[j]);
                    let to = &mut pieces[i * n + j][at * width..(at + 1) * width];
                    to.iter_mut().zip(&row).for_each(|(to, value)| *to = *value as f32);
                }
            }
        }
    }
}

impl Size {
    /// `G·g`.
    fn filter(self, [a, b, c]: [f64; 3]) -> [f64; 6] {
        match self {
            Size::Two => [a, (a + b + c) / 2.0, (a - b + c) / 2.0, c, 0.0, 0.0],
            Size::Four => {
                let (even, odd) = (a / 24.0 + c / 6.0, b / 12.0);
                [a / 4.0, -(a + b + c) / 6.0, -(a - b + c) / 6.0, even + odd, even - odd, c]
            }
        }
    }
}
