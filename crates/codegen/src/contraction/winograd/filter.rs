//! Transforms filters in double precision into the packed weights of the products: `U = G·g·Gᵀ`.

use super::transform::Size;
use crate::contraction::pack::{Element, Packing, Source, TURN_BYTES};
use rayon::prelude::*;
use relayc_ir::kernel::ContractionDim;
use relayc_ir::types::DType;
use relayc_runtime::pack::{filter_five, filter_four, filter_three, filter_two, filter_whole, halves, pair};

/// How filters are transformed and packed: as the weights of `products` independent products, one after another.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Filters {
    pub(crate) size: Size,
    /// The dtype of the filters before they are transformed.
    pub(crate) dtype: DType,
    /// The packing of one product. Its reduction is over the channels, with the filters' steps in the source.
    pub(crate) packing: Packing,
    /// Steps of the window's rows and columns in the source.
    pub(crate) taps: [i64; 2],
}

impl Filters {
    /// Number of elements of the packed weights.
    pub(crate) fn elements(&self) -> u64 {
        self.packing.part_len() * self.size.products() as u64
    }

    /// Packs elements that `value` reads, some groups of columns at a time. Returns whether it did: false if a side is too short.
    pub(crate) fn pack_from<E: Element>(
        &self,
        source: &mut impl Source<E>,
        packed: &mut [f32],
        value: impl Fn(E) -> f32 + Sync,
    ) -> bool {
        let taps = self.taps.map(|step| ContractionDim { extent: self.size.taps() as u64, input: 0, other: step });
        let whole = Packing { sum: self.packing.sum.iter().copied().chain(taps).collect(), ..self.packing.clone() };
        if (packed.len() as u64) < self.elements() || !whole.inside(source.elements().len()) {
            return false;
        }
        relayc_ir::threads::ready();
        let part = self.packing.part_len() as usize;
        let group = self.packing.group_len() as usize;
        let steps = self.packing.source_steps();
        let mut products: Vec<_> =
            packed[..part * self.size.products()].chunks_mut(part).map(|part| part.chunks_mut(group)).collect();
        let (done, per_turn) = (self.done(&steps), self.groups_of_a_turn());
        let mut first = 0;
        while first < self.packing.n_groups() {
            let end = self.packing.n_groups().min(first + per_turn);
            // The pieces of one group of columns in all products.
            let groups: Vec<Vec<&mut [f32]>> =
                (first..end).map(|_| products.iter_mut().filter_map(Iterator::next).collect()).collect();
            let elements = source.elements();
            let groups = groups.into_par_iter().enumerate();
            groups.for_each(|(at, pieces)| {
                let read = |at: usize| elements.get(at).map_or(0.0, |&element| value(element));
                self.pack_group(read, first + at as u64, &steps, pieces);
            });
            source.done(done[end as usize]);
            first = end;
        }
        true
    }

    /// Number of groups of columns whose filters fill a chunk, at least one for each thread.
    fn groups_of_a_turn(&self) -> u64 {
        let bytes = 4 * (self.size.taps() * self.size.taps()) as u64 * self.packing.group_len();
        (TURN_BYTES / bytes.max(1)).max(rayon::current_num_threads() as u64)
    }

    /// For each group of columns, the first source element that it or a later group reads; 0 after the last.
    fn done(&self, steps: &[i64]) -> Vec<usize> {
        let least = |offsets: &mut dyn Iterator<Item = i64>| offsets.min().unwrap_or(0);
        let last_tap = self.size.taps() as i64 - 1;
        let base = self.packing.offset
            + least(&mut steps.iter().copied())
            + self.taps.iter().map(|step| (last_tap * step).min(0)).sum::<i64>();
        let width = (self.packing.vectors * self.packing.lanes) as u64;
        let mut done = vec![usize::MAX; self.packing.n_groups() as usize + 1];
        for group in (0..self.packing.n_groups()).rev() {
            let columns = group * width..self.packing.columns.min((group + 1) * width);
            let first = base + least(&mut columns.map(|at| self.packing.source_columns.offset(at)));
            let first = usize::try_from(first).unwrap_or(0);
            done[group as usize] = first.min(done[group as usize + 1]);
        }
        done[self.packing.n_groups() as usize] = 0;
        done
    }

    fn pack_group(&self, read: impl Fn(usize) -> f32, group: u64, steps: &[i64], mut pieces: Vec<&mut [f32]>) {
        let width = self.packing.group_vectors(group) as usize * self.packing.lanes;
        let first = group * (self.packing.vectors * self.packing.lanes) as u64;
        let n_columns = (width as u64).min(self.packing.columns - first) as usize;
        let columns: Vec<i64> =
            (first..first + n_columns as u64).map(|column| self.packing.source_columns.offset(column)).collect();
        let side = self.size.taps() as i64;
        let taps: Vec<i64> = (0..side * side).map(|tap| tap / side * self.taps[0] + tap % side * self.taps[1]).collect();
        // Whole lines are made beside the pieces, whose starts may lie in each other's way in the caches.
        let mut line = vec![0f32; self.size.products() * width];
        let mut odd_line = if self.size == Size::Whole { line.clone() } else { vec![] };
        for (at, step) in steps.iter().enumerate() {
            for (chunk, columns) in columns.chunks(LANES).enumerate() {
                let mut g = [[0f64; LANES]; MOST_TAPS];
                let mut odd = g;
                for (lane, column) in columns.iter().enumerate() {
                    let base = self.packing.offset + step + column;
                    for ((g, odd), tap) in g.iter_mut().zip(&mut odd).zip(&taps) {
                        let value = read(base.wrapping_add(*tap) as usize);
                        (g[lane], odd[lane]) = match self.size {
                            Size::Whole => (halves(value)[0].into(), halves(value)[1].into()),
                            _ => (value.into(), 0.0),
                        };
                    }
                }
                let to = &mut line[chunk * LANES..];
                match self.size {
                    Size::Two => transform(&g, to, width, filter_two),
                    Size::Three => transform(&g, to, width, filter_three),
                    Size::Four => transform(&g, to, width, filter_four),
                    Size::Five => transform(&g, to, width, filter_five),
                    Size::Whole => {
                        transform(&g, to, width, filter_whole);
                        transform(&odd, &mut odd_line[chunk * LANES..], width, filter_whole);
                    }
                }
            }
            line.iter_mut().zip(&odd_line).for_each(|(even, odd)| *even = pair(*even, *odd));
            for (piece, line) in pieces.iter_mut().zip(line.chunks_exact(width)) {
                piece[at * width..][..width].copy_from_slice(line);
            }
        }
    }
}

/// Number of columns that are transformed side by side; the lanes of a vector are a multiple.
const LANES: usize = 8;

/// Number of taps of a 3×3 window.
const MOST_TAPS: usize = 9;

type Lanes = [f64; LANES];

/// `G·g·Gᵀ` of `LANES` filters, with their taps in `g` row by row: product `i` goes to `to[i·width..]`.
fn transform<const R: usize, const N: usize>(
    g: &[Lanes; MOST_TAPS],
    to: &mut [f32],
    width: usize,
    filter: fn([f64; R]) -> [f64; N],
) {
    let mut half = [[[0f64; LANES]; R]; N];
    for column in 0..R {
        for lane in 0..LANES {
            let made = filter(std::array::from_fn(|row| g[R * row + column][lane]));
            for (half, made) in half.iter_mut().zip(made) {
                half[column][lane] = made;
            }
        }
    }
    for (half, rows) in half.iter().zip(to.chunks_mut(N * width)) {
        for lane in 0..LANES {
            let made = filter(half.map(|half| half[lane]));
            for (row, made) in rows.chunks_mut(width).zip(made) {
                row[lane] = made as f32;
            }
        }
    }
}
