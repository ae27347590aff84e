//! Sparse matrices by rows (CSR: compressed sparse rows) or rows of blocks (BSR). Three tensors hold a matrix: its elements or
//! blocks, their columns, and the index of each row's first element. The last tensor has one more index for the end.
//!
//! `sparse_indptr` and `sparse_indices` are checked before anything is computed; an index out of range traps (`E0501`).

use super::attrs::StdString;
use super::index::{outside, position, require_ints, require_same_dim};
use super::rel::require_same_dtype;
use crate::lower::lane;
use crate::prelude::*;
use relayc_ir::kernel::{self, Routine, SparseForm};
use relayc_ir::tensor::{Acc, Real};

attrs! {
    "relay.attrs.SparseDenseAttrs" =>
    pub(crate) struct SparseDenseAttrs {
        /// Whether the sparse matrix is the left one.
        pub(crate) sparse_lhs: bool = false;
    }

    "relay.attrs.SparseConv2DAttrs" =>
    pub(crate) struct SparseConv2dAttrs {
        /// The layout of `dense_data`: `NHWC` or `NCHW`.
        pub(crate) layout: StdString = "NHWC";
        /// The window: 1 by 1, or 3 by 3 with a padding of 1.
        pub(crate) kernel_size: Vec<i64> = &[1, 1];
    }
}

// ---- Rows ----

/// An element of a sparse matrix.
struct Entry {
    row: usize,
    column: usize,
    /// Where it is in `sparse_data`, in row-major order.
    at: usize,
}

/// All elements, row by row, of a matrix of so many columns. Blocks are `(rows, columns)`, `(1, 1)` for CSR.
fn entries(indices: &Tensor, starts: &Tensor, block: (usize, usize), columns: usize) -> Result<Vec<Entry>, Trap> {
    let (indices, starts) = (indices.to_ints(), starts.to_ints());
    let mut entries = Vec::new();
    for (row, bounds) in starts.windows(2).enumerate() {
        let (first, end) = (bounds[0], bounds[1]);
        if first < 0 || end < first || end > indices.len() as i128 {
            let message = format!("row {row} is outside {} elements", indices.len());
            return Err(Trap::new(codes::E0501, message));
        }
        let first = first as usize;
        for (at, &index) in (first..).zip(&indices[first..end as usize]) {
            let column = position(index, columns / block.1.max(1)).map_err(|_| outside(index, columns))?;
            let elements = (0..block.0).flat_map(|i| (0..block.1).map(move |j| (i, j)));
            entries.extend(elements.map(|(i, j)| Entry {
                row: row * block.0 + i,
                column: column * block.1 + j,
                at: (at * block.0 + i) * block.1 + j,
            }));
        }
    }
    Ok(entries)
}

/// The dimensions of a block of `sparse_data`.
fn block(data: &Tensor) -> (usize, usize) {
    match data.shape() {
        [_, rows, columns] => (*rows, *columns),
        [_, rows] => (*rows, 1),
        _ => (1, 1),
    }
}

const VECTORS: &str = "C3: rank(sparse_indices) == rank(sparse_indptr) == 1, sparse_indices[0] == sparse_data[0]";
const INTEGERS: &str = "C4: sparse_indices and sparse_indptr are integers";
const ROWS: &str = "C5: sparse_indptr[0] >= 1";

/// The rules `C3`, `C4` and `C5` on the operands from one on; how many rows, or rows of blocks, there are.
fn require_rows(cx: &mut RelCx, data: &TensorTy, from: usize) -> RelResult<Dim> {
    let (indices, starts) = (cx.tensor(from)?, cx.tensor(from + 1)?);
    for tensor in [&indices, &starts] {
        cx.require("C3", tensor.rank() == 1, || Fault::rank(1, tensor))?;
        require_ints(cx, "C4", tensor)?;
    }
    require_same_dim(cx, "C3", ("sparse_data", data, 0), ("sparse_indices", &indices, 0))?;
    let n = starts.shape[0];
    cx.require("C5", n.value().is_none_or(|n| n >= 1), || {
        Fault::shape("expected a number for each row and one more, found none").at(starts.axis(0), "")
    })?;
    Ok(cx.types.symbols.built(SymbolOp::Sub, n, Dim::known(1)))
}

// ---- Products ----

pub(crate) const SPARSE_DENSE: OpDef = OpDef {
    name: "nn.sparse_dense",
    doc: "`out[i, j] = sum over k of dense_data[i, k] * sparse[j, k]`, or `sparse[i, k] * dense_data[j, k]` if `sparse_lhs`. The \
          sparse matrix is given by rows, or by rows of blocks where `sparse_data` has rank 3. Sums run over the elements in \
          order, those of f16 and bf16 in f32 (`python/tvm/topi/nn/sparse.py`).",
    args: &[
        Arg::of("dense_data", "nD Tensor"),
        Arg::of("sparse_data", "1D or 3D Tensor"),
        Arg::of("sparse_indices", "1D Tensor"),
        Arg::of("sparse_indptr", "1D Tensor"),
    ],
    attrs: Some(SparseDenseAttrs::SCHEMA),
    rules: &[
        "C1: rank(dense_data) == 2, rank(sparse_data) is 1 or 3",
        "C2: dtype(sparse_data) == dtype(dense_data)",
        VECTORS,
        INTEGERS,
        ROWS,
    ],
    rel: sparse_dense_rel,
    eval: sparse_dense_eval,
    fuse: Some(Fuse::OutEWiseFusable),
    lower: Some(Lower::Routine(sparse_dense_routine)),
    ..OpDef::BASE
};

fn sparse_dense_rel(cx: &mut RelCx) -> RelResult {
    let sparse_lhs = SparseDenseAttrs::read(cx.attrs).sparse_lhs;
    let (dense, data) = (cx.tensor(0)?, cx.tensor(1)?);
    cx.require("C1", dense.rank() == 2, || Fault::rank(2, &dense))?;
    cx.require("C1", [1, 3].contains(&data.rank()), || Fault::rank("1 or 3", &data))?;
    require_same_dtype(cx, "C2", &dense, &data)?;
    let mut rows = require_rows(cx, &data, 2)?;
    if data.rank() == 3 {
        rows = cx.types.symbols.built(SymbolOp::Mul, rows, data.shape[1]);
    }
    let rows = SDim::new(rows, DimOrigin::Rule("C5"));
    let shape = if sparse_lhs { [rows, dense.dim(0)] } else { [dense.dim(0), rows] };
    cx.set_out(Shape::from_slice(&shape), dense.dtype)
}

fn sparse_dense_eval(cx: &EvalCx) -> EvalResult {
    let (dense, data) = (cx.tensor(0), cx.tensor(1));
    let (n, columns) = (dense.shape()[0], dense.shape()[1]);
    let entries = entries(cx.tensor(2), cx.tensor(3), block(data), columns)?;
    let places: Vec<[usize; 3]> = entries.iter().map(|entry| [entry.row, entry.column, entry.at]).collect();
    // Of no elements there may be any number of rows.
    let n = if places.is_empty() { 0 } else { n };
    let width = cx.out_shape()[1];
    let sparse_lhs = SparseDenseAttrs::read(cx.attrs).sparse_lhs;
    let product = |i: usize, [row, column, at]: [usize; 3]| {
        let to = if sparse_lhs { row * width + i } else { i * width + row };
        Product { to, from: i * columns + column, weight: at }
    };
    let products = (0..n).flat_map(|i| places.iter().map(move |&place| product(i, place)));
    Ok(add_products(dense, data, products, cx.out_shape()).into())
}

/// An element of dense data times one of sparse data, added at a place of the result.
struct Product {
    to: usize,
    from: usize,
    weight: usize,
}

/// The sums of products, in the dtype of both operands.
fn add_products(dense: &Tensor, sparse: &Tensor, products: impl Iterator<Item = Product>, shape: &[usize]) -> Tensor {
    let acc = dense.to_acc();
    let sums = match &acc {
        Acc::F32(_) => sums::<f32>(&acc, &sparse.to_acc(), products, shape),
        Acc::F64(_) => sums::<f64>(&acc, &sparse.to_acc(), products, shape),
        Acc::I64(_) => sums::<i64>(&acc, &sparse.to_acc(), products, shape),
    };
    sums.into_tensor(dense.dtype())
}

fn sums<T: Real>(dense: &Acc, sparse: &Acc, products: impl Iterator<Item = Product>, shape: &[usize]) -> Acc {
    let (dense, sparse) = (T::elements(dense), T::elements(sparse));
    let mut out = vec![T::ZERO; shape.iter().product()];
    for Product { to, from, weight } in products {
        out[to] = out[to].add(dense[from].mul(sparse[weight]));
    }
    T::from_elements(shape, out)
}

pub(crate) const SPARSE_DENSE_PADDED: OpDef = OpDef {
    name: "nn.internal.sparse_dense_padded",
    doc: "The form of `nn.sparse_dense` that TVM's passes create for graphics processors: the same product, with rows padded to \
          a multiple of 32 (`src/relay/op/nn/sparse.cc`).",
    args: &[
        Arg::of("data", "nD Tensor"),
        Arg::of("weight_data", "1D Tensor"),
        Arg::of("weight_indices", "1D Tensor"),
        Arg::of("weight_indptr", "1D Tensor"),
    ],
    eval: OpDef::BASE.eval,
    internal: true,
    lower: None,
    ..SPARSE_DENSE
};

pub(crate) const SPARSE_CONV2D: OpDef = OpDef {
    name: "nn.sparse_conv2d",
    doc: "The two-dimensional convolution of `dense_data` with a sparse weight matrix of a row for each channel of the result, \
          given by rows of blocks; blocks of one column where `sparse_data` has rank 2. Strides are 1. A window of 1 by 1 has \
          a column for each channel; one of 3 by 3 has a padding of 1 and nine times the columns: channels of a place of the \
          window side by side for NHWC, places of a channel for NCHW (`python/tvm/topi/nn/sparse.py`, \
          `python/tvm/topi/x86/sparse.py`).",
    attrs: Some(SparseConv2dAttrs::SCHEMA),
    rules: &[
        "C1: rank(dense_data) == 4, rank(sparse_data) is 2 or 3",
        "C2: dtype(sparse_data) == dtype(dense_data)",
        VECTORS,
        INTEGERS,
        ROWS,
        "C6: layout is \"NHWC\" or \"NCHW\"",
        "C7: kernel_size is [1, 1] or [3, 3]",
    ],
    rel: sparse_conv2d_rel,
    eval: sparse_conv2d_eval,
    lower: Some(Lower::Routine(sparse_conv2d_routine)),
    ..SPARSE_DENSE
};

fn sparse_conv2d_rel(cx: &mut RelCx) -> RelResult {
    let SparseConv2dAttrs { layout, kernel_size } = SparseConv2dAttrs::read(cx.attrs);
    let (dense, data) = (cx.tensor(0)?, cx.tensor(1)?);
    cx.require("C1", dense.rank() == 4, || Fault::rank(4, &dense))?;
    cx.require("C1", [2, 3].contains(&data.rank()), || Fault::rank("2 or 3", &data))?;
    require_same_dtype(cx, "C2", &dense, &data)?;
    let rows = require_rows(cx, &data, 2)?;
    cx.require("C6", ["NHWC", "NCHW"].contains(&layout.0.as_str()), || {
        Fault::attr("layout", format!("expected \"NHWC\" or \"NCHW\", found {:?}", layout.0)).set_attr("layout", "\"NHWC\"")
    })?;
    cx.require("C7", kernel_size == [1, 1] || kernel_size == [3, 3], || {
        Fault::attr("kernel_size", format!("expected [1, 1] or [3, 3], found {kernel_size:?}"))
    })?;
    let mut shape = dense.dims();
    let channels = cx.types.symbols.built(SymbolOp::Mul, rows, data.shape[1]);
    shape[channel_axis(&layout.0)] = SDim::new(channels, DimOrigin::Rule("C5"));
    cx.set_out(shape, dense.dtype)
}

fn channel_axis(layout: &str) -> usize {
    if layout == "NCHW" { 1 } else { 3 }
}

fn sparse_conv2d_eval(cx: &EvalCx) -> EvalResult {
    let (dense, data) = (cx.tensor(0), cx.tensor(1));
    let SparseConv2dAttrs { layout, kernel_size } = SparseConv2dAttrs::read(cx.attrs);
    let (k, nchw) = (kernel_size[0] as usize, layout.0 == "NCHW");
    let channels = dense.shape()[channel_axis(&layout.0)];
    let entries = entries(cx.tensor(2), cx.tensor(3), block(data), channels * k * k)?;
    // The strides of batch, height, width and channel, and the dimensions of the first three.
    let strides = |shape: &[usize]| match nchw {
        true => [shape[1] * shape[2] * shape[3], shape[3], 1, shape[2] * shape[3]],
        false => [shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3], 1],
    };
    let (from, to) = (strides(dense.shape()), strides(cx.out_shape()));
    let [height, width] = if nchw { [2, 3] } else { [1, 2] }.map(|axis: usize| dense.shape()[axis]);
    // Of no elements there may be any number of images.
    let n = if entries.is_empty() || dense.is_empty() { 0 } else { dense.shape()[0] };
    let positions = (0..n).flat_map(|n| (0..height).flat_map(move |y| (0..width).map(move |x| [n, y, x])));
    let product = |[n, y, x]: [usize; 3], entry: &Entry| {
        let (channel, place) = match nchw {
            true => (entry.column / (k * k), entry.column % (k * k)),
            false => (entry.column % channels, entry.column / channels),
        };
        // What lies before the first row or column wraps, and is outside too.
        let (in_y, in_x) = ((y + place / k).wrapping_sub(k / 2), (x + place % k).wrapping_sub(k / 2));
        (in_y < height && in_x < width).then(|| Product {
            to: n * to[0] + y * to[1] + x * to[2] + entry.row * to[3],
            from: n * from[0] + in_y * from[1] + in_x * from[2] + channel * from[3],
            weight: entry.at,
        })
    };
    let products = positions.flat_map(|position| entries.iter().filter_map(move |entry| product(position, entry)));
    Ok(add_products(dense, data, products, cx.out_shape()).into())
}

// ---- Sums and transposes ----

pub(crate) const SPARSE_ADD: OpDef = OpDef {
    name: "nn.sparse_add",
    doc: "`dense_data` plus a sparse matrix of its shape, given by rows. Elements of one place are added in order \
          (`python/tvm/topi/nn/sparse.py`).",
    args: &[
        Arg::of("dense_data", "2D Tensor"),
        Arg::of("sparse_data", "1D Tensor"),
        Arg::of("sparse_indices", "1D Tensor"),
        Arg::of("sparse_indptr", "1D Tensor"),
    ],
    rules: &[
        "C1: rank(dense_data) == 2, rank(sparse_data) == 1",
        "C2: dtype(sparse_data) == dtype(dense_data)",
        VECTORS,
        INTEGERS,
        ROWS,
        "C6: sparse_indptr[0] == dense_data[0] + 1",
    ],
    rel: sparse_add_rel,
    eval: sparse_add_eval,
    lower: Some(Lower::Routine(|call| routine(call, SparseForm::Add, 1, call.arg(0).shape[1]))),
    ..OpDef::BASE
};

fn sparse_add_rel(cx: &mut RelCx) -> RelResult {
    let (dense, data) = (cx.tensor(0)?, cx.tensor(1)?);
    cx.require("C1", dense.rank() == 2, || Fault::rank(2, &dense))?;
    cx.require("C1", data.rank() == 1, || Fault::rank(1, &data))?;
    require_same_dtype(cx, "C2", &dense, &data)?;
    let rows = require_rows(cx, &data, 2)?;
    let expected = dense.shape[0];
    cx.require("C6", rows.compatible(expected), || {
        Fault::shape(format!("expected {expected} rows, found {rows}"))
            .at(super::rel::Place::arg(3), "")
            .at(dense.axis(0), "")
            .equation("sparse_indptr[0] == dense_data[0] + 1", format!("{rows} + 1 == {expected} + 1"))
    })?;
    cx.set_out(dense.dims(), dense.dtype)
}

fn sparse_add_eval(cx: &EvalCx) -> EvalResult {
    let (dense, data) = (cx.tensor(0), cx.tensor(1));
    let columns = dense.shape()[1];
    let entries = entries(cx.tensor(2), cx.tensor(3), (1, 1), columns)?;
    let dtype = dense.dtype();
    let half = dtype == DType::F16 || dtype == DType::BF16;
    let [sum, data] = [dense, data].map(|x| x.cast(if half { DType::F32 } else { dtype }).expect("a tensor's dtype"));
    let pairs = entries.iter().map(|entry| (entry.row * columns + entry.column, entry.at));
    let sum = sum.scatter(&data, pairs, |x, y| x + y, |x, y| x + y).and_then(|sum| sum.cast(dtype));
    Ok(sum.expect("both have one dtype").into())
}

pub(crate) const SPARSE_TRANSPOSE: OpDef = OpDef {
    name: "nn.sparse_transpose",
    doc: "The transpose of a square sparse matrix, both given by rows: the tuple of elements, their columns, and where rows \
          begin. Elements of one place keep their order (`python/tvm/topi/nn/sparse.py`).",
    args: &[Arg::of("sparse_data", "1D Tensor"), Arg::of("sparse_indices", "1D Tensor"), Arg::of("sparse_indptr", "1D Tensor")],
    attrs: Some(&AttrSchema { type_key: "relay.attrs.SparseTransposeAttrs", fields: &[], declared: true }),
    rules: &["C1: rank(sparse_data) == 1", VECTORS, INTEGERS, ROWS],
    rel: sparse_transpose_rel,
    eval: sparse_transpose_eval,
    fuse: Some(Fuse::OutEWiseFusable),
    lower: Some(Lower::Routine(sparse_transpose_routine)),
    ..OpDef::BASE
};

fn sparse_transpose_rel(cx: &mut RelCx) -> RelResult {
    let data = cx.tensor(0)?;
    cx.require("C1", data.rank() == 1, || Fault::rank(1, &data))?;
    require_rows(cx, &data, 1)?;
    let fields = [data, cx.tensor(1)?, cx.tensor(2)?];
    cx.set_out_tuple(fields.iter().map(|tensor| (tensor.dims(), tensor.dtype)))
}

fn sparse_transpose_eval(cx: &EvalCx) -> EvalResult {
    let (data, indices, starts) = (cx.tensor(0), cx.tensor(1), cx.tensor(2));
    let n = starts.len() - 1;
    let mut entries = entries(indices, starts, (1, 1), n)?;
    if entries.len() != data.len() {
        let message = format!("the rows hold {} of {} elements", entries.len(), data.len());
        return Err(Trap::new(codes::E0501, message));
    }
    entries.sort_by_key(|entry| entry.column);
    let elements = data.pick(data.shape(), 0.0, |i| Some(entries[i].at));
    let rows = Tensor::from_fn(indices.shape(), |i| entries[i].row as i64).cast(indices.dtype());
    let ends = Tensor::from_fn(starts.shape(), |row| entries.partition_point(|entry| entry.column < row) as i64);
    let (rows, ends) = (rows.expect("an integer dtype"), ends.cast(starts.dtype()).expect("an integer dtype"));
    Ok(Outputs::Tuple(vec![elements, rows, ends]))
}

// ---- Routines ----

/// Work with the matrix that begins with an operand, of so many columns.
fn routine(call: &Call, form: SparseForm, data: usize, columns: u64) -> Option<Routine> {
    let [elements, indices, starts] = [call.arg(data), call.arg(data + 1), call.arg(data + 2)];
    let block = match elements.shape[..] {
        [_, rows, columns] => [rows, columns],
        [_, rows] => [rows, 1],
        _ => [1, 1],
    };
    lane(elements.dtype).filter(|&lane| lane != ScalarType::Bool)?;
    lane(indices.dtype)?;
    lane(starts.dtype)?;
    let (rows, entries) = (starts.shape[0].checked_sub(1)?, indices.shape[0]);
    let (dtype, index, start) = (elements.dtype, indices.dtype, starts.dtype);
    Some(Routine::Sparse(kernel::Sparse { form, rows, entries, block, columns, dtype, index, start }))
}

fn sparse_dense_routine(call: &Call) -> Option<Routine> {
    let is_left = SparseDenseAttrs::read(call.attrs).sparse_lhs;
    let [n, columns] = call.arg(0).shape[..] else { return None };
    // Of no results there may be any number of rows.
    let n = if call.out().shape.contains(&0) { 0 } else { n };
    routine(call, SparseForm::Dense { n, is_left }, 1, columns)
}

fn sparse_conv2d_routine(call: &Call) -> Option<Routine> {
    let SparseConv2dAttrs { layout, kernel_size } = SparseConv2dAttrs::read(call.attrs);
    let (shape, channels_last) = (&call.arg(0).shape, layout.0 != "NCHW");
    let [height, width] = if channels_last { [1, 2] } else { [2, 3] };
    let (channels, window) = (shape[channel_axis(&layout.0)], u64::try_from(*kernel_size.first()?).ok()?);
    let dims = [shape[height], shape[width]];
    // Without channels no column is one of a place.
    (channels > 0).then_some(())?;
    let images = if call.out().shape.contains(&0) { 0 } else { shape[0] };
    let form = SparseForm::Conv { images, channels, dims, window, channels_last };
    routine(call, form, 1, channels * window * window)
}

fn sparse_transpose_routine(call: &Call) -> Option<Routine> {
    routine(call, SparseForm::Transpose, 0, call.arg(2).shape[0].checked_sub(1)?)
}

pub(crate) const FAMILY: &[OpDef] = &[SPARSE_DENSE, SPARSE_DENSE_PADDED, SPARSE_CONV2D, SPARSE_ADD, SPARSE_TRANSPOSE];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{call, extremes};
    use relayc_ir::attrs::AttrValue;

    const CSR: [&str; 4] = ["(5, 4) float32", "(?) float32", "(?) int32", "(4) int32"];
    const BSR: [&str; 4] = ["(5, 4) float32", "(6, 2, 1) float32", "(6) int32", "(4i64) int32"];

    #[test]
    fn types_of_products() {
        let dense = || call(&SPARSE_DENSE);
        let left = || dense().attr("sparse_lhs", AttrValue::Bool(true));
        assert_eq!((dense().out(&CSR), left().out(&CSR)), ("Tensor[(5, 3), float32]".into(), "Tensor[(3, 5), float32]".into()));
        assert_eq!(
            (dense().out(&BSR), left().out(&BSR)),
            ("Tensor[(5, 6i64), float32]".into(), "Tensor[(6i64, 5), float32]".into())
        );
        assert_eq!(call(&SPARSE_DENSE_PADDED).out(&CSR), "Tensor[(5, 3), float32]");
        let wrong = |at: usize, arg: &'static str| {
            let mut args = CSR;
            args[at] = arg;
            dense().fault(&args).rule
        };
        let found = [
            wrong(0, "(5) float32"),
            wrong(1, "(6, 2) float32"),
            wrong(1, "(6) float64"),
            wrong(2, "(6, 1) int32"),
            wrong(3, "(4) float32"),
            wrong(3, "(0) int32"),
        ];
        assert_eq!(found, ["C1", "C1", "C2", "C3", "C4", "C5"]);
        for args in [&CSR, &BSR] {
            extremes(dense, args);
            extremes(left, args);
        }
    }

    fn ints(values: &[i32]) -> Tensor {
        Tensor::from_vec(&[values.len()], values.into())
    }

    #[test]
    fn products_by_rows() {
        // The matrix [[0, 2], [0, 0], [3, 4]].
        let (data, indices, starts) = (Tensor::from_vec(&[3], vec![2f32, 3.0, 4.0]), ints(&[1, 0, 1]), ints(&[0, 1, 1, 3]));
        let dense = Tensor::from_vec(&[2, 2], vec![1f32, 10.0, 100.0, 1000.0]);
        let right = call(&SPARSE_DENSE).values(&[&dense, &data, &indices, &starts]);
        assert_eq!(right, [20.0, 0.0, 43.0, 2000.0, 0.0, 4300.0]);
        let left = call(&SPARSE_DENSE).attr("sparse_lhs", AttrValue::Bool(true)).values(&[&dense, &data, &indices, &starts]);
        assert_eq!(left, [20.0, 2000.0, 0.0, 0.0, 43.0, 4300.0]);
        for (indices, starts) in [
            (ints(&[1, 0, 2]), starts.clone()),
            (ints(&[1, 0, -1]), starts),
            (indices.clone(), ints(&[0, 2, 1, 3])),
            (indices, ints(&[0, 1, 1, 4])),
        ] {
            let trap = call(&SPARSE_DENSE).eval(&[&dense, &data, &indices, &starts]).expect_err("a trap");
            assert_eq!(trap.code, codes::E0501);
        }
    }

    #[test]
    fn products_by_blocks() {
        // The matrix [[0, 0, 1, 2], [0, 0, 3, 4]].
        let (data, indices, starts) = (Tensor::from_vec(&[1, 2, 2], vec![1i32, 2, 3, 4]), ints(&[1]), ints(&[0, 1]));
        let dense = Tensor::from_vec(&[1, 4], vec![1i32, 10, 100, 1000]);
        assert_eq!(call(&SPARSE_DENSE).values(&[&dense, &data, &indices, &starts]), [2100.0, 4300.0]);
        assert_eq!(call(&SPARSE_DENSE).eval(&[&dense, &data, &ints(&[2]), &starts]).expect_err("a trap").code, codes::E0501);
    }

    #[test]
    fn convolutions() {
        let args = ["(1, 5, 6, 4) float32", "(6, 2) float32", "(6) int32", "(4) int32"];
        let conv = || call(&SPARSE_CONV2D);
        assert_eq!(conv().out(&args), "Tensor[(1, 5, 6, 6), float32]");
        assert_eq!(conv().text("layout", "NCHW").out(&args), "Tensor[(1, 6, 6, 4), float32]");
        assert_eq!(conv().text("layout", "HWCN").fault(&args).rule, "C6");
        assert_eq!(conv().ints("kernel_size", &[2, 2]).fault(&args).rule, "C7");
        extremes(conv, &args);
        // Channel 1 of two, times 3.
        let (data, indices, starts) = (Tensor::from_vec(&[1, 1], vec![3i32]), ints(&[1]), ints(&[0, 1]));
        let image = Tensor::from_vec(&[1, 1, 2, 2], vec![1i32, 10, 2, 20]);
        assert_eq!(conv().values(&[&image, &data, &indices, &starts]), [30.0, 60.0]);
        assert_eq!(
            conv().text("layout", "NCHW").values(&[&image.reshape(&[1, 2, 2, 1]).expect("four"), &data, &indices, &starts]),
            [6.0, 60.0]
        );
        // The neighbour on the left, which is place 3 of the window.
        let left = |layout: &str, column: i32, image: Tensor| {
            let wide = conv().ints("kernel_size", &[3, 3]).text("layout", layout);
            wide.values(&[&image, &data, &ints(&[column]), &starts])
        };
        assert_eq!(left("NHWC", 3 * 2 + 1, image.clone()), [0.0, 30.0]);
        assert_eq!(left("NCHW", 9 + 3, Tensor::from_vec(&[1, 2, 1, 2], vec![1i32, 2, 10, 20])), [0.0, 30.0]);
    }

    #[test]
    fn sums() {
        let dense = Tensor::from_vec(&[2, 2], vec![1i8, 2, 3, 4]);
        let data = Tensor::from_vec(&[3], vec![10i8, 20, 120]);
        let sum = call(&SPARSE_ADD).values(&[&dense, &data, &ints(&[1, 0, 0]), &ints(&[0, 1, 3])]);
        assert_eq!(sum, [1.0, 12.0, -113.0, 4.0]);
        let args = ["(3, 4) float32", "(6) float32", "(6) int32", "(4) int32"];
        assert_eq!(call(&SPARSE_ADD).out(&args), "Tensor[(3, 4), float32]");
        assert_eq!(call(&SPARSE_ADD).fault(&["(4, 4) float32", args[1], args[2], args[3]]).rule, "C6");
        extremes(|| call(&SPARSE_ADD), &args);
    }

    #[test]
    fn transposes() {
        // The matrix [[0, 1, 2], [0, 0, 0], [3, 0, 4]].
        let data = Tensor::from_vec(&[4], vec![1f32, 2.0, 3.0, 4.0]);
        let turned = call(&SPARSE_TRANSPOSE).eval(&[&data, &ints(&[1, 2, 0, 2]), &ints(&[0, 2, 2, 4])]).expect("it runs");
        let found: Vec<_> = turned.iter().map(Tensor::to_f64s).collect();
        assert_eq!(found, [vec![3.0, 1.0, 2.0, 4.0], vec![2.0, 0.0, 0.0, 2.0], vec![0.0, 1.0, 2.0, 4.0]]);
        let trap = call(&SPARSE_TRANSPOSE).eval(&[&data, &ints(&[1, 2, 0, 2]), &ints(&[0, 2, 2, 3])]).expect_err("a trap");
        assert_eq!(trap.code, codes::E0501);
        extremes(|| call(&SPARSE_TRANSPOSE), &["(6) float32", "(6) int32", "(4) int32"]);
    }
}
