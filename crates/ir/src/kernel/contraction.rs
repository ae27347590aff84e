//! Contractions, sums of products: `out[p, c] = body(Σ_k in[p, k] · weight[k, c])` for points `p` and columns `c`.
//!
//! Points are output pixels of a convolution or rows of a matrix; columns are output channels or units. The kernel reads the
//! input one element at a time for all columns of a tile, and the weights as vectors of columns. A convolution is a contraction
//! for any window, stride and dilation, if its padding is part of the input's buffer.

use super::body::{Body, ScalarType, Val};
use crate::types::DType;

/// A dimension of the points, or of the sum.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ContractionDim {
    pub extent: u64,
    /// The stride in the input, in elements.
    pub input: i64,
    /// For a dimension of the points, the stride in the output. For one of the sum, the stride in the weights.
    pub other: i64,
}

/// The position of column `c`: `(c / block)·outer + (c % block)·inner`, in elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Columns {
    pub block: u64,
    pub outer: i64,
    pub inner: i64,
}

impl Columns {
    pub fn offset(self, column: u64) -> i64 {
        (column / self.block) as i64 * self.outer + (column % self.block) as i64 * self.inner
    }
}

/// What the elements of input and weights are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Factors {
    /// F32, whose sum is F32.
    Floats,
    /// Words of four integers of 8 bits, unsigned in the input and signed in the weights. The sum of their four products is I32.
    Bytes,
    /// Pairs of integers, unsigned of 8 bits in the input and signed of 16 bits in the weights. The sum of their two products is I32.
    Pairs,
    /// Unsigned integers of 8 bits in the input, each a lane, and I32 of 16 bits in the weights. Of depthwise sums, which are I32.
    Widened,
}

impl Factors {
    /// The type of the sum.
    pub fn sum(self) -> ScalarType {
        match self {
            Factors::Floats => ScalarType::F32,
            Factors::Bytes | Factors::Pairs | Factors::Widened => ScalarType::I32,
        }
    }

    /// The products of two elements.
    pub fn products(self) -> u64 {
        match self {
            Factors::Floats | Factors::Widened => 1,
            Factors::Bytes => BYTES,
            Factors::Pairs => 2,
        }
    }

    /// The bytes of an element of the input.
    pub fn input_bytes(self) -> u64 {
        match self {
            Factors::Floats | Factors::Bytes => 4,
            Factors::Pairs => 2,
            Factors::Widened => 1,
        }
    }
}

/// The bytes of a word of [`Factors::Bytes`].
pub const BYTES: u64 = 4;

/// An operand that the body reads besides the sum.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Operand {
    pub arg: usize,
    /// F32, I32, I8 or U8.
    pub dtype: DType,
    pub offset: i64,
    /// The stride from one group to the next.
    pub group: i64,
    /// A stride for each dimension of the points.
    pub points: Vec<i64>,
    pub columns: Columns,
}

/// A contraction, and the body applied to each sum before it is stored.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Contraction {
    pub factors: Factors,
    /// The dtype of the output: F32, I32, I8 or U8.
    pub dtype: DType,
    /// The number of independent groups. `group_steps` are the strides between them in input, weights and output, in elements.
    pub groups: u64,
    pub group_steps: [i64; 3],
    pub points: Vec<ContractionDim>,
    pub columns: u64,
    /// The dimensions of the sum, outermost first.
    pub sum: Vec<ContractionDim>,
    /// The positions of the columns in the original weights.
    pub weight_columns: Columns,
    pub out_columns: Columns,
    pub input: (usize, i64),
    pub weight: (usize, i64),
    pub out: (usize, i64),
    /// The body; read 0 is the sum, the other reads are `operands`.
    pub body: Body,
    pub result: Val,
    pub operands: Vec<Operand>,
}

/// A sum for each column alone, as in a depthwise convolution: `out[p, c] = body(Σ_k in[p, k, c] · weight[k, c])`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Depthwise {
    /// Everything except the columns' positions in the input; its input offset is that of column 0.
    pub contract: Contraction,
    pub input_columns: Columns,
}

/// A convolution that Winograd's method may compute by tiles of outputs, with fewer multiplications, if possible and faster.
///
/// The rows and columns of its images are the last two dimensions of the points. The method increases the error of the sum. For
/// tiles of 2, the error usually stays below that of the direct sum; for tiles of 4, it is several times as large.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Winograd {
    pub contract: Contraction,
    /// The largest tile allowed for 3×3 windows: 2 or 4 outputs a side. For other windows, tiles of the same accuracy.
    pub tile: u64,
}
