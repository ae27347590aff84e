//! Weights in the order in which tiles read them: `[part][group of columns][the sum's dimensions][columns of the group]`.
//!
//! Columns that are not there are zeros, so a tile's loads of weights need no mask. Reads any strided view, so the weights of
//! a convolution come as they are kept, whatever the order of their axes.

use crate::kernel::{Columns, ContractDim};
use rayon::prelude::*;

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

    /// Where a column lies in the source.
    pub fn source_column(&self, column: u64) -> i64 {
        let Columns { block, outer, inner } = self.source_columns;
        (column / block) as i64 * outer + (column % block) as i64 * inner
    }

    /// The steps of the sum in the source, in order.
    pub fn source_steps(&self) -> Vec<i64> {
        offsets(&self.sum)
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
        span(block.min(self.columns), inner);
        span(self.columns.div_ceil(block.max(1)), outer);
        block > 0 && low >= 0 && high < len as i128
    }

    /// Packs. Answers whether it did: not if a side is too short.
    pub fn pack(&self, source: &[f32], packed: &mut [f32]) -> bool {
        if self.elements() == 0 || !self.inside(source.len()) || (packed.len() as u64) < self.elements() {
            return self.elements() == 0;
        }
        let groups = self.n_groups();
        let group_len = self.group_len() as usize;
        let part_len = self.part_len() as usize;
        let parts = packed[..self.elements() as usize].chunks_mut(part_len).enumerate();
        let pieces = parts.flat_map(|(part, whole)| {
            whole.chunks_mut(group_len).enumerate().map(move |(group, piece)| (part as u64, group as u64, piece))
        });
        let pieces: Vec<_> = pieces.collect();
        debug_assert_eq!(pieces.len() as u64, groups * self.parts);
        let steps = Steps::of(&self.sum, CHUNK_BYTES / (4 * self.lanes as u64 * self.vectors as u64));
        pieces.into_par_iter().for_each(|(part, group, piece)| {
            self.pack_group(source, self.offset + part as i64 * self.part_step, group, &steps, piece);
        });
        true
    }

    fn pack_group(&self, source: &[f32], base: i64, group: u64, steps: &Steps, piece: &mut [f32]) {
        let first = group * (self.vectors * self.lanes) as u64;
        let width = (self.group_vectors(group) as usize) * self.lanes;
        let n_columns = (width as u64).min(self.columns - first) as usize;
        let columns: Vec<i64> = (first..first + n_columns as u64).map(|column| self.source_column(column)).collect();
        let contiguous = columns.windows(2).all(|pair| pair[1] == pair[0].wrapping_add(1));
        for (chunk, out) in steps.outer.iter().zip(piece.chunks_mut(steps.inner.len() * width)) {
            let base = base + chunk;
            if contiguous {
                for (row, step) in out.chunks_exact_mut(width).zip(&steps.inner) {
                    let begin = (base + step + columns[0]) as usize;
                    let (kept, missing) = row.split_at_mut(n_columns);
                    kept.copy_from_slice(&source[begin..begin + n_columns]);
                    missing.fill(0.0);
                }
                continue;
            }
            for (at, column) in columns.iter().enumerate() {
                gather(source, base + column, &steps.inner, out, at, width);
            }
            if n_columns < width {
                out.chunks_exact_mut(width).for_each(|row| row[n_columns..].fill(0.0));
            }
        }
    }
}

/// One column of a chunk: element `at` of each row of `out` from the source's `base + step`.
fn gather(source: &[f32], base: i64, steps: &[i64], out: &mut [f32], at: usize, width: usize) {
    for (row, step) in out.chunks_exact_mut(width).zip(steps) {
        // SAFETY: `Packing::inside` has found every sum of offsets that packing reads inside the source, and `at < width`.
        unsafe {
            let from = base.wrapping_add(*step) as usize;
            debug_assert!(from < source.len() && at < row.len());
            *row.get_unchecked_mut(at) = *source.get_unchecked(from);
        }
    }
}

/// The sum's steps in the source: chunks, and the steps in a chunk.
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
        Steps { outer: offsets(&sum[..split]), inner: offsets(&sum[split..]) }
    }
}

fn offsets(dims: &[ContractDim]) -> Vec<i64> {
    dims.iter().rev().fold(vec![0], |inner, dim| {
        (0..dim.extent as i64).flat_map(|at| inner.iter().map(move |step| at * dim.other + step)).collect()
    })
}
