//! Packs weights into the order in which tiles read them: `[part][group of columns][the sum's dimensions][columns of the
//! group]`.
//!
//! Missing columns are zeros, so a tile loads weights without a mask. Packing reads any strided view, so a convolution's
//! weights may have any order of axes.

use crate::pool::part;
use rayon::prelude::*;
use relayc_ir::kernel::{Columns, ContractionDim};
use std::ops::Range;

/// When the weights of a contraction are known, and who reads them packed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Weights {
    /// Only a run knows them.
    Computed,
    /// Constants, packed for this contraction as is best for its points.
    Own,
    /// Constants, packed alike for any number of points, for contractions that differ in nothing else.
    Shared,
}

/// An element of weights, which packing only moves.
pub(crate) trait Element: Copy + Default + Send + Sync {}

impl Element for f32 {}

/// An element in memory of the caller, which may be unaligned.
impl<const N: usize> Element for [u8; N] where [u8; N]: Default {}

/// How the weights of a contraction are packed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Packing {
    /// Number of independent parts, and the step from one to the next in the source. Parts that share their weights count as
    /// one.
    pub(crate) parts: u64,
    pub(crate) part_step: i64,
    /// Offset of the source's first element, in elements.
    pub(crate) offset: i64,
    /// The reduced dimensions, outermost first; `other` is the step in the source.
    pub(crate) sum: Vec<ContractionDim>,
    pub(crate) columns: u64,
    pub(crate) source_columns: Columns,
    /// Lanes of a vector, and vectors of a group.
    pub(crate) lanes: usize,
    pub(crate) vectors: usize,
}

/// Weights that are read roughly in order, from the first element on.
pub trait Source<E> {
    fn elements(&self) -> &[E];

    /// Reports that the first `n` elements are no longer read.
    fn done(&mut self, n: usize);
}

/// Weights that stay in memory.
impl<E> Source<E> for &[E] {
    fn elements(&self) -> &[E] {
        self
    }

    fn done(&mut self, _n: usize) {}
}

/// Approximate number of bytes of packed weights per chunk; after each chunk the source learns its progress.
pub(crate) const TURN_BYTES: u64 = 1 << 20;

/// Approximate number of elements per task of a chunk.
const TASK: usize = 1 << 16;

/// Bytes of a group per inner block, so that both sides stay in the first-level cache while the columns are traversed.
const CHUNK_BYTES: u64 = 16 << 10;

impl Packing {
    /// The packing of elements of 64 bits as two halves each; `source_columns` are those of the halves.
    pub(crate) fn of_halves(mut self, source_columns: Columns) -> Packing {
        (self.part_step, self.offset) = (2 * self.part_step, 2 * self.offset);
        self.sum.iter_mut().for_each(|dim| dim.other *= 2);
        Packing { columns: 2 * self.columns, source_columns, ..self }
    }

    pub(crate) fn steps(&self) -> u64 {
        self.sum.iter().map(|dim| dim.extent).product()
    }

    /// Number of vectors of all columns.
    pub(crate) fn n_vectors(&self) -> u64 {
        self.columns.div_ceil(self.lanes as u64)
    }

    pub(crate) fn n_groups(&self) -> u64 {
        self.n_vectors().div_ceil(self.vectors as u64)
    }

    /// Number of vectors of a group: fewer in the last one.
    pub(crate) fn group_vectors(&self, group: u64) -> u64 {
        (self.vectors as u64).min(self.n_vectors() - group * self.vectors as u64)
    }

    /// Number of elements of one part.
    pub(crate) fn part_len(&self) -> u64 {
        self.n_vectors() * self.steps() * self.lanes as u64
    }

    /// Number of elements of the packed weights.
    pub(crate) fn elements(&self) -> u64 {
        self.parts * self.part_len()
    }

    /// Number of elements of every group but the last.
    pub(crate) fn group_len(&self) -> u64 {
        self.vectors as u64 * self.steps() * self.lanes as u64
    }

    /// Start of a group's weights in its part.
    pub(crate) fn group_begin(&self, group: u64) -> u64 {
        group * self.group_len()
    }

    /// The offsets of all reduction steps in the source, in order.
    pub(crate) fn source_steps(&self) -> Vec<i64> {
        offsets(&self.sum, |dim| dim.other)
    }

    /// The same packing without what it does not depend on: the input that the weights are multiplied with.
    pub(crate) fn of_weights(&self) -> Packing {
        Packing { sum: self.sum.iter().map(|dim| ContractionDim { input: 0, ..*dim }).collect(), ..self.clone() }
    }

    /// Whether every element of the source is within `len` elements.
    pub(crate) fn inside(&self, len: usize) -> bool {
        let mut low = i128::from(self.offset);
        let mut high = low;
        let mut span = |extent: u64, step: i64| {
            let reach = i128::from(extent.saturating_sub(1)) * i128::from(step);
            low += reach.min(0);
            high += reach.max(0);
        };
        span(self.parts, self.part_step);
        self.sum.iter().for_each(|dim| span(dim.extent, dim.other));
        let Columns { block, outer, inner } = self.source_columns;
        if block == 0 || self.columns == 0 {
            return false;
        }
        // The first and the last column of the first block, of the last whole one, and of one that is not whole.
        let (whole, rest) = (self.columns / block, self.columns % block);
        let column = |at: u64, within: u64| i128::from(at) * i128::from(outer) + i128::from(within) * i128::from(inner);
        let ends = [(0, 0), (0, block.min(self.columns) - 1), (whole.max(1) - 1, block.min(self.columns) - 1)];
        let tail = [(whole, 0), (whole, rest.max(1) - 1)].into_iter().filter(|_| rest > 0);
        let ends = ends.into_iter().chain([(whole.max(1) - 1, 0)]).chain(tail).map(|(at, within)| column(at, within));
        low += ends.clone().min().unwrap_or(0);
        high += ends.max().unwrap_or(0);
        low >= 0 && high < len as i128
    }

    /// Packs. Returns whether it did: false if a side is too short.
    #[cfg(test)]
    pub(crate) fn pack<E: Element>(&self, mut source: &[E], packed: &mut [E]) -> bool {
        self.pack_from(&mut source, packed)
    }

    /// Like [`Packing::pack`], chunk by chunk.
    pub(crate) fn pack_from<E: Element>(&self, source: &mut impl Source<E>, packed: &mut [E]) -> bool {
        let Some(packed) = packed.get_mut(..self.elements() as usize) else { return false };
        if !self.inside(source.elements().len()) {
            return false;
        }
        let packer = Packer::of(self);
        for (turn, done) in packer.turns() {
            packer.turn(source.elements(), packed, &turn);
            source.done(done);
        }
        true
    }

    /// Number of pieces that can be packed in parallel: a piece is a group of columns of a part.
    pub(crate) fn n_pieces(&self) -> usize {
        (self.parts * self.n_groups()) as usize
    }

    /// Start and length of a piece in the packed weights.
    pub(crate) fn piece(&self, at: usize) -> (usize, usize) {
        let (part, group) = (at as u64 / self.n_groups(), at as u64 % self.n_groups());
        let begin = part * self.part_len() + self.group_begin(group);
        (begin as usize, (self.group_vectors(group) * self.steps()) as usize * self.lanes)
    }
}

/// A packing with precomputed offsets, which allocates nothing when it packs.
#[derive(Clone, Debug)]
pub(crate) struct Packer {
    packing: Packing,
    steps: Steps,
    /// Offset of each column in the source.
    columns: Vec<i64>,
}

/// A chunk: some pieces, and some steps of each.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Turn {
    pieces: Range<usize>,
    steps: Range<usize>,
}

impl Packer {
    pub(crate) fn of(packing: &Packing) -> Packer {
        let most = CHUNK_BYTES / (4 * packing.lanes as u64 * packing.vectors as u64);
        let columns = (0..packing.columns).map(|column| packing.source_columns.offset(column)).collect();
        Packer { steps: Steps::of(&packing.sum, most), columns, packing: packing.clone() }
    }

    /// Packs a piece ([`Packing::piece`]) of a source whose length [`Packing::inside`] has confirmed.
    pub(crate) fn pack<E: Element>(&self, source: &[E], at: usize, piece: &mut [E]) {
        self.pack_steps(source, at, 0, piece);
    }

    /// The columns that a group has, and the number of columns for which it has room.
    fn group(&self, group: u64) -> (&[i64], usize) {
        let packing = &self.packing;
        let width = packing.group_vectors(group) as usize * packing.lanes;
        let first = group as usize * packing.vectors * packing.lanes;
        (&self.columns[first..self.columns.len().min(first + width)], width)
    }

    /// Packs as many steps of a piece as fit, from `first` on.
    fn pack_steps<E: Element>(&self, source: &[E], at: usize, first: usize, mut out: &mut [E]) {
        let packing = &self.packing;
        let (part, group) = (at as u64 / packing.n_groups(), at as u64 % packing.n_groups());
        let base = packing.offset + part as i64 * packing.part_step;
        let (columns, width) = self.group(group);
        let n_columns = columns.len();
        let contiguous = columns.windows(2).all(|pair| pair[1] == pair[0].wrapping_add(1));
        let chunk = self.steps.inner.len();
        let mut step = first;
        while out.len() >= width && step / chunk < self.steps.outer.len() {
            let base = base + self.steps.outer[step / chunk];
            let inner = &self.steps.inner[step % chunk..];
            let inner = &inner[..inner.len().min(out.len() / width)];
            let (now, later) = std::mem::take(&mut out).split_at_mut(inner.len() * width);
            (out, step) = (later, step + inner.len());
            if contiguous {
                for (row, step) in now.chunks_exact_mut(width).zip(inner) {
                    let begin = (base + step + columns[0]) as usize;
                    let (kept, missing) = row.split_at_mut(n_columns);
                    kept.copy_from_slice(&source[begin..begin + n_columns]);
                    missing.fill(E::default());
                }
                continue;
            }
            for (at, column) in columns.iter().enumerate() {
                gather(source, base + column, inner, now, at, width);
            }
            if n_columns < width {
                now.chunks_exact_mut(width).for_each(|row| row[n_columns..].fill(E::default()));
            }
        }
    }

    /// The chunks of the packing, each with the number of leading source elements that are no longer read after it.
    ///
    /// The order is piece by piece, or step by step of all pieces, whichever releases the source sooner.
    fn turns(&self) -> Vec<(Turn, usize)> {
        let (n_pieces, n_steps) = (self.packing.n_pieces(), self.packing.steps() as usize);
        let n = (4 * self.packing.elements()).div_ceil(TURN_BYTES).max(1) as usize;
        if n == 1 {
            return vec![(Turn { pieces: 0..n_pieces, steps: 0..n_steps }, 0)];
        }
        let cut = |total: usize| (0..n.min(total)).map(move |at| part(total, at, n.min(total)));
        let by_pieces = cut(n_pieces).map(|pieces| Turn { pieces, steps: 0..n_steps }).collect();
        let by_steps = cut(n_steps).map(|steps| Turn { pieces: 0..n_pieces, steps }).collect();
        let [by_pieces, by_steps] = [by_pieces, by_steps].map(|turns| self.with_done(turns));
        let left = |turns: &[(Turn, usize)]| turns.iter().map(|(_, done)| *done as f64).sum::<f64>() / turns.len() as f64;
        if left(&by_steps) > left(&by_pieces) { by_steps } else { by_pieces }
    }

    /// Chunks with the first element that a later one reads.
    fn with_done(&self, turns: Vec<Turn>) -> Vec<(Turn, usize)> {
        let mut needed = usize::MAX;
        let mut found: Vec<(Turn, usize)> = turns
            .into_iter()
            .rev()
            .map(|turn| {
                let done = if needed == usize::MAX { 0 } else { needed };
                needed = needed.min(self.low(&turn));
                (turn, done)
            })
            .collect();
        found.reverse();
        found
    }

    /// The first element of the source that a chunk reads.
    fn low(&self, turn: &Turn) -> usize {
        let chunk = self.steps.inner.len();
        let step = turn.steps.clone().map(|step| self.steps.outer[step / chunk] + self.steps.inner[step % chunk]).min();
        let piece = |at: usize| {
            let (part, group) = (at as u64 / self.packing.n_groups(), at as u64 % self.packing.n_groups());
            let columns = self.group(group).0.iter().min().copied().unwrap_or(0);
            part as i64 * self.packing.part_step + columns
        };
        let least = turn.pieces.clone().map(piece).min().unwrap_or(0) + step.unwrap_or(0);
        usize::try_from(self.packing.offset + least).unwrap_or(0)
    }

    /// Packs a chunk, in parallel tasks.
    fn turn<E: Element>(&self, source: &[E], packed: &mut [E], turn: &Turn) {
        let parts = packed.chunks_mut(self.packing.part_len().max(1) as usize);
        let pieces = parts.flat_map(|part| part.chunks_mut(self.packing.group_len().max(1) as usize)).enumerate();
        let mut tasks: Vec<(usize, usize, &mut [E])> = vec![];
        for (at, piece) in pieces.skip(turn.pieces.start).take(turn.pieces.len()) {
            let width = self.group(at as u64 % self.packing.n_groups()).1;
            let rows = &mut piece[turn.steps.start * width..turn.steps.end * width];
            let steps = (TASK / width).max(1);
            tasks.extend(rows.chunks_mut(steps * width).enumerate().map(|(n, rows)| (at, turn.steps.start + n * steps, rows)));
        }
        relayc_ir::threads::ready();
        tasks.into_par_iter().for_each(|(at, first, rows)| self.pack_steps(source, at, first, rows));
    }
}

/// Packs one column of a block: element `at` of each row of `out` from the source's `base + step`.
fn gather<E: Element>(source: &[E], base: i64, steps: &[i64], out: &mut [E], at: usize, width: usize) {
    for (row, step) in out.chunks_exact_mut(width).zip(steps) {
        row[at] = source[base.wrapping_add(*step) as usize];
    }
}

/// The reduction steps in the source: blocks, and the steps in a block.
#[derive(Clone, Debug)]
struct Steps {
    outer: Vec<i64>,
    inner: Vec<i64>,
}

impl Steps {
    /// Blocks of whole inner dimensions, of at most `most` steps if possible. A longer dimension is not cut, because a column's
    /// source is then contiguous.
    fn of(sum: &[ContractionDim], most: u64) -> Steps {
        let mut split = sum.len();
        let mut steps = 1u64;
        while split > 0 && steps.saturating_mul(sum[split - 1].extent) <= most {
            split -= 1;
            steps *= sum[split].extent;
        }
        if split == sum.len() && split > 0 {
            split -= 1;
        }
        Steps { outer: offsets(&sum[..split], |dim| dim.other), inner: offsets(&sum[split..], |dim| dim.other) }
    }
}

/// The offset of each point of some dimensions, the last one innermost.
pub(crate) fn offsets(dims: &[ContractionDim], step: impl Fn(&ContractionDim) -> i64) -> Vec<i64> {
    dims.iter().rev().fold(vec![0], |inner, dim| {
        let step = step(dim);
        (0..dim.extent as i64).flat_map(|at| inner.iter().map(move |within| at * step + within)).collect()
    })
}
