//! Broadcasting: repeats elements to fill a shape, sums to undo that, and selects between two broadcast operands.

use super::attrs::Dims;
use super::create::{InitOpAttrs, require_shape};
use super::gather_lowering::{copy, counted, is_float};
use super::lists::{require_list, unknown};
use super::lower::Rows;
use crate::dense::require_product_onnx;
use crate::prelude::*;
use relayc_ir::kernel::Reduction;
use relayc_ir::tensor::{Sum, broadcast_shape};

attrs! {
    "relay.attrs.TileAttrs" =>
    pub(crate) struct TileAttrs {
        /// The number of repetitions of each axis, aligned right with the axes of `data`.
        pub(crate) reps: Dims;
    }

    "relay.attrs.RepeatAttrs" =>
    pub(crate) struct RepeatAttrs {
        /// The number of copies of each element.
        pub(crate) repeats: Option<i64>;
        /// The axis along which elements are repeated; a negative axis counts from the end.
        pub(crate) axis: Option<i64> = None;
    }
}

/// Requires `small` to broadcast to exactly `large`; `names` names the two for messages.
fn require_fits(cx: &RelCx, rule: &'static str, names: (&str, &str), small: &Shape, large: &Shape) -> RelResult {
    let fault = || {
        let message = format!("shape {} does not broadcast to {}", rel::dims_text(cx, small), rel::dims_text(cx, large));
        Fault::new(codes::E0304, message)
    };
    cx.require(rule, small.len() <= large.len(), || fault().at(place(small), "").at(place(large), ""))?;
    let skipped = large.len() - small.len();
    for (i, (&s, &l)) in small.iter().zip(&large[skipped..]).enumerate() {
        cx.require(rule, s.value() == Some(1) || s.dim.compatible(l.dim), || {
            fault()
                .at(s.place(), "")
                .at(l.place(), "")
                .equation(format!("{}[{i}] == {}[{}], or 1", names.0, names.1, i + skipped), format!("{} and {}", s.dim, l.dim))
        })?;
    }
    Ok(())
}

/// The place of a shape, without an axis.
fn place(shape: &Shape) -> Place {
    shape.first().map_or(Place::CALL, |dim| Place { axis: None, ..dim.place() })
}

fn broadcast_eval(cx: &EvalCx) -> EvalResult {
    Ok(cx.tensor(0).broadcast_to(cx.out_shape()).expect("the relation required that it broadcasts").into())
}

pub const BROADCAST_TO: OpDef = OpDef {
    name: "broadcast_to",
    work: Work::None,
    doc: "`data` repeated along axes of dimension 1 and along new leading ones until it has the shape `shape`; its dtype stays, \
          whatever `dtype` says (`src/relay/op/tensor/transform.cc`).",
    args: &[Arg::tensor("data")],
    attrs: Some(InitOpAttrs::SCHEMA),
    rules: &[
        "C1: shape is a list of numbers, none negative",
        "C2: aligned right, each dimension of data is 1 or that of shape; data has no more axes than shape",
    ],
    rel: broadcast_to_rel,
    eval: broadcast_eval,
    lower: Some(Lower::View(|call, view| view.broadcast(&call.out().shape))),
    fuse: Some(Fuse::Broadcast),
    no_op: true,
    ..OpDef::BASE
};

fn broadcast_to_rel(cx: &mut RelCx) -> RelResult {
    let attrs = InitOpAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    let shape = require_shape(cx, "C1", &attrs.shape)?;
    require_fits(cx, "C2", ("data", "shape"), &data.dims(), &shape)?;
    cx.set_out(shape, data.dtype)
}

pub(crate) const BROADCAST_TO_LIKE: OpDef = OpDef {
    name: "broadcast_to_like",
    work: Work::None,
    doc: "`data` repeated along axes of dimension 1 and along new leading ones until it has the shape of `broadcast_type` \
          (`src/relay/op/tensor/transform.cc`).",
    args: &[Arg::tensor("data"), Arg::tensor("broadcast_type")],
    rules: &[
        "C1: dtype(data) == dtype(broadcast_type)",
        "C2: aligned right, each dimension of data is 1 or that of broadcast_type, which has as many axes or more",
    ],
    rel: broadcast_to_like_rel,
    eval: broadcast_eval,
    lower: Some(Lower::View(|call, view| view.broadcast(&call.out().shape))),
    fuse: Some(Fuse::Broadcast),
    ..OpDef::BASE
};

fn broadcast_to_like_rel(cx: &mut RelCx) -> RelResult {
    let (data, like) = (cx.tensor(0)?, cx.tensor(1)?);
    rel::require_same_dtype(cx, "C1", &data, &like)?;
    require_fits(cx, "C2", ("data", "broadcast_type"), &data.dims(), &like.dims())?;
    cx.set_out(like.dims(), data.dtype)
}

pub(crate) const COLLAPSE_SUM_LIKE: OpDef = OpDef {
    name: "collapse_sum_like",
    doc: "`data` summed along the axes that broadcasting the shape of `collapse_type` to that of `data` would repeat: the \
          gradient of a broadcast (`src/relay/op/tensor/transform.cc`).",
    args: &[Arg::tensor("data"), Arg::tensor("collapse_type")],
    rules: &[
        "C1: dtype(data) == dtype(collapse_type)",
        "C2: aligned right, each dimension of collapse_type is 1 or that of data, which has as many axes or more",
    ],
    rel: collapse_sum_like_rel,
    eval: |cx| collapse(cx.tensor(0), cx.out_shape()),
    lower: Some(Lower::Nest(collapse_nest)),
    fuse: Some(Fuse::CommReduce),
    ..OpDef::BASE
};

fn collapse_sum_like_rel(cx: &mut RelCx) -> RelResult {
    let (data, like) = (cx.tensor(0)?, cx.tensor(1)?);
    rel::require_same_dtype(cx, "C1", &data, &like)?;
    require_fits(cx, "C2", ("collapse_type", "data"), &like.dims(), &data.dims())?;
    cx.set_out(like.dims(), data.dtype)
}

/// The sum of a shape that broadcasts to that of `data`.
fn collapse(data: &Tensor, target: &[usize]) -> EvalResult {
    let added = data.rank() - target.len();
    let summed = |&axis: &usize| axis < added || target[axis - added] != data.shape()[axis];
    let axes: Vec<usize> = (0..data.rank()).filter(summed).collect();
    let sum = data.to_acc().fold::<Sum>(&axes).into_tensor(data.dtype());
    Ok(sum.reshape(target).expect("summed axes have dimension 1").into())
}

fn collapse_nest(call: &Call) -> Option<Template> {
    is_float(call, 0)?;
    let (data, out) = (&call.arg(0).shape, &call.out().shape);
    let added = data.len() - out.len();
    let axes: Vec<usize> = (0..data.len()).filter(|&axis| axis < added || out[axis - added] != data[axis]).collect();
    let rows = Rows::new(data, &axes);
    let kept = |axis: usize| if axes.contains(&axis) { AxisMap::zero() } else { rows.index[axis].clone() };
    let out = (added..data.len()).map(kept).collect();
    let reads = vec![Read::of(Source::Arg(0), rows.index.clone())];
    Some(Template::folded(rows.dims, rows.reduce, reads, Reduction::Sum, out))
}

pub(crate) const COLLAPSE_SUM_TO: OpDef = OpDef {
    name: "collapse_sum_to",
    doc: "`data` summed along the axes that broadcasting `shape` to the shape of `data` would repeat. The attribute `shape` says \
          the values of the operand where they are known before running, and counts if it is given \
          (`src/relay/op/tensor/transform.cc`).",
    args: &[Arg::tensor("data"), Arg::tensor("shape")],
    // TVM registers no attribute type with it; a call brings its own, in the metadata section or by `attrs_type_key`.
    attrs: Some(&AttrSchema { declared: false, ..*InitOpAttrs::SCHEMA }),
    rules: &[
        "C1: the operand shape is a vector of numbers whose length is known",
        "C2: aligned right, each dimension of shape is 1 or that of data, which has as many axes or more",
        "C3: the attribute shape, if given, holds no negative number",
    ],
    rel: collapse_sum_to_rel,
    eval: collapse_sum_to_eval,
    lower: Some(Lower::Nest(collapse_nest)),
    fuse: Some(Fuse::CommReduce),
    ..OpDef::BASE
};

fn collapse_sum_to_rel(cx: &mut RelCx) -> RelResult {
    let attrs = InitOpAttrs::read(cx.attrs);
    let (data, target) = (cx.tensor(0)?, cx.tensor(1)?);
    let rank = require_list(cx, "C1", &target)?;
    let shape = match attrs.shape.0 {
        Some(_) => require_shape(cx, "C3", &attrs.shape)?,
        None => unknown(rank),
    };
    require_fits(cx, "C2", ("shape", "data"), &shape, &data.dims())?;
    cx.set_out(shape, data.dtype)
}

fn collapse_sum_to_eval(cx: &EvalCx) -> EvalResult {
    let data = cx.tensor(0);
    if InitOpAttrs::read(cx.attrs).shape.0.is_some() {
        return collapse(data, cx.out_shape());
    }
    let target = cx.actual_shape(&cx.tensor(1).to_ints(), data.dtype())?;
    let fits = broadcast_shape(&target, data.shape()).is_some_and(|both| both == data.shape());
    if !fits {
        return Err(Trap::new(codes::E0304, format!("shape {target:?} does not broadcast to {:?}", data.shape())));
    }
    collapse(data, &target)
}

pub const WHERE: OpDef = OpDef {
    name: "where",
    work: Work::Broadcast,
    doc: "The element of `x` where `condition` is not 0, else that of `y`; all three broadcast \
          (`src/relay/op/tensor/transform.cc`).",
    args: &[Arg::tensor("condition"), Arg::tensor("x"), Arg::tensor("y")],
    rules: &["C1: dtype(x) == dtype(y)", "C2: x and y broadcast", "C3: condition broadcasts with what x and y broadcast to"],
    rel: where_rel,
    eval: where_eval,
    lower: Some(Lower::Scalar(where_scalar)),
    fuse: Some(Fuse::Broadcast),
    ..OpDef::BASE
};

fn where_rel(cx: &mut RelCx) -> RelResult {
    let (condition, x, y) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    rel::require_same_dtype(cx, "C1", &x, &y)?;
    let both = rel::broadcast_shapes(cx, "C2", &x, &y)?;
    let shape = rel::broadcast_dims(cx, "C3", &condition.dims(), &both)?;
    cx.set_out(shape, x.dtype)
}

fn where_scalar(s: &mut Scalar) -> Option<Val> {
    s.lane(1)?;
    let condition = s.truth(0)?;
    Some(s.body.select(condition, s.args[1], s.args[2]))
}

fn where_eval(cx: &EvalCx) -> EvalResult {
    let wide = |arg: usize| cx.tensor(arg).broadcast_to(cx.out_shape()).expect("the relation required that it broadcasts");
    Ok(Tensor::select(&wide(0), &wide(1), &wide(2)).expect("one shape and one dtype").into())
}

pub(crate) const TILE: OpDef = OpDef {
    name: "tile",
    work: Work::None,
    doc: "`data` repeated whole, `reps[i]` times along axis `i`; `reps` and the axes of `data` are aligned right, and the \
          shorter of both is filled up with 1 (`src/relay/op/tensor/transform.cc`).",
    args: &[Arg::tensor("data")],
    attrs: Some(TileAttrs::SCHEMA),
    rules: &["C1: reps are at least 1", "C2: each dimension of the result is an int64"],
    rel: tile_rel,
    eval: tile_eval,
    lower: Some(Lower::Nest(tile_nest)),
    fuse: Some(Fuse::Broadcast),
    ..OpDef::BASE
};

fn tile_rel(cx: &mut RelCx) -> RelResult {
    let attrs = TileAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    let reps = attrs.reps.0.unwrap_or_default();
    for rep in &reps {
        cx.require("C1", rep.is_named() || rep.value() > Some(0), || {
            Fault::attr("reps", format!("expected at least 1, found {rep}"))
        })?;
    }
    let rank = data.rank().max(reps.len());
    let mut dim = |i: usize| {
        let own = (i + data.rank()).checked_sub(rank).map(|axis| data.dim(axis));
        match (own, (i + reps.len()).checked_sub(rank).map(|at| reps[at])) {
            (Some(own), Some(rep)) if own.dim.is_named() || rep.is_named() => {
                let dim = cx.types.symbols.arith(SymbolOp::Mul, own.dim, rep);
                Ok(SDim::new(dim, DimOrigin::Rule("C2")))
            }
            (Some(own), None) if own.dim.is_named() => Ok(own),
            // TVM forgets symbols here.
            (Some(own), _) if own.value().is_none() => Ok(SDim::new(Dim::Any, own.from)),
            (Some(own), None) => Ok(own),
            (Some(own), Some(rep)) => repeated(cx, &data, own, rep),
            (None, rep) => Ok(SDim::new(rep.unwrap_or(Dim::known(1)), DimOrigin::Attr("reps"))),
        }
    };
    let shape: RelResult<Shape> = (0..rank).map(&mut dim).collect();
    cx.set_out(shape?, data.dtype)
}

fn repeated(cx: &RelCx, data: &TensorTy, dim: SDim, times: Dim) -> RelResult<SDim> {
    if times.value() == Some(1) {
        return Ok(SDim { dim: dim.dim.combine(times, i64::checked_mul), ..dim });
    }
    let fits = dim.value().zip(times.value()).is_none_or(|(dim, times)| dim.checked_mul(times).is_some());
    cx.require("C2", fits, || {
        Fault::new(codes::E0803, format!("{} repeated {times} times is more than an int64", dim.dim)).at(data.place(), "")
    })?;
    Ok(SDim::new(dim.dim.combine(times, i64::checked_mul), DimOrigin::Rule("C2")))
}

fn tile_eval(cx: &EvalCx) -> EvalResult {
    // Axis by axis: (…, d, …) as (…, 1, d, …), broadcast to (…, r, d, …), taken for (…, r · d, …).
    let (data, out) = (cx.tensor(0), cx.out_shape());
    let added = out.len() - data.rank();
    let mut shape = vec![1; added];
    shape.extend(data.shape());
    let times = |(&out, &dim): (&usize, &usize)| [out.checked_div(dim).unwrap_or(1), dim];
    let wide: Vec<usize> = out.iter().zip(&shape).flat_map(times).collect();
    let narrow: Vec<usize> = shape.iter().flat_map(|&dim| [1, dim]).collect();
    let tiled = data.reshape(&narrow).and_then(|data| data.broadcast_to(&wide)).and_then(|data| data.reshape(out));
    Ok(tiled.expect("the relation gave the shape").into())
}

pub const REPEAT: OpDef = OpDef {
    name: "repeat",
    work: Work::None,
    doc: "Each position along `axis` repeated `repeats` times in its place (`src/relay/op/tensor/transform.cc`).",
    args: &[Arg::tensor("data")],
    attrs: Some(RepeatAttrs::SCHEMA),
    rules: &[
        "C1: repeats is at least 1",
        "C2: each dimension of the result is an int64",
        "C3: axis is in -rank(data)…rank(data)-1",
    ],
    rel: repeat_rel,
    eval: repeat_eval,
    lower: Some(Lower::Nest(repeat_nest)),
    fuse: Some(Fuse::Broadcast),
    ..OpDef::BASE
};

fn repeat_rel(cx: &mut RelCx) -> RelResult {
    let attrs = RepeatAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    let repeats = attrs.repeats.unwrap_or(0);
    cx.require("C1", repeats >= 1, || Fault::attr("repeats", format!("expected at least 1, found {repeats}")))?;
    cx.require("C3", attrs.axis.is_some(), || Fault::attr("axis", "expected an axis, found none"))?;
    let axis = cx.axis("C3", "axis", attrs.axis.unwrap_or(0), data.rank())?;
    let mut shape = data.dims();
    let (dim, times) = (data.dim(axis), Dim::known(repeats));
    shape[axis] = match dim.dim {
        Dim::Symbol(_) => SDim::new(cx.types.symbols.arith(SymbolOp::Mul, dim.dim, times), DimOrigin::Rule("C2")),
        _ => repeated(cx, &data, dim, times)?,
    };
    cx.set_out(shape, data.dtype)
}

fn repeat_eval(cx: &EvalCx) -> EvalResult {
    // (…, d, …) as (…, d, 1, …), broadcast to (…, d, r, …), taken for (…, d · r, …).
    let data = cx.tensor(0);
    let attrs = RepeatAttrs::read(cx.attrs);
    let axis = attrs.axis.unwrap_or(0).rem_euclid(data.rank() as i64) as usize;
    let mut shape = data.shape().to_vec();
    shape.insert(axis + 1, 1);
    let narrow = data.reshape(&shape);
    // An empty tensor stays empty for any number of repetitions.
    shape[axis + 1] = if data.is_empty() { 1 } else { attrs.repeats.unwrap_or(1) as usize };
    let repeated = narrow.and_then(|data| data.broadcast_to(&shape)).and_then(|data| data.reshape(cx.out_shape()));
    Ok(repeated.expect("the relation gave the shape").into())
}

/// For each axis, a loop over the repetitions and one over the operand.
fn tile_nest(call: &Call) -> Option<Template> {
    let (data, out) = (call.arg(0), call.out());
    let added = out.shape.len() - data.shape.len();
    let (mut dims, mut from, mut to) = (vec![], vec![], vec![]);
    for (axis, &whole) in out.shape.iter().enumerate() {
        let own = if axis < added { 1 } else { data.shape[axis - added] };
        let (times, one) = (dims.len(), dims.len() + 1);
        dims.extend([whole.checked_div(own)?, own]);
        to.push(counted(&[(times, 1), (one, own)]));
        if axis >= added {
            from.push(AxisMap::of(one));
        }
    }
    copy(call, dims, from, to)
}

fn repeat_nest(call: &Call) -> Option<Template> {
    let attrs = RepeatAttrs::read(call.attrs);
    let shape = &call.arg(0).shape;
    let (axis, times) = (call.axis(attrs.axis?, shape.len())?, u64::try_from(attrs.repeats?).ok()?);
    let from: Vec<AxisMap> = (0..shape.len()).map(AxisMap::of).collect();
    let mut to = from.clone();
    to[axis] = counted(&[(axis, shape[axis]), (shape.len(), times)]);
    copy(call, [&shape[..], &[times]].concat(), from, to)
}

pub(crate) const ONNX: &[(&str, Onnx)] = &[
    (BROADCAST_TO.name, Onnx::Sized(broadcast_onnx)),
    (BROADCAST_TO_LIKE.name, Onnx::Nodes(broadcast_onnx)),
    (WHERE.name, Onnx::Nodes(where_onnx)),
    (TILE.name, Onnx::Sized(tile_onnx)),
    (REPEAT.name, Onnx::Nodes(repeat_onnx)),
    (COLLAPSE_SUM_LIKE.name, Onnx::Nodes(collapse_onnx)),
];

fn collapse_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (data, out, dtype) = (cx.tensor(0), cx.out_shape()?, cx.out_dtype());
    require_product_onnx(dtype)?;
    let shape = cx.shape(data)?;
    let added = shape.len() - out.len();
    let summed = (0..shape.len()).filter(|&axis| axis < added || out[axis - added] != shape[axis]);
    let axes: Vec<i64> = summed.map(|axis| axis as i64).collect();
    if axes.is_empty() {
        return Ok(data.into());
    }
    let axes = cx.ints("axes", &axes);
    let sum = cx.node("ReduceSum", &[data, axes]).int("keepdims", 0).one();
    Ok(cx.reshaped(sum, &out).into())
}

fn broadcast_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (data, dims) = (cx.tensor(0), cx.out[0].0.clone());
    Ok(cx.expanded_to(data, &dims)?.into())
}

fn where_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (condition, x, y) = (cx.tensor(0), cx.tensor(1), cx.tensor(2));
    let condition = cx.cast(condition, cx.dtype(condition), DType::BOOL)?;
    Ok(cx.node("Where", &[condition, x, y]).one().into())
}

fn tile_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (data, reps) = (cx.tensor(0), TileAttrs::read(cx.attrs).reps.0.unwrap_or_default());
    let (rank, out_rank) = (cx.rank(data), cx.out[0].0.len());
    let mut wide = data;
    if out_rank > rank {
        let axes: Vec<i64> = (0..(out_rank - rank) as i64).collect();
        let axes = cx.ints("axes", &axes);
        wide = cx.node("Unsqueeze", &[data, axes]).one();
    }
    let ones = std::iter::repeat_n(Dim::known(1), out_rank - reps.len());
    let times = cx.dims("repeats", &ones.chain(reps).collect::<Vec<Dim>>())?;
    Ok(cx.node("Tile", &[wide, times]).one().into())
}

fn repeat_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (attrs, data) = (RepeatAttrs::read(cx.attrs), cx.tensor(0));
    let (mut dims, out) = (cx.axes(data).to_vec(), cx.out[0].0.clone());
    let axis = attrs.axis.unwrap_or(0).rem_euclid(dims.len() as i64) as usize;
    let behind = cx.ints("axes", &[axis as i64 + 1]);
    let narrow = cx.node("Unsqueeze", &[data, behind]).one();
    // `Expand` leaves the dimensions that are 1 in its shape.
    dims.iter_mut().for_each(|dim| *dim = Dim::known(1));
    dims.insert(axis + 1, Dim::known(attrs.repeats.unwrap_or(1)));
    let wide = cx.expanded_to(narrow, &dims)?;
    Ok(cx.reshaped_to(wide, &out)?.into())
}

pub(crate) const FAMILY: &[OpDef] = &[BROADCAST_TO, BROADCAST_TO_LIKE, COLLAPSE_SUM_LIKE, COLLAPSE_SUM_TO, WHERE, TILE, REPEAT];

#[cfg(test)]
mod tests {
    use super::super::testing::{ANY, eval, hostile, rel, t};
    use relayc_ir::attrs::AttrValue;
    use relayc_ir::tensor::Tensor;
    use relayc_ir::types::DType;

    #[test]
    fn shapes_fill_shapes() {
        let f32 = |shape: &[i64]| t(shape, DType::F32);
        let to = |shape: &[i64], target: &[i64]| rel("broadcast_to", &[f32(shape)], &[("shape", AttrValue::ints(target))]);
        assert_eq!(to(&[4, 1, 6], &[3, 4, 5, 6]), "Tensor[(3, 4, 5, 6), float32]");
        assert_eq!(to(&[ANY], &[3, 2]), "Tensor[(3, 2), float32]");
        assert_eq!(to(&[2], &[-1]), "E0404 C1");
        assert_eq!(to(&[2], &[1]), "E0304 C2");
        assert_eq!(to(&[2, 2], &[2]), "E0304 C2");
        hostile("broadcast_to", &[f32(&[2, 1])], &[], &[], &["shape"]);
        assert_eq!(rel("broadcast_to_like", &[f32(&[1]), f32(&[2, ANY])], &[]), "Tensor[(2, ?), float32]");
        assert_eq!(rel("broadcast_to_like", &[f32(&[1]), t(&[2], DType::I8)], &[]), "E0305 C1");
        assert_eq!(rel("collapse_sum_like", &[f32(&[3, 4, 5]), f32(&[4, 1])], &[]), "Tensor[(4, 1), float32]");
        assert_eq!(rel("collapse_sum_like", &[f32(&[4, 1]), f32(&[3, 4, 5])], &[]), "E0304 C2");
    }

    #[test]
    fn collapsing_undoes_broadcasting() {
        let x = Tensor::from_fn(&[2, 2, 3], |i| i as f32);
        let like = Tensor::from_vec(&[2, 1], vec![0.0f32; 2]);
        let y = eval("collapse_sum_like", &[x, like], &[]).expect("no trap");
        assert_eq!(y.to_vec::<f32>(), Some(vec![24.0, 42.0]));
    }

    #[test]
    fn choices_broadcast() {
        let shapes = |c: &[i64], x: &[i64], y: &[i64]| rel("where", &[t(c, DType::I32), t(x, DType::F32), t(y, DType::F32)], &[]);
        assert_eq!(shapes(&[2, 3, 4], &[1, 3, 4], &[2, 1, 4]), "Tensor[(2, 3, 4), float32]");
        assert_eq!(shapes(&[ANY], &[5], &[5]), "Tensor[(5), float32]");
        assert_eq!(shapes(&[2], &[3], &[4]), "E0304 C2");
        assert_eq!(shapes(&[2], &[3], &[3]), "E0304 C3");
        let condition = Tensor::from_vec(&[2, 1], vec![f32::NAN, 0.0]);
        let (x, y) = (Tensor::from_vec(&[2], vec![1i8, 2]), Tensor::scalar(9i8));
        let z = eval("where", &[condition, x, y], &[]).expect("no trap");
        assert_eq!(z.to_vec::<i8>(), Some(vec![1, 2, 9, 9]));
    }

    #[test]
    fn repeating() {
        let tile = |shape: &[i64], reps: &[i64]| rel("tile", &[t(shape, DType::F32)], &[("reps", AttrValue::ints(reps))]);
        assert_eq!(tile(&[2, 3], &[3, 2, 1]), "Tensor[(3, 4, 3), float32]");
        assert_eq!(tile(&[ANY, 3], &[2]), "Tensor[(?, 6), float32]");
        assert_eq!(tile(&[2], &[0]), "E0404 C1");
        assert_eq!(tile(&[1 << 40], &[1 << 40]), "E0803 C2");
        hostile("tile", &[t(&[2, 3], DType::F32)], &[], &[], &["reps"]);
        let x = Tensor::from_vec(&[2], vec![1i8, 2]);
        let y = eval("tile", std::slice::from_ref(&x), &[("reps", AttrValue::ints(&[2, 2]))]).expect("no trap");
        assert_eq!((y.shape(), y.to_vec::<i8>()), (&[2usize, 4][..], Some(vec![1, 2, 1, 2, 1, 2, 1, 2])));
        let attrs = [("repeats", AttrValue::int(2)), ("axis", AttrValue::int(-1))];
        let y = eval("repeat", &[x], &attrs).expect("no trap");
        assert_eq!(y.to_vec::<i8>(), Some(vec![1, 1, 2, 2]));
        assert_eq!(rel("repeat", &[t(&[2], DType::F32)], &[("repeats", AttrValue::int(0))]), "E0404 C1");
        assert_eq!(rel("repeat", &[t(&[2], DType::F32)], &[("repeats", AttrValue::int(2))]), "E0404 C3");
        hostile("repeat", &[t(&[2, 3], DType::F32)], &attrs, &["repeats", "axis"], &[]);
    }
}
