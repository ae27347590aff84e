//! Positions as values: positions of elements, gathers by several indices, coordinates and grids.
//!
//! An index out of range traps (`E0501`) before anything is read.

use super::attrs::StdString;
use super::gather_lowering::read;
use super::index::{position, require_ints};
use super::lower::{IndexMode, Positions};
use super::rel::broadcast_dims;
use crate::prelude::*;
use relayc_ir::tensor::broadcast_shape;

attrs! {
    "relay.attrs.MeshgridAttrs" =>
    pub(crate) struct MeshgridAttrs {
        /// The axis along which the first vector runs: the first for `ij`, the second for `xy`.
        pub(crate) indexing: StdString = "ij";
    }
}

pub(crate) const ADV_INDEX: OpDef = OpDef {
    name: "adv_index",
    doc: "Of the tuple `(data, index0, index1, …)`: `out[i, j, k] = data[index0[i, j], index1[i, j], k]`, and so on, with the \
          indices broadcast to one shape. An index outside its axis traps (`src/relay/op/tensor/transform.cc`).",
    args: &[Arg::of("inputs", "Tuple of Tensors")],
    rules: &[
        "C1: there is at least one index, and at most one for each axis of data",
        "C2: indices are integers",
        "C3: the shapes of the indices broadcast",
    ],
    rel: adv_index_rel,
    eval: adv_index_eval,
    lower: Some(Lower::Nest(adv_index_nest)),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

fn adv_index_rel(cx: &mut RelCx) -> RelResult {
    let inputs = cx.tuple(0)?;
    let most = if inputs.is_empty() { 0 } else { inputs.tensor(cx, 0).rank() };
    let n = inputs.len().saturating_sub(1);
    cx.require("C1", (1..=most).contains(&n), || {
        Fault::shape(format!("expected 1 to {most} indices, found {n}")).at(Place::arg(0), "")
    })?;
    let (data, mut shape) = (inputs.tensor(cx, 0), inputs.tensor(cx, 1).dims());
    for index in inputs.tensors(cx).skip(1) {
        require_ints(cx, "C2", &index)?;
        shape = broadcast_dims(cx, "C3", &shape, &index.dims())?;
    }
    shape.extend((n..most).map(|axis| data.dim(axis)));
    cx.set_out(shape, data.dtype)
}

fn adv_index_eval(cx: &EvalCx) -> EvalResult {
    let (data, indices) = cx.tuple(0).split_first().expect("the relation required a tensor");
    let (indexed, part) = data.shape().split_at(indices.len());
    let part: usize = part.iter().product();
    let shape = indices.iter().try_fold(vec![], |shape, index| broadcast_shape(&shape, index.shape()));
    let shape = shape.expect("the relation required indices that broadcast");
    let mut starts = vec![0; shape.iter().product()];
    for (index, &length) in indices.iter().zip(indexed) {
        let index = index.broadcast_to(&shape).expect("they broadcast").to_ints();
        for (start, index) in starts.iter_mut().zip(index) {
            *start = *start * length + position(index, length)?;
        }
    }
    Ok(data.pick(cx.out_shape(), 0.0, |i| Some(starts[i / part] * part + i % part)).into())
}

/// Each tensor of indices picks along one axis of the data, the first tensor.
fn adv_index_nest(call: &Call) -> Option<Template> {
    let (data, indices) = call.args[0].split_first()?;
    let out = &call.out().shape;
    let rest = data.shape.len() - indices.len();
    let found = out.len() - rest;
    (!data.shape.contains(&0) && !out.contains(&0)).then_some(())?;
    let mut template = Template { dims: out.clone(), ..Template::default() };
    let (mut body, mut places) = (Body::new(), vec![]);
    for (axis, index) in indices.iter().enumerate() {
        index.dtype.is_int().then_some(())?;
        template.positions.push(Positions { arg: 1 + axis, lengths: vec![data.shape[axis]], outside: IndexMode::Trap });
        let skip = found - index.shape.len();
        let of = |(at, &dim): (usize, &u64)| if dim == 1 { AxisMap::zero() } else { AxisMap::of(skip + at) };
        let axes = index.shape.iter().enumerate().map(of).collect();
        places.push((axis, read(&mut template, &mut body, Read::of(Source::Arg(1 + axis), axes))));
    }
    let mut axes = vec![AxisMap::zero(); indices.len()];
    axes.extend((0..rest).map(|at| AxisMap::of(found + at)));
    let val = read(&mut template, &mut body, Read { picked: places, ..Read::of(Source::Arg(0), axes) });
    template.finish(body, val)
}

pub const ARGWHERE: OpDef = OpDef {
    name: "argwhere",
    doc: "A row for each element of `condition` that is not 0, in row-major order: its indices, int32. The data determines how \
          many rows there are (`src/relay/op/tensor/transform.cc`).",
    args: &[Arg::tensor("condition")],
    rel: argwhere_rel,
    eval: argwhere_eval,
    ..OpDef::BASE
};

fn argwhere_rel(cx: &mut RelCx) -> RelResult {
    let condition = cx.tensor(0)?;
    let shape = [SDim::new(Dim::Any, DimOrigin::Op), SDim::known(condition.rank() as i64, DimOrigin::Op)];
    cx.set_out(Shape::from_slice(&shape), DType::I32)
}

fn argwhere_eval(cx: &EvalCx) -> EvalResult {
    let condition = cx.tensor(0);
    let is_bool = condition.dtype() == DType::BOOL;
    let truth = if is_bool { condition.clone() } else { condition.test(|x| x != 0.0, |x| x != 0) };
    let truth = truth.to_vec::<bool>().expect("bools");
    let found = truth.iter().filter(|holds| **holds).count();
    let (mut index, mut rows) = (vec![0i32; condition.rank()], Vec::with_capacity(found * condition.rank()));
    for holds in truth {
        if holds {
            rows.extend_from_slice(&index);
        }
        for (at, &extent) in index.iter_mut().zip(condition.shape()).rev() {
            *at += 1;
            if (*at as usize) < extent {
                break;
            }
            *at = 0;
        }
    }
    Ok(Tensor::from_vec(&[found, condition.rank()], rows).into())
}

pub(crate) const UNRAVEL_INDEX: OpDef = OpDef {
    name: "unravel_index",
    work: Work::Elements { float: 16, other: 72 },
    doc: "The indices, in a tensor of the dimensions `shape`, of the elements that `data` counts in row-major order: a column \
          for each. One beyond the last element wraps around, as in TVM; negative ones trap \
          (`src/relay/op/tensor/transform.cc`).",
    args: &[Arg::tensor("data"), Arg::tensor("shape")],
    rules: &["C1: data and shape are integers", "C2: rank(data) is 0 or 1", "C3: rank(shape) == 1"],
    rel: unravel_index_rel,
    eval: unravel_index_eval,
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

fn unravel_index_rel(cx: &mut RelCx) -> RelResult {
    let (data, shape) = (cx.tensor(0)?, cx.tensor(1)?);
    require_ints(cx, "C1", &data)?;
    require_ints(cx, "C1", &shape)?;
    cx.require("C2", data.rank() <= 1, || Fault::rank("0 or 1", &data))?;
    cx.require("C3", shape.rank() == 1, || Fault::rank(1, &shape))?;
    let dims: Shape = shape.dims().into_iter().chain(data.dims()).collect();
    cx.set_out(dims, data.dtype)
}

fn unravel_index_eval(cx: &EvalCx) -> EvalResult {
    let (data, shape) = (cx.tensor(0), cx.tensor(1).to_ints());
    if let Some(&dim) = shape.iter().find(|&&dim| dim < 1).filter(|_| !data.is_empty()) {
        return Err(Trap::new(codes::E0501, format!("there is no element to count along an axis of {dim}")));
    }
    let mut rest = data.to_ints();
    if let Some(negative) = rest.iter().find(|&&at| at < 0) {
        return Err(Trap::new(codes::E0501, format!("element {negative} is before the first")));
    }
    let mut rows = vec![];
    for &dim in shape.iter().rev() {
        rows.push(Tensor::from_fn(&[data.len()], |i| (rest[i] % dim) as i64));
        rest.iter_mut().for_each(|at| *at /= dim);
    }
    rows.reverse();
    let indices = if rows.is_empty() { Some(Tensor::from_vec::<i64>(&[0], vec![])) } else { Tensor::concat(&rows, 0) };
    let indices = indices.and_then(|indices| indices.cast(data.dtype())?.reshape(cx.out_shape()));
    Ok(indices.expect("a row for each dimension").into())
}

/// Inverts a permutation.
pub(crate) const INVERT_PERMUTATION: OpDef = OpDef {
    name: "invert_permutation",
    doc: "`out[data[i]] = i`, for `data` a permutation of the positions of a vector; anything else traps \
          (`python/tvm/topi/transform.py`).",
    args: &[Arg::tensor("data")],
    rules: &["C1: dtype(data) is an integer", "C2: rank(data) == 1"],
    rel: invert_permutation_rel,
    eval: invert_permutation_eval,
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

fn invert_permutation_rel(cx: &mut RelCx) -> RelResult {
    let data = cx.tensor(0)?;
    require_ints(cx, "C1", &data)?;
    cx.require("C2", data.rank() == 1, || Fault::rank(1, &data))?;
    cx.set_out(data.dims(), data.dtype)
}

fn invert_permutation_eval(cx: &EvalCx) -> EvalResult {
    let data = cx.tensor(0);
    let mut inverse = vec![None; data.len()];
    for (i, at) in data.to_ints().into_iter().enumerate() {
        let place = &mut inverse[position(at, data.len())?];
        if place.replace(i as i64).is_some() {
            return Err(Trap::new(codes::E0501, format!("position {at} comes twice")));
        }
    }
    let inverse = Tensor::from_fn(data.shape(), |i| inverse[i].unwrap_or(0));
    Ok(inverse.cast(data.dtype()).expect("the operand's dtype").into())
}

pub(crate) const MESHGRID: OpDef = OpDef {
    name: "meshgrid",
    doc: "Of the tuple of vectors `(x0, x1, …)`, scalars being vectors of one element, a tuple of as many tensors of one shape: \
          the nth is `xn` along axis n, and the same along all others. With `indexing=\"xy\"` the first two axes change places \
          (`src/relay/op/tensor/transform.cc`).",
    args: &[Arg::tensor("data")],
    attrs: Some(MeshgridAttrs::SCHEMA),
    rules: &[
        "C1: there is at least one tensor",
        "C2: all have one dtype",
        "C3: all have rank 0 or 1",
        "C4: indexing is \"ij\" or \"xy\"",
    ],
    rel: meshgrid_rel,
    eval: meshgrid_eval,
    lower: Some(Lower::Nests(meshgrid_nest)),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

/// The axis that the nth of `n` vectors runs along.
fn grid_axis(indexing: &str, nth: usize, n: usize) -> usize {
    if indexing == "xy" && n >= 2 && nth < 2 { 1 - nth } else { nth }
}

fn meshgrid_rel(cx: &mut RelCx) -> RelResult {
    let indexing = MeshgridAttrs::read(cx.attrs).indexing.0;
    let vectors = cx.tuple(0)?;
    cx.require("C1", !vectors.is_empty(), || Fault::shape("there are no vectors").at(Place::arg(0), ""))?;
    cx.require("C4", ["ij", "xy"].contains(&indexing.as_str()), || {
        Fault::attr("indexing", format!("expected \"ij\" or \"xy\", found {indexing:?}")).set_attr("indexing", "\"ij\"")
    })?;
    let first = vectors.tensor(cx, 0);
    for vector in vectors.tensors(cx) {
        rel::require_same_dtype(cx, "C2", &first, &vector)?;
        cx.require("C3", vector.rank() <= 1, || Fault::rank("0 or 1", &vector))?;
    }
    let n = vectors.len();
    cx.require_rank(n)?;
    let dim = |axis: usize| {
        let vector = vectors.tensor(cx, grid_axis(&indexing, axis, n));
        if vector.rank() == 1 { vector.dim(0) } else { SDim::known(1, DimOrigin::Op) }
    };
    let shape: Shape = (0..n).map(dim).collect();
    cx.set_out_tuple(std::iter::repeat_n((shape, first.dtype), n))
}

fn meshgrid_eval(cx: &EvalCx) -> EvalResult {
    let indexing = MeshgridAttrs::read(cx.attrs).indexing.0;
    let vectors = cx.tuple(0);
    let spread = |(nth, vector): (usize, &Tensor)| {
        let mut shape = vec![1; vectors.len()];
        shape[grid_axis(&indexing, nth, vectors.len())] = vector.len();
        let grid = vector.reshape(&shape).and_then(|vector| vector.broadcast_to(&cx.out[nth].shape));
        grid.expect("the relation gave the shape")
    };
    Ok(Outputs::Tuple(vectors.iter().enumerate().map(spread).collect()))
}

/// The field `nth`, from the vector of that number.
fn meshgrid_nest(call: &Call, nth: usize) -> Option<Template> {
    let indexing = MeshgridAttrs::read(call.attrs).indexing.0;
    let (vectors, dims) = (&call.args[0], &call.out().shape);
    let axes = vectors[nth].shape.iter().map(|_| AxisMap::of(grid_axis(&indexing, nth, vectors.len())));
    let read = Read::of(Source::Arg(nth), axes.collect());
    Some(Template::copy(dims.clone(), read, (0..dims.len()).map(AxisMap::of).collect()))
}

pub(crate) const ONNX: &[(&str, Onnx)] = &[(ARGWHERE.name, Onnx::Nodes(argwhere_onnx))];

/// A column for each element in ONNX, a row here.
fn argwhere_onnx(cx: &mut OnnxCx) -> OnnxResult {
    if cx.rank(cx.tensor(0)) == 0 {
        return Err("the indices of a scalar, of which there are none".into());
    }
    let columns = cx.map("NonZero");
    let rows = cx.transposed(columns, &[1, 0]);
    Ok(cx.cast(rows, DType::I64, cx.out_dtype())?.into())
}

pub(crate) const FAMILY: &[OpDef] = &[ADV_INDEX, ARGWHERE, UNRAVEL_INDEX, INVERT_PERMUTATION, MESHGRID];

#[cfg(test)]
mod tests {
    use super::super::eval::ArgValue;
    use super::super::testing::{ANY, Operand, eval_all, rel};
    use super::*;
    use crate::trial::{call, extremes};
    use relayc_ir::attrs::AttrValue;

    fn tuple(fields: &[(&[i64], DType)]) -> Operand {
        Operand::Tuple(fields.iter().map(|(shape, dtype)| (shape.to_vec(), *dtype)).collect())
    }

    #[test]
    fn choosing_by_several_indices() {
        let of = |data: &[i64], indices: &[&[i64]]| {
            let indices = indices.iter().map(|shape| (*shape, DType::I64));
            let fields: Vec<(&[i64], DType)> = [(data, DType::F32)].into_iter().chain(indices).collect();
            rel("adv_index", &[tuple(&fields)], &[])
        };
        assert_eq!(of(&[5, ANY, ANY], &[&[1, ANY], &[ANY, 1]]), "Tensor[(?, ?, ?), float32]");
        assert_eq!(of(&[10, 5, 15], &[&[1, 2, 1], &[1, 2, 7]]), "Tensor[(1, 2, 7, 15), float32]");
        assert_eq!(of(&[10, 5], &[&[]]), "Tensor[(5), float32]");
        assert_eq!((of(&[10], &[]), of(&[10], &[&[1], &[1]])), ("E0308 C1".into(), "E0308 C1".into()));
        assert_eq!(of(&[10, 5], &[&[2], &[3]]), "E0304 C3");
        assert_eq!(rel("adv_index", &[tuple(&[(&[3], DType::F32), (&[3], DType::F32)])], &[]), "E0305 C2");
        assert_eq!(rel("adv_index", &[tuple(&[])], &[]), "E0308 C1");
        let chosen = |indices: Vec<i64>| {
            let column = Tensor::from_vec(&[2, 1], vec![1u8, 0]);
            let row = Tensor::from_vec(&[indices.len()], indices);
            let inputs = ArgValue::Tuple(vec![Tensor::from_fn(&[2, 3, 1], |i| i as i16), column, row]);
            eval_all("adv_index", &[inputs], &[]).map(|out| out[0].to_f64s())
        };
        assert_eq!(chosen(vec![2, 0, 0]), Ok(vec![5.0, 3.0, 3.0, 2.0, 0.0, 0.0]));
        assert_eq!(chosen(vec![]), Ok(vec![]));
        assert_eq!(chosen(vec![-1]).expect_err("a trap").code, codes::E0501);
    }

    #[test]
    fn places_of_what_is_not_zero() {
        assert_eq!(call(&ARGWHERE).out(&["(2, 3) bool"]), "Tensor[(?, 2), int32]");
        assert_eq!(call(&ARGWHERE).out(&["() bool"]), "Tensor[(?, 0), int32]");
        let places = |x: Tensor| match (ARGWHERE.eval)(&EvalCx {
            args: &[ArgValue::Tensor(x)],
            attrs: &[],
            out: &[],
            max_bytes: u64::MAX,
        }) {
            Ok(Outputs::One(places)) => (places.shape().to_vec(), places.to_f64s()),
            other => panic!("expected a tensor, found {other:?}"),
        };
        let x = Tensor::from_vec(&[2, 2], vec![0f32, f32::NAN, -0.0, 1.0]);
        assert_eq!(places(x), (vec![2, 2], vec![0.0, 1.0, 1.0, 1.0]));
        assert_eq!(places(Tensor::scalar(7u8)), (vec![1, 0], vec![]));
        assert_eq!(places(Tensor::from_vec::<bool>(&[0, 3], vec![])), (vec![0, 2], vec![]));
    }

    #[test]
    fn coordinates() {
        assert_eq!(call(&UNRAVEL_INDEX).out(&["() int64", "(4i64) int32"]), "Tensor[(4i64), int64]");
        assert_eq!(call(&UNRAVEL_INDEX).out(&["(?) int64", "(4) int32"]), "Tensor[(4, ?), int64]");
        assert_eq!(call(&UNRAVEL_INDEX).fault(&["(3, 1) int64", "(4) int32"]).rule, "C2");
        assert_eq!(call(&UNRAVEL_INDEX).fault(&["(3) int64", "() int32"]).rule, "C3");
        let shape = Tensor::from_vec(&[3], vec![2i64, 3, 4]);
        let at =
            |at: Vec<i32>| call(&UNRAVEL_INDEX).eval(&[&Tensor::from_vec(&[at.len()], at), &shape]).map(|out| out[0].to_f64s());
        assert_eq!(at(vec![23, 5, 24]), Ok(vec![1.0, 0.0, 0.0, 2.0, 1.0, 0.0, 3.0, 1.0, 0.0]));
        assert_eq!(at(vec![-1]).expect_err("a trap").code, codes::E0501);
        let empty = Tensor::from_vec(&[2], vec![0i64, 2]);
        assert!(call(&UNRAVEL_INDEX).eval(&[&Tensor::scalar(0i32), &empty]).is_err());
        assert!(call(&UNRAVEL_INDEX).values(&[&Tensor::scalar(0i32), &Tensor::from_vec::<u8>(&[0], vec![])]).is_empty());
        extremes(|| call(&UNRAVEL_INDEX), &["(2) int32", "(2) int32"]);
    }

    #[test]
    fn permutations() {
        let inverse = |data: Vec<i8>| call(&INVERT_PERMUTATION).eval(&[&Tensor::from_vec(&[data.len()], data)]);
        assert_eq!(inverse(vec![3, 4, 0, 2, 1]).expect("it runs")[0].to_f64s(), [2.0, 4.0, 3.0, 0.0, 1.0]);
        for wrong in [vec![0, 0], vec![1, 2], vec![-1, 0]] {
            assert_eq!(inverse(wrong).expect_err("a trap").code, codes::E0501);
        }
        assert_eq!(call(&INVERT_PERMUTATION).fault(&["(2, 2) int8"]).rule, "C2");
        assert_eq!(call(&INVERT_PERMUTATION).fault(&["(2) bool"]).rule, "C1");
    }

    #[test]
    fn grids() {
        let of = |shapes: &[&[i64]], indexing| {
            let fields: Vec<(&[i64], DType)> = shapes.iter().map(|shape| (*shape, DType::F32)).collect();
            rel("meshgrid", &[tuple(&fields)], &[("indexing", AttrValue::str(indexing))])
        };
        let both = "(Tensor[(2, 1), float32], Tensor[(2, 1), float32])";
        assert_eq!((of(&[&[2], &[]], "ij"), of(&[&[], &[2]], "xy")), (both.into(), both.into()));
        assert_eq!((of(&[], "ij"), of(&[&[2, 3]], "ij")), ("E0308 C1".into(), "E0303 C3".into()));
        assert_eq!(of(&[&[2]], "yx"), "E0404 C4");
        let vectors = [ArgValue::Tuple(vec![Tensor::from_vec(&[2], vec![1u8, 2]), Tensor::from_vec(&[3], vec![3u8, 4, 5])])];
        let grids = |indexing| eval_all("meshgrid", &vectors, &[("indexing", AttrValue::str(indexing))]).expect("no trap");
        assert_eq!(grids("ij")[0].to_f64s(), [1.0, 1.0, 1.0, 2.0, 2.0, 2.0]);
        assert_eq!(grids("ij")[1].to_f64s(), [3.0, 4.0, 5.0, 3.0, 4.0, 5.0]);
        assert_eq!(grids("xy")[0].to_f64s(), [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]);
    }
}
