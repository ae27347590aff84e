//! Sorting and operators based on it: the largest elements, searching, distinct elements.
//!
//! All use one order: numbers by value, -0 equal to +0, NaN above every number and equal to itself. Equal elements keep their
//! order, also when descending.

use super::attrs::{OptInt, StdString};
use super::gather_lowering::read;
use super::index::require_same_dim;
use super::lower::{converted, lane};
use crate::prelude::*;
use rayon::prelude::*;
use relayc_ir::kernel::{self, Routine};
use std::cmp::Ordering;

attrs! {
    "relay.attrs.ArgsortAttrs" =>
    pub(crate) struct ArgsortAttrs {
        /// The axis to sort along; a negative axis counts from the end.
        pub(crate) axis: i64 = -1;
        /// Whether to sort in ascending order.
        pub(crate) is_ascend: bool = true;
        /// The dtype of positions.
        pub(crate) dtype: Option<DType> = None;
    }

    "relay.attrs.TopkAttrs" =>
    pub(crate) struct TopkAttrs {
        /// The number of elements; all if less than 1.
        pub(crate) k: OptInt;
        /// The axis to choose along; a negative axis counts from the end.
        pub(crate) axis: i64 = -1;
        /// The result: `values`, `indices`, or `both` as a tuple.
        pub(crate) ret_type: StdString = "both";
        /// Whether to choose the smallest elements, in ascending order.
        pub(crate) is_ascend: bool = false;
        /// The dtype of positions.
        pub(crate) dtype: Option<DType> = None;
    }

    "relay.attrs.SearchSortedAttrs" =>
    pub(crate) struct SearchSortedAttrs {
        /// Whether the position found is after equal elements.
        pub(crate) right: bool = false;
        /// The dtype of positions.
        pub(crate) dtype: Option<DType> = Some(DType::I32);
    }

    "relay.attrs.UniqueAttrs" =>
    pub(crate) struct UniqueAttrs {
        /// Whether to return elements in ascending order; otherwise, in the order of their first occurrence.
        pub(crate) sorted: bool = true;
        /// Whether to return a fifth tensor with the number of occurrences of each.
        pub(crate) return_counts: bool = false;
    }
}

// ---- The order ----

/// Elements as numbers that compare exactly.
enum Keys {
    Floats(Vec<f64>),
    Ints(Vec<i128>),
}

impl Keys {
    fn of(tensor: &Tensor) -> Keys {
        if tensor.dtype().is_float() { Keys::Floats(tensor.to_f64s()) } else { Keys::Ints(tensor.to_ints()) }
    }

    /// The order of element `a` of these and element `b` of others of the same dtype.
    fn compare(&self, a: usize, others: &Keys, b: usize) -> Ordering {
        match (self, others) {
            (Keys::Floats(x), Keys::Floats(y)) => x[a].partial_cmp(&y[b]).unwrap_or_else(|| x[a].is_nan().cmp(&y[b].is_nan())),
            (Keys::Ints(x), Keys::Ints(y)) => x[a].cmp(&y[b]),
            (Keys::Floats(_), Keys::Ints(_)) | (Keys::Ints(_), Keys::Floats(_)) => unreachable!("both have one dtype"),
        }
    }
}

/// The lines of elements along an axis: for each position of the outer axes as many as elements lie between neighbours.
struct Lines {
    length: usize,
    /// How many elements lie between neighbours of a line.
    inner: usize,
    /// Line by line, the positions along the axis in sorted order.
    order: Vec<usize>,
}

impl Lines {
    fn sort(data: &Tensor, axis: i64, ascend: bool) -> Lines {
        let axis = axis.rem_euclid(data.rank() as i64) as usize;
        let (length, inner) = (data.shape()[axis], data.shape()[axis + 1..].iter().product::<usize>());
        let keys = Keys::of(data);
        let sort = |(line, order): (usize, &mut [usize])| {
            let at = |k: usize| (line / inner * length + k) * inner + line % inner;
            order.sort_by(|&a, &b| match ascend {
                true => keys.compare(at(a), &keys, at(b)),
                false => keys.compare(at(b), &keys, at(a)),
            });
        };
        let mut order: Vec<usize> = (0..length).cycle().take(data.len()).collect();
        relayc_ir::threads::ready();
        order.par_chunks_mut(length.max(1)).enumerate().for_each(sort);
        Lines { length, inner, order }
    }

    /// For each element of a result with `k` elements in each line, its line and its position along the axis of `data`.
    fn places(&self, k: usize) -> impl Fn(usize) -> (usize, usize) {
        move |i| {
            let line = i / self.inner / k * self.inner + i % self.inner;
            (line, self.order[line * self.length + i / self.inner % k])
        }
    }

    /// The first `k` elements of each line.
    fn values(&self, data: &Tensor, shape: &[usize], k: usize) -> Tensor {
        let place = self.places(k);
        data.pick(shape, 0.0, |i| {
            let (line, at) = place(i);
            Some((line / self.inner * self.length + at) * self.inner + line % self.inner)
        })
    }

    /// Where the first `k` elements of each line stand.
    fn positions(&self, dtype: DType, shape: &[usize], k: usize) -> Result<Tensor, Trap> {
        let place = self.places(k);
        as_dtype(&Tensor::from_fn(shape, |i| place(i).1 as i64), dtype)
    }
}

fn as_dtype(positions: &Tensor, dtype: DType) -> Result<Tensor, Trap> {
    positions.cast(dtype).ok_or_else(|| Trap::no_tensor(dtype))
}

// ---- Sorting ----

pub const ARGSORT: OpDef = OpDef {
    name: "argsort",
    doc: "The positions along `axis` of the elements of `data` in sorted order, as `dtype`. Equal elements keep their order; \
          NaN is above every number (`src/relay/op/algorithm/argsort.cc`).",
    rules: &["C1: axis is in -rank(data)…rank(data)-1", "C2: dtype is the dtype of a tensor"],
    rel: argsort_rel,
    eval: argsort_eval,
    lower: Some(Lower::Routine(argsort_routine)),
    ..SORT
};

fn argsort_rel(cx: &mut RelCx) -> RelResult {
    let attrs = ArgsortAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    cx.axis("C1", "axis", attrs.axis, data.rank())?;
    let dtype = rel::require_tensor_dtype(cx, "C2", "dtype", attrs.dtype)?;
    cx.set_out(data.dims(), dtype)
}

fn argsort_eval(cx: &EvalCx) -> EvalResult {
    let attrs = ArgsortAttrs::read(cx.attrs);
    let lines = Lines::sort(cx.tensor(0), attrs.axis, attrs.is_ascend);
    Ok(lines.positions(cx.out_dtype(), cx.out_shape(), lines.length)?.into())
}

pub const SORT: OpDef = OpDef {
    name: "sort",
    doc: "The elements of `data` sorted along `axis`. Equal elements keep their order; NaN is above every number. `dtype` has \
          no meaning (`src/relay/op/algorithm/sort.cc`).",
    args: &[Arg::tensor("data")],
    attrs: Some(ArgsortAttrs::SCHEMA),
    rules: &["C1: axis is in -rank(data)…rank(data)-1"],
    rel: sort_rel,
    eval: sort_eval,
    lower: Some(Lower::Routine(sort_routine)),
    ..OpDef::BASE
};

fn sort_rel(cx: &mut RelCx) -> RelResult {
    let attrs = ArgsortAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    cx.axis("C1", "axis", attrs.axis, data.rank())?;
    cx.set_out(data.dims(), data.dtype)
}

fn sort_eval(cx: &EvalCx) -> EvalResult {
    let (data, attrs) = (cx.tensor(0), ArgsortAttrs::read(cx.attrs));
    let lines = Lines::sort(data, attrs.axis, attrs.is_ascend);
    Ok(lines.values(data, data.shape(), lines.length).into())
}

pub const TOPK: OpDef = OpDef {
    name: "topk",
    work: Work::Elements { float: 24, other: 32 },
    doc: "The `k` largest elements along `axis`, largest first, or the smallest if `is_ascend`; all for `k` below 1. Of equal \
          elements the first counts; NaN is above every number. The result is the elements, their positions as `dtype`, or \
          the tuple of both (`src/relay/op/algorithm/topk.cc`).",
    args: &[Arg::tensor("data")],
    attrs: Some(TopkAttrs::SCHEMA),
    rules: &[
        "C1: axis is in -rank(data)…rank(data)-1",
        "C2: ret_type is \"both\", \"values\" or \"indices\"",
        "C3: dtype is the dtype of a tensor, where positions are wanted",
        "C4: k is given, and at most data[axis]",
    ],
    rel: topk_rel,
    eval: topk_eval,
    lower: Some(Lower::Routine(topk_routine)),
    ..OpDef::BASE
};

fn topk_rel(cx: &mut RelCx) -> RelResult {
    let attrs = TopkAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    let axis = cx.axis("C1", "axis", attrs.axis, data.rank())?;
    cx.require("C4", attrs.k.0.is_some(), || Fault::attr("k", "expected a number, found none"))?;
    // The literal becomes the dimension, with its width.
    let k = cx.attrs.first().and_then(<Option<Dim>>::read).unwrap_or(Dim::Any);
    let all = k.value().is_some_and(|k| k < 1);
    let length = data.shape[axis];
    let fits = k.value().zip(length.value()).is_none_or(|(k, length)| k <= length);
    cx.require("C4", fits, || {
        Fault::attr("k", format!("cannot choose {k} of {length} elements"))
            .at(data.axis(axis), "")
            .equation(format!("k <= data[{axis}]"), format!("{k} <= {length}"))
            .set_attr("k", length)
    })?;
    set_chosen(cx, &attrs, &data, axis, if all { data.dim(axis) } else { SDim::new(k, DimOrigin::Attr("k")) })
}

/// Sets the result of choosing `k` elements along an axis.
fn set_chosen(cx: &mut RelCx, attrs: &TopkAttrs, data: &TensorTy, axis: usize, k: SDim) -> RelResult {
    let ret_type = attrs.ret_type.0.as_str();
    cx.require("C2", ["both", "values", "indices"].contains(&ret_type), || {
        Fault::attr("ret_type", format!("expected \"both\", \"values\" or \"indices\", found {ret_type:?}"))
            .set_attr("ret_type", "\"both\"")
    })?;
    let mut shape = data.dims();
    shape[axis] = k;
    if ret_type == "values" {
        return cx.set_out(shape, data.dtype);
    }
    let dtype = rel::require_tensor_dtype(cx, "C3", "dtype", attrs.dtype)?;
    match ret_type {
        "indices" => cx.set_out(shape, dtype),
        _ => cx.set_out_tuple(vec![(shape.clone(), data.dtype), (shape, dtype)]),
    }
}

fn topk_eval(cx: &EvalCx) -> EvalResult {
    let attrs = TopkAttrs::read(cx.attrs);
    let length = cx.tensor(0).shape()[attrs.axis.rem_euclid(cx.tensor(0).rank() as i64) as usize];
    let k = attrs.k.0.and_then(|k| usize::try_from(k).ok()).filter(|&k| k > 0);
    chosen(cx, &attrs, k.unwrap_or(length))
}

/// The first `k` elements of each line, as the attributes want them.
fn chosen(cx: &EvalCx, attrs: &TopkAttrs, k: usize) -> EvalResult {
    let data = cx.tensor(0);
    let lines = Lines::sort(data, attrs.axis, attrs.is_ascend);
    let mut shape = data.shape().to_vec();
    shape[attrs.axis.rem_euclid(data.rank() as i64) as usize] = k;
    let positions = || lines.positions(attrs.dtype.unwrap_or(DType::I32), &shape, k);
    Ok(match attrs.ret_type.0.as_str() {
        "values" => lines.values(data, &shape, k).into(),
        "indices" => positions()?.into(),
        _ => Outputs::Tuple(vec![lines.values(data, &shape, k), positions()?]),
    })
}

fn topk_routine(call: &Call) -> Option<Routine> {
    let attrs = TopkAttrs::read(call.attrs);
    let positions = call.outs.last().filter(|_| attrs.ret_type.0 != "values").map(|out| out.dtype);
    let take = call.out().shape[call.axis(attrs.axis, call.arg(0).shape.len())?];
    sorted(call, attrs.axis, attrs.is_ascend, take, attrs.ret_type.0 != "indices", positions)
}

fn argsort_routine(call: &Call) -> Option<Routine> {
    let attrs = ArgsortAttrs::read(call.attrs);
    let axis = call.axis(attrs.axis, call.arg(0).shape.len())?;
    sorted(call, attrs.axis, attrs.is_ascend, call.arg(0).shape[axis], false, Some(call.out().dtype))
}

fn sort_routine(call: &Call) -> Option<Routine> {
    let attrs = ArgsortAttrs::read(call.attrs);
    let axis = call.axis(attrs.axis, call.arg(0).shape.len())?;
    sorted(call, attrs.axis, attrs.is_ascend, call.arg(0).shape[axis], true, None)
}

/// The routine that sorts the first operand along an axis.
fn sorted(call: &Call, axis: i64, ascend: bool, take: u64, values: bool, positions: Option<DType>) -> Option<Routine> {
    let data = call.arg(0);
    let lines = kernel::Lines::along(&data.shape, call.axis(axis, data.shape.len())?);
    // A key of 32 bits has a position of as many behind it.
    (lines.length < 1 << 32).then_some(())?;
    Some(Routine::Sort(kernel::Sort { lines, dtype: data.dtype, take, descending: !ascend, values, positions }))
}

pub const DYN_TOPK: OpDef = OpDef {
    name: "dyn.topk",
    doc: "As `topk`, with `k` an operand of one element, converted to an integer; more than the length of the axis traps \
          (`src/relay/op/dyn/algorithm/topk.cc`).",
    args: &[Arg::tensor("data"), Arg::tensor("k")],
    rules: &[
        "C1: axis is in -rank(data)…rank(data)-1",
        "C2: ret_type is \"both\", \"values\" or \"indices\"",
        "C3: dtype is the dtype of a tensor, where positions are wanted",
        "C4: k has rank 0, or rank 1 and one element",
    ],
    rel: dyn_topk_rel,
    eval: dyn_topk_eval,
    fixed: Some(dyn_topk_fixed),
    lower: None,
    ..TOPK
};

fn dyn_topk_rel(cx: &mut RelCx) -> RelResult {
    let attrs = TopkAttrs::read(cx.attrs);
    let (data, k) = (cx.tensor(0)?, cx.tensor(1)?);
    cx.require("C4", k.rank() <= 1, || Fault::rank("0 or 1", &k))?;
    if k.rank() == 1 {
        cx.require("C4", k.shape[0].compatible(Dim::known(1)), || {
            Fault::shape(format!("expected one element, found {}", k.shape[0])).at(k.axis(0), "")
        })?;
    }
    let axis = cx.axis("C1", "axis", attrs.axis, data.rank())?;
    set_chosen(cx, &attrs, &data, axis, SDim::new(Dim::Any, DimOrigin::Rule("C4")))
}

fn dyn_topk_eval(cx: &EvalCx) -> EvalResult {
    let attrs = TopkAttrs::read(cx.attrs);
    let length = cx.tensor(0).shape()[attrs.axis.rem_euclid(cx.tensor(0).rank() as i64) as usize];
    match cx.tensor(1).to_ints().first() {
        Some(&k) if k > length as i128 => {
            Err(Trap::new(codes::E0501, format!("cannot choose {k} elements along an axis of {length}")))
        }
        Some(&k) if k > 0 => chosen(cx, &attrs, k as usize),
        _ => chosen(cx, &attrs, length),
    }
}

/// The static operator, which takes all elements where more are asked for: so the length must be known.
fn dyn_topk_fixed(known: &KnownFacts) -> Option<Fixed> {
    let k = i64::try_from(*known.values[1].as_ref()?.to_ints().first()?).ok()?;
    let axis = TopkAttrs::read(known.attrs).axis;
    let shape = known.shapes[0].as_ref()?;
    let length = *shape.get(usize::try_from(if axis < 0 { axis + shape.len() as i64 } else { axis }).ok()?)?;
    let attrs = [AttrValue::int(k)].into_iter().chain(known.attrs[1..].iter().cloned()).collect();
    (k <= length).then_some(Fixed::Call { def: &TOPK, kept: &[0], attrs })
}

// ---- Searching ----

pub(crate) const SEARCHSORTED: OpDef = OpDef {
    name: "searchsorted",
    doc: "For each element of `values`, the first position of the last axis of `sorted_sequence` whose element is not below it; \
          if `right`, the first whose element is above it; the axis's length where there is none. A sequence of rank 1 is \
          searched for all values, others row by row. NaN is above every number (`src/relay/op/algorithm/searchsorted.cc`).",
    args: &[Arg::tensor("sorted_sequence"), Arg::tensor("values")],
    attrs: Some(SearchSortedAttrs::SCHEMA),
    rules: &[
        "C1: dtype(sorted_sequence) == dtype(values)",
        "C2: both have rank 1 or more; if that of sorted_sequence is not 1, it is that of values",
        "C3: if rank(sorted_sequence) is not 1, both have the same dimensions, apart from the last",
        "C4: dtype is the dtype of a tensor",
    ],
    rel: searchsorted_rel,
    eval: searchsorted_eval,
    lower: Some(Lower::Nest(searchsorted_nest)),
    ..OpDef::BASE
};

fn searchsorted_rel(cx: &mut RelCx) -> RelResult {
    let attrs = SearchSortedAttrs::read(cx.attrs);
    let (sequence, values) = (cx.tensor(0)?, cx.tensor(1)?);
    rel::require_same_dtype(cx, "C1", &sequence, &values)?;
    for tensor in [&sequence, &values] {
        cx.require("C2", tensor.rank() >= 1, || Fault::rank("at least 1", tensor))?;
    }
    if sequence.rank() > 1 {
        cx.require("C2", values.rank() == sequence.rank(), || Fault::rank(sequence.rank(), &values).at(sequence.place(), ""))?;
        for axis in 0..values.rank() - 1 {
            require_same_dim(cx, "C3", ("sorted_sequence", &sequence, axis), ("values", &values, axis))?;
        }
    }
    let dtype = rel::require_tensor_dtype(cx, "C4", "dtype", attrs.dtype)?;
    cx.set_out(values.dims(), dtype)
}

fn searchsorted_eval(cx: &EvalCx) -> EvalResult {
    let (sequence, values, attrs) = (cx.tensor(0), cx.tensor(1), SearchSortedAttrs::read(cx.attrs));
    let last = |tensor: &Tensor| tensor.shape()[tensor.rank() - 1];
    let (length, columns) = (last(sequence), last(values));
    let (sorted, wanted) = (Keys::of(sequence), Keys::of(values));
    let found = Tensor::from_fn(values.shape(), |i| {
        let row = if sequence.rank() == 1 { 0 } else { i / columns };
        // The lengths between which the answer lies.
        let (mut low, mut high) = (0, length);
        while low < high {
            let middle = low + (high - low) / 2;
            let order = sorted.compare(row * length + middle, &wanted, i);
            if order == Ordering::Less || (attrs.right && order == Ordering::Equal) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low as i64
    });
    Ok(as_dtype(&found, cx.out_dtype())?.into())
}

/// Every value takes as many steps as the axis needs; steps behind the last have no effect.
fn searchsorted_nest(call: &Call) -> Option<Template> {
    let right = SearchSortedAttrs::read(call.attrs).right;
    let (sequence, values) = (call.arg(0), call.arg(1));
    let (of_element, to) = (lane(sequence.dtype)?, lane(call.out().dtype)?);
    let length = i32::try_from(*sequence.shape.last()?).ok().filter(|&length| length > 0)?;
    let mut template = Template { dims: values.shape.clone(), ..Template::default() };
    let mut body = Body::new();
    let index = |n: usize| (0..n).map(AxisMap::of);
    let wanted = read(&mut template, &mut body, Read::of(Source::Arg(1), index(values.shape.len()).collect()));
    let last = sequence.shape.len() - 1;
    let axes: Vec<AxisMap> = index(last).chain([AxisMap::zero()]).collect();
    let (one, end, mut low, mut high) = (body.i32(1), body.i32(length - 1), body.i32(0), body.i32(length));
    for _ in 0..32 - length.leading_zeros() {
        let sum = body.bin(BinaryOp::Add, low, high);
        let middle = body.bin(BinaryOp::ShrSigned, sum, one);
        let place = body.bin(BinaryOp::Min, middle, end);
        let element = Read { picked: vec![(last, place)], ..Read::of(Source::Arg(0), axes.clone()) };
        let element = read(&mut template, &mut body, element);
        let is_before = comes_before(&mut body, of_element, element, wanted, right);
        let goes_on = body.cmp(Cmp::Lt, low, high);
        let next = body.bin(BinaryOp::Add, middle, one);
        let (up, down) = (body.select(is_before, next, low), body.select(is_before, high, middle));
        (low, high) = (body.select(goes_on, up, low), body.select(goes_on, down, high));
    }
    let val = converted(&mut body, low, ScalarType::I32, to);
    template.finish(body, val)
}

/// Whether an element comes before another in the order of sorts; if `or_equal`, also whether it equals it.
fn comes_before(body: &mut Body, lane: ScalarType, element: Val, other: Val, or_equal: bool) -> Val {
    let [a, b] = match lane {
        ScalarType::Bool => [element, other].map(|val| body.un(UnaryOp::BoolToInt, val)),
        _ => [element, other],
    };
    let holds = body.cmp(if or_equal { Cmp::Le } else { Cmp::Lt }, a, b);
    if !lane.is_float() {
        return holds;
    }
    // NaN is behind all numbers, and equals itself.
    let (of_number, at_nan) = (body.cmp(Cmp::Eq, a, a), body.cmp(Cmp::Ne, b, b));
    let behind = if or_equal { at_nan } else { body.bin(BinaryOp::And, of_number, at_nan) };
    body.bin(BinaryOp::Or, holds, behind)
}

// ---- Different elements ----

pub(crate) const UNIQUE: OpDef = OpDef {
    name: "unique",
    doc: "The different elements of a vector of length n, and more, as a tuple: the elements, smallest first if `sorted`, else \
          in the order in which they come; where each first stands; for each element of `data` its position among the \
          different ones; how many there are; and, if `return_counts`, how often each occurs. The first, second and last \
          are filled up to n with 0, n and 0. NaN is above every number and occurs once (`src/relay/op/tensor/transform.cc`).",
    args: &[Arg::tensor("data")],
    attrs: Some(&AttrSchema { declared: false, ..*UniqueAttrs::SCHEMA }),
    rules: &["C1: rank(data) == 1"],
    rel: unique_rel,
    eval: unique_eval,
    ..OpDef::BASE
};

fn unique_rel(cx: &mut RelCx) -> RelResult {
    let attrs = UniqueAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    cx.require("C1", data.rank() == 1, || Fault::rank(1, &data))?;
    let positions = || (data.dims(), DType::I32);
    let one: Shape = [SDim::known(1, DimOrigin::Op)].into_iter().collect();
    let mut fields = vec![(data.dims(), data.dtype), positions(), positions(), (one, DType::I32)];
    fields.extend(attrs.return_counts.then(positions));
    cx.set_out_tuple(fields)
}

fn unique_eval(cx: &EvalCx) -> EvalResult {
    let (data, attrs) = (cx.tensor(0), UniqueAttrs::read(cx.attrs));
    let n = data.len();
    let keys = Keys::of(data);
    let order = Lines::sort(data, 0, true).order;
    // The first position of each different element and how often it occurs, smallest first; for each position the element's number.
    let (mut found, mut number) = (Vec::<(usize, i32)>::new(), vec![0; n]);
    for &at in &order {
        match found.last_mut() {
            Some((first, count)) if keys.compare(*first, &keys, at) == Ordering::Equal => *count += 1,
            _ => found.push((at, 1)),
        }
        number[at] = found.len() - 1;
    }
    // The numbers in the order of the result.
    let mut listed: Vec<usize> = (0..found.len()).collect();
    if !attrs.sorted {
        listed.sort_by_key(|&number| found[number].0);
    }
    let mut place = vec![0; found.len()];
    listed.iter().enumerate().for_each(|(at, &number)| place[number] = at as i32);
    let nth = |i: usize| listed.get(i).map(|&number| found[number]);
    let mut fields = vec![
        data.pick(&[n], 0.0, |i| nth(i).map(|(first, _)| first)),
        Tensor::from_fn(&[n], |i| nth(i).map_or(n, |(first, _)| first) as i32),
        Tensor::from_fn(&[n], |i| place[number[i]]),
        Tensor::from_vec(&[1], vec![found.len() as i32]),
    ];
    if attrs.return_counts {
        fields.push(Tensor::from_fn(&[n], |i| nth(i).map_or(0, |(_, count)| count)));
    }
    Ok(Outputs::Tuple(fields))
}

// ---- In ONNX ----

pub(crate) const ONNX: &[(&str, Onnx)] = &[
    (ARGSORT.name, Onnx::Nodes(|cx| sort_onnx(cx, 1))),
    (SORT.name, Onnx::Nodes(|cx| sort_onnx(cx, 0))),
    (TOPK.name, Onnx::Nodes(topk_onnx)),
    (DYN_TOPK.name, Onnx::Nodes(dyn_topk_onnx)),
    (UNIQUE.name, Onnx::Nodes(unique_onnx)),
];

/// All elements in order are the largest or smallest of them, as many as there are: its elements, or its positions.
fn sortable_onnx(dtype: DType) -> Result<(), String> {
    if dtype.is_int() { Ok(()) } else { DTypeClass::Ieee.require(dtype) }
}

fn sort_onnx(cx: &mut OnnxCx, output: usize) -> OnnxResult {
    let (attrs, data) = (ArgsortAttrs::read(cx.attrs), cx.tensor(0));
    sortable_onnx(cx.dtype(data))?;
    let k = cx.length(data, attrs.axis.rem_euclid(cx.rank(data) as i64) as usize);
    let node = cx.node("TopK", &[data, k]).int("axis", attrs.axis).int("largest", (!attrs.is_ascend).into());
    let found = node.many(2)[output];
    Ok(if output == 1 { cx.cast(found, DType::I64, cx.out_dtype())? } else { found }.into())
}

fn topk_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (attrs, data) = (TopkAttrs::read(cx.attrs), cx.tensor(0));
    sortable_onnx(cx.dtype(data))?;
    let k = match attrs.k.0 {
        Some(k) if k > 0 => cx.ints("k", &[k]),
        _ => cx.length(data, attrs.axis.rem_euclid(cx.rank(data) as i64) as usize),
    };
    chosen_onnx(cx, &attrs, k)
}

fn dyn_topk_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (attrs, data, k) = (TopkAttrs::read(cx.attrs), cx.tensor(0), cx.tensor(1));
    sortable_onnx(cx.dtype(data))?;
    let wide = cx.cast(k, cx.dtype(k), DType::I64)?;
    let k = cx.reshaped(wide, &[1]);
    chosen_onnx(cx, &attrs, k)
}

/// The best `k`, and where they are.
fn chosen_onnx(cx: &mut OnnxCx, attrs: &TopkAttrs, k: ValueId) -> OnnxResult {
    let data = cx.tensor(0);
    let node = cx.node("TopK", &[data, k]).int("axis", attrs.axis).int("largest", (!attrs.is_ascend).into());
    let found = node.many(2);
    let positions = attrs.dtype.unwrap_or(DType::I32);
    Ok(match attrs.ret_type.0.as_str() {
        "values" => found[0].into(),
        "indices" => cx.cast(found[1], DType::I64, positions)?.into(),
        _ => Results(vec![found[0], cx.cast(found[1], DType::I64, positions)?]),
    })
}

/// ONNX's results are as long as there are different elements; those of Relay are filled up to the length of the data.
fn unique_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (attrs, data) = (UniqueAttrs::read(cx.attrs), cx.tensor(0));
    sortable_onnx(cx.dtype(data))?;
    let found = cx.node("Unique", &[data]).int("sorted", attrs.sorted.into()).many(4);
    let length = cx.length(data, 0);
    let n_found = cx.node("Shape", &[found[0]]).one();
    let missing = cx.node("Sub", &[length, n_found]).one();
    let none = cx.ints("before", &[0]);
    let widths = cx.node("Concat", &[none, missing]).int("axis", 0).one();
    let [first, place, count, n_found] = [found[1], found[2], found[3], n_found].map(|of| cx.cast(of, DType::I64, DType::I32));
    let filled = |cx: &mut OnnxCx, value, with| cx.node("Pad", &[value, widths, with]).one();
    let zero = cx.scalar("zero", cx.dtype(data), 0.0)?;
    let end = cx.as_scalar(length, DType::I32)?;
    let mut results = vec![filled(cx, found[0], zero), filled(cx, first?, end), place?, n_found?];
    if attrs.return_counts {
        let zero = cx.scalar("zero", DType::I32, 0.0)?;
        results.push(filled(cx, count?, zero));
    }
    Ok(Results(results))
}

pub(crate) const FAMILY: &[OpDef] = &[ARGSORT, SORT, TOPK, DYN_TOPK, SEARCHSORTED, UNIQUE];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{call, extremes};
    use relayc_ir::attrs::AttrValue;

    fn dtype(dtype: DType) -> AttrValue {
        AttrValue::DType(Some(dtype))
    }

    #[test]
    fn types_of_sorted_tensors() {
        let argsort = || call(&ARGSORT).attr("dtype", dtype(DType::F32));
        assert_eq!(argsort().out(&["(2, ?, 4i64) int8"]), "Tensor[(2, ?, 4i64), float32]");
        assert_eq!(call(&ARGSORT).fault(&["(2) int8"]).rule, "C2");
        assert_eq!(call(&SORT).out(&["(2, ?) int8"]), "Tensor[(2, ?), int8]");
        assert_eq!(call(&SORT).fault(&["() int8"]).rule, "C1");
        extremes(argsort, &["(2, 3) float32"]);
        extremes(|| call(&SORT), &["(2, 3) float32"]);
    }

    #[test]
    fn types_of_chosen_elements() {
        let topk = |k: i64| call(&TOPK).int("k", k).attr("dtype", dtype(DType::I64)).int("axis", 0);
        assert_eq!(topk(2).out(&["(4, ?) int8"]), "(Tensor[(2, ?), int8], Tensor[(2, ?), int64])");
        assert_eq!(topk(0).text("ret_type", "values").out(&["(4i64) int8"]), "Tensor[(4i64), int8]");
        let wide = AttrValue::Int { value: 2, bits: 64 };
        assert_eq!(topk(0).attr("k", wide).text("ret_type", "indices").out(&["(?) int8"]), "Tensor[(2i64), int64]");
        assert_eq!(topk(5).fault(&["(4) int8"]).rule, "C4");
        assert_eq!(call(&TOPK).fault(&["(4) int8"]).rule, "C4");
        assert_eq!(topk(1).text("ret_type", "all").fault(&["(4) int8"]).rule, "C2");
        assert_eq!(topk(1).attr("dtype", AttrValue::DType(None)).fault(&["(4) int8"]).rule, "C3");
        extremes(|| topk(1), &["(2, 3) float32"]);
        let chosen = || call(&DYN_TOPK).attr("dtype", dtype(DType::I64));
        assert_eq!(chosen().out(&["(4, 5) int8", "(1) float32"]), "(Tensor[(4, ?), int8], Tensor[(4, ?), int64])");
        assert_eq!(chosen().fault(&["(4, 5) int8", "(2) int32"]).rule, "C4");
        extremes(chosen, &["(2, 3) float32", "() int32"]);
    }

    #[test]
    fn equal_elements_keep_their_order() {
        let x = Tensor::from_vec(&[2, 3], vec![1f32, 0.0, f32::NAN, -0.0, 0.0, 1.0]);
        let order = |ascend: bool| {
            let argsort = call(&ARGSORT).attr("is_ascend", AttrValue::Bool(ascend)).attr("dtype", dtype(DType::I32));
            argsort.values(&[&x])
        };
        assert_eq!(order(true), [1.0, 0.0, 2.0, 0.0, 1.0, 2.0]);
        assert_eq!(order(false), [2.0, 0.0, 1.0, 2.0, 0.0, 1.0]);
        let columns = call(&SORT).int("axis", 0).values(&[&Tensor::from_vec(&[2, 2], vec![3i64, 1, i64::MIN, i64::MAX])]);
        assert_eq!(columns, [i64::MIN as f64, 1.0, 3.0, i64::MAX as f64]);
        assert!(call(&SORT).values(&[&Tensor::from_vec::<u8>(&[0, 3], vec![])]).is_empty());
        assert!(call(&SORT).values(&[&Tensor::from_vec::<u8>(&[3, 0], vec![])]).is_empty());
    }

    #[test]
    fn the_first_few() {
        let x = Tensor::from_vec(&[2, 2], vec![1i8, 4, 3, 4]);
        let topk = |axis: i64| call(&TOPK).int("k", 1).int("axis", axis).attr("dtype", dtype(DType::U8)).eval(&[&x]);
        let rows = topk(1).expect("it runs");
        assert_eq!((rows[0].to_f64s(), rows[1].to_f64s()), (vec![4.0, 4.0], vec![1.0, 1.0]));
        let columns = topk(0).expect("it runs");
        assert_eq!((columns[0].to_f64s(), columns[1].to_f64s()), (vec![3.0, 4.0], vec![1.0, 0.0]));
    }

    #[test]
    fn searching() {
        let search = |right: bool| call(&SEARCHSORTED).attr("right", AttrValue::Bool(right));
        assert_eq!(search(false).out(&["(?) int8", "(2, 3i64) int8"]), "Tensor[(2, 3i64), int32]");
        assert_eq!(search(false).fault(&["(2, 4) int8", "(3, 4) int8"]).rule, "C3");
        assert_eq!(search(false).fault(&["(2, 4) int8", "(4) int8"]).rule, "C2");
        assert_eq!(search(false).fault(&["(2) int8", "(4) int16"]).rule, "C1");
        let rows = Tensor::from_vec(&[2, 3], vec![1f32, 3.0, 3.0, 5.0, 6.0, f32::NAN]);
        let values = Tensor::from_vec(&[2, 2], vec![3f32, 0.0, 7.0, f32::NAN]);
        assert_eq!(search(false).values(&[&rows, &values]), [1.0, 0.0, 2.0, 2.0]);
        assert_eq!(search(true).values(&[&rows, &values]), [3.0, 0.0, 2.0, 3.0]);
        extremes(|| search(true), &["(2) float32", "(3) float32"]);
    }

    #[test]
    fn different_elements() {
        let x = Tensor::from_vec(&[5], vec![4i8, 1, 4, 9, 1]);
        let of = |sorted: bool| {
            let unique = call(&UNIQUE).attr("sorted", AttrValue::Bool(sorted)).attr("return_counts", AttrValue::Bool(true));
            let fields = unique.eval(&[&x]).expect("it runs");
            fields.iter().map(Tensor::to_f64s).collect::<Vec<_>>()
        };
        let sorted: [&[f64]; 5] = [
            &[1.0, 4.0, 9.0, 0.0, 0.0],
            &[1.0, 0.0, 3.0, 5.0, 5.0],
            &[1.0, 0.0, 1.0, 2.0, 0.0],
            &[3.0],
            &[2.0, 2.0, 1.0, 0.0, 0.0],
        ];
        assert_eq!(of(true), sorted);
        let found: [&[f64]; 5] = [
            &[4.0, 1.0, 9.0, 0.0, 0.0],
            &[0.0, 1.0, 3.0, 5.0, 5.0],
            &[0.0, 1.0, 0.0, 2.0, 1.0],
            &[3.0],
            &[2.0, 2.0, 1.0, 0.0, 0.0],
        ];
        assert_eq!(of(false), found);
        let none = call(&UNIQUE).eval(&[&Tensor::from_vec::<i32>(&[0], vec![])]).expect("it runs");
        assert_eq!(none[3].to_f64s(), [0.0]);
        extremes(|| call(&UNIQUE), &["(3) float32"]);
    }
}
