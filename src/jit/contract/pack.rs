//! Weights in the order in which tiles read them: `[part][group of columns][the sum's dimensions][columns of the group]`.
//!
//! Columns that are not there are zeros, so a tile's loads of weights need no mask. Reads any strided view, so the weights of
//! a convolution come as they are kept, whatever the order of their axes.

use crate::kernel::{Columns, ContractDim};
use rayon::prelude::*;

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
    pub fn pack<E: Element>(&self, source: &[E], packed: &mut [f32]) -> bool {
        let Some(packed) = packed.get_mut(..self.elements() as usize) else { return false };
        if !self.inside(source.len()) {
            return false;
        }
        let packer = Packer::of(self);
        let parts = packed.chunks_mut(self.part_len().max(1) as usize);
        let pieces: Vec<&mut [f32]> = parts.flat_map(|part| part.chunks_mut(self.group_len().max(1) as usize)).collect();
        pieces.into_par_iter().enumerate().for_each(|(at, piece)| packer.pack(source, at, piece));
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

impl Packer {
    pub fn of(packing: &Packing) -> Packer {
        let most = CHUNK_BYTES / (4 * packing.lanes as u64 * packing.vectors as u64);
        let columns = (0..packing.columns).map(|column| packing.source_columns.offset(column)).collect();
        Packer { steps: Steps::of(&packing.sum, most), columns, packing: packing.clone() }
    }

    /// Packs a piece ([`Packing::piece`]) of a source that [`Packing::inside`] has found long enough.
    pub fn pack<E: Element>(&self, source: &[E], at: usize, piece: &mut [f32]) {
        let packing = &self.packing;
        let (part, group) = (at as u64 / packing.n_groups(), at as u64 % packing.n_groups());
        let base = packing.offset + part as i64 * packing.part_step;
        let width = packing.group_vectors(group) as usize * packing.lanes;
        let first = group as usize * packing.vectors * packing.lanes;
        let columns = &self.columns[first..self.columns.len().min(first + width)];
        let n_columns = columns.len();
        let contiguous = columns.windows(2).all(|pair| pair[1] == pair[0].wrapping_add(1));
        for (chunk, out) in self.steps.outer.iter().zip(piece.chunks_mut(self.steps.inner.len() * width)) {
            let base = base + chunk;
            if contiguous {
                for (row, step) in out.chunks_exact_mut(width).zip(&self.steps.inner) {
                    let begin = (base + step + columns[0]) as usize;
                    let (kept, missing) = row.split_at_mut(n_columns);
                    E::copy(&source[begin..begin + n_columns], kept);
                    missing.fill(0.0);
                }
                continue;
            }
            for (at, column) in columns.iter().enumerate() {
                gather(source, base + column, &self.steps.inner, out, at, width);
            }
            if n_columns < width {
                out.chunks_exact_mut(width).for_each(|row| row[n_columns..].fill(0.0));
            }
        }
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
