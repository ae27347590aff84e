//! Attention: rows of scores, each a sum of products, become weights of a second sum of products.
//!
//! `out[p] = Σ_c softmax(scores[p])[c] · value[c]` with `scores[p, c] = Σ_k query[p, k] · key[c, k]`. The three kernels are the
//! ones that compute it one after the other. They agree on one dense tensor of scores, `[groups][points][columns]`. No other step
//! reads it, so a block of its rows needs no place among the buffers.

use super::contraction::{Contraction, Factors};
use super::nest::{Access, Nest};
use crate::types::DType;

/// Two contractions with a loop nest on the rows between them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Attention {
    /// Writes the scores.
    pub scores: Contraction,
    /// Reads the scores and writes the weights, both at the same positions. It computes each row from that row alone.
    pub rows: Nest,
    /// Reads the weights as its input.
    pub values: Contraction,
    /// The argument of all three that stands for scores and weights. No buffer belongs to it.
    pub block: usize,
}

impl Attention {
    /// Joins three kernels. `None` unless they agree on the tensor at argument `block`, and nothing but that connects them.
    pub fn of(scores: Contraction, rows: Nest, values: Contraction, block: usize) -> Option<Attention> {
        let joined = Attention { scores, rows, values, block };
        (joined.scores_agree() && joined.rows_agree() && joined.values_agree()).then_some(joined)
    }

    /// Number of independent parts, which have keys and values of their own.
    pub fn parts(&self) -> u64 {
        self.scores.groups
    }

    /// Number of rows of scores in a part.
    pub fn n_rows(&self) -> u64 {
        self.scores.points.iter().map(|dim| dim.extent).product()
    }

    /// Number of scores in a row.
    pub fn n_keys(&self) -> u64 {
        self.scores.columns
    }

    fn scores_agree(&self) -> bool {
        let Contraction { points, columns, out, out_columns, .. } = &self.scores;
        let [point] = &points[..] else { return false };
        let keys = self.n_keys() as i64;
        let dense = point.other == keys && *out == (self.block, 0) && out_columns.block >= *columns && out_columns.inner == 1;
        let else_used = self.scores.operands.iter().any(|operand| operand.arg == self.block);
        let floats = is_float32(&self.scores);
        let step = self.parts() == 1 || self.scores.group_steps[2] == keys * self.n_rows() as i64;
        floats && dense && step && !else_used && self.scores.input.0 != self.block && self.scores.weight.0 != self.block
    }

    fn rows_agree(&self) -> bool {
        let Nest { dims, reduce, reads, writes, .. } = &self.rows;
        let ([dim], [write]) = (&reduce[..], &writes[..]) else { return false };
        let (rows, keys) = (self.n_rows(), self.n_keys());
        let shape = dims.last() == Some(&rows) && dims.iter().product::<u64>() == rows * self.parts();
        let dense = |access: &Access| {
            let mut step = keys as i64;
            let kept = dims.iter().zip(&access.kept).rev().all(|(&extent, &stride)| {
                let fits = extent == 1 || stride == step;
                step *= extent as i64;
                fits
            });
            kept && access.offset == 0 && access.reduced == [1] && access.dtype == DType::F32
        };
        let of_block = |access: &&Access| access.arg == self.block;
        shape
            && dim.extent == keys
            && dim.clip.is_none()
            && write.arg == self.block
            && dense(write)
            && reads.iter().filter(of_block).all(dense)
    }

    fn values_agree(&self) -> bool {
        let Contraction { groups, points, sum, input, .. } = &self.values;
        let ([point], [dim]) = (&points[..], &sum[..]) else { return false };
        let (rows, keys) = (self.n_rows(), self.n_keys());
        let dense = point.extent == rows && point.input == keys as i64 && dim.extent == keys && dim.input == 1;
        let step = self.parts() == 1 || self.values.group_steps[0] == (keys * rows) as i64;
        let else_used = self.values.operands.iter().any(|operand| operand.arg == self.block);
        let floats = is_float32(&self.values);
        let other = self.values.weight.0 != self.block && self.values.out.0 != self.block;
        floats && *groups == self.parts() && dense && step && *input == (self.block, 0) && other && !else_used
    }
}

/// Whether factors, sums and result are F32. Keys and values of 16 bits are not converted.
fn is_float32(contract: &Contraction) -> bool {
    contract.factors == Factors::Floats && contract.converted().is_none() && contract.dtype == DType::F32
}
