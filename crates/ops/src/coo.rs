//! Sparse tensors in coordinate format (COO): a list of indices and a list of values.
//!
//! All indices are checked before anything is written; an index out of range traps (`E0501`).

use super::attrs::Dims;
use super::dynamic::ints;
use super::index::{position, require_ints, require_same_dim};
use crate::prelude::*;
use relayc_ir::types::{DTypeCode, MAX_RANK};

attrs! {
    "relay.attrs.SparseToDenseAttrs" =>
    pub(crate) struct SparseToDenseAttrs {
        /// The dimensions of the result.
        pub(crate) output_shape: Dims;
    }
}

/// The rule that a tensor holds signed integers.
fn require_signed(cx: &RelCx, rule: &'static str, tensor: &TensorTy) -> RelResult {
    cx.require(rule, tensor.dtype.code == DTypeCode::Int, || {
        Fault::dtype(format!("expected a signed integer dtype, found `{}`", tensor.dtype)).at(tensor.place(), "")
    })
}

// ---- To a dense tensor ----

pub(crate) const SPARSE_TO_DENSE: OpDef = OpDef {
    name: "sparse_to_dense",
    doc: "A tensor of shape `output_shape` with `sparse_values[i]` at the indices in row `i` of `sparse_indices` and \
          `default_value`, converted to their dtype, elsewhere. Indices may also be a vector or a scalar, for a result of one \
          axis and a single value. Where a row names fewer axes than there are, the value fills the part; of equal rows the \
          last counts; an index outside traps (`include/tvm/topi/transform.h`).",
    args: &[Arg::tensor("sparse_indices"), Arg::tensor("sparse_values"), Arg::tensor("default_value")],
    attrs: Some(SparseToDenseAttrs::SCHEMA),
    rules: &[
        "C1: dtype(sparse_indices) is a signed integer",
        "C2: rank(sparse_indices) is 0, 1 or 2",
        "C3: sparse_values is a scalar if sparse_indices is, else a vector with a value for each index",
        "C4: rank(default_value) == 0",
        "C5: output_shape has an axis for each index of a row, and no negative dimension",
    ],
    rel: sparse_to_dense_rel,
    eval: |cx| dense(cx, cx.out_shape()),
    ..OpDef::BASE
};

fn sparse_to_dense_rel(cx: &mut RelCx) -> RelResult {
    let dims = SparseToDenseAttrs::read(cx.attrs).output_shape.0.unwrap_or_default();
    let (columns, dtype) = require_entries(cx)?;
    let negative = dims.iter().filter_map(|dim| dim.value()).find(|&dim| dim < 0);
    cx.require("C5", negative.is_none(), || {
        Fault::attr("output_shape", format!("expected dimensions of at least 0, found {}", negative.unwrap_or(0)))
    })?;
    require_columns(cx, columns, dims.len(), super::rel::Place::attr("output_shape"))?;
    let shape: Shape = dims.into_iter().map(|dim| SDim::new(dim, DimOrigin::Attr("output_shape"))).collect();
    cx.set_out(shape, dtype)
}

/// The rules `C1` to `C4`; how many indices a row has, if that is known, and the dtype of the result.
fn require_entries(cx: &mut RelCx) -> RelResult<(Option<i64>, DType)> {
    let (indices, values, default) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    require_signed(cx, "C1", &indices)?;
    cx.require("C2", indices.rank() <= 2, || Fault::rank("0, 1 or 2", &indices))?;
    let rank = indices.rank().min(1);
    cx.require("C3", values.rank() == rank, || Fault::rank(rank, &values).at(indices.place(), ""))?;
    if rank == 1 {
        require_same_dim(cx, "C3", ("sparse_indices", &indices, 0), ("sparse_values", &values, 0))?;
    }
    cx.require("C4", default.rank() == 0, || Fault::rank(0, &default))?;
    let columns = if indices.rank() == 2 { indices.shape[1].value() } else { Some(1) };
    Ok((columns, values.dtype))
}

fn require_columns(cx: &RelCx, columns: Option<i64>, rank: usize, place: super::rel::Place) -> RelResult {
    cx.require("C5", columns.is_none_or(|columns| columns <= rank as i64), || {
        let columns = columns.unwrap_or(0);
        Fault::shape(format!("{columns} indices do not fit rank {rank}")).at(place, "").at(super::rel::Place::arg(0), "")
    })
}

fn dense(cx: &EvalCx, shape: &[usize]) -> EvalResult {
    let (indices, values) = (cx.tensor(0), cx.tensor(1));
    let default = cx.tensor_as(2, values.dtype())?;
    let (rows, columns) = (values.len(), if indices.rank() == 2 { indices.shape()[1] } else { 1 });
    let (indexed, part) = shape.split_at(columns.min(shape.len()));
    let part: usize = part.iter().product();
    let ints = indices.to_ints();
    let start = |row: usize| {
        let column = |start: usize, (column, &length): (usize, &usize)| {
            Ok(start * length + position(ints[row * columns + column], length)?)
        };
        indexed.iter().enumerate().try_fold(0, column)
    };
    let starts: Vec<usize> = (0..rows).map(start).collect::<Result<_, Trap>>()?;
    let pairs = starts.iter().enumerate().flat_map(|(row, start)| (0..part).map(move |i| (start * part + i, row)));
    let spread = default.broadcast_to(shape).expect("a scalar");
    Ok(spread.scatter(values, pairs, |_, value| value, |_, value| value).expect("both have one dtype").into())
}

pub(crate) const DYN_SPARSE_TO_DENSE: OpDef = OpDef {
    name: "dyn.sparse_to_dense",
    doc: "As `sparse_to_dense`, with the dimensions of the result an operand (`src/relay/op/dyn/tensor/transform.cc`).",
    args: &[
        Arg::tensor("sparse_indices"),
        Arg::tensor("sparse_values"),
        Arg::tensor("default_value"),
        Arg::tensor("output_shape"),
    ],
    attrs: None,
    rules: &[
        "C1: dtype(sparse_indices) is a signed integer",
        "C2: rank(sparse_indices) is 0, 1 or 2",
        "C3: sparse_values is a scalar if sparse_indices is, else a vector with a value for each index",
        "C4: rank(default_value) == 0",
        "C5: output_shape has an axis for each index of a row",
        "C6: output_shape is a vector of integers of known length",
    ],
    rel: dyn_sparse_to_dense_rel,
    eval: dyn_sparse_to_dense_eval,
    fixed: Some(dyn_sparse_to_dense_fixed),
    ..SPARSE_TO_DENSE
};

/// The static operator, if the dimensions are known.
fn dyn_sparse_to_dense_fixed(known: &KnownFacts) -> Option<Fixed> {
    Some(Fixed::Call { def: &SPARSE_TO_DENSE, kept: &[0, 1, 2], attrs: vec![ints(known, 3)?] })
}

fn dyn_sparse_to_dense_rel(cx: &mut RelCx) -> RelResult {
    let (columns, dtype) = require_entries(cx)?;
    let shape = cx.tensor(3)?;
    cx.require("C6", shape.rank() == 1, || Fault::rank(1, &shape))?;
    require_ints(cx, "C6", &shape)?;
    let rank = shape.shape[0].value();
    cx.require("C6", rank.is_some(), || Fault::shape("the rank of the result is not known").at(shape.axis(0), ""))?;
    let rank = rank.unwrap_or(0);
    cx.require("C6", (0..=MAX_RANK as i64).contains(&rank), || {
        Fault::new(codes::E0803, format!("expected at most rank {MAX_RANK}, found rank {rank}")).at(shape.axis(0), "")
    })?;
    require_columns(cx, columns, rank as usize, shape.place())?;
    let dims: Shape = (0..rank).map(|_| SDim::new(Dim::Any, DimOrigin::Op)).collect();
    cx.set_out(dims, dtype)
}

fn dyn_sparse_to_dense_eval(cx: &EvalCx) -> EvalResult {
    let shape = cx.actual_shape(&cx.tensor(3).to_ints(), cx.tensor(1).dtype())?;
    dense(cx, &shape)
}

// ---- Sparse to sparse ----

pub(crate) const SPARSE_FILL_EMPTY_ROWS: OpDef = OpDef {
    name: "sparse_fill_empty_rows",
    doc: "The sparse tensor of shape `dense_shape` with `default_value` at the beginning of each row that has no value, as a \
          tuple, all int64: the indices and the values, both row by row, and for each row 1 if it was empty. The data determines \
          how many there are. Without rows in order TVM's answer is undefined; here the values of a row keep their order. A row \
          outside traps (`python/tvm/topi/sparse_fill_empty_rows.py`).",
    args: &[
        Arg::tensor("sparse_indices"),
        Arg::tensor("sparse_values"),
        Arg::tensor("dense_shape"),
        Arg::tensor("default_value"),
    ],
    rules: &[
        "C1: rank(sparse_indices) == 2, sparse_indices[1] >= 1",
        "C2: rank(sparse_values) == 1, sparse_values[0] == sparse_indices[0]",
        "C3: rank(dense_shape) == 1, dense_shape[0] == sparse_indices[1]",
        "C4: default_value is a scalar or a vector of one element",
        "C5: sparse_indices and dense_shape are integers",
    ],
    rel: sparse_fill_empty_rows_rel,
    eval: sparse_fill_empty_rows_eval,
    ..OpDef::BASE
};

fn sparse_fill_empty_rows_rel(cx: &mut RelCx) -> RelResult {
    let (indices, values, shape, default) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?, cx.tensor(3)?);
    cx.require("C1", indices.rank() == 2, || Fault::rank(2, &indices))?;
    cx.require("C1", indices.shape[1].value() != Some(0), || {
        Fault::shape("a tensor without axes has no rows").at(indices.axis(1), "")
    })?;
    cx.require("C2", values.rank() == 1, || Fault::rank(1, &values))?;
    require_same_dim(cx, "C2", ("sparse_indices", &indices, 0), ("sparse_values", &values, 0))?;
    cx.require("C3", shape.rank() == 1, || Fault::rank(1, &shape))?;
    require_same_dim(cx, "C3", ("sparse_indices", &indices, 1), ("dense_shape", &shape, 0))?;
    cx.require("C4", default.rank() <= 1, || Fault::rank("0 or 1", &default))?;
    if default.rank() == 1 {
        cx.require("C4", default.shape[0].compatible(Dim::known(1)), || {
            Fault::shape(format!("expected one element, found {}", default.shape[0])).at(default.axis(0), "")
        })?;
    }
    require_ints(cx, "C5", &indices)?;
    require_ints(cx, "C5", &shape)?;
    let any = SDim::new(Dim::Any, DimOrigin::Op);
    let list = || (Shape::from_slice(&[any]), DType::I64);
    cx.set_out_tuple(vec![(Shape::from_slice(&[any, indices.dim(1)]), DType::I64), list(), list()])
}

fn sparse_fill_empty_rows_eval(cx: &EvalCx) -> EvalResult {
    let indices = cx.tensor(0).to_ints();
    let columns = cx.tensor(0).shape()[1];
    let [values, default] = [1, 3].map(|arg| cx.tensor_as(arg, DType::I64));
    let (values, default) = (values?.to_ints(), default?.to_ints()[0]);
    let rows = cx.actual_shape(&cx.tensor(2).to_ints()[..1], DType::I64)?[0];
    cx.check_size(&[rows.saturating_add(values.len()), columns], DType::I64)?;
    let row_of = |entry: usize| Ok((position(indices[entry * columns], rows)?, entry));
    let mut entries: Vec<(usize, usize)> = (0..values.len()).map(row_of).collect::<Result<_, Trap>>()?;
    entries.sort();
    let mut entries = entries.into_iter().peekable();
    let (mut out_indices, mut out_values, mut was_empty) = (Vec::<i64>::new(), Vec::<i64>::new(), Vec::new());
    for row in 0..rows {
        let before = out_values.len();
        while let Some((_, entry)) = entries.next_if(|&(at, _)| at == row) {
            out_indices.extend(indices[entry * columns..(entry + 1) * columns].iter().map(|&index| index as i64));
            out_values.push(values[entry] as i64);
        }
        let empty = out_values.len() == before;
        if empty {
            out_indices.extend((0..columns).map(|column| if column == 0 { row as i64 } else { 0 }));
            out_values.push(default as i64);
        }
        was_empty.push(i64::from(empty));
    }
    Ok(Outputs::Tuple(vec![
        Tensor::from_vec(&[out_values.len(), columns], out_indices),
        Tensor::from_vec(&[out_values.len()], out_values),
        Tensor::from_vec(&[rows], was_empty),
    ]))
}

pub(crate) const SPARSE_RESHAPE: OpDef = OpDef {
    name: "sparse_reshape",
    work: Work::Elements { float: 16, other: 72 },
    doc: "The indices that `sparse_indices`, in a tensor of shape `prev_shape`, become where the elements in row-major order are \
          those of shape `new_shape`, and that shape: a tuple. A -1 in `new_shape` stands for the remaining dimension. Indices \
          are not checked, and are the same where the shapes are (`python/tvm/topi/sparse_reshape.py`).",
    args: &[Arg::tensor("sparse_indices"), Arg::tensor("prev_shape"), Arg::tensor("new_shape")],
    rules: &[
        "C1: all are signed integers",
        "C2: rank(sparse_indices) == 2, rank(prev_shape) == rank(new_shape) == 1",
        "C3: prev_shape[0] == sparse_indices[1]",
    ],
    rel: sparse_reshape_rel,
    eval: sparse_reshape_eval,
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

fn sparse_reshape_rel(cx: &mut RelCx) -> RelResult {
    let (indices, before, after) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    for tensor in [&indices, &before, &after] {
        require_signed(cx, "C1", tensor)?;
    }
    cx.require("C2", indices.rank() == 2, || Fault::rank(2, &indices))?;
    for tensor in [&before, &after] {
        cx.require("C2", tensor.rank() == 1, || Fault::rank(1, tensor))?;
    }
    require_same_dim(cx, "C3", ("sparse_indices", &indices, 1), ("prev_shape", &before, 0))?;
    let rows = Shape::from_slice(&[indices.dim(0), after.dim(0)]);
    cx.set_out_tuple(vec![(rows, indices.dtype), (after.dims(), after.dtype)])
}

fn sparse_reshape_eval(cx: &EvalCx) -> EvalResult {
    let (indices, after) = (cx.tensor(0), cx.tensor(2));
    let before = cx.tensor(1).to_ints();
    let product = |dims: &[i128]| dims.iter().fold(1i128, |product, &dim| product.wrapping_mul(dim));
    let given: Vec<i128> = after.to_ints();
    let known: Vec<i128> = given.iter().copied().filter(|&dim| dim != -1).collect();
    let left = || product(&before).checked_div(product(&known));
    let no_elements = || Trap::new(codes::E0502, "integer division by zero: new_shape has no elements");
    let dim = |&dim: &i128| if dim == -1 { left().ok_or_else(no_elements) } else { Ok(dim) };
    let dims: Vec<i128> = given.iter().map(dim).collect::<Result<_, Trap>>()?;
    let shape = Tensor::from_fn(&[dims.len()], |i| dims[i] as i64).cast(after.dtype()).expect("an integer dtype");
    if dims == before {
        return Ok(Outputs::Tuple(vec![indices.clone(), shape]));
    }
    // How many elements lie behind a step along each axis.
    let mut inner = vec![1i128; dims.len()];
    for axis in (1..dims.len()).rev() {
        inner[axis - 1] = inner[axis].wrapping_mul(dims[axis]);
    }
    let (ints, mut rows) = (indices.to_ints(), Vec::new());
    for entry in 0..indices.shape()[0] {
        let row = &ints[entry * before.len()..(entry + 1) * before.len()];
        let mut rest = row.iter().zip(&before).fold(0i128, |at, (&index, &dim)| at.wrapping_mul(dim).wrapping_add(index));
        for &inner in &inner {
            let index = rest.checked_div_euclid(inner).ok_or_else(no_elements)?;
            rows.push(index as i64);
            rest = rest.wrapping_sub(index.wrapping_mul(inner));
        }
    }
    let rows = Tensor::from_vec(&[indices.shape()[0], dims.len()], rows).cast(indices.dtype());
    Ok(Outputs::Tuple(vec![rows.expect("an integer dtype"), shape]))
}

pub(crate) const FAMILY: &[OpDef] = &[SPARSE_TO_DENSE, DYN_SPARSE_TO_DENSE, SPARSE_FILL_EMPTY_ROWS, SPARSE_RESHAPE];

#[cfg(test)]
mod tests {
    use super::super::eval::ArgValue;
    use super::*;
    use crate::trial::{call, extremes};

    fn ints(shape: &[usize], values: &[i64]) -> Tensor {
        Tensor::from_vec(shape, values.into())
    }

    /// Runs an operator whose result's shape the data decides.
    fn run(def: &OpDef, args: &[Tensor]) -> Result<Vec<Tensor>, Trap> {
        let args: Vec<ArgValue> = args.iter().cloned().map(ArgValue::Tensor).collect();
        Ok(match (def.eval)(&EvalCx { args: &args, attrs: &[], out: &[], max_bytes: 1 << 20 })? {
            Outputs::One(tensor) => vec![tensor],
            Outputs::Tuple(tensors) => tensors,
        })
    }

    #[test]
    fn to_dense_types() {
        let dense = || call(&SPARSE_TO_DENSE).ints("output_shape", &[3, 4]);
        assert_eq!(dense().out(&["(?, 2) int64", "(5) int8", "() int32"]), "Tensor[(3, 4), int8]");
        assert_eq!(dense().out(&["() int64", "() int8", "() int32"]), "Tensor[(3, 4), int8]");
        assert_eq!(dense().fault(&["(5, 2) uint64", "(5) int8", "() int32"]).rule, "C1");
        assert_eq!(dense().fault(&["(5, 2, 1) int64", "(5) int8", "() int32"]).rule, "C2");
        assert_eq!(dense().fault(&["(5, 2) int64", "() int8", "() int32"]).rule, "C3");
        assert_eq!(dense().fault(&["(5, 2) int64", "(4) int8", "() int32"]).rule, "C3");
        assert_eq!(dense().fault(&["(5, 2) int64", "(5) int8", "(1) int32"]).rule, "C4");
        assert_eq!(dense().fault(&["(5, 3) int64", "(5) int8", "() int32"]).rule, "C5");
        extremes(dense, &["(5, 2) int32", "(5) float32", "() float32"]);
        let dynamic = || call(&DYN_SPARSE_TO_DENSE);
        assert_eq!(dynamic().out(&["(5, 2) int64", "(5) int8", "() int32", "(3) int64"]), "Tensor[(?, ?, ?), int8]");
        for shape in ["(?) int64", "() int64", "(3) float32", "(33) int64"] {
            assert_eq!(dynamic().fault(&["(5, 2) int64", "(5) int8", "() int32", shape]).rule, "C6");
        }
        assert_eq!(dynamic().fault(&["(5, 2) int64", "(5) int8", "() int32", "(1) int64"]).rule, "C5");
        extremes(dynamic, &["(5, 2) int32", "(5) float32", "() float32", "(2) int32"]);
    }

    #[test]
    fn to_dense_values() {
        let dense = call(&SPARSE_TO_DENSE).ints("output_shape", &[2, 2]);
        let (values, default) = (Tensor::from_vec(&[2], vec![1.5f32, 2.0]), Tensor::scalar(-1i32));
        assert_eq!(dense.values(&[&ints(&[2, 2], &[0, 1, 1, 0]), &values, &default]), [-1.0, 1.5, 2.0, -1.0]);
        assert_eq!(dense.values(&[&ints(&[2, 2], &[0, 1, 0, 1]), &values, &default]), [-1.0, 2.0, -1.0, -1.0]);
        assert_eq!(dense.values(&[&ints(&[2], &[0, 1]), &values, &default]), [1.5, 1.5, 2.0, 2.0]);
        for wrong in [[0, 2], [-1, 0]] {
            let trap = dense.eval(&[&ints(&[2], &wrong), &values, &default]).expect_err("a trap");
            assert_eq!(trap.code, codes::E0501);
        }
        let run = |shape: &[i64]| {
            run(&DYN_SPARSE_TO_DENSE, &[ints(&[2], &[0, 1]), values.clone(), default.clone(), ints(&[shape.len()], shape)])
        };
        assert_eq!(run(&[3]).expect("it runs")[0].to_f64s(), [1.5, 2.0, -1.0]);
        assert_eq!(run(&[-1]).expect_err("a trap").code, codes::E0310);
        assert_eq!(run(&[1 << 40]).expect_err("a trap").code, codes::E0803);
        assert_eq!(run(&[i64::MAX, i64::MAX]).expect_err("a trap").code, codes::E0803);
    }

    #[test]
    fn empty_rows() {
        let operands = ["(4, ?) int32", "(4) int32", "(2) int64", "(1) int32"];
        let fill = || call(&SPARSE_FILL_EMPTY_ROWS);
        assert_eq!(fill().out(&operands), "(Tensor[(?, ?), int64], Tensor[(?), int64], Tensor[(?), int64])");
        extremes(fill, &operands);
        let run = |indices: &[i64], rows: i64| {
            let n = indices.len() / 2;
            let values = Tensor::from_fn(&[n], |i| i as i32);
            run(&SPARSE_FILL_EMPTY_ROWS, &[ints(&[n, 2], indices), values, ints(&[2], &[rows, 9]), ints(&[1], &[7])])
        };
        let filled = run(&[1, 5, 1, 6, 4, 0], 5).expect("it runs");
        assert_eq!(filled[0].to_f64s(), [0.0, 0.0, 1.0, 5.0, 1.0, 6.0, 2.0, 0.0, 3.0, 0.0, 4.0, 0.0]);
        assert_eq!(
            (filled[1].to_f64s(), filled[2].to_f64s()),
            (vec![7.0, 0.0, 1.0, 7.0, 7.0, 2.0], vec![1.0, 0.0, 1.0, 1.0, 0.0])
        );
        assert_eq!(run(&[], 0).expect("it runs")[0].shape(), [0, 2]);
        assert_eq!(run(&[5, 0], 5).expect_err("a trap").code, codes::E0501);
        assert_eq!(run(&[], i64::MAX).expect_err("a trap").code, codes::E0803);
    }

    #[test]
    fn reshaped_indices() {
        let reshape = |indices: &[i64], before: &[i64], after: &[i64]| {
            let n = indices.len().checked_div(before.len()).unwrap_or(0);
            let operands = [ints(&[n, before.len()], indices), ints(&[before.len()], before), ints(&[after.len()], after)];
            let out = call(&SPARSE_RESHAPE).eval(&[&operands[0], &operands[1], &operands[2]])?;
            Ok::<_, Trap>((out[0].to_f64s(), out[1].to_f64s()))
        };
        assert_eq!(reshape(&[1, 2, 0, 3], &[2, 6], &[3, -1]), Ok((vec![2.0, 0.0, 0.0, 3.0], vec![3.0, 4.0])));
        assert_eq!(reshape(&[0, 100], &[5, 20], &[5, 20]), Ok((vec![0.0, 100.0], vec![5.0, 20.0])));
        assert_eq!(reshape(&[1], &[4], &[2, 0]).expect_err("a trap").code, codes::E0502);
        assert_eq!(reshape(&[1], &[4], &[-1, 0]).expect_err("a trap").code, codes::E0502);
        assert_eq!(reshape(&[1], &[4], &[]), Ok((vec![], vec![])));
        let far = [i64::MIN, -1, 0, i64::MAX];
        far.iter().for_each(|&a| far.iter().for_each(|&b| drop(reshape(&[a, b, b, a], &[a, b], &[b, a, a]))));
        assert_eq!(
            call(&SPARSE_RESHAPE).out(&["(?, 2) int32", "(2) int64", "(3i64) int64"]),
            "(Tensor[(?, 3i64), int32], Tensor[(3i64), int64])"
        );
        extremes(|| call(&SPARSE_RESHAPE), &["(5, 2) int32", "(2) int32", "(3) int32"]);
    }
}
