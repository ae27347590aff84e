//! Operations whose iterations depend on each other or on data: sort, scatter, scan, non-maximum suppression, sparse products.
//!
//! Arguments are dense tensors in row-major order. A *line* is the sequence of elements along an axis: `length` elements, `inner`
//! apart. There are `outer · inner` lines.

use crate::types::DType;
use relayc_base::{float_max, float_min};

/// The largest rank of a tensor that the routines for scatter and for slices support.
pub const MAX_RANK: usize = 8;

/// The computation of a routine.
///
/// [`Routine::QuantizedSoftmax`] computes a softmax of int8 in integers alone (arXiv 2207.01405, algorithm 1). Its arguments are the data,
/// its scale (F32) and zero point (I32), those of the result, and the result.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Routine {
    Sort(Sort),
    Scatter(Scatter),
    Scan(Scan),
    Requantize(Requantize),
    Boxes(Boxes),
    Random(Random),
    Sparse(Sparse),
    PoolGradient(PoolGradient),
    QuantizedSoftmax(Lines),
    StridedSet(StridedSet),
}

/// The lines along an axis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Lines {
    pub outer: u64,
    pub length: u64,
    pub inner: u64,
}

impl Lines {
    /// The lines along an axis of a shape. An empty shape has no lines, however long its other axes are.
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

/// Takes the first `take` elements of each line in sorted order. Numbers are ordered by value, -0 equals +0, and NaN is above
/// every number. Equal elements keep their order, also when descending. Argument 0 is the data; then come the elements, the
/// positions, or both.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Sort {
    pub lines: Lines,
    pub dtype: DType,
    pub take: u64,
    /// Whether the largest element comes first.
    pub descending: bool,
    pub values: bool,
    /// The dtype of positions, if requested.
    pub positions: Option<DType>,
}

/// Combines updates into the data at indices, in row-major order. Argument 0 is the data, 1 the indices, 2 the updates, of the
/// data's dtype, and 3 the result. An index outside its axis ends the routine before any update is written.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Scatter {
    pub dtype: DType,
    pub index: DType,
    pub data: Vec<u64>,
    pub indices: Vec<u64>,
    pub updates: Vec<u64>,
    pub to: ScatterTarget,
    pub join: ScatterReduction,
}

/// Where updates go.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ScatterTarget {
    /// The update goes to the position of its index, except along this axis, where the index gives the position. A negative index
    /// counts from the end. Updates without an index are ignored.
    Along(usize),
    /// Each row of the indices gives positions along one leading axis; an update replaces everything at that position.
    Places,
}

/// How an update is combined with the existing element.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ScatterReduction {
    Replace,
    Add,
    Multiply,
    /// NaN wins and -0 < +0.
    Least,
    Greatest,
    /// Half of the sum; for integers, rounded towards zero.
    Mean,
}

impl ScatterReduction {
    /// The function of an existing float and an update.
    pub fn floats(self) -> fn(f64, f64) -> f64 {
        match self {
            ScatterReduction::Replace => |_, update| update,
            ScatterReduction::Add => |x, update| x + update,
            ScatterReduction::Multiply => |x, update| x * update,
            ScatterReduction::Least => float_min,
            ScatterReduction::Greatest => float_max,
            ScatterReduction::Mean => |x, update| (x + update) / 2.0,
        }
    }

    /// The function of an existing integer and an update, both of at most 64 bits; the result wraps to their dtype.
    pub fn ints(self) -> fn(i128, i128) -> i128 {
        match self {
            ScatterReduction::Replace => |_, update| update,
            ScatterReduction::Add => |x, update| x + update,
            ScatterReduction::Multiply => i128::wrapping_mul,
            ScatterReduction::Least => Ord::min,
            ScatterReduction::Greatest => Ord::max,
            ScatterReduction::Mean => |x, update| (x + update) / 2,
        }
    }
}

/// Combines each element of a line with all elements before it, in order. Argument 0 is the data, 1 the result. Integers wrap;
/// floats keep their dtype.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Scan {
    pub lines: Lines,
    pub from: DType,
    pub to: DType,
    pub product: bool,
    /// Whether the element itself is left out.
    pub exclusive: bool,
}

/// Converts integers of many scales to one scale: `(x - zero) · scale / out scale + out zero`, clamped. The arguments are the
/// data, scales (F32), zero points (I32), the result's scale and zero point, and the result. There is one scale and zero point,
/// or one for each element of a line.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Requantize {
    pub lines: Lines,
    pub n_scales: u64,
    pub n_zeros: u64,
    pub from: DType,
    pub to: DType,
    pub least: i32,
    pub greatest: i32,
    /// Whether halves are rounded away from zero instead of up.
    pub to_nearest: bool,
}

/// The work of a routine on boxes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Boxes {
    AllClass(AllClassNms),
    Valid(ValidRows),
    Suppress(SuppressRows),
    Regions(Regions),
    Anchors(Anchors),
}

/// Keeps boxes by descending score among those of a class, and leaves out each that overlaps a kept one. Arguments 0 and 1 are the
/// boxes `(images, boxes, 4)`, two opposite corners each, and the scores `(images, classes, boxes)`. Arguments 2 to 4 have one
/// element: the largest number of kept boxes of a class, if above 0; the overlap from which a box is left out; the score that a
/// kept box exceeds. Equal scores keep their order, and NaN is no score. The results are I64 and come by image, then class, then
/// score: rows `image, class, box` and their number. Elements behind them are 0.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AllClassNms {
    pub images: u64,
    pub classes: u64,
    pub boxes: u64,
    pub corner: DType,
    pub score: DType,
    pub limits: [DType; 3],
    /// The results are instead, for each image, rows `class, box`, their scores in F32, and the number of rows.
    pub by_image: bool,
}

/// Boxes as rows of fields: a tensor `(images, boxes, fields)`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct BoxRows {
    pub images: u64,
    pub boxes: u64,
    pub fields: u64,
    pub dtype: DType,
    /// The fields of the score and of the class.
    pub score: u64,
    pub class: Option<u64>,
}

/// Moves the valid rows to the begin of their image: those with a score above a limit and a class that is not negative. Arguments
/// are the rows and the limit, then the number of valid rows of each image, these rows, and their numbers, both I32. Elements
/// behind them are -1.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ValidRows {
    pub rows: BoxRows,
    pub limit: DType,
}

/// Orders the first rows of each image by descending score, and leaves out each that overlaps a better one of its class. A row
/// with a score not above 0 stays and leaves out none, as does one with a negative class. Equal scores keep their order, and NaN
/// is the least. Arguments are the rows, how many rows of each image count, the number of each row, the largest number of rows,
/// the overlap from which a row is left out (all stay in order if that is not above 0), and the result, of -1 where there is none.
/// A count that exceeds the rows, or is negative, ends the routine before anything is written.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SuppressRows {
    pub rows: BoxRows,
    /// The first of the four fields of two opposite corners.
    pub corners: u64,
    pub count: DType,
    /// The dtype of the numbers.
    pub number: DType,
    pub limits: [DType; 2],
    /// The number of rows to consider, if limited.
    pub top: Option<u64>,
    /// Whether rows of other classes also leave out a row.
    pub any_class: bool,
    pub result: ChosenRows,
}

/// What becomes of the chosen rows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ChosenRows {
    /// They stay where the order of scores has them.
    InPlace,
    /// Those whose first field is not negative move to the begin of their image.
    Together,
    /// The result has their numbers that are not negative, I32; and another result how many there are.
    Numbers,
}

/// Cuts regions of images into bins. Arguments are images, rows `image, left, top, right, bottom` of regions, and the result, which
/// has for each region the images' axes with bins in the place of rows and columns. A row of an image that is not there, or with
/// more points than a bin may have, ends the routine before anything is written.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Regions {
    pub images: u64,
    pub channels: u64,
    /// Rows and columns of an image.
    pub dims: [u64; 2],
    /// Whether channels are the last axis, or the one behind the images.
    pub channels_last: bool,
    pub rows: u64,
    pub bins: [u64; 2],
    /// The bits of the factor, an F64, from coordinates of rows to those of images.
    pub scale_bits: u64,
    pub element: DType,
    pub row: DType,
    pub of_bin: OfBin,
    /// The number of points of a bin along an axis; 0 for its number of elements.
    pub points: u64,
}

/// Moves and scales anchors by predictions. Arguments are the probabilities `(images, classes, anchors)`, the predictions, four
/// numbers for each anchor of an image, the corners of anchors, and the results: rows `class, probability, left, top, right,
/// bottom` of the anchors whose most probable class is not the background, class 0, then rows of -1; and how many there are.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Anchors {
    pub images: u64,
    pub classes: u64,
    pub anchors: u64,
    pub dtype: DType,
    /// Whether boxes are cut to the image.
    pub is_cut: bool,
    /// Whether the boxes of the background stay; otherwise, classes are counted without it.
    pub has_background: bool,
    /// The bits of an F64: the least probability of a class other than the background.
    pub threshold_bits: u64,
    /// Those of the factors of predictions: right, down, width, height.
    pub variance_bits: [u64; 4],
}

/// What becomes of a bin.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OfBin {
    /// The mean of points, each interpolated between four elements.
    Mean,
    /// The largest point.
    Largest,
    /// The largest element.
    LargestElement,
}

/// Draws numbers by the Threefry generator. Argument 0 is the key; then come further operands, the key for the next call, and the
/// numbers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Random {
    /// 64 random bits for each number.
    Generate { n: u64 },
    /// The results are two keys.
    Split,
    /// Numbers from argument 1 to below argument 2, F32 or F64.
    Uniform { n: u64, dtype: DType },
    /// Normally distributed numbers: argument 1 is their mean, argument 2 their standard deviation.
    Normal { n: u64, dtype: DType },
    /// Indices (I32) into each row of argument 1, each as likely as its share of the row.
    Multinomial { rows: u64, shares: u64, samples: u64, dtype: DType },
}

/// Works with a sparse matrix of rows, or of rows of blocks. Arguments are the dense tensor, unless there is none; elements, their
/// columns, and where rows begin; then the results. A column or a row outside ends the routine before anything is written.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Sparse {
    pub form: SparseForm,
    /// Rows of blocks, and all blocks.
    pub rows: u64,
    pub entries: u64,
    /// Rows and columns of a block.
    pub block: [u64; 2],
    pub columns: u64,
    pub dtype: DType,
    pub index: DType,
    pub start: DType,
}

/// What is computed with a sparse matrix.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SparseForm {
    /// Products with as many dense rows; the sparse matrix may be the left one.
    Dense { n: u64, is_left: bool },
    /// A convolution with a square window, of stride 1 and padded by half of it.
    Conv { images: u64, channels: u64, dims: [u64; 2], window: u64, channels_last: bool },
    /// The sum with a dense matrix.
    Add,
    /// The results are the elements, columns and rows of the transpose.
    Transpose,
}

/// Gives the gradient of each window of a pool over two axes to the elements that the window covers. Arguments are the gradient, the
/// data, and the result.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PoolGradient {
    /// The elements of the axes before, between, and behind the pooled ones.
    pub others: [u64; 3],
    /// Along the pooled axes, in the order in memory.
    pub windows: [PoolWindow; 2],
    /// Whether the second of these is the axis of rows.
    pub columns_first: bool,
    /// For means, whether they count the padding. Otherwise the gradient is that of the first of the largest elements.
    pub mean: Option<bool>,
    pub dtype: DType,
}

/// The windows of a pool along an axis: number `o` covers the inputs `o · stride + k · dilation - before`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PoolWindow {
    pub input: u64,
    pub output: u64,
    pub size: u64,
    pub stride: u64,
    pub dilation: u64,
    pub before: u64,
    pub after: u64,
}

/// Writes a tensor to a slice of another. Arguments are the data, the part, three lists (begin, end, strides), and the result. A
/// stride of 0, and a slice that is not of the part's shape, end the routine before anything is written.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct StridedSet {
    pub data: Vec<u64>,
    pub part: Vec<u64>,
    /// Bytes of an element.
    pub width: u64,
    /// The lengths of the lists, and their dtypes.
    pub lists: [(u64, DType); 3],
}
