//! Contractions, sums of products: `out[p, c] = body(Σ_k in[p, k] · weight[k, c])` for points `p` and columns `c`.
//!
//! Points are output pixels of a convolution or rows of a matrix; columns are output channels or units. The kernel reads the
//! input one element at a time for all columns of a tile, and the weights as vectors of columns. A convolution is a contraction
//! for any window, stride and dilation, if its padding is part of the input's buffer.

use super::body::{BinaryOp, Body, Instr, ScalarType, UnaryOp, Val};
use super::nest::{Access, Nest, ReduceDim, Reduction, Stage, Store};
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
    /// Every column in one place.
    pub(super) const STILL: Columns = Columns { block: u64::MAX, outer: 0, inner: 0 };

    pub fn offset(self, column: u64) -> i64 {
        (column / self.block) as i64 * self.outer + (column % self.block) as i64 * self.inner
    }

    /// The strides of `columns` columns as a loop over blocks of `block` and one inside of them; `None` if there are none.
    fn strides(self, columns: u64, block: u64) -> Option<[i64; 2]> {
        (self.block >= columns || self.block.is_multiple_of(block)).then_some(())?;
        let step = if columns > block { self.offset(block) } else { 0 };
        let even = (0..columns / block).all(|at| Some(self.offset(at * block)) == step.checked_mul(at as i64));
        even.then_some([step, self.inner])
    }
}

/// What the elements of input and weights are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Factors {
    /// F32, whose sum is F32.
    Floats,
    /// F64, whose sum is F64.
    Doubles,
    /// Words of four integers of 8 bits, unsigned in the input and signed in the weights. The sum of their four products is I32.
    Bytes,
    /// Pairs of integers, unsigned of 8 bits in the input and signed of 16 bits in the weights. The sum of their two products is I32.
    Pairs,
    /// Pairs of signed integers of 16 bits, in the input and in the weights. The sum of their two products is I32.
    WidePairs,
    /// Unsigned integers of 8 bits in the input, each a lane, and I32 of 16 bits in the weights. Of depthwise sums, which are I32.
    Widened,
}

impl Factors {
    /// The type of the sum.
    pub fn sum(self) -> ScalarType {
        match self {
            Factors::Floats => ScalarType::F32,
            Factors::Doubles => ScalarType::F64,
            Factors::Bytes | Factors::Pairs | Factors::WidePairs | Factors::Widened => ScalarType::I32,
        }
    }

    /// The products of two elements.
    pub fn products(self) -> u64 {
        match self {
            Factors::Floats | Factors::Doubles | Factors::Widened => 1,
            Factors::Bytes => BYTES,
            Factors::Pairs | Factors::WidePairs => 2,
        }
    }

    /// The dtypes of what is multiplied, of the input and of the weights.
    fn dtypes(self) -> [DType; 2] {
        match self {
            Factors::Floats => [DType::F32, DType::F32],
            Factors::Doubles => [DType::F64, DType::F64],
            Factors::Bytes => [DType::U8, DType::I8],
            Factors::Pairs => [DType::U8, DType::I16],
            Factors::WidePairs => [DType::I16, DType::I16],
            Factors::Widened => [DType::U8, DType::I32],
        }
    }

    /// The bytes of an element of the input.
    pub fn input_bytes(self) -> u64 {
        match self {
            Factors::Doubles => 8,
            Factors::Floats | Factors::Bytes | Factors::WidePairs => 4,
            Factors::Pairs => 2,
            Factors::Widened => 1,
        }
    }
}

/// Whether Winograd's method is exact for the sum of unsigned bytes times these weights: it finds the sum from multiples of it by
/// up to 2^6, modulo 2^32.
pub fn is_exact_by_tiles(weights: impl Iterator<Item = i16>) -> bool {
    const MOST: i64 = (1 << 25) / 255 - 1;
    let (mut positive, mut negative, mut small) = (0i64, 0i64, true);
    for weight in weights {
        positive += i64::from(weight.max(0));
        negative -= i64::from(weight.min(0));
        // Transformed, weights are up to 49 times as large, and have 16 bits.
        small &= weight.unsigned_abs() <= 128;
    }
    small && positive <= MOST && negative <= MOST
}

/// The bytes of a word of [`Factors::Bytes`].
pub const BYTES: u64 = 4;

/// An operand that the body reads besides the sum.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Operand {
    pub arg: usize,
    /// F32, I32, I8 or U8; there are no operands beside a sum of F64.
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
    /// The dtype of the output: F32, I32, I8 or U8; that of a sum of F64, F64.
    pub dtype: DType,
    /// The dtype in memory of weights that are floats: F32, or F16 or BF16, which are multiplied as F32.
    pub weight_dtype: DType,
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

impl Contraction {
    /// The same as a loop nest, which sums in the same order or in lanes. `None` if the columns have no common blocks.
    ///
    /// `columns` are the columns' positions in the input.
    pub(super) fn nest(&self, columns: Columns) -> Option<Nest> {
        let by = self.factors.products() as i64;
        let wide = |view: Columns| Columns { outer: view.outer * by, inner: view.inner * by, ..view };
        let (input_columns, weight_columns) = (wide(columns), wide(self.weight_columns));
        let views = [input_columns, weight_columns, self.out_columns].into_iter();
        let block = views.chain(self.operands.iter().map(|own| own.columns)).map(|view| view.block).min()?.min(self.columns);
        (block > 0 && self.columns.is_multiple_of(block)).then_some(())?;
        let kept = |group: i64, points: Vec<i64>, view: Columns| {
            Some([vec![group], points, view.strides(self.columns, block)?.to_vec()].concat())
        };
        let points = |of: fn(&ContractionDim) -> i64, by: i64| self.points.iter().map(|dim| of(dim) * by).collect::<Vec<i64>>();
        let sum = |of: fn(&ContractionDim) -> i64| self.sum.iter().map(|dim| of(dim) * by).chain([1]).collect::<Vec<i64>>();
        let [input, weight] = self.factors.dtypes();
        let weight = self.converted().unwrap_or(weight);
        let mut reads = vec![
            Access {
                arg: self.input.0,
                dtype: input,
                offset: self.input.1 * by,
                kept: kept(self.group_steps[0] * by, points(|dim| dim.input, by), input_columns)?,
                reduced: sum(|dim| dim.input),
            },
            Access {
                arg: self.weight.0,
                dtype: weight,
                offset: self.weight.1 * by,
                kept: kept(self.group_steps[1] * by, vec![0; self.points.len()], weight_columns)?,
                reduced: sum(|dim| dim.other),
            },
        ];
        let beside = vec![0; self.sum.len() + 1];
        for own in &self.operands {
            let kept = kept(own.group, own.points.clone(), own.columns)?;
            reads.push(Access { arg: own.arg, dtype: own.dtype, offset: own.offset, kept, reduced: beside.clone() });
        }
        let out = kept(self.group_steps[2], points(|dim| dim.other, 1), self.out_columns)?;
        let write = Access { arg: self.out.0, dtype: self.dtype, offset: self.out.1, kept: out, reduced: beside };
        let points = self.points.iter().map(|dim| dim.extent);
        Some(Nest {
            dims: [self.groups].into_iter().chain(points).chain([self.columns / block, block]).collect(),
            reduce: self
                .sum
                .iter()
                .map(|dim| dim.extent)
                .chain([by as u64])
                .map(|extent| ReduceDim { extent, clip: None })
                .collect(),
            reads,
            writes: vec![write],
            stages: self.stages(),
        })
    }

    /// The sum of the products of reads 0 and 1, and the body on it, whose operands are the other reads.
    fn stages(&self) -> Vec<Stage> {
        let mut sum = Body::new();
        let factors = [0, 1].map(|read| {
            let factor = sum.read(read);
            match self.factors {
                Factors::Floats if read == 1 && self.converted().is_some() => sum.un(UnaryOp::To(ScalarType::F32), factor),
                Factors::Floats | Factors::Doubles => factor,
                _ => sum.un(UnaryOp::To(ScalarType::I32), factor),
            }
        });
        let product = sum.bin(BinaryOp::Mul, factors[0], factors[1]);
        let instrs = self.body.instrs.iter().map(|&instr| match instr {
            Instr::Read(0) => Instr::Reduced(0),
            Instr::Read(operand) => Instr::Read(1 + operand),
            other => other,
        });
        vec![
            Stage { each: true, body: sum, reductions: vec![(product, Reduction::Sum)], stores: vec![] },
            Stage {
                each: false,
                body: Body { instrs: instrs.collect() },
                reductions: vec![],
                stores: vec![Store { val: self.result, write: 0 }],
            },
        ]
    }

    /// Whether [`is_exact_by_tiles`] holds of every column of a product of [`Factors::Pairs`], given all of its weights.
    pub fn is_exact_by_tiles(&self, weights: &[i16]) -> bool {
        let steps = self.sum.iter().rev().fold(vec![0i64], |inner, dim| {
            (0..dim.extent as i64).flat_map(|at| inner.iter().map(move |within| at * dim.other + within)).collect()
        });
        let pairs = |column: u64| {
            let first = self.weight.1 + self.weight_columns.offset(column);
            steps.iter().flat_map(move |step| [2 * (first + step), 2 * (first + step) + 1])
        };
        // A weight that is not there is larger than any.
        let weight = |at: i64| usize::try_from(at).ok().and_then(|at| weights.get(at)).copied().unwrap_or(i16::MAX);
        (0..self.columns).all(|column| is_exact_by_tiles(pairs(column).map(weight)))
    }

    /// The bytes of an element of the weights.
    pub fn weight_bytes(&self) -> u64 {
        if self.factors == Factors::Doubles { 8 } else { self.converted().map_or(4, DType::bytes) }
    }

    /// The dtype of weights that are converted to F32 on their way into products.
    pub fn converted(&self) -> Option<DType> {
        (self.factors == Factors::Floats && self.weight_dtype != DType::F32).then_some(self.weight_dtype)
    }
}

/// A sum for each column alone, as in a depthwise convolution: `out[p, c] = body(Σ_k in[p, k, c] · weight[k, c])`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Depthwise {
    /// Everything except the columns' positions in the input; its input offset is that of column 0.
    pub contract: Contraction,
    pub input_columns: Columns,
    /// Whether the weights of [`Factors::Widened`] are known to be integers of 8 bits.
    pub has_byte_weights: bool,
}

/// A convolution that Winograd's method may compute by tiles of outputs, with fewer multiplications, if possible and faster.
///
/// The rows and columns of its images are the last two dimensions of the points. The method increases the error of the sum. For
/// tiles of 2, the error usually stays below that of the direct sum; for tiles of 4, it is several times as large. Sums of
/// [`Factors::Pairs`] stay exact, if their weights are small enough ([`Contraction::is_exact_by_tiles`]).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Winograd {
    pub contract: Contraction,
    /// The largest tile allowed for 3×3 windows: 2 or 4 outputs a side. For other windows, tiles of the same accuracy.
    pub tile: u64,
}
