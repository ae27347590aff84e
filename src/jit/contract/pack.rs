//! Weights in the order in which tiles read them: `[part][group of columns][the sum's dimensions][columns of the group]`.
//!
//! Columns that are not there are zeros, so a tile's loads of weights need no mask. Reads any strided view, so the weights of
//! a convolution come as they are kept, whatever the order of their axes.

use crate::jit::pool::part;
use crate::kernel::{Columns, ContractDim};
use rayon::prelude::*;
use std::ops::Range;

/// An element of weights as they come.
pub trait Element: Copy + Sync {
    fn value(self) -> f32;

    /// Copies elements that lie one after another.
    fn copy(from: &[Self], to: &mut [f32]);
}

impl Element for f32 {
    fn value(self) -> f32 {
        self
    }

    fn copy(from: &[f32], to: &mut [f32]) {
        to.copy_from_slice(from);
    }
}

/// Of memory that a caller brought, which may begin anywhere.
impl Element for [u8; 4] {
    fn value(self) -> f32 {
        f32::from_ne_bytes(self)
    }

    fn copy(from: &[[u8; 4]], to: &mut [f32]) {
        to.iter_mut().zip(from).for_each(|(to, from)| *to = from.value());
    }
}

/// How the weights of a contraction are packed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packing {
    /// Independent parts, and the step from one to the next in the source. Parts that share their weights are one.
    pub parts: u64,
    pub part_step: i64,
    /// Where the source's first element is, in elements.
    pub offset: i64,
    /// The dimensions of the sum, outermost first; `other` is the step in the source.
    pub sum: Vec<ContractDim>,
    pub columns: u64,
    pub source_columns: Columns,
    /// Lanes of a vector, and vectors of a group.
    pub lanes: usize,
    pub vectors: usize,
}

/// Weights that are read from their first element on, more or less.
pub trait Source<E> {
    fn elements(&self) -> &[E];

    /// Nothing reads the first `n` elements any more.
    fn done(&mut self, n: usize);
}

/// Weights that stay.
impl<E> Source<E> for &[E] {
    fn elements(&self) -> &[E] {
        self
    }

    fn done(&mut self, _n: usize) {}
}

/// Packed weights of about so many bytes are made in one turn, between which the source is told what is done.
pub const TURN_BYTES: u64 = 1 << 20;

/// One task of a turn makes about so many elements.
const TASK: usize = 1 << 16;

/// So many bytes of a group at a time, so that both sides stay in the first cache while columns are gone through.
const CHUNK_BYTES: u64 = 16 << 10;

impl Packing {
    pub fn steps(&self) -> u64 {
        self.sum.iter().map(|dim| dim.extent).product()
    }

    /// Vectors of all columns.
    pub fn n_vectors(&self) -> u64 {
        self.columns.div_ceil(self.lanes as u64)
    }

    pub fn n_groups(&self) -> u64 {
        self.n_vectors().div_ceil(self.vectors as u64)
    }

    /// The vectors of a group: fewer in the last one.
    pub fn group_vectors(&self, group: u64) -> u64 {
        (self.vectors as u64).min(self.n_vectors() - group * self.vectors as u64)
    }

    /// Elements of one part.
    pub fn part_len(&self) -> u64 {
        self.n_vectors() * self.steps() * self.lanes as u64
    }

    /// Elements of the packed weights.
    pub fn elements(&self) -> u64 {
        self.parts * self.part_len()
    }

    /// Elements of a group but the last.
    pub fn group_len(&self) -> u64 {
        self.vectors as u64 * self.steps() * self.lanes as u64
    }

    /// Where a group's weights begin in its part.
    pub fn group_begin(&self, group: u64) -> u64 {
        group * self.group_len()
    }

    /// The steps of the sum in the source, in order.
    pub fn source_steps(&self) -> Vec<i64> {
        offsets(&self.sum, |dim| dim.other)
    }

    /// Whether every element of the source is inside `len` elements.
    pub fn inside(&self, len: usize) -> bool {
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

    /// Packs. Answers whether it did: not if a side is too short.
    pub fn pack<E: Element>(&self, mut source: &[E], packed: &mut [f32]) -> bool {
        self.pack_from(&mut source, packed)
    }

    /// As [`Packing::pack`], turn by turn.
    pub fn pack_from<E: Element>(&self, source: &mut impl Source<E>, packed: &mut [f32]) -> bool {
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

    /// How many pieces can be packed beside each other: a group of columns of a part each.
    pub fn n_pieces(&self) -> usize {
        (self.parts * self.n_groups()) as usize
    }

    /// Where a piece begins in the packed weights, and its length.
    pub fn piece(&self, at: usize) -> (usize, usize) {
        let (part, group) = (at as u64 / self.n_groups(), at as u64 % self.n_groups());
        let begin = part * self.part_len() + self.group_begin(group);
        (begin as usize, (self.group_vectors(group) * self.steps()) as usize * self.lanes)
    }
}

/// A packing with its offsets worked out, so that packing allocates nothing.
#[derive(Clone, Debug)]
pub struct Packer {
    packing: Packing,
    steps: Steps,
    /// Where each column lies in the source.
    columns: Vec<i64>,
}

/// Some pieces, and some steps of each.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Turn {
    pieces: Range<usize>,
    steps: Range<usize>,
}

impl Packer {
    pub fn of(packing: &Packing) -> Packer {
        let most = CHUNK_BYTES / (4 * packing.lanes as u64 * packing.vectors as u64);
        let columns = (0..packing.columns).map(|column| packing.source_columns.offset(column)).collect();
        Packer { steps: Steps::of(&packing.sum, most), columns, packing: packing.clone() }
    }

    /// Packs a piece ([`Packing::piece`]) of a source that [`Packing::inside`] has found long enough.
    pub fn pack<E: Element>(&self, source: &[E], at: usize, piece: &mut [f32]) {
        self.pack_steps(source, at, 0, piece);
    }

    /// The columns of a group that there are, and how many it has room for.
    fn group(&self, group: u64) -> (&[i64], usize) {
        let packing = &self.packing;
        let width = packing.group_vectors(group) as usize * packing.lanes;
        let first = group as usize * packing.vectors * packing.lanes;
        (&self.columns[first..self.columns.len().min(first + width)], width)
    }

    /// As many steps of a piece as there is room for, from `first` on.
    fn pack_steps<E: Element>(&self, source: &[E], at: usize, first: usize, mut out: &mut [f32]) {
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
                    E::copy(&source[begin..begin + n_columns], kept);
                    missing.fill(0.0);
                }
                continue;
            }
            for (at, column) in columns.iter().enumerate() {
                gather(source, base + column, inner, now, at, width);
            }
            if n_columns < width {
                now.chunks_exact_mut(width).for_each(|row| row[n_columns..].fill(0.0));
            }
        }
    }

    /// The turns in which all is packed, and after each how many of the source's first elements are read no more: piece by
    /// piece, or step by step of all pieces, whichever is done with the source sooner.
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

    /// Turns with the first element that a later one reads.
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

    /// The first element of the source that a turn reads.
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

    /// Packs what a turn has, in tasks that run beside each other.
    fn turn<E: Element>(&self, source: &[E], packed: &mut [f32], turn: &Turn) {
        let parts = packed.chunks_mut(self.packing.part_len().max(1) as usize);
        let pieces = parts.flat_map(|part| part.chunks_mut(self.packing.group_len().max(1) as usize)).enumerate();
        let mut tasks: Vec<(usize, usize, &mut [f32])> = vec![];
        for (at, piece) in pieces.skip(turn.pieces.start).take(turn.pieces.len()) {
            let width = self.group(at as u64 % self.packing.n_groups()).1;
            let rows = &mut piece[turn.steps.start * width..turn.steps.end * width];
            let steps = (TASK / width).max(1);
            tasks.extend(rows.chunks_mut(steps * width).enumerate().map(|(n, rows)| (at, turn.steps.start + n * steps, rows)));
        }
        tasks.into_par_iter().for_each(|(at, first, rows)| self.pack_steps(source, at, first, rows));
    }
}

/// One column of a chunk: element `at` of each row of `out` from the source's `base + step`.
fn gather<E: Element>(source: &[E], base: i64, steps: &[i64], out: &mut [f32], at: usize, width: usize) {
    for (row, step) in out.chunks_exact_mut(width).zip(steps) {
        row[at] = source[base.wrapping_add(*step) as usize].value();
    }
}

/// The sum's steps in the source: chunks, and the steps in a chunk.
#[derive(Clone, Debug)]
struct Steps {
    outer: Vec<i64>,
    inner: Vec<i64>,
}

impl Steps {
    /// Chunks of whole inner dimensions, of at most `most` steps if it can be; a longer dimension is not cut, as a column's
    /// source then runs on.
    fn of(sum: &[ContractDim], most: u64) -> Steps {
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

/// Where each point of some dimensions is, the last one's innermost.
pub fn offsets(dims: &[ContractDim], step: impl Fn(&ContractDim) -> i64) -> Vec<i64> {
    dims.iter().rev().fold(vec![0], |inner, dim| {
        let step = step(dim);
        (0..dim.extent as i64).flat_map(|at| inner.iter().map(move |within| at * step + within)).collect()
    })
}
