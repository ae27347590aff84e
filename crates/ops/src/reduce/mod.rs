//! Reductions: combine the elements along some axes into one.

mod nest;
mod onnx;

pub(crate) use onnx::ONNX;

use crate::blocks::{Blocks, Channels};
use crate::prelude::*;
use relayc_ir::kernel::Reduction::{Max, Min, Product as Times, Sum as Plus};
use relayc_ir::tensor::{Product, RowReduction, Sum, float_max, float_min};

attrs! {
    "relay.attrs.ReduceAttrs" =>
    pub(crate) struct ReduceAttrs {
        /// The axes to reduce; negative axes count from the end. `None` and an empty list stand for all axes.
        pub(crate) axis: Option<Vec<i64>> = None;
        /// Whether reduced axes stay, with dimension 1.
        pub(crate) keepdims: bool = false;
        /// Whether `axis` names the axes to keep.
        pub(crate) exclude: bool = false;
    }

    "relay.attrs.ArgReduceAttrs" =>
    pub(crate) struct ArgReduceAttrs {
        /// The axes to reduce; negative axes count from the end. `None` and an empty list stand for all axes.
        pub(crate) axis: Option<Vec<i64>> = None;
        /// Whether reduced axes stay, with dimension 1.
        pub(crate) keepdims: bool = false;
        /// Whether to choose the last of several extreme elements; otherwise, the first.
        pub(crate) select_last_index: bool = false;
        /// Whether `axis` names the axes to keep.
        pub(crate) exclude: bool = false;
    }

    "relay.attrs.VarianceAttrs" =>
    pub(crate) struct VarianceAttrs {
        /// The axes to reduce; negative axes count from the end. `None` and an empty list stand for all axes.
        pub(crate) axis: Option<Vec<i64>> = None;
        /// Whether reduced axes stay, with dimension 1.
        pub(crate) keepdims: bool = false;
        /// Whether `axis` names the axes to keep.
        pub(crate) exclude: bool = false;
        /// Whether to divide by the number of elements minus one.
        pub(crate) unbiased: bool = false;
    }
}

const C1: &str = "C1: each axis is in -rank(data)…rank(data)-1";
const C2: &str = "C2: no axis is named twice";

const fn reduction(name: &'static str, doc: &'static str, eval: Eval, work: Work, lower: Option<Lower>) -> OpDef {
    OpDef {
        name,
        doc,
        args: DATA,
        attrs: Some(ReduceAttrs::SCHEMA),
        rules: &[C1, C2],
        rel: reduce_rel,
        eval,
        work,
        fuse: Some(Fuse::CommReduce),
        blocks: Some(Blocks::Same(reduce_blocks)),
        lower,
        ..OpDef::BASE
    }
}

/// The work of a sum or product.
fn sum_work(cx: &EvalCx) -> u64 {
    accumulators(cx, cx.tensor(0).dtype(), &axes(cx), 0)
}

/// Both the sum and the quotient are accumulators.
fn mean_work(cx: &EvalCx) -> u64 {
    accumulators(cx, cx.tensor(0).dtype(), &axes(cx), 1)
}

/// The truth of each element takes a byte.
fn truth_work(cx: &EvalCx) -> u64 {
    (cx.tensor(0).len() as u64).saturating_add(accumulators(cx, DType::BOOL, &axes(cx), 0))
}

/// First there are differences beside the mean of each, then beside their squares, then squares as accumulators.
fn variance_work(cx: &EvalCx) -> u64 {
    let (data, attrs) = (cx.tensor(0), VarianceAttrs::read(cx.attrs));
    let bytes = data.len() as u64 * data.dtype().bytes();
    let axes = reduced_axes(data.rank(), attrs.axis.as_deref(), attrs.exclude);
    (2 * bytes).max(bytes + accumulators(cx, data.dtype(), &axes, 1))
}

fn extreme_work(cx: &EvalCx) -> u64 {
    copies(cx, &axes(cx)) * cx.tensor(0).dtype().bytes()
}

/// Positions are found as int64.
fn position_work(cx: &EvalCx) -> u64 {
    let (data, attrs) = (cx.tensor(0), ArgReduceAttrs::read(cx.attrs));
    let axes = reduced_axes(data.rank(), attrs.axis.as_deref(), attrs.exclude);
    copies(cx, &axes) * data.dtype().bytes() + 8 * n_results(cx)
}

/// The elements as accumulators and, where the reduced axes are not the last, once more in that order; the results as accumulators, and
/// `more` times besides.
fn accumulators(cx: &EvalCx, dtype: DType, axes: &[usize], more: u64) -> u64 {
    let width = if dtype.is_float() { dtype.bytes().max(4) } else { 8 };
    let converted = u64::from(width != dtype.bytes());
    width * (converted * cx.tensor(0).len() as u64 + copies(cx, axes) + (converted + more) * n_results(cx))
}

/// How many elements are copied so that the reduced axes are the last.
fn copies(cx: &EvalCx, axes: &[usize]) -> u64 {
    let data = cx.tensor(0);
    let are_last = axes.first().is_none_or(|&first| first + axes.len() == data.rank());
    if are_last { 0 } else { data.len() as u64 }
}

fn n_results(cx: &EvalCx) -> u64 {
    cx.out.iter().map(|out| out.shape.iter().fold(1, |n, &dim| n * dim as u64)).sum()
}

/// The height and the width, reduced but kept as axes, stay where they are beside channels in blocks.
fn reduce_blocks(schema: &AttrSchema, attrs: &[AttrValue], _: Channels) -> Option<Vec<AttrValue>> {
    let ReduceAttrs { axis, keepdims, exclude } = ReduceAttrs::read(attrs);
    let axes = reduced_axes(4, axis.as_deref(), exclude);
    (keepdims && axes.iter().all(|&axis| axis >= 2)).then_some(())?;
    let axes: Vec<i64> = axes.into_iter().map(|axis| axis as i64).collect();
    let values = [("axis", AttrValue::ints(&axes)), ("keepdims", AttrValue::Bool(true))];
    (!axes.is_empty()).then(|| schema.values(&values))
}

fn reduce_rel(cx: &mut RelCx) -> RelResult {
    let attrs = ReduceAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    let axes = require_axes(cx, &data, attrs.axis.as_deref(), attrs.exclude)?;
    cx.set_out(reduced(&data, &axes, attrs.keepdims), data.dtype)
}

/// The axes to reduce, ascending, after the rules `C1` and `C2`.
fn require_axes(cx: &RelCx, data: &TensorTy, axis: Option<&[i64]>, exclude: bool) -> RelResult<Vec<usize>> {
    let mut named = Vec::new();
    for &axis in axis.unwrap_or_default() {
        let at = cx.axis("C1", "axis", axis, data.rank())?;
        cx.require("C2", !named.contains(&at), || Fault::attr("axis", format!("axis {axis} is named twice")))?;
        named.push(at);
    }
    Ok(reduced_axes(data.rank(), axis, exclude))
}

/// The axes to reduce, ascending. No axis named is all of them, whatever `exclude` says (`src/relay/op/tensor/reduce.cc`).
fn reduced_axes(rank: usize, axis: Option<&[i64]>, exclude: bool) -> Vec<usize> {
    let axis = axis.unwrap_or_default();
    let named = |at: usize| axis.iter().any(|&axis| axis == at as i64 || axis == at as i64 - rank as i64);
    (0..rank).filter(|&at| axis.is_empty() || named(at) != exclude).collect()
}

/// The shape without the axes, or with 1 in their places.
fn reduced(data: &TensorTy, axes: &[usize], keepdims: bool) -> Shape {
    let keep = |axis| match axes.contains(&axis) {
        true if keepdims => Some(SDim::known(1, DimOrigin::Attr("keepdims"))),
        true => None,
        false => Some(data.dim(axis)),
    };
    (0..data.rank()).filter_map(keep).collect()
}

pub const SUM: OpDef = reduction(
    "sum",
    "The sum along the axes. f16 and bf16 are summed in f32; integers wrap; of bool it is `or`; of nothing it is 0 \
     (`src/relay/op/tensor/reduce.cc`).",
    fold::<Sum>,
    Work::Of(sum_work),
    Some(Lower::Nest(|call| nest::reduction(call, Plus, false))),
);

pub const PROD: OpDef = reduction(
    "prod",
    "The product along the axes. f16 and bf16 are multiplied in f32; integers wrap; of bool it is `and`; of nothing it is 1 \
     (`src/relay/op/tensor/reduce.cc`).",
    fold::<Product>,
    Work::Of(sum_work),
    Some(Lower::Nest(|call| nest::reduction(call, Times, false))),
);

pub const MEAN: OpDef = reduction(
    "mean",
    "The sum along the axes divided by the number of elements. f16 and bf16 compute in f32; integers wrap and divide towards \
     zero; of no floats it is NaN (`src/relay/op/tensor/reduce.cc`).",
    mean_eval,
    Work::Of(mean_work),
    Some(Lower::Nest(|call| nest::reduction(call, Plus, true))),
);

fn mean_eval(cx: &EvalCx) -> EvalResult {
    let axes = axes(cx);
    let count = count(cx.tensor(0), &axes) as f64;
    averaged(cx, cx.tensor(0), &axes, count)
}

/// The sum along the axes divided by `count`, in the shape of the result.
fn averaged(cx: &EvalCx, data: &Tensor, axes: &[usize], count: f64) -> EvalResult {
    let (dtype, sum) = (data.dtype(), data.to_acc().fold::<Sum>(axes));
    let mean = if dtype.is_float() {
        sum.div(count).into_tensor(dtype)
    } else if count == 0.0 && !cx.out_shape().contains(&0) {
        return Err(Trap::new(codes::E0502, "integer division by zero: there are no elements to average"));
    } else {
        // The sum wraps before it is divided.
        sum.into_tensor(dtype).map(|x| x, |x| x / count as i128)
    };
    Ok(in_shape(cx, mean))
}

pub const VARIANCE: OpDef = OpDef {
    name: "variance",
    doc: "The sum of `(data - mean)²` along the axes divided by the number of elements, or by one less if `unbiased`. `mean` \
          broadcasts against `data`; f16 and bf16 compute in f32 (`src/relay/op/tensor/reduce.cc`).",
    args: &[Arg::tensor("data"), Arg::tensor("mean")],
    attrs: Some(VarianceAttrs::SCHEMA),
    rules: &[
        C1,
        C2,
        "C3: 1 <= rank(data) == rank(mean)",
        "C4: dtype(data) == dtype(mean)",
        "C5: each dimension of mean is 1 or that of data",
    ],
    rel: variance_rel,
    eval: variance_eval,
    work: Work::Of(variance_work),
    lower: Some(Lower::Nest(nest::variance)),
    fuse: Some(Fuse::CommReduce),
    ..OpDef::BASE
};

fn variance_rel(cx: &mut RelCx) -> RelResult {
    let attrs = VarianceAttrs::read(cx.attrs);
    let (data, mean) = (cx.tensor(0)?, cx.tensor(1)?);
    cx.require("C3", data.rank() > 0, || Fault::rank("at least 1", &data))?;
    cx.require("C3", data.rank() == mean.rank(), || Fault::rank(data.rank(), &mean).at(data.place(), ""))?;
    rel::require_same_dtype(cx, "C4", &data, &mean)?;
    for axis in 0..data.rank() {
        let (x, m) = (data.shape[axis], mean.shape[axis]);
        cx.require("C5", m.value() == Some(1) || m.compatible(x), || {
            Fault::new(codes::E0304, format!("mean of shape {} does not broadcast to {}", mean.shape_text(), data.shape_text()))
                .at(mean.axis(axis), "")
                .at(data.axis(axis), "")
                .equation(format!("mean[{axis}] == data[{axis}], or 1"), format!("{m} and {x}"))
        })?;
    }
    let axes = require_axes(cx, &data, attrs.axis.as_deref(), attrs.exclude)?;
    cx.set_out(reduced(&data, &axes, attrs.keepdims), data.dtype)
}

fn variance_eval(cx: &EvalCx) -> EvalResult {
    let attrs = VarianceAttrs::read(cx.attrs);
    let (data, mean) = (cx.tensor(0), cx.tensor(1));
    let axes = reduced_axes(data.rank(), attrs.axis.as_deref(), attrs.exclude);
    let squares = data
        .zip(mean, |x, y| x - y, |x, y| x - y)
        .map(|difference| difference.map(|x| x * x, |x| x.wrapping_mul(x)))
        .expect("the relation required broadcasting operands");
    let count = count(data, &axes) as f64 - f64::from(u8::from(attrs.unbiased));
    averaged(cx, &squares, &axes, count)
}

const fn extreme(name: &'static str, doc: &'static str, eval: Eval, lower: Option<Lower>) -> OpDef {
    OpDef { rules: &[C1, C2, SOMETHING], rel: extreme_rel, ..reduction(name, doc, eval, Work::Of(extreme_work), lower) }
}

const SOMETHING: &str = "C3: the reduced axes hold elements, unless the result is empty";

fn extreme_rel(cx: &mut RelCx) -> RelResult {
    let attrs = ReduceAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    let axes = require_axes(cx, &data, attrs.axis.as_deref(), attrs.exclude)?;
    cx.set_out(reduced(&data, &axes, attrs.keepdims), data.dtype)?;
    require_elements(cx, "C3", &data, &axes)
}

/// The rule that there is something to choose from, which TVM does not have. Unknown dimensions are left to the evaluation.
fn require_elements(cx: &RelCx, rule: &'static str, data: &TensorTy, axes: &[usize]) -> RelResult {
    let zero = |axis: &usize| data.shape[*axis].value() == Some(0);
    let empty = axes.iter().copied().find(|axis| zero(axis));
    let kept_known = (0..data.rank()).filter(|axis| !axes.contains(axis)).all(|axis| data.shape[axis].value() > Some(0));
    cx.require(rule, empty.is_none() || !kept_known, || {
        let fault = Fault::shape("there are no elements to choose from").at(data.axis(empty.unwrap_or(0)), "");
        Fault { typed: true, ..fault.trap(codes::E0503) }
    })
}

pub const MAX: OpDef = extreme(
    "max",
    "The largest element along the axes. NaN wins, and -0 < +0 (`src/relay/op/tensor/reduce.cc`).",
    |cx| combine(cx, float_max, Ord::max),
    Some(Lower::Nest(|call| nest::reduction(call, Max, false))),
);

pub const MIN: OpDef = extreme(
    "min",
    "The smallest element along the axes. NaN wins, and -0 < +0 (`src/relay/op/tensor/reduce.cc`).",
    |cx| combine(cx, float_min, Ord::min),
    Some(Lower::Nest(|call| nest::reduction(call, Min, false))),
);

fn combine(cx: &EvalCx, float: fn(f64, f64) -> f64, int: fn(i128, i128) -> i128) -> EvalResult {
    let result = cx.tensor(0).combine(&axes(cx), float, int);
    Ok(in_shape(cx, result.ok_or_else(nothing)?))
}

fn nothing() -> Trap {
    Trap::new(codes::E0503, "a reduction over no elements")
}

pub const ALL: OpDef = reduction(
    "all",
    "Whether all elements along the axes are true, which is all but 0; of nothing it is true \
     (`src/relay/op/tensor/reduce.cc`).",
    truth::<Product>,
    Work::Of(truth_work),
    Some(Lower::Nest(|call| nest::truth(call, Min))),
);

pub const ANY: OpDef = reduction(
    "any",
    "Whether any element along the axes is true, which is all but 0; of nothing it is false \
     (`src/relay/op/tensor/reduce.cc`).",
    truth::<Sum>,
    Work::Of(truth_work),
    Some(Lower::Nest(|call| nest::truth(call, Max))),
);

/// As [`fold`], of truth values.
fn truth<F: RowReduction>(cx: &EvalCx) -> EvalResult {
    let truth = cx.tensor(0).test(|x| x != 0.0, |x| x != 0);
    let folded = truth.to_acc().fold::<F>(&axes(cx)).into_tensor(DType::BOOL);
    Ok(in_shape(cx, folded.cast(cx.out_dtype()).expect("the operand's dtype")))
}

const fn position(name: &'static str, doc: &'static str, eval: Eval, lower: Option<Lower>) -> OpDef {
    OpDef {
        attrs: Some(ArgReduceAttrs::SCHEMA),
        rules: &[C1, C2, SOMETHING, "C4: 1 <= rank(data)"],
        rel: position_rel,
        blocks: None,
        ..reduction(name, doc, eval, Work::Of(position_work), lower)
    }
}

fn position_rel(cx: &mut RelCx) -> RelResult {
    let attrs = ArgReduceAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    cx.require("C4", data.rank() > 0, || Fault::rank("at least 1", &data))?;
    let axes = require_axes(cx, &data, attrs.axis.as_deref(), attrs.exclude)?;
    // TVM takes the dtype of the first dimension's literal.
    let dtype = if data.shape[0].is_wide() { DType::I64 } else { DType::I32 };
    cx.set_out(reduced(&data, &axes, attrs.keepdims), dtype)?;
    require_elements(cx, "C3", &data, &axes)
}

pub const ARGMAX: OpDef = position(
    "argmax",
    "The position of the largest element along the axes, counted in row-major order: the first NaN, else the first of the \
     largest, or the last if `select_last_index` (`src/relay/op/tensor/reduce.cc`).",
    argmax_eval,
    Some(Lower::Nest(|call| nest::position(call, Max))),
);

fn argmax_eval(cx: &EvalCx) -> EvalResult {
    match ArgReduceAttrs::read(cx.attrs).select_last_index {
        false => position_of(cx, |x, y| x > y || (x.is_nan() && !y.is_nan()), |x, y| x > y),
        true => position_of(cx, |x, y| x >= y || (x.is_nan() && !y.is_nan()), |x, y| x >= y),
    }
}

pub const ARGMIN: OpDef = position(
    "argmin",
    "The position of the smallest element along the axes, counted in row-major order: the first NaN, else the first of the \
     smallest, or the last if `select_last_index` (`src/relay/op/tensor/reduce.cc`).",
    argmin_eval,
    Some(Lower::Nest(|call| nest::position(call, Min))),
);

fn argmin_eval(cx: &EvalCx) -> EvalResult {
    match ArgReduceAttrs::read(cx.attrs).select_last_index {
        false => position_of(cx, |x, y| x < y || (x.is_nan() && !y.is_nan()), |x, y| x < y),
        true => position_of(cx, |x, y| x <= y || (x.is_nan() && !y.is_nan()), |x, y| x <= y),
    }
}

fn position_of(cx: &EvalCx, float: fn(f64, f64) -> bool, int: fn(i128, i128) -> bool) -> EvalResult {
    let attrs = ArgReduceAttrs::read(cx.attrs);
    let axes = reduced_axes(cx.tensor(0).rank(), attrs.axis.as_deref(), attrs.exclude);
    let positions = cx.tensor(0).position_of(&axes, float, int).ok_or_else(nothing)?;
    Ok(in_shape(cx, positions.cast(cx.out_dtype()).expect("an integer dtype")))
}

/// The axes to reduce, for the operators of [`ReduceAttrs`].
fn axes(cx: &EvalCx) -> Vec<usize> {
    let attrs = ReduceAttrs::read(cx.attrs);
    reduced_axes(cx.tensor(0).rank(), attrs.axis.as_deref(), attrs.exclude)
}

fn fold<F: RowReduction>(cx: &EvalCx) -> EvalResult {
    let data = cx.tensor(0);
    Ok(in_shape(cx, data.to_acc().fold::<F>(&axes(cx)).into_tensor(data.dtype())))
}

/// How many elements become one.
fn count(data: &Tensor, axes: &[usize]) -> usize {
    axes.iter().map(|&axis| data.shape()[axis]).product()
}

/// With the dimensions of 1 that `keepdims` keeps.
fn in_shape(cx: &EvalCx, tensor: Tensor) -> super::eval::Outputs {
    tensor.reshape(cx.out_shape()).expect("the relation gave the shape").into()
}

pub(crate) const FAMILY: &[OpDef] = &[SUM, PROD, MEAN, VARIANCE, MAX, MIN, ALL, ANY, ARGMAX, ARGMIN];

#[cfg(test)]
mod tests {
    use super::super::testing::{ANY as UNKNOWN, eval, hostile, rel, t};
    use super::*;
    use relayc_ir::attrs::AttrValue;

    fn of(name: &str, shape: &[i64], attrs: &[(&str, AttrValue)]) -> String {
        rel(name, &[t(shape, DType::F32)], attrs)
    }

    #[test]
    fn which_axes() {
        let axis = |axes: &[i64]| ("axis", AttrValue::ints(axes));
        let yes = |name| (name, AttrValue::Bool(true));
        assert_eq!(of("sum", &[2, 3, 4], &[]), "float32");
        assert_eq!(of("sum", &[2, 3, 4], &[axis(&[])]), "float32");
        assert_eq!(of("sum", &[2, 3, 4], &[axis(&[]), yes("exclude")]), "float32");
        assert_eq!(of("sum", &[2, UNKNOWN, 4], &[axis(&[-1, 0])]), "Tensor[(?), float32]");
        assert_eq!(of("sum", &[2, 3, 4], &[axis(&[1]), yes("keepdims")]), "Tensor[(2, 1, 4), float32]");
        assert_eq!(of("sum", &[2, 3, 4], &[axis(&[1]), yes("exclude")]), "Tensor[(3), float32]");
        assert_eq!(of("sum", &[2, 3], &[axis(&[0, 1]), yes("exclude"), yes("keepdims")]), "Tensor[(2, 3), float32]");
        assert_eq!(of("sum", &[], &[]), "float32");
        assert_eq!(of("sum", &[2, 3], &[axis(&[2])]), "E0404 C1");
        assert_eq!(of("sum", &[2, 3], &[axis(&[1, -1])]), "E0404 C2");
        assert_eq!(of("argmax", &[2, 3], &[axis(&[1])]), "Tensor[(2), int32]");
        assert_eq!(of("argmax", &[], &[]), "E0303 C4");
        assert_eq!(of("max", &[2, 0], &[axis(&[1])]), "E0308 C3");
        assert_eq!(of("max", &[0, 0], &[axis(&[1])]), "Tensor[(0), float32]");
        hostile("sum", &[t(&[2, 3], DType::F32)], &[], &[], &["axis"]);
        hostile("argmin", &[t(&[2, 3], DType::F32)], &[("exclude", AttrValue::Bool(true))], &[], &["axis"]);
    }

    #[test]
    fn truth_of_many() {
        let x = Tensor::from_vec(&[2, 2], vec![0u8, 3, 1, 2]);
        let axis = [("axis", AttrValue::ints(&[1]))];
        assert_eq!(eval("all", std::slice::from_ref(&x), &axis).expect("no trap").to_vec::<u8>(), Some(vec![0, 1]));
        assert_eq!(eval("any", &[x], &axis).expect("no trap").to_vec::<u8>(), Some(vec![1, 1]));
    }

    #[test]
    fn sums_and_means_of_nothing() {
        let none = Tensor::from_vec::<f32>(&[0], vec![]);
        let one = |name| eval(name, std::slice::from_ref(&none), &[]).expect("no trap").to_vec::<f32>().expect("f32")[0];
        assert_eq!((one("sum"), one("prod")), (0.0, 1.0));
        assert!(one("mean").is_nan());
        let ints = Tensor::from_vec::<i32>(&[0], vec![]);
        assert_eq!(eval("mean", &[ints], &[]).expect_err("a trap").code, codes::E0502);
    }

    #[test]
    fn values_along_axes() {
        let x = Tensor::from_vec(&[2, 3], vec![1i8, -5, 100, 127, 1, 2]);
        let axis = [("axis", AttrValue::ints(&[1]))];
        let row = |name| eval(name, std::slice::from_ref(&x), &axis).expect("no trap");
        assert_eq!(row("sum").to_vec::<i8>(), Some(vec![96, -126]));
        assert_eq!(row("mean").to_vec::<i8>(), Some(vec![32, -42]));
        assert_eq!(row("max").to_vec::<i8>(), Some(vec![100, 127]));
        assert_eq!(row("min").to_vec::<i8>(), Some(vec![-5, 1]));
        assert_eq!(row("argmax").to_vec::<i32>(), Some(vec![2, 0]));
        assert_eq!(row("argmin").to_vec::<i32>(), Some(vec![1, 1]));
    }

    #[test]
    fn of_equal_elements_the_first_or_the_last() {
        let position = |name, x: &[f32], last| {
            let x = Tensor::from_vec(&[x.len()], x.into());
            let attrs = [("select_last_index", AttrValue::Bool(last))];
            eval(name, &[x], &attrs).expect("no trap").to_vec::<i32>().expect("i32")[0]
        };
        assert_eq!(position("argmax", &[1.0, 3.0, 3.0], false), 1);
        assert_eq!(position("argmax", &[1.0, 3.0, 3.0], true), 2);
        assert_eq!(position("argmax", &[1.0, f32::NAN, 3.0, f32::NAN], false), 1);
        assert_eq!(position("argmin", &[1.0, f32::NAN, 3.0, f32::NAN], true), 1);
    }

    #[test]
    fn long_sums_stay_accurate() {
        let x = Tensor::from_vec(&[1 << 20], vec![0.1f32; 1 << 20]);
        let sum = eval("sum", &[x], &[]).expect("no trap").to_vec::<f32>().expect("f32")[0];
        assert!((f64::from(sum) / (f64::from(0.1f32) * f64::from(1 << 20)) - 1.0).abs() < 1e-6, "{sum}");
    }

    #[test]
    fn variance_divides_by_the_count() {
        let x = Tensor::from_vec(&[1, 4], vec![1.0f32, 2.0, 3.0, 4.0]);
        let mean = Tensor::from_vec(&[1, 1], vec![2.5f32]);
        let of = |unbiased| {
            let attrs = [("axis", AttrValue::ints(&[1])), ("unbiased", AttrValue::Bool(unbiased))];
            eval("variance", &[x.clone(), mean.clone()], &attrs).expect("no trap").to_vec::<f32>().expect("f32")[0]
        };
        assert_eq!((of(false), of(true)), (1.25, 5.0 / 3.0));
    }
}
