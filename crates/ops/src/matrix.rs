//! Diagonals and triangles of matrices: the last two axes of a tensor are rows and columns, the others are batch axes.

use super::gather_lowering::{constant, counted, read};
use super::index::{require_ints, require_same_dim};
use super::lower::{lane, tabled};
use super::rel::require_same_dtype;
use crate::prelude::*;

attrs! {
    "relay.attrs.MatrixSetDiagAttrs" =>
    pub(crate) struct MatrixSetDiagAttrs {
        /// The lowest diagonal: 0 is the main one, those below it are negative.
        pub(crate) k1: i64 = 0;
        /// The highest diagonal.
        pub(crate) k2: i64 = 0;
        /// Whether short diagonals from the main one upwards are aligned at the end of their row of `diagonal`.
        pub(crate) super_diag_right_align: bool = true;
        /// Whether short diagonals below the main one are aligned at the end of their row of `diagonal`.
        pub(crate) sub_diag_right_align: bool = false;
    }

    "relay.attrs.TriluAttrs" =>
    pub(crate) struct TriluAttrs {
        /// Whether to keep the upper triangle; otherwise, the lower one.
        pub(crate) upper: bool = true;
    }
}

pub(crate) const MATRIX_SET_DIAG: OpDef = OpDef {
    name: "matrix_set_diag",
    doc: "`input` with the diagonals `k1` to `k2` of each matrix replaced by rows of `diagonal`, the highest first; if there is \
          only one, `diagonal` has no axis for it. Shorter diagonals stand at the beginning or at the end of their row \
          (`include/tvm/topi/transform.h`).",
    args: &[Arg::tensor("input"), Arg::tensor("diagonal")],
    attrs: Some(MatrixSetDiagAttrs::SCHEMA),
    rules: &[
        "C1: dtype(diagonal) == dtype(input)",
        "C2: k1 <= k2",
        "C3: rank(input) >= 2; rank(diagonal) is the same, one less if k1 == k2",
        "C4: the diagonals k1 to k2 are in the matrix: -input[-2] < k1, and k2 < input[-1]",
        "C5: diagonal has the axes of input that count matrices",
        "C6: diagonal[-2] == k2 - k1 + 1, if k1 != k2",
        "C7: diagonal[-1] == min(input[-2] + min(k2, 0), input[-1] - max(k1, 0))",
    ],
    rel: matrix_set_diag_rel,
    eval: matrix_set_diag_eval,
    lower: Some(Lower::Nest(matrix_set_diag_nest)),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

fn matrix_set_diag_rel(cx: &mut RelCx) -> RelResult {
    let MatrixSetDiagAttrs { k1, k2, .. } = MatrixSetDiagAttrs::read(cx.attrs);
    let (input, diagonal) = (cx.tensor(0)?, cx.tensor(1)?);
    require_same_dtype(cx, "C1", &input, &diagonal)?;
    cx.require("C2", k1 <= k2, || {
        Fault::attr("k1", format!("expected k1 at most k2, found {k1} and {k2}")).at(super::rel::Place::attr("k2"), "")
    })?;
    cx.require("C3", input.rank() >= 2, || Fault::rank("at least 2", &input))?;
    let rank = input.rank() - usize::from(k1 == k2);
    cx.require("C3", diagonal.rank() == rank, || Fault::rank(rank, &diagonal).at(input.place(), ""))?;
    let (row_axis, column_axis) = (input.rank() - 2, input.rank() - 1);
    let (rows, columns) = (input.shape[row_axis], input.shape[column_axis]);
    cx.require("C4", rows.value().is_none_or(|rows| k1 > -rows), || {
        Fault::attr("k1", format!("a matrix of {rows} rows has no diagonal {k1}")).at(input.axis(row_axis), "")
    })?;
    cx.require("C4", columns.value().is_none_or(|columns| k2 < columns), || {
        Fault::attr("k2", format!("a matrix of {columns} columns has no diagonal {k2}")).at(input.axis(column_axis), "")
    })?;
    for at in 0..row_axis {
        require_same_dim(cx, "C5", ("input", &input, at), ("diagonal", &diagonal, at))?;
    }
    if k1 != k2 {
        let (n, found) = (i128::from(k2) - i128::from(k1) + 1, diagonal.shape[rank - 2]);
        cx.require("C6", found.value().is_none_or(|found| i128::from(found) == n), || {
            Fault::shape(format!("expected {n} diagonals, found {found}"))
                .at(diagonal.axis(rank - 2), "")
                .equation("diagonal[-2] == k2 - k1 + 1", format!("{found} == {k2} - {k1} + 1"))
        })?;
    }
    let longest = rows
        .value()
        .zip(columns.value())
        .map(|(rows, columns)| (i128::from(rows) + i128::from(k2.min(0))).min(i128::from(columns) - i128::from(k1.max(0))));
    let found = diagonal.shape[rank - 1];
    let fits = longest.zip(found.value()).is_none_or(|(longest, found)| longest == i128::from(found));
    cx.require("C7", fits, || {
        Fault::shape(format!("expected a diagonal of {} elements, found {found}", longest.unwrap_or(0)))
            .at(diagonal.axis(rank - 1), "")
            .at(input.place(), "")
    })?;
    cx.set_out(input.dims(), input.dtype)
}

fn matrix_set_diag_eval(cx: &EvalCx) -> EvalResult {
    let (input, diagonal, attrs) = (cx.tensor(0), cx.tensor(1), MatrixSetDiagAttrs::read(cx.attrs));
    let [rows, columns] = [2, 1].map(|from_end| input.shape()[input.rank() - from_end]);
    let diagonals = Diagonals { attrs, rows: rows as i64, columns: columns as i64 };
    // The elements of diagonal stand behind those of input.
    let (own, more) = (input.len(), diagonal.len());
    let flat = [(input, own), (diagonal, more)].map(|(x, n)| x.reshape(&[n]).expect("as many elements"));
    let both = Tensor::concat(&flat, 0).expect("two vectors of one dtype");
    let source = |i: usize| {
        let (matrix, at) = (i / columns / rows, i % (rows * columns));
        Some(diagonals.place(at).map_or(i, |place| own + matrix * diagonals.count() + place))
    };
    Ok(both.pick(input.shape(), 0.0, source).into())
}

/// The diagonals that are replaced in a matrix.
struct Diagonals {
    attrs: MatrixSetDiagAttrs,
    rows: i64,
    columns: i64,
}

impl Diagonals {
    /// The length of the longest one.
    fn longest(&self) -> i64 {
        (self.rows + self.attrs.k2.min(0)).min(self.columns - self.attrs.k1.max(0))
    }

    /// The number of elements of `diagonal` for a matrix.
    fn count(&self) -> usize {
        ((self.attrs.k2 - self.attrs.k1 + 1) * self.longest()) as usize
    }

    /// Where among these the element of a matrix stands, if it is on a diagonal.
    fn place(&self, at: usize) -> Option<usize> {
        let MatrixSetDiagAttrs { k1, k2, super_diag_right_align, sub_diag_right_align } = self.attrs;
        let (row, column) = (at as i64 / self.columns, at as i64 % self.columns);
        let k = column - row;
        (k1..=k2).contains(&k).then_some(())?;
        let (at, length, right) = match k >= 0 {
            true => (row, self.rows.min(self.columns - k), super_diag_right_align),
            false => (column, self.columns.min(self.rows + k), sub_diag_right_align),
        };
        // One diagonal fills its row.
        let offset = if right && k1 != k2 { self.longest() - length } else { 0 };
        Some(((k2 - k) * self.longest() + at + offset) as usize)
    }
}

fn matrix_set_diag_nest(call: &Call) -> Option<Template> {
    let (input, diagonal) = (call.arg(0), call.arg(1));
    lane(input.dtype)?;
    let [batch @ .., rows, columns] = input.shape.as_slice() else { return None };
    tabled(rows.checked_mul(*columns)?)?;
    (!input.shape.contains(&0) && !diagonal.shape.contains(&0)).then_some(())?;
    let diagonals = Diagonals { attrs: MatrixSetDiagAttrs::read(call.attrs), rows: *rows as i64, columns: *columns as i64 };
    let places: Vec<Option<usize>> = (0..(rows * columns) as usize).map(|at| diagonals.place(at)).collect();
    let mut template = Template { dims: input.shape.clone(), ..Template::default() };
    template.shapes.push((1, batch.iter().copied().chain([diagonals.count() as u64]).collect()));
    let mut body = Body::new();
    let index = |n: usize| (0..n).map(AxisMap::of);
    let of_matrix = counted(&[(batch.len(), *rows), (batch.len() + 1, *columns)]);
    let table = Table::ints(places.iter().map(|place| place.unwrap_or(0) as i32));
    let place = read(&mut template, &mut body, Read::table(table, of_matrix.clone()));
    let is_on = read(&mut template, &mut body, Read::table(Table::bools(places.iter().map(Option::is_some)), of_matrix));
    let axes = index(batch.len()).chain([AxisMap::zero()]).collect();
    let other = Read { picked: vec![(batch.len(), place)], ..Read::of(Source::Arg(1), axes) };
    let other = read(&mut template, &mut body, other);
    let own = read(&mut template, &mut body, Read::of(Source::Arg(0), index(input.shape.len()).collect()));
    let val = body.select(is_on, other, own);
    template.finish(body, val)
}

pub(crate) const TRILU: OpDef = OpDef {
    name: "trilu",
    doc: "The elements of each matrix on diagonal `k` and above it if `upper`, on it and below it otherwise; 0 elsewhere. The \
          main diagonal is 0, those below it are negative (`python/tvm/topi/transform.py`).",
    args: &[Arg::tensor("data"), Arg::tensor("k")],
    attrs: Some(&AttrSchema { declared: false, ..*TriluAttrs::SCHEMA }),
    rules: &["C1: rank(data) >= 2", "C2: k is an integer of rank 0"],
    rel: trilu_rel,
    eval: trilu_eval,
    lower: Some(Lower::Nest(trilu_nest)),
    fuse: Some(Fuse::ElemWise),
    ..OpDef::BASE
};

fn trilu_rel(cx: &mut RelCx) -> RelResult {
    let (data, k) = (cx.tensor(0)?, cx.tensor(1)?);
    cx.require("C1", data.rank() >= 2, || Fault::rank("at least 2", &data))?;
    cx.require("C2", k.rank() == 0, || Fault::rank(0, &k))?;
    require_ints(cx, "C2", &k)?;
    cx.set_out(data.dims(), data.dtype)
}

fn trilu_eval(cx: &EvalCx) -> EvalResult {
    let (data, upper) = (cx.tensor(0), TriluAttrs::read(cx.attrs).upper);
    let k = cx.tensor(1).to_ints()[0];
    let (rows, columns) = (data.shape()[data.rank() - 2], data.shape()[data.rank() - 1]);
    let source = |i: usize| {
        let diagonal = (i % columns) as i128 - (i / columns % rows) as i128;
        (if upper { diagonal >= k } else { diagonal <= k }).then_some(i)
    };
    Ok(data.pick(data.shape(), 0.0, source).into())
}

fn trilu_nest(call: &Call) -> Option<Template> {
    let (shape, upper) = (&call.arg(0).shape, TriluAttrs::read(call.attrs).upper);
    let (lane, lane_of_k) = (lane(call.arg(0).dtype)?, lane(call.arg(1).dtype)?);
    (call.arg(1).dtype != DType::U64).then_some(())?;
    let rank = shape.len();
    let mut template = Template { dims: shape.clone(), ..Template::default() };
    let mut body = Body::new();
    let x = read(&mut template, &mut body, Read::of(Source::Arg(0), (0..rank).map(AxisMap::of).collect()));
    let k = read(&mut template, &mut body, Read::of(Source::Arg(1), vec![]));
    let mut place = |axis: usize| {
        tabled(shape[axis])?;
        let n = shape[axis] as i32;
        Some(read(&mut template, &mut body, Read::table(Table::ints(0..n), AxisMap::of(axis))))
    };
    let (row, column) = (place(rank - 2)?, place(rank - 1)?);
    let diagonal = body.bin(BinaryOp::Sub, column, row);
    let (diagonal, k) = match lane_of_k {
        ScalarType::I32 => (diagonal, k),
        _ => (body.un(UnaryOp::To(ScalarType::I64), diagonal), body.un(UnaryOp::To(ScalarType::I64), k)),
    };
    let stays = body.cmp(if upper { Cmp::Ge } else { Cmp::Le }, diagonal, k);
    let zero = constant(&mut body, lane, 0.0)?;
    let val = body.select(stays, x, zero);
    template.finish(body, val)
}

pub(crate) const ONNX: &[(&str, Onnx)] = &[(TRILU.name, Onnx::Nodes(trilu_onnx))];

fn trilu_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (upper, data, k) = (TriluAttrs::read(cx.attrs).upper, cx.tensor(0), cx.tensor(1));
    let k = cx.cast(k, cx.dtype(k), DType::I64)?;
    Ok(cx.node("Trilu", &[data, k]).int("upper", upper.into()).one().into())
}

pub(crate) const FAMILY: &[OpDef] = &[MATRIX_SET_DIAG, TRILU];

#[cfg(test)]
mod tests {
    use super::super::testing::{ANY, Attrs, eval, hostile, rel, t};
    use super::*;
    use crate::trial::{call, extremes};
    use relayc_ir::attrs::AttrValue;
    use relayc_ir::types::DType;

    fn set(input: &[i64], diagonal: &[i64], attrs: Attrs) -> String {
        rel("matrix_set_diag", &[t(input, DType::F32), t(diagonal, DType::F32)], attrs)
    }

    fn k(k1: i64, k2: i64) -> [(&'static str, AttrValue); 2] {
        [("k1", AttrValue::int(k1)), ("k2", AttrValue::int(k2))]
    }

    #[test]
    fn shapes_of_diagonals() {
        assert_eq!(set(&[2, 2], &[2], &[]), "Tensor[(2, 2), float32]");
        assert_eq!(set(&[2, 3, 4], &[2, 3], &k(1, 1)), "Tensor[(2, 3, 4), float32]");
        assert_eq!(set(&[ANY, 3, 4], &[2, ANY, 3], &k(-1, 2)), "Tensor[(?, 3, 4), float32]");
        assert_eq!(set(&[3, 4], &[1], &k(-2, -2)), "Tensor[(3, 4), float32]");
        assert_eq!(set(&[3, 3], &[3], &k(1, 0)), "E0404 C2");
        assert_eq!((set(&[3], &[3], &[]), set(&[3, 3], &[1, 3], &[])), ("E0303 C3".into(), "E0303 C3".into()));
        assert_eq!((set(&[3, 3], &[1], &k(-3, -3)), set(&[3, 3], &[1], &k(3, 3))), ("E0404 C4".into(), "E0404 C4".into()));
        assert_eq!(set(&[2, 3, 3], &[1, 3], &[]), "E0308 C5");
        assert_eq!(set(&[3, 3], &[3, 3], &k(0, 1)), "E0308 C6");
        assert_eq!(set(&[3, 3], &[3], &k(1, 1)), "E0308 C7");
        let operands = [t(&[3, 3], DType::F32), t(&[2, 3], DType::F32)];
        hostile("matrix_set_diag", &operands, &k(0, 1), &["k1", "k2"], &[]);
        hostile("matrix_set_diag", &[t(&[ANY, ANY], DType::F32), operands[1].clone()], &k(0, 1), &["k1", "k2"], &[]);
    }

    #[test]
    fn diagonals_are_replaced() {
        let zeros = Tensor::from_vec(&[2, 3], vec![0i8; 6]);
        let diagonals = Tensor::from_fn(&[4, 2], |i| i as i8 + 1);
        let of = |above: bool, below: bool| {
            let [k1, k2] = k(-1, 2);
            let align = |name, right| (name, AttrValue::Bool(right));
            let attrs = [k1, k2, align("super_diag_right_align", above), align("sub_diag_right_align", below)];
            eval("matrix_set_diag", &[zeros.clone(), diagonals.clone()], &attrs).expect("no trap").to_f64s()
        };
        // Diagonal 2 has one element, 1 and 0 have two, -1 has one.
        assert_eq!(of(true, false), [5.0, 3.0, 2.0, 7.0, 6.0, 4.0]);
        assert_eq!(of(false, true), [5.0, 3.0, 1.0, 8.0, 6.0, 4.0]);
        let one = Tensor::from_vec(&[1], vec![9i8]);
        let set = eval("matrix_set_diag", &[zeros, one], &k(-1, -1)).expect("no trap").to_f64s();
        assert_eq!(set, [0.0, 0.0, 0.0, 9.0, 0.0, 0.0]);
    }

    #[test]
    fn triangles() {
        let part = |upper| call(&TRILU).attr("upper", AttrValue::Bool(upper));
        assert_eq!(part(true).out(&["(?, 2, 3i64) int8", "() int64"]), "Tensor[(?, 2, 3i64), int8]");
        assert_eq!(part(true).fault(&["(2) int8", "() int64"]).rule, "C1");
        assert_eq!(part(true).fault(&["(2, 2) int8", "() float32"]).rule, "C2");
        let x = Tensor::from_fn(&[2, 3], |i| i as f32 + 1.0);
        assert_eq!(part(true).values(&[&x, &Tensor::scalar(1i32)]), [0.0, 2.0, 3.0, 0.0, 0.0, 6.0]);
        assert_eq!(part(false).values(&[&x, &Tensor::scalar(-1i8)]), [0.0, 0.0, 0.0, 4.0, 0.0, 0.0]);
        assert_eq!(part(false).values(&[&x, &Tensor::scalar(i64::MAX)]), x.to_f64s());
        extremes(|| part(true), &["(2, 3) float32", "() int32"]);
    }
}
