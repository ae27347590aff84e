//! Work that no loop nest says, as each step of it hangs on the one before or on the data: sorting, putting elements where indices
//! say, sums of all before.
//!
//! Arguments are tensors without gaps, in row-major order. A *line* is what lies along an axis: `length` elements `inner`
//! apart, of which there are `outer · inner`.

use crate::base::{float_max, float_min};
use crate::types::DType;

/// Tensors of more axes are put nowhere by a routine.
pub const MAX_RANK: usize = 8;

/// What a routine computes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Routine {
    Sort(Sort),
    Scatter(Scatter),
    Scan(Scan),
    Requantize(Requantize),
}

/// The lines along an axis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Lines {
    pub outer: u64,
    pub length: u64,
    pub inner: u64,
}

impl Lines {
    /// Those along an axis of a shape; none, however long its other axes are, where there are no elements.
    pub fn along(shape: &[u64], axis: usize) -> Lines {
        if shape.contains(&0) {
            return Lines { outer: 0, length: 0, inner: 0 };
        }
        Lines { outer: shape[..axis].iter().product(), length: shape[axis], inner: shape[axis + 1..].iter().product() }
    }

    pub fn count(&self) -> u64 {
        self.outer * self.inner
    }
}

/// The first `take` elements of each line in sorted order: numbers by size, -0 and +0 as equals, NaN above every number; equal
/// elements keep their order, upwards and downwards. Argument 0 is the data; then come the elements, the positions, or both.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Sort {
    pub lines: Lines,
    pub dtype: DType,
    pub take: u64,
    /// The largest first.
    pub descending: bool,
    pub values: bool,
    /// The dtype of positions, if they are wanted.
    pub positions: Option<DType>,
}

/// Arguments 0 and 2 are the data and the updates, of one dtype, 1 the indices, 3 the data with each update put where indices
/// say, in row-major order. An index outside of its axis ends the routine before anything is put.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Scatter {
    pub dtype: DType,
    pub index: DType,
    pub data: Vec<u64>,
    pub indices: Vec<u64>,
    pub updates: Vec<u64>,
    pub to: Whereto,
    pub join: Join,
}

/// Where updates go.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Whereto {
    /// To the place of their index, but along this axis to where the index says, from the end where it is negative. Updates
    /// without an index go nowhere.
    Along(usize),
    /// Indices have as many rows as there are axes to say a place of; whatever lies there is put as a whole.
    Places,
}

/// What becomes of the element that is there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Join {
    Replace,
    Add,
    Multiply,
    /// NaN wins and -0 < +0.
    Least,
    Greatest,
    /// Half of the sum; of integers the whole number towards zero.
    Mean,
}

impl Join {
    /// Of a float that is there and an update.
    pub fn floats(self) -> fn(f64, f64) -> f64 {
        match self {
            Join::Replace => |_, update| update,
            Join::Add => |x, update| x + update,
            Join::Multiply => |x, update| x * update,
            Join::Least => float_min,
            Join::Greatest => float_max,
            Join::Mean => |x, update| (x + update) / 2.0,
        }
    }

    /// Of an integer that is there and an update, both of at most 64 bits; the result wraps to theirs.
    pub fn ints(self) -> fn(i128, i128) -> i128 {
        match self {
            Join::Replace => |_, update| update,
            Join::Add => |x, update| x + update,
            Join::Multiply => i128::wrapping_mul,
            Join::Least => Ord::min,
            Join::Greatest => Ord::max,
            Join::Mean => |x, update| (x + update) / 2,
        }
    }
}

/// Each element of a line with all before it, in order. Argument 0 is the data, 1 the result. Integers wrap; floats keep their dtype.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Scan {
    pub lines: Lines,
    pub from: DType,
    pub to: DType,
    pub product: bool,
    /// An element itself is left out.
    pub exclusive: bool,
}

/// Integers of many scales to those of one: `(x - zero) · scale / out scale + out zero`, limited. Arguments are the data, scales
/// (F32) and zero points (I32), each one or as many as a line has elements, the scale and the zero point of the result, the result.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Requantize {
    pub lines: Lines,
    pub n_scales: u64,
    pub n_zeros: u64,
    pub from: DType,
    pub to: DType,
    pub least: i32,
    pub greatest: i32,
    /// Halves are rounded away from zero, not up.
    pub to_nearest: bool,
}
