//! Sums of products: `out[p, c] = body(Σ_k in[p, k] · weight[k, c])` for points `p` and columns `c`.
//!
//! Points are output pixels of a convolution or rows of a matrix; columns are output channels or units. The input is read one
//! element at a time for all columns of a tile, the weights as vectors of columns. A convolution whose padding is part of its
//! input's buffer is one of these for any window, stride and dilation.

use super::body::{Body, Val};

/// A dimension of the points, or of the sum.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ContractDim {
    pub extent: u64,
    /// The step in the input, in elements.
    pub input: i64,
    /// The step in the output for a dimension of the points; in the weights for one of the sum.
    pub other: i64,
}

/// Where column `c` lies: `(c / block)·outer + (c % block)·inner`, in elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Columns {
    pub block: u64,
    pub outer: i64,
    pub inner: i64,
}

impl Columns {
    /// Where a column lies, in elements.
    pub fn offset(self, column: u64) -> i64 {
        (column / self.block) as i64 * self.outer + (column % self.block) as i64 * self.inner
    }
}

/// What the body reads beside the sum.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Operand {
    pub arg: usize,
    pub offset: i64,
    /// The step from one group to the next.
    pub group: i64,
    /// A stride for each dimension of the points.
    pub points: Vec<i64>,
    pub columns: Columns,
}

/// A sum of products with what is done to it before it is stored. Everything is F32.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Contract {
    /// Independent parts: their number, and the steps from one to the next in input, weights and output, in elements.
    pub groups: u64,
    pub group_steps: [i64; 3],
    pub points: Vec<ContractDim>,
    pub columns: u64,
    /// The dimensions of the sum, outermost first.
    pub sum: Vec<ContractDim>,
    /// Where the columns lie in the weights as they come.
    pub weight_columns: Columns,
    pub out_columns: Columns,
    pub input: (usize, i64),
    pub weight: (usize, i64),
    pub out: (usize, i64),
    /// Read 0 is the sum, the others are `operands`.
    pub body: Body,
    pub result: Val,
    pub operands: Vec<Operand>,
}

/// A sum for each column alone, as of a depthwise convolution: `out[p, c] = body(Σ_k in[p, k, c] · weight[k, c])`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Depthwise {
    /// Everything but where the columns lie in the input; what it says of the input is of column 0.
    pub contract: Contract,
    pub input_columns: Columns,
}

/// A convolution that may be computed by tiles of outputs, with fewer multiplications, where that is possible and faster.
///
/// The rows and columns of its maps are the last two dimensions of the points. The error of the sum then grows: for tiles of 2
/// it stays below that of the direct sum as a rule, for tiles of 4 it is several times as large.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Winograd {
    pub contract: Contract,
    /// The largest tile allowed, for windows of 3×3: 2 or 4 outputs a side. For other windows, what is as accurate.
    pub tile: u64,
}
