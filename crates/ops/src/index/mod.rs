//! Gathers elements by the values of an integer tensor.
//!
//! All indices are checked before anything is read; an index out of range traps (`E0501`).

mod nest;
mod onnx;

pub(crate) use onnx::{ONNX, marks_onnx};

use super::attrs::OptInt;
use crate::prelude::*;
use relayc_ir::types::DTypeCode;

attrs! {
    "relay.attrs.TakeAttrs" =>
    pub(crate) struct TakeAttrs {
        /// The number of leading axes that `data` and `indices` share.
        pub(crate) batch_dims: Option<i64> = Some(0);
        /// The axis to index; a negative axis counts from the end. `None` indexes all elements in row-major order.
        pub(crate) axis: Option<i64> = None;
        /// The treatment of indices outside the axis: `clip`, `wrap` or `fast`.
        pub(crate) mode: String = "clip";
    }

    "relay.attrs.GatherAttrs" =>
    pub(crate) struct GatherAttrs {
        /// The axis to index; a negative axis counts from the end.
        pub(crate) axis: Option<i64> = None;
    }

    "relay.attrs.GatherNDAttrs" =>
    pub(crate) struct GatherNdAttrs {
        /// The number of leading axes of `data` that are shared with the axes of `indices` after the first.
        pub(crate) batch_dims: Option<i64> = Some(0);
        /// The number of indices for each element, if the type of `indices` does not determine it.
        pub(crate) index_rank: OptInt = None;
    }

    "relay.attrs.OneHotAttrs" =>
    pub(crate) struct OneHotAttrs {
        /// The length of the new axis.
        pub(crate) depth: i64 = 1;
        /// The position of the new axis; -1 is after the last.
        pub(crate) axis: i64 = -1;
        /// The dtype of the result.
        pub(crate) dtype: Option<DType> = None;
    }

    "relay.attrs.SliceLikeAttrs" =>
    pub(crate) struct SliceLikeAttrs {
        /// The axes to crop; negative axes count from the end. `None` stands for all axes that both operands have.
        pub(crate) axes: Option<Vec<i64>>;
    }
}

pub(super) fn require_ints(cx: &RelCx, rule: &'static str, indices: &TensorTy) -> RelResult {
    cx.require(rule, indices.dtype.is_int(), || {
        Fault::dtype(format!("expected an integer dtype, found `{}`", indices.dtype)).at(indices.place(), "")
    })
}

/// An axis of a tensor operand, with the operand's name in the rules.
pub(super) type Axis<'a> = (&'static str, &'a TensorTy, usize);

/// Requires that two dimensions can be equal; the message asks to change the second.
pub(super) fn require_same_dim(cx: &RelCx, rule: &'static str, a: Axis, b: Axis) -> RelResult {
    let (x, y) = (a.1.shape[a.2], b.1.shape[b.2]);
    cx.require(rule, x.compatible(y), || {
        Fault::shape(format!("expected dimension {x}, found {y}"))
            .at(b.1.axis(b.2), "")
            .at(a.1.axis(a.2), "")
            .equation(format!("{}[{}] == {}[{}]", b.0, b.2, a.0, a.2), format!("{y} == {x}"))
    })
}

pub fn outside(index: i128, length: usize) -> Trap {
    Trap::new(codes::E0501, format!("index {index} is outside an axis of {length}"))
}

/// Converts an index to a position of an axis; an index out of range traps.
pub(super) fn position(index: i128, length: usize) -> Result<usize, Trap> {
    usize::try_from(index).ok().filter(|&at| at < length).ok_or_else(|| outside(index, length))
}

pub const TAKE: OpDef = OpDef {
    name: "take",
    doc: "The positions `indices` along `axis` of `data`; the axes of `indices` take the place of that axis, except the first \
          `batch_dims`, which both share. Without `axis`, of all elements in row-major order. Indices outside are moved to the \
          nearest end by `clip`, wrapped around by `wrap`, and trap with `fast` (`src/relay/op/tensor/transform.cc`).",
    args: &[Arg::tensor("data"), Arg::tensor("indices")],
    attrs: Some(TakeAttrs::SCHEMA),
    rules: &[
        "C1: dtype(indices) is an integer",
        "C2: mode is \"clip\", \"wrap\" or \"fast\"",
        "C3: axis is in -rank(data)…rank(data)-1",
        "C4: 0 <= batch_dims <= rank(indices), and batch_dims <= axis",
        "C5: data and indices have the same first batch_dims dimensions",
    ],
    rel: take_rel,
    eval: take_eval,
    lower: Some(Lower::Nest(nest::take)),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

fn take_rel(cx: &mut RelCx) -> RelResult {
    let attrs = TakeAttrs::read(cx.attrs);
    let (data, indices) = (cx.tensor(0)?, cx.tensor(1)?);
    require_ints(cx, "C1", &indices)?;
    cx.require("C2", ["clip", "wrap", "fast"].contains(&attrs.mode.as_str()), || {
        Fault::attr("mode", format!("expected \"clip\", \"wrap\" or \"fast\", found {:?}", attrs.mode))
            .set_attr("mode", "\"clip\"")
    })?;
    let Some(axis) = attrs.axis else { return cx.set_out(indices.dims(), data.dtype) };
    let axis = cx.axis("C3", "axis", axis, data.rank())?;
    let (batch, most) = (attrs.batch_dims.unwrap_or(0), axis.min(indices.rank()) as i64);
    cx.require("C4", (0..=most).contains(&batch), || {
        Fault::attr("batch_dims", format!("expected batch_dims in 0…{most}, found {batch}"))
    })?;
    for at in 0..batch as usize {
        require_same_dim(cx, "C5", ("data", &data, at), ("indices", &indices, at))?;
    }
    let before = (0..axis).map(|at| data.dim(at));
    let taken = (batch as usize..indices.rank()).map(|at| indices.dim(at));
    let after = (axis + 1..data.rank()).map(|at| data.dim(at));
    let shape: Shape = before.chain(taken).chain(after).collect();
    cx.set_out(shape, data.dtype)
}

fn take_eval(cx: &EvalCx) -> EvalResult {
    // data is [batch, outer, length, inner], indices are [batch, taken], the result is [batch, outer, taken, inner].
    let (data, indices, attrs) = (cx.tensor(0), cx.tensor(1), TakeAttrs::read(cx.attrs));
    let product = |dims: &[usize]| dims.iter().product::<usize>();
    let (batch, outer, length, inner) = match attrs.axis {
        None => (1, 1, data.len(), 1),
        Some(axis) => {
            let (axis, batch) = (axis.rem_euclid(data.rank() as i64) as usize, attrs.batch_dims.unwrap_or(0) as usize);
            let shape = data.shape();
            (product(&shape[..batch]), product(&shape[batch..axis]), shape[axis], product(&shape[axis + 1..]))
        }
    };
    let at = positions(indices, length, &attrs.mode)?;
    let taken = at.len().checked_div(batch).unwrap_or(0);
    Ok(data
        .pick(cx.out_shape(), 0.0, |i| {
            let (rest, s) = (i / inner, i % inner);
            let (rest, k) = (rest / taken, rest % taken);
            Some((rest * length + at[rest / outer * taken + k]) * inner + s)
        })
        .into())
}

fn positions(indices: &Tensor, length: usize, mode: &str) -> Result<Vec<usize>, Trap> {
    let n = length as i128;
    let at = |index: i128| match mode {
        _ if n == 0 => Err(outside(index, length)),
        "clip" => Ok(index.clamp(0, n - 1) as usize),
        "wrap" => Ok(index.rem_euclid(n) as usize),
        _ => position(index, length),
    };
    indices.to_ints().into_iter().map(at).collect()
}

pub(crate) const GATHER: OpDef = OpDef {
    name: "gather",
    doc: "`out[i, j, k] = data[i, indices[i, j, k], k]` for `axis` 1, and so on: the shape is that of `indices`. An index \
          outside the axis traps (`src/relay/op/tensor/transform.cc`).",
    args: &[Arg::tensor("data"), Arg::tensor("indices")],
    attrs: Some(GatherAttrs::SCHEMA),
    rules: &[
        "C1: dtype(indices) is a signed integer",
        "C2: axis is in -rank(data)…rank(data)-1",
        "C3: rank(indices) == rank(data)",
        "C4: apart from axis, indices and data have the same dimensions",
    ],
    rel: gather_rel,
    eval: gather_eval,
    lower: Some(Lower::Nest(nest::gather)),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

fn gather_rel(cx: &mut RelCx) -> RelResult {
    let attrs = GatherAttrs::read(cx.attrs);
    let (data, indices) = (cx.tensor(0)?, cx.tensor(1)?);
    cx.require("C1", indices.dtype.code == DTypeCode::Int, || {
        Fault::dtype(format!("expected a signed integer dtype, found `{}`", indices.dtype)).at(indices.place(), "")
    })?;
    cx.require("C2", attrs.axis.is_some(), || Fault::attr("axis", "expected an axis, found none"))?;
    let axis = cx.axis("C2", "axis", attrs.axis.unwrap_or(0), data.rank())?;
    cx.require("C3", indices.rank() == data.rank(), || Fault::rank(data.rank(), &indices).at(data.place(), ""))?;
    for at in (0..data.rank()).filter(|&at| at != axis) {
        require_same_dim(cx, "C4", ("data", &data, at), ("indices", &indices, at))?;
    }
    cx.set_out(indices.dims(), data.dtype)
}

fn gather_eval(cx: &EvalCx) -> EvalResult {
    // Both are [outer, along axis, inner].
    let (data, indices) = (cx.tensor(0), cx.tensor(1));
    let axis = GatherAttrs::read(cx.attrs).axis.unwrap_or(0).rem_euclid(data.rank() as i64) as usize;
    let inner: usize = data.shape()[axis + 1..].iter().product();
    let (length, taken) = (data.shape()[axis], indices.shape()[axis]);
    let at = positions(indices, length, "fast")?;
    let source = |i: usize| Some((i / inner / taken * length + at[i]) * inner + i % inner);
    Ok(data.pick(cx.out_shape(), 0.0, source).into())
}

pub const GATHER_ND: OpDef = OpDef {
    name: "gather_nd",
    doc: "For each position of the axes of `indices` behind the first, the element or part of `data` that the column of \
          indices there leads to; the first `batch_dims` axes of `data` go along with those positions. An index outside its \
          axis traps (`src/relay/op/tensor/transform.cc`).",
    args: &[Arg::tensor("data"), Arg::tensor("indices")],
    attrs: Some(GatherNdAttrs::SCHEMA),
    rules: &[
        "C1: dtype(indices) is a number's",
        "C2: rank(indices) >= 1, and indices[0] is known, or index_rank if it is `?`",
        "C3: 0 <= batch_dims < rank(indices), and batch_dims + indices[0] <= rank(data)",
        "C4: indices[1 + i] == data[i] for each i below batch_dims",
    ],
    rel: gather_nd_rel,
    eval: gather_nd_eval,
    lower: Some(Lower::Nest(nest::gather_nd)),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

fn gather_nd_rel(cx: &mut RelCx) -> RelResult {
    let attrs = GatherNdAttrs::read(cx.attrs);
    let (data, indices) = (cx.tensor(0)?, cx.tensor(1)?);
    cx.require("C1", !indices.dtype.is_bool() && indices.dtype.code != DTypeCode::Handle, || {
        Fault::dtype(format!("expected numbers, found `{}`", indices.dtype)).at(indices.place(), "")
    })?;
    cx.require("C2", indices.rank() >= 1, || Fault::rank("at least 1", &indices))?;
    let columns = indices.shape[0].value().or(attrs.index_rank.0);
    cx.require("C2", columns.is_some(), || {
        Fault::shape("the number of indices for each element is not known").at(indices.axis(0), "")
    })?;
    let (columns, batch) = (columns.unwrap_or(0), attrs.batch_dims.unwrap_or(0));
    let rank = data.rank() as i64;
    let fits = (0..indices.rank() as i64).contains(&batch) && (0..=rank - batch).contains(&columns);
    cx.require("C3", fits, || {
        Fault::shape(format!("{columns} indices behind {batch} batch axes do not fit rank {rank}"))
            .at(indices.axis(0), "")
            .at(data.place(), "")
            .equation("batch_dims + indices[0] <= rank(data)", format!("{batch} + {columns} <= {rank}"))
    })?;
    for at in 0..batch as usize {
        require_same_dim(cx, "C4", ("data", &data, at), ("indices", &indices, at + 1))?;
    }
    let found = (1..indices.rank()).map(|at| indices.dim(at));
    let parts = ((batch + columns) as usize..data.rank()).map(|at| data.dim(at));
    let shape: Shape = found.chain(parts).collect();
    cx.set_out(shape, data.dtype)
}

fn gather_nd_eval(cx: &EvalCx) -> EvalResult {
    // indices are [columns, batch, found], data is [batch, the indexed axes, part], the result is [batch, found, part].
    let (data, indices) = (cx.tensor(0), cx.tensor(1));
    let batch_dims = GatherNdAttrs::read(cx.attrs).batch_dims.unwrap_or(0) as usize;
    let product = |dims: &[usize]| dims.iter().product::<usize>();
    let indexed = &data.shape()[batch_dims..batch_dims + indices.shape()[0]];
    let (part, batch) = (product(&data.shape()[batch_dims + indexed.len()..]), product(&data.shape()[..batch_dims]));
    let rows = product(&indices.shape()[1..]);
    let found = rows.checked_div(batch).unwrap_or(1).max(1);
    let ints = indices.to_ints();
    let mut starts = Vec::with_capacity(rows);
    for row in 0..rows {
        let mut start = row / found;
        for (column, &length) in indexed.iter().enumerate() {
            start = start * length + position(ints[column * rows + row], length)?;
        }
        starts.push(start);
    }
    Ok(data.pick(cx.out_shape(), 0.0, |i| Some(starts[i / part] * part + i % part)).into())
}

pub(crate) const ONE_HOT: OpDef = OpDef {
    name: "one_hot",
    doc: "A new axis of length `depth` with `on_value` at the position that `indices` names and `off_value` elsewhere, both \
          converted to `dtype`; an index outside names no position (`src/relay/op/tensor/transform.cc`).",
    args: &[Arg::tensor("indices"), Arg::of("on_value", "Expr"), Arg::of("off_value", "Expr")],
    attrs: Some(OneHotAttrs::SCHEMA),
    rules: &[
        "C1: dtype(indices) is an integer",
        "C2: depth is at least 1",
        "C3: axis is -1 or in 0…rank(indices)",
        "C4: dtype is the dtype of a tensor",
        "C5: on_value and off_value have rank 0",
    ],
    rel: one_hot_rel,
    eval: one_hot_eval,
    lower: Some(Lower::Nest(nest::one_hot)),
    fuse: Some(Fuse::OutEWiseFusable),
    ..OpDef::BASE
};

fn one_hot_rel(cx: &mut RelCx) -> RelResult {
    let attrs = OneHotAttrs::read(cx.attrs);
    let indices = cx.tensor(0)?;
    require_ints(cx, "C1", &indices)?;
    cx.require("C2", attrs.depth >= 1, || Fault::attr("depth", format!("expected at least 1, found {}", attrs.depth)))?;
    marks_rel(cx, &indices, &attrs, SDim::known(attrs.depth, DimOrigin::Attr("depth")))
}

/// Checks `C3` to `C5` and sets the result, whose new axis has the length `depth`, for static and dynamic lengths.
pub(super) fn marks_rel(cx: &mut RelCx, indices: &TensorTy, attrs: &OneHotAttrs, depth: SDim) -> RelResult {
    let last = indices.rank() as i64;
    cx.require("C3", (-1..=last).contains(&attrs.axis), || {
        Fault::attr("axis", format!("expected axis in -1…{last}, found {}", attrs.axis))
    })?;
    let dtype = rel::require_tensor_dtype(cx, "C4", "dtype", attrs.dtype)?;
    for arg in 1..3 {
        if let Some(value) = cx.known_tensor(arg)? {
            cx.require("C5", value.rank() == 0, || Fault::rank(0, &value))?;
        }
    }
    let mut shape = indices.dims();
    let axis = if attrs.axis < 0 { indices.rank() } else { attrs.axis as usize };
    shape.insert(axis, depth);
    cx.set_out(shape, dtype)
}

fn one_hot_eval(cx: &EvalCx) -> EvalResult {
    // indices are [outer, inner], the result is [outer, depth, inner].
    let (indices, attrs) = (cx.tensor(0), OneHotAttrs::read(cx.attrs));
    let axis = if attrs.axis < 0 { indices.rank() } else { attrs.axis as usize };
    let (depth, inner) = (attrs.depth as usize, indices.shape()[axis..].iter().product::<usize>());
    let values = [cx.tensor_as(2, cx.out_dtype())?, cx.tensor_as(1, cx.out_dtype())?].map(|value| value.reshape(&[1]));
    let [Some(off), Some(on)] = values else { unreachable!("the relation required scalars") };
    let both = Tensor::concat(&[off, on], 0).expect("two scalars of one dtype");
    let ints = indices.to_ints();
    let hot = |i: usize| {
        let (outer, at, inner_at) = (i / inner / depth, i / inner % depth, i % inner);
        Some(usize::from(ints[outer * inner + inner_at] == at as i128))
    };
    Ok(both.pick(cx.out_shape(), 0.0, hot).into())
}

pub(crate) const SLICE_LIKE: OpDef = OpDef {
    name: "slice_like",
    doc: "The first positions of `data` along `axes`, as many as `shape_like` has there (`src/relay/op/tensor/transform.cc`).",
    args: &[Arg::tensor("data"), Arg::tensor("shape_like")],
    attrs: Some(SliceLikeAttrs::SCHEMA),
    rules: &[
        "C1: axes is None or not empty, each in -rank(data)…rank(data)-1 and an axis of shape_like",
        "C2: shape_like[axis] <= data[axis] for each of axes",
    ],
    rel: slice_like_rel,
    eval: slice_like_eval,
    lower: Some(Lower::View(|call, view| {
        let axes = call.out().shape.iter().enumerate();
        Some(axes.fold(view.clone(), |view, (axis, &n)| view.slice(axis, 0, 1, n)))
    })),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

fn slice_like_rel(cx: &mut RelCx) -> RelResult {
    let attrs = SliceLikeAttrs::read(cx.attrs);
    let (data, like) = (cx.tensor(0)?, cx.tensor(1)?);
    cx.require("C1", attrs.axes.as_ref().is_none_or(|axes| !axes.is_empty()), || {
        Fault::attr("axes", "expected at least one axis, found none")
    })?;
    let common = data.rank().min(like.rank());
    let axes: Vec<i64> = attrs.axes.unwrap_or_else(|| (0..common as i64).collect());
    let mut shape = data.dims();
    for axis in axes {
        let at = cx.axis("C1", "axes", axis, data.rank())?;
        cx.require("C1", at < like.rank(), || {
            Fault::attr("axes", format!("axis {axis} is none of shape_like")).at(like.place(), "")
        })?;
        let (whole, part) = (data.shape[at], like.shape[at]);
        let fits = whole.value().zip(part.value()).is_none_or(|(whole, part)| part <= whole);
        cx.require("C2", fits, || {
            Fault::shape(format!("cannot cut {whole} positions to {part}"))
                .at(like.axis(at), "")
                .at(data.axis(at), "")
                .equation(format!("shape_like[{at}] <= data[{at}]"), format!("{part} <= {whole}"))
        })?;
        shape[at] = like.dim(at);
    }
    cx.set_out(shape, data.dtype)
}

fn slice_like_eval(cx: &EvalCx) -> EvalResult {
    let cut = |data: Tensor, (axis, &n): (usize, &usize)| {
        if data.shape()[axis] == n { data } else { data.take_range(axis, 0, 1, n) }
    };
    Ok(cx.out_shape().iter().enumerate().fold(cx.tensor(0).clone(), cut).into())
}

pub(crate) const FAMILY: &[OpDef] = &[TAKE, GATHER, GATHER_ND, ONE_HOT, SLICE_LIKE];

#[cfg(test)]
mod tests {
    use super::super::testing::{ANY, Attrs, eval, hostile, rel, t};
    use super::*;
    use relayc_ir::attrs::AttrValue;

    fn int(name: &'static str, value: i64) -> (&'static str, AttrValue) {
        (name, AttrValue::int(value))
    }

    fn of(name: &str, data: &[i64], indices: &[i64], attrs: Attrs) -> String {
        rel(name, &[t(data, DType::F32), t(indices, DType::I32)], attrs)
    }

    #[test]
    fn shapes_of_choices() {
        assert_eq!(of("take", &[4, 3, 5, 6], &[1, 4], &[int("axis", -2)]), "Tensor[(4, 3, 1, 4, 6), float32]");
        assert_eq!(of("take", &[3, 4], &[ANY], &[]), "Tensor[(?), float32]");
        assert_eq!(of("take", &[2, 3], &[2, 5], &[int("axis", 1), int("batch_dims", 1)]), "Tensor[(2, 5), float32]");
        assert_eq!(of("take", &[2], &[2], &[int("axis", 1)]), "E0404 C3");
        assert_eq!(of("take", &[2], &[2], &[int("axis", 0), int("batch_dims", 1)]), "E0404 C4");
        assert_eq!(of("take", &[2, 3], &[4, 5], &[int("axis", 1), int("batch_dims", 1)]), "E0308 C5");
        assert_eq!(of("take", &[2], &[2], &[("mode", AttrValue::str("slow"))]), "E0404 C2");
        assert_eq!(rel("take", &[t(&[2], DType::F32), t(&[2], DType::F32)], &[]), "E0305 C1");
        assert_eq!(of("gather", &[2, 4, 3], &[2, 2, 3], &[int("axis", 1)]), "Tensor[(2, 2, 3), float32]");
        assert_eq!(of("gather", &[2, 4], &[3, 4], &[int("axis", 1)]), "E0308 C4");
        assert_eq!(of("gather", &[2, 4], &[2], &[int("axis", 1)]), "E0303 C3");
        assert_eq!(of("gather", &[2, 4], &[2, 4], &[]), "E0404 C2");
        assert_eq!(of("gather_nd", &[3, 2, 2, 3, 4], &[2, 3, 2], &[int("batch_dims", 2)]), "Tensor[(3, 2, 4), float32]");
        assert_eq!(of("gather_nd", &[3, 2], &[3, 2], &[]), "E0308 C3");
        assert_eq!(of("gather_nd", &[3, 2], &[ANY, 2], &[]), "E0308 C2");
        assert_eq!(of("gather_nd", &[3, 2], &[1, 2], &[int("batch_dims", 1)]), "E0308 C4");
    }

    #[test]
    fn shapes_of_marks_and_cuts() {
        let hot = |axis, depth| {
            let operands = [t(&[3, 4], DType::I64), t(&[], DType::F32), t(&[], DType::F32)];
            let dtype = ("dtype", AttrValue::DType(Some(DType::F16)));
            rel("one_hot", &operands, &[int("axis", axis), int("depth", depth), dtype])
        };
        assert_eq!((hot(-1, 5), hot(1, 5)), ("Tensor[(3, 4, 5), float16]".into(), "Tensor[(3, 5, 4), float16]".into()));
        assert_eq!((hot(3, 5), hot(0, 0)), ("E0404 C3".into(), "E0404 C2".into()));
        let axes = |axes: &[i64]| [("axes", AttrValue::ints(axes))];
        assert_eq!(of("slice_like", &[3, 4, 5], &[1, 2, 3], &axes(&[-1, -3])), "Tensor[(1, 4, 3), float32]");
        assert_eq!(of("slice_like", &[3, 4, 5], &[1, 2], &[]), "Tensor[(1, 2, 5), float32]");
        assert_eq!(of("slice_like", &[3], &[4], &[]), "E0308 C2");
        assert_eq!(of("slice_like", &[3, 3], &[3], &axes(&[1])), "E0404 C1");
        assert_eq!(of("slice_like", &[3], &[3], &axes(&[])), "E0404 C1");
    }

    #[test]
    fn hostile_attributes() {
        let operands = [t(&[2, 3], DType::F32), t(&[2, ANY], DType::I32)];
        hostile("take", &operands, &[int("axis", 1)], &["axis", "batch_dims"], &[]);
        hostile("gather", &operands, &[], &["axis"], &[]);
        hostile("gather_nd", &operands, &[], &["batch_dims"], &[]);
        hostile("slice_like", &operands, &[], &[], &["axes"]);
        let hot = [t(&[2], DType::I32), t(&[], DType::F32), t(&[], DType::F32)];
        hostile("one_hot", &hot, &[("dtype", AttrValue::DType(Some(DType::F32)))], &["axis", "depth"], &[]);
    }

    fn chosen(name: &str, shape: &[usize], indices: Tensor, attrs: Attrs) -> Result<Vec<i16>, Trap> {
        let data = Tensor::from_fn(shape, |i| i as i16);
        eval(name, &[data, indices], attrs).map(|tensor| tensor.to_vec().expect("i16"))
    }

    #[test]
    fn indices_choose() {
        let i = |values: &[i32], shape: &[usize]| Tensor::from_vec(shape, values.into());
        let mode = |mode| ("mode", AttrValue::str(mode));
        let taken = chosen("take", &[2, 3], i(&[-1, 5], &[2]), &[int("axis", 1), mode("clip")]);
        assert_eq!(taken, Ok(vec![0, 2, 3, 5]));
        let taken = chosen("take", &[2, 3], i(&[-1, 5], &[2]), &[int("axis", 1), mode("wrap")]);
        assert_eq!(taken, Ok(vec![2, 2, 5, 5]));
        let taken = chosen("take", &[2, 3], i(&[5, 0], &[2]), &[]);
        assert_eq!(taken, Ok(vec![5, 0]));
        let taken = chosen("take", &[2, 3], i(&[2, 1, 0, 0], &[2, 2]), &[int("axis", 1), int("batch_dims", 1)]);
        assert_eq!(taken, Ok(vec![2, 1, 3, 3]));
        let trap = |result: Result<Vec<i16>, Trap>| result.expect_err("a trap").code;
        assert_eq!(trap(chosen("take", &[2, 3], i(&[3], &[1]), &[int("axis", 1), mode("fast")])), codes::E0501);
        assert_eq!(trap(chosen("take", &[0], i(&[0], &[1]), &[])), codes::E0501);
        assert_eq!(chosen("take", &[0], i(&[], &[0]), &[]), Ok(vec![]));
        let gathered = chosen("gather", &[2, 3], i(&[2, 0, 1, 1], &[2, 2]), &[int("axis", 1)]);
        assert_eq!(gathered, Ok(vec![2, 0, 4, 4]));
        assert_eq!(trap(chosen("gather", &[2, 3], i(&[-1, 0], &[2, 1]), &[int("axis", 1)])), codes::E0501);
        let found = chosen("gather_nd", &[2, 3], i(&[1, 0, 2, 1], &[2, 2]), &[]);
        assert_eq!(found, Ok(vec![5, 1]));
        let parts = chosen("gather_nd", &[2, 3], i(&[1], &[1, 1]), &[]);
        assert_eq!(parts, Ok(vec![3, 4, 5]));
        let batched = chosen("gather_nd", &[2, 3], i(&[2, 0], &[1, 2]), &[int("batch_dims", 1)]);
        assert_eq!(batched, Ok(vec![2, 3]));
        assert_eq!(trap(chosen("gather_nd", &[2, 3], i(&[1, 3], &[2, 1]), &[])), codes::E0501);
    }

    #[test]
    fn marks() {
        let indices = Tensor::from_vec(&[3], vec![1i32, -1, 7]);
        let attrs = [int("depth", 2), int("axis", 0), ("dtype", AttrValue::DType(Some(DType::I64)))];
        let hot = eval("one_hot", &[indices, Tensor::scalar(i64::MAX), Tensor::scalar(-1i64)], &attrs).expect("no trap");
        assert_eq!(hot.to_vec::<i64>(), Some(vec![-1, -1, -1, i64::MAX, -1, -1]));
    }
}
