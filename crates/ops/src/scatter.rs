//! Scatter: writes elements at positions that an integer tensor, or a slice, gives.
//!
//! All indices are checked before anything is written; an index out of range traps (`E0501`). Updates are applied in row-major
//! order. Sums and products in f16 and bf16 are computed in f32 and rounded once.

use super::index::{outside, position, require_ints, require_same_dim};
use super::rel::require_same_dtype;
use crate::prelude::*;
use relayc_ir::kernel::{self, MAX_RANK, Routine, ScatterReduction, ScatterTarget};

attrs! {
    "relay.attrs.ScatterElementsAttrs" =>
    pub(crate) struct ScatterElementsAttrs {
        /// The axis to index; a negative axis counts from the end.
        pub(crate) axis: Option<i64> = Some(0);
        /// The combination of an element with its update: `update`, `add`, `mul`, `mean`, `min` or `max`.
        pub(crate) reduction: String = "update";
    }

    "relay.attrs.ScatterAttrs" =>
    pub(crate) struct ScatterAttrs {
        /// The axis to index; a negative axis counts from the end.
        pub(crate) axis: Option<i64> = Some(0);
    }

    "relay.attrs.ScatterNDAttrs" =>
    pub(crate) struct ScatterNdAttrs {
        /// The combination of an element with its update: `update`, `add`, `mul`, `min` or `max`.
        pub(crate) mode: String = "update";
    }
}

const OPERANDS: &[Arg] = &[Arg::tensor("data"), Arg::tensor("indices"), Arg::tensor("updates")];

/// How an update meets the element that is there, in the words of all of `scatter_elements`; `scatter_nd` knows the first five.
const REDUCTIONS: [(&str, ScatterReduction); 6] = [
    ("update", ScatterReduction::Replace),
    ("add", ScatterReduction::Add),
    ("mul", ScatterReduction::Multiply),
    ("min", ScatterReduction::Least),
    ("max", ScatterReduction::Greatest),
    ("mean", ScatterReduction::Mean),
];

/// The reduction of a name that a rule has seen.
fn join_named(name: &str) -> ScatterReduction {
    REDUCTIONS.iter().find(|(known, _)| *known == name).map_or(ScatterReduction::Replace, |&(_, join)| join)
}

/// `data` with updates, each at the position of a pair, which it is the second of.
fn put(join: ScatterReduction, data: &Tensor, updates: &Tensor, pairs: impl Iterator<Item = (usize, usize)>) -> Tensor {
    let dtype = data.dtype();
    let half = dtype == DType::F16 || dtype == DType::BF16;
    let [data, updates] = [data, updates].map(|x| x.cast(if half { DType::F32 } else { dtype }).expect("a tensor's dtype"));
    let scattered = data.scatter(&updates, pairs, join.floats(), join.ints());
    scattered.and_then(|scattered| scattered.cast(dtype)).expect("both have one dtype")
}

/// The rule that an attribute names one of the reductions.
fn require_reduction(
    cx: &RelCx,
    rule: &'static str,
    attr: &'static str,
    name: &str,
    known: &[(&str, ScatterReduction)],
) -> RelResult {
    cx.require(rule, known.iter().any(|(known, _)| *known == name), || {
        let names: Vec<String> = known.iter().map(|(known, _)| format!("{known:?}")).collect();
        let (last, others) = names.split_last().expect("there are some");
        Fault::attr(attr, format!("expected {} or {last}, found {name:?}", others.join(", "))).set_attr(attr, "\"update\"")
    })
}

pub const SCATTER_ELEMENTS: OpDef = OpDef {
    name: "scatter_elements",
    doc: "`data` with `updates[i, j, k]` at `[i, indices[i, j, k], k]` for `axis` 1, and so on, for each index; updates without \
          one have no place. The element there is replaced \
          (`update`), added to, multiplied, or made the mean, the smaller or the larger of both; `mean` of integers goes \
          towards zero. Negative indices count from the end; one outside the axis traps \
          (`python/tvm/topi/scatter_elements.py`).",
    args: OPERANDS,
    attrs: Some(&AttrSchema { declared: false, ..*ScatterElementsAttrs::SCHEMA }),
    rules: &[
        "C1: dtype(indices) is an integer",
        "C2: dtype(updates) == dtype(data)",
        "C3: axis is in -rank(data)…rank(data)-1",
        "C4: data, indices and updates have one rank",
        "C5: indices are nowhere longer than updates, and apart from axis nowhere longer than data",
        "C6: reduction is \"update\", \"add\", \"mul\", \"min\", \"max\" or \"mean\"",
    ],
    rel: scatter_elements_rel,
    eval: scatter_elements_eval,
    lower: Some(Lower::Routine(scatter_elements_routine)),
    ..OpDef::BASE
};

fn scatter_elements_rel(cx: &mut RelCx) -> RelResult {
    let attrs = ScatterElementsAttrs::read(cx.attrs);
    require_reduction(cx, "C6", "reduction", &attrs.reduction, &REDUCTIONS)?;
    elements_rel(cx, attrs.axis)
}

/// The rules `C1` to `C5`, and the result's type.
fn elements_rel(cx: &mut RelCx, axis: Option<i64>) -> RelResult {
    let (data, indices, updates) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    require_ints(cx, "C1", &indices)?;
    require_same_dtype(cx, "C2", &data, &updates)?;
    let axis = cx.axis("C3", "axis", axis.unwrap_or(0), data.rank())?;
    for other in [&indices, &updates] {
        cx.require("C4", other.rank() == data.rank(), || Fault::rank(data.rank(), other).at(data.place(), ""))?;
    }
    for at in 0..data.rank() {
        require_room(cx, at, &indices, ("updates", &updates))?;
        if at != axis {
            require_room(cx, at, &indices, ("data", &data))?;
        }
    }
    cx.set_out(data.dims(), data.dtype)
}

/// The rule that there are no more indices along an axis than another operand has positions.
fn require_room(cx: &RelCx, at: usize, indices: &TensorTy, (name, other): (&str, &TensorTy)) -> RelResult {
    let (whole, part) = (other.shape[at], indices.shape[at]);
    cx.require("C5", part.value().zip(whole.value()).is_none_or(|(part, whole)| part <= whole), || {
        Fault::shape(format!("expected at most {whole} indices, found {part}"))
            .at(indices.axis(at), "")
            .at(other.axis(at), "")
            .equation(format!("indices[{at}] <= {name}[{at}]"), format!("{part} <= {whole}"))
    })
}

fn scatter_elements_eval(cx: &EvalCx) -> EvalResult {
    let attrs = ScatterElementsAttrs::read(cx.attrs);
    elements(cx, attrs.axis, join_named(&attrs.reduction))
}

fn elements(cx: &EvalCx, axis: Option<i64>, join: ScatterReduction) -> EvalResult {
    let (data, indices, updates) = (cx.tensor(0), cx.tensor(1), cx.tensor(2));
    let axis = axis.unwrap_or(0).rem_euclid(data.rank() as i64) as usize;
    let length = data.shape()[axis];
    let from_end = |index: i128| if index < 0 { index + length as i128 } else { index };
    let at: Vec<usize> = indices
        .to_ints()
        .into_iter()
        .map(|index| position(from_end(index), length).map_err(|_| outside(index, length)))
        .collect::<Result<_, Trap>>()?;
    // The positions in data and in updates of an index: its own place, in data with the index in place of the axis.
    let target = |i: usize| {
        let (mut rest, mut to, mut to_stride, mut from, mut from_stride) = (i, 0, 1, 0, 1);
        for d in (0..data.rank()).rev() {
            let place = rest % indices.shape()[d];
            rest /= indices.shape()[d];
            to += to_stride * if d == axis { at[i] } else { place };
            from += from_stride * place;
            to_stride *= data.shape()[d];
            from_stride *= updates.shape()[d];
        }
        (to, from)
    };
    Ok(put(join, data, updates, (0..at.len()).map(target)).into())
}

fn scatter_elements_routine(call: &Call) -> Option<Routine> {
    let attrs = ScatterElementsAttrs::read(call.attrs);
    along(call, attrs.axis, join_named(&attrs.reduction))
}

fn along(call: &Call, axis: Option<i64>, join: ScatterReduction) -> Option<Routine> {
    let axis = call.axis(axis.unwrap_or(0), call.arg(0).shape.len())?;
    scattered(call, ScatterTarget::Along(axis), join)
}

/// The routine that puts operand 2 into operand 0.
fn scattered(call: &Call, to: ScatterTarget, join: ScatterReduction) -> Option<Routine> {
    let (data, indices, updates) = (call.arg(0), call.arg(1), call.arg(2));
    // What is joined in halves is rounded once, after all updates.
    let half = data.dtype == DType::F16 || data.dtype == DType::BF16;
    (data.shape.len() <= MAX_RANK && !(half && join != ScatterReduction::Replace)).then_some(())?;
    Some(Routine::Scatter(kernel::Scatter {
        dtype: data.dtype,
        index: indices.dtype,
        data: data.shape.clone(),
        indices: indices.shape.clone(),
        updates: updates.shape.clone(),
        to,
        join,
    }))
}

pub(crate) const SCATTER: OpDef = OpDef {
    name: "scatter",
    doc: "`scatter_elements` with `reduction=\"update\"`. TVM had this operator up to 0.11; 0.14 knows only its name \
          (`python/tvm/relay/transform/mixed_precision.py`).",
    attrs: Some(&AttrSchema { declared: false, ..*ScatterAttrs::SCHEMA }),
    rules: &[
        "C1: dtype(indices) is an integer",
        "C2: dtype(updates) == dtype(data)",
        "C3: axis is in -rank(data)…rank(data)-1",
        "C4: data, indices and updates have one rank",
        "C5: indices are nowhere longer than updates, and apart from axis nowhere longer than data",
    ],
    rel: |cx| elements_rel(cx, ScatterAttrs::read(cx.attrs).axis),
    eval: |cx| elements(cx, ScatterAttrs::read(cx.attrs).axis, ScatterReduction::Replace),
    lower: Some(Lower::Routine(|call| along(call, ScatterAttrs::read(call.attrs).axis, ScatterReduction::Replace))),
    fuse: None,
    ..SCATTER_ELEMENTS
};

pub const SCATTER_ND: OpDef = OpDef {
    name: "scatter_nd",
    doc: "`data` with updates: the first axes of `updates` are those of `indices` behind its first, whose column at each place \
          leads to the element or part of `data` that the update there meets. It is replaced (`update`), added to, \
          multiplied, or made the smaller or the larger of both. An index outside its axis traps \
          (`python/tvm/topi/scatter.py`).",
    args: OPERANDS,
    attrs: Some(&AttrSchema { declared: false, ..*ScatterNdAttrs::SCHEMA }),
    rules: &[
        "C1: dtype(indices) is an integer",
        "C2: dtype(updates) == dtype(data)",
        "C3: rank(indices) >= 1, and indices[0] <= rank(data)",
        "C4: rank(updates) == rank(indices) - 1 + rank(data) - indices[0], which determines indices[0] if it is `?`",
        "C5: updates has the dimensions of indices behind the first, then those of data behind the first indices[0]",
        "C6: mode is \"update\", \"add\", \"mul\", \"min\" or \"max\"",
    ],
    rel: scatter_nd_rel,
    eval: scatter_nd_eval,
    lower: Some(Lower::Routine(|call| {
        scattered(call, ScatterTarget::Places, join_named(&ScatterNdAttrs::read(call.attrs).mode))
    })),
    ..OpDef::BASE
};

fn scatter_nd_rel(cx: &mut RelCx) -> RelResult {
    let attrs = ScatterNdAttrs::read(cx.attrs);
    let (data, indices, updates) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    require_ints(cx, "C1", &indices)?;
    require_same_dtype(cx, "C2", &data, &updates)?;
    cx.require("C3", indices.rank() >= 1, || Fault::rank("at least 1", &indices))?;
    let (places, rank) = (indices.rank() - 1, data.rank());
    let columns = match indices.shape[0].value() {
        Some(columns) => {
            cx.require("C3", (0..=rank as i64).contains(&columns), || {
                Fault::shape(format!("{columns} indices do not fit rank {rank}"))
                    .at(indices.axis(0), "")
                    .at(data.place(), "")
                    .equation("indices[0] <= rank(data)", format!("{columns} <= {rank}"))
            })?;
            columns as usize
        }
        // TVM's type relation requires a number, but the ranks allow only one.
        None => {
            cx.require("C4", (places..=places + rank).contains(&updates.rank()), || {
                Fault::rank(format!("{places} to {}", places + rank), &updates).at(indices.place(), "").at(data.place(), "")
            })?;
            places + rank - updates.rank()
        }
    };
    let expected = places + rank - columns;
    cx.require("C4", updates.rank() == expected, || Fault::rank(expected, &updates).at(indices.place(), ""))?;
    for at in 0..places {
        require_same_dim(cx, "C5", ("indices", &indices, at + 1), ("updates", &updates, at))?;
    }
    for at in columns..rank {
        require_same_dim(cx, "C5", ("data", &data, at), ("updates", &updates, at - columns + places))?;
    }
    require_reduction(cx, "C6", "mode", &attrs.mode, &REDUCTIONS[..5])?;
    cx.set_out(data.dims(), data.dtype)
}

fn scatter_nd_eval(cx: &EvalCx) -> EvalResult {
    // indices are [columns, places], data is [the indexed axes, part], updates are [places, part].
    let (data, indices, updates) = (cx.tensor(0), cx.tensor(1), cx.tensor(2));
    let (indexed, part) = data.shape().split_at(indices.shape()[0]);
    let (part, places) = (part.iter().product::<usize>(), indices.shape()[1..].iter().product::<usize>());
    let ints = indices.to_ints();
    // Without an index for it there may be any number of places for nothing.
    let places = if ints.is_empty() && part == 0 { 0 } else { places };
    let start = |place: usize| {
        let column = |start: usize, (column, &length): (usize, &usize)| {
            Ok(start * length + position(ints[column * places + place], length)?)
        };
        indexed.iter().enumerate().try_fold(0, column)
    };
    let starts: Vec<usize> = (0..places).map(start).collect::<Result<_, Trap>>()?;
    let pairs = (0..updates.len()).map(|i| (starts[i / part] * part + i % part, i));
    Ok(put(join_named(&ScatterNdAttrs::read(cx.attrs).mode), data, updates, pairs).into())
}

pub(crate) const STRIDED_SET: OpDef = OpDef {
    name: "strided_set",
    doc: "`data` with `v` at the positions `begin`, `begin + stride`, … before `end` of each axis. Positions count from the end \
          where negative and are then limited to the axis; where the lists are shorter than `rank(data)`, the stride is 1 and \
          the walk goes over the whole axis. A stride of 0 traps, and so does a slice that is not of the shape of `v` \
          (`python/tvm/topi/transform.py`).",
    args: &[Arg::tensor("data"), Arg::tensor("v"), Arg::tensor("begin"), Arg::tensor("end"), Arg::tensor("strides")],
    rules: &[
        "C1: dtype(v) == dtype(data)",
        "C2: rank(v) == rank(data)",
        "C3: begin, end and strides are vectors of integers, none longer than rank(data)",
    ],
    rel: strided_set_rel,
    eval: strided_set_eval,
    fuse: Some(Fuse::Injective),
    lower: Some(Lower::Routine(strided_set_routine)),
    ..OpDef::BASE
};

fn strided_set_rel(cx: &mut RelCx) -> RelResult {
    let (data, v) = (cx.tensor(0)?, cx.tensor(1)?);
    require_same_dtype(cx, "C1", &data, &v)?;
    cx.require("C2", v.rank() == data.rank(), || Fault::rank(data.rank(), &v).at(data.place(), ""))?;
    for arg in 2..5 {
        let list = cx.tensor(arg)?;
        require_list(cx, &list, data.rank())?;
    }
    cx.set_out(data.dims(), data.dtype)
}

fn require_list(cx: &RelCx, list: &TensorTy, rank: usize) -> RelResult {
    cx.require("C3", list.rank() == 1, || Fault::rank(1, list))?;
    require_ints(cx, "C3", list)?;
    let n = list.shape[0];
    cx.require("C3", n.value().is_none_or(|n| n <= rank as i64), || {
        Fault::shape(format!("expected at most {rank} numbers, found {n}")).at(list.axis(0), "")
    })
}

fn strided_set_eval(cx: &EvalCx) -> EvalResult {
    let (data, v) = (cx.tensor(0), cx.tensor(1));
    let [begin, end, strides] = [2, 3, 4].map(|arg| cx.tensor(arg).to_ints());
    // For each axis, the first position and the stride.
    let mut walks = Vec::with_capacity(data.rank());
    for (axis, (&length, &n)) in data.shape().iter().zip(v.shape()).enumerate() {
        let at = |list: &[i128]| list.get(axis).copied();
        let (first, stride, count) = walk(at(&begin), at(&end), at(&strides).unwrap_or(1), length)?;
        if count != n as i128 {
            let message = format!("the slice takes {count} positions of axis {axis}, v has {n}");
            return Err(Trap::new(codes::E0506, message));
        }
        walks.push((first, stride));
    }
    let target = |i: usize| {
        let (mut rest, mut step, mut to) = (i, 1, 0);
        for (axis, &(first, stride)) in walks.iter().enumerate().rev() {
            to += step * (first + stride * (rest % v.shape()[axis]) as i128) as usize;
            rest /= v.shape()[axis];
            step *= data.shape()[axis];
        }
        (to, i)
    };
    Ok(put(ScatterReduction::Replace, data, v, (0..v.len()).map(target)).into())
}

fn strided_set_routine(call: &Call) -> Option<Routine> {
    let (data, part) = (call.arg(0), call.arg(1));
    (data.shape.len() <= MAX_RANK).then_some(())?;
    let lists = [2, 3, 4].map(|arg| (call.arg(arg).shape[0], call.arg(arg).dtype));
    let (data, part, width) = (data.shape.clone(), part.shape.clone(), data.dtype.bytes());
    Some(Routine::StridedSet(kernel::StridedSet { data, part, width, lists }))
}

/// The first position of a slice, its stride and how many positions it takes.
fn walk(begin: Option<i128>, end: Option<i128>, stride: i128, length: usize) -> Result<(i128, i128, i128), Trap> {
    if stride == 0 {
        return Err(Trap::new(codes::E0506, "a stride of 0 never arrives"));
    }
    let length = length as i128;
    let (low, high) = if stride > 0 { (0, length) } else { (-1, length - 1) };
    let limited = |at: i128| if at < 0 { at + length } else { at }.clamp(low, high);
    let (first, last) = if stride > 0 { (low, high) } else { (high, low) };
    let (begin, end) = (begin.map_or(first, limited), end.map_or(last, limited));
    let distance = if stride > 0 { end - begin } else { begin - end };
    Ok((begin, stride, (distance.max(0) + stride.abs() - 1) / stride.abs()))
}

pub(crate) const ONNX: &[(&str, Onnx)] = &[
    (SCATTER_ELEMENTS.name, Onnx::Nodes(scatter_elements_onnx)),
    (SCATTER.name, Onnx::Nodes(|cx| elements_onnx(cx, ScatterAttrs::read(cx.attrs).axis, "update"))),
    (SCATTER_ND.name, Onnx::Nodes(scatter_nd_onnx)),
];

/// A reduction in ONNX's words.
fn reduction_onnx(name: &str) -> Result<&'static str, String> {
    match name {
        "update" => Ok("none"),
        "add" => Ok("add"),
        "mul" => Ok("mul"),
        other => Err(format!("the reduction {other:?}")),
    }
}

fn scatter_elements_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let attrs = ScatterElementsAttrs::read(cx.attrs);
    elements_onnx(cx, attrs.axis, &attrs.reduction)
}

/// ONNX wants as many updates as indices; those without an index have no place here.
fn elements_onnx(cx: &mut OnnxCx, axis: Option<i64>, reduction: &str) -> OnnxResult {
    let (data, indices, updates) = (cx.tensor(0), cx.tensor(1), cx.tensor(2));
    let reduction = reduction_onnx(reduction)?;
    let as_many = cx.axes(indices).iter().zip(cx.axes(updates)).all(|(wanted, found)| wanted.same(*found));
    let updates = if as_many {
        updates
    } else {
        let starts = cx.ints("starts", &vec![0; cx.rank(indices)]);
        let ends = match cx.shape(indices) {
            Ok(wanted) => cx.ints("ends", &wanted),
            Err(_) => cx.node("Shape", &[indices]).one(),
        };
        cx.node("Slice", &[updates, starts, ends]).one()
    };
    let indices = cx.cast(indices, cx.dtype(indices), DType::I64)?;
    let node = cx.node("ScatterElements", &[data, indices, updates]).int("axis", axis.unwrap_or(0));
    Ok(node.str("reduction", reduction).one().into())
}

/// The indices of one element stand on the first axis here, on the last in ONNX.
fn scatter_nd_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (data, indices, updates) = (cx.tensor(0), cx.tensor(1), cx.tensor(2));
    let mode = ScatterNdAttrs::read(cx.attrs).mode;
    let reduction = reduction_onnx(&mode)?;
    let axes: Vec<usize> = (1..cx.rank(indices)).chain([0]).collect();
    let indices = cx.cast(indices, cx.dtype(indices), DType::I64)?;
    let indices = cx.transposed(indices, &axes);
    Ok(cx.node("ScatterND", &[data, indices, updates]).str("reduction", reduction).one().into())
}

pub(crate) const FAMILY: &[OpDef] = &[SCATTER_ELEMENTS, SCATTER, SCATTER_ND, STRIDED_SET];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{call, extremes};
    use relayc_base::diag::codes;

    #[test]
    fn shapes_of_scattered_elements() {
        let scatter = || call(&SCATTER_ELEMENTS).int("axis", -1);
        assert_eq!(scatter().out(&["(2, ?) int8", "(1, 7) uint8", "(1, 7) int8"]), "Tensor[(2, ?), int8]");
        assert_eq!(scatter().out(&["(2, 3) int8", "(1, 7) uint8", "(2, 8) int8"]), "Tensor[(2, 3), int8]");
        assert_eq!(scatter().fault(&["(2, 3) int8", "(3, 2) int32", "(3, 2) int8"]).rule, "C5");
        assert_eq!(scatter().fault(&["(2, 3) int8", "(1, 3) int32", "(1, 2) int8"]).rule, "C5");
        assert_eq!(scatter().fault(&["(2, 3) int8", "(2) int32", "(2) int8"]).rule, "C4");
        assert_eq!(scatter().fault(&["(2, 3) int8", "(2, 3) int32", "(2, 3) int16"]).rule, "C2");
        assert_eq!(scatter().text("reduction", "sub").fault(&["(2) int8", "(2) int32", "(2) int8"]).rule, "C6");
        extremes(scatter, &["(2, 3) float32", "(2, 3) int32", "(2, 3) float32"]);
        let nd = || call(&SCATTER_ND);
        assert_eq!(nd().out(&["(2, ?, 4) int8", "(1, 7) uint8", "(7, 3, 4) int8"]), "Tensor[(2, ?, 4), int8]");
        assert_eq!(nd().fault(&["(2) int8", "(2, 7) int32", "(7) int8"]).rule, "C3");
        assert_eq!(nd().fault(&["(2, 3) int8", "(1, 7) int32", "(7) int8"]).rule, "C4");
        assert_eq!(nd().fault(&["(2, 3) int8", "(1, 7) int32", "(7, 4) int8"]).rule, "C5");
        assert_eq!(nd().text("mode", "mean").fault(&["(2) int8", "(1, 7) int32", "(7) int8"]).rule, "C6");
        extremes(nd, &["(2, 3) float32", "(2, 3) int32", "(3) float32"]);
    }

    fn vector<T: relayc_ir::tensor::Element>(elements: &[T]) -> Tensor {
        Tensor::from_vec(&[elements.len()], elements.into())
    }

    #[test]
    fn reductions() {
        let data = vector(&[1i8, 100, 3]);
        let (indices, updates) = (vector(&[1i64, -1, 1]), vector(&[60i8, 2, -5]));
        let of = |reduction| call(&SCATTER_ELEMENTS).text("reduction", reduction).values(&[&data, &indices, &updates]);
        assert_eq!(of("update"), [1.0, -5.0, 2.0]);
        assert_eq!(of("add"), [1.0, -101.0, 5.0]);
        assert_eq!(of("mul"), [1.0, -48.0, 6.0]);
        assert_eq!(of("mean"), [1.0, 37.0, 2.0]);
        assert_eq!(of("min"), [1.0, -5.0, 2.0]);
        assert_eq!(of("max"), [1.0, 100.0, 3.0]);
        let trap = call(&SCATTER_ELEMENTS).eval(&[&data, &vector(&[0i32, 3, 0]), &updates]).expect_err("a trap");
        assert_eq!((trap.code, trap.message.as_str()), (codes::E0501, "index 3 is outside an axis of 3"));
        let nothing = vector::<i8>(&[]);
        assert_eq!(call(&SCATTER_ELEMENTS).values(&[&data, &vector::<i32>(&[]), &nothing]), [1.0, 100.0, 3.0]);
    }

    #[test]
    fn halves_round_once() {
        let ones = Tensor::from_fn(&[2049], |_| half::f16::ONE);
        let sum = call(&SCATTER_ELEMENTS).text("reduction", "add");
        let (zero, nowhere) = (vector(&[half::f16::ZERO]), Tensor::from_fn(&[2049], |_| 0i32));
        assert_eq!(sum.values(&[&zero, &nowhere, &ones]), [2048.0]);
        assert_eq!(sum.values(&[&vector(&[half::f16::from_f32(1.0)]), &nowhere, &ones]), [2050.0]);
    }

    #[test]
    fn parts_by_columns() {
        let data = Tensor::from_fn(&[2, 2, 2], |i| i as f32);
        let indices = Tensor::from_vec(&[2, 2], vec![1u8, 0, 0, 1]);
        let updates = Tensor::from_vec(&[2, 2], vec![10f32, 20.0, 30.0, 40.0]);
        let sum = call(&SCATTER_ND).text("mode", "add").values(&[&data, &indices, &updates]);
        assert_eq!(sum, [0.0, 1.0, 32.0, 43.0, 14.0, 25.0, 6.0, 7.0]);
        let trap = call(&SCATTER_ND).eval(&[&data, &Tensor::from_vec(&[2, 2], vec![1i8, 0, 0, -1]), &updates]);
        assert_eq!(trap.expect_err("a trap").code, codes::E0501);
    }

    #[test]
    fn slices_are_replaced() {
        let data = Tensor::from_fn(&[6], |i| i as i32);
        let set = |v: &[i32], begin: &[i64], end: &[i64], strides: &[i64]| {
            let lists = [begin, end, strides].map(vector);
            call(&STRIDED_SET).eval(&[&data, &vector(v), &lists[0], &lists[1], &lists[2]]).map(|out| out[0].to_f64s())
        };
        assert_eq!(set(&[-1, -2], &[1], &[5], &[2]), Ok(vec![0.0, -1.0, 2.0, -2.0, 4.0, 5.0]));
        assert_eq!(set(&[-1, -2, -3], &[-2], &[-100], &[-2]), Ok(vec![-3.0, 1.0, -2.0, 3.0, -1.0, 5.0]));
        assert_eq!(set(&[-1; 6], &[], &[], &[-1]), Ok(vec![-1.0; 6]));
        assert_eq!(set(&[], &[3], &[3], &[]), Ok(data.to_f64s()));
        for (v, strides) in [(&[1, 2][..], &[1][..]), (&[1], &[0])] {
            assert_eq!(set(v, &[0], &[1], strides).expect_err("a trap").code, codes::E0506);
        }
        let far = [i64::MIN, i64::MAX];
        far.iter().for_each(|&a| far.iter().for_each(|&b| far.iter().for_each(|&s| drop(set(&[1], &[a], &[b], &[s])))));
        extremes(|| call(&STRIDED_SET), &["(2, 3) float32", "(1, 3) float32", "(2) int32", "(2) int32", "(2) int32"]);
        assert_eq!(call(&STRIDED_SET).fault(&["(2) int8", "(1) int8", "(2) int32", "(1) int32", "(1) int32"]).rule, "C3");
    }
}
