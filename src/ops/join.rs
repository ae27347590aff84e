//! Joining tensors and cutting them up.

use super::attrs::{IntOrInts, OptInts, attrs};
use super::blocks::{Blocks, Channels};
use super::eval::{EvalCx, EvalResult, Outputs};
use super::lower::{Call, Lower};
use super::onnx::{Onnx, OnnxCx, OnnxResult, Results};
use super::rel::{Fault, From, RelCx, RelResult, SDim, Shape, TensorTy};
use super::{Fuse, OpDef};
use crate::base::text::count;
use crate::diag::codes;
use crate::ir::attrs::{Arg, AttrSchema, AttrValue};
use crate::kernel::View;
use crate::types::{DType, Dim, SymbolOp};

attrs! {
    "relay.attrs.ConcatenateAttrs" =>
    pub struct ConcatenateAttrs {
        /// The axis along which the tensors follow each other, counted from the end where negative.
        pub axis: i64 = 0;
    }

    "relay.attrs.StackAttrs" =>
    pub struct StackAttrs {
        /// Where the new axis goes, counted from the end where negative, -1 being behind the last.
        pub axis: Option<i64> = Some(0);
    }

    "relay.attrs.SplitAttrs" =>
    pub struct SplitAttrs {
        /// Into how many equal pieces, or before which positions to cut.
        pub indices_or_sections: IntOrInts;
        /// The axis to cut, counted from the end where negative.
        pub axis: i64 = 0;
    }

    "relay.attrs.StridedSliceAttrs" =>
    pub struct StridedSliceAttrs {
        /// The first position on each axis, counted from the end where negative.
        pub begin: OptInts;
        /// The position before which to stop on each axis, or how many positions to take where `slice_mode` is `size`.
        pub end: OptInts;
        /// The step on each axis; negative ones walk back.
        pub strides: OptInts;
        /// `end` or `size`.
        pub slice_mode: String = "end";
        /// The axes to slice; the first ones for `None`.
        pub axes: OptInts;
    }
}

/// The most pieces [`SPLIT`] makes.
const MAX_SECTIONS: i64 = 65_536;

/// One tensor after the other.
pub const CONCATENATE: OpDef = OpDef {
    name: "concatenate",
    doc: "The tensors of the tuple one after the other along `axis`; they agree in all other dimensions \
          (`src/relay/op/tensor/transform.h`).",
    args: &[Arg::tensor("data")],
    attrs: Some(ConcatenateAttrs::SCHEMA),
    rules: &[
        "C1: there is at least one tensor",
        "C2: all tensors have one rank and one dtype",
        "C3: axis is in -rank…rank-1",
        "C4: apart from axis, all tensors have the same dimensions",
        "C5: the sum of their dimensions along axis is an int64",
    ],
    rel: concatenate_rel,
    eval: concatenate_eval,
    lower: Some(Lower::Join(|call| call.axis(ConcatenateAttrs::read(call.attrs).axis, call.arg(0).shape.len()))),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

fn concatenate_rel(cx: &mut RelCx) -> RelResult {
    let attrs = ConcatenateAttrs::read(cx.attrs);
    let data = cx.tuple(0)?;
    let dtype = require_alike(cx, ("C1", "C2"), &data)?;
    let axis = cx.axis("C3", "axis", attrs.axis, data[0].rank())?;
    let whole = total(cx, &data, axis)?;
    let shape: RelResult<Shape> = (0..data[0].rank())
        .map(|at| if at == axis { Ok(whole) } else { common_dim(cx, "C4", &data, at, whole.dim == Dim::Any) })
        .collect();
    cx.set_out(shape?, dtype)
}

/// The rules that there are tensors, and that they have one rank and one dtype, which is returned.
fn require_alike(cx: &RelCx, rules: (&'static str, &'static str), data: &[TensorTy]) -> RelResult<DType> {
    cx.require(rules.0, !data.is_empty(), || {
        Fault::shape("expected at least one tensor, found the empty tuple").at(super::rel::Place::arg(0), "")
    })?;
    let first = &data[0];
    for tensor in data {
        cx.require(rules.1, tensor.rank() == first.rank(), || Fault::rank(first.rank(), tensor).at(first.place(), ""))?;
        cx.require(rules.1, tensor.dtype == first.dtype, || {
            Fault::dtype(format!("expected `{}`, found `{}`", first.dtype, tensor.dtype))
                .at(tensor.place(), "")
                .at(first.place(), "")
        })?;
    }
    Ok(first.dtype)
}

/// The sum of the dimensions along `axis`.
fn total(cx: &mut RelCx, data: &[TensorTy], axis: usize) -> RelResult<SDim> {
    if let [one] = data {
        return Ok(one.dim(axis));
    }
    let mut sum = Dim::known(0);
    for tensor in data {
        let dim = tensor.shape[axis];
        let fits = sum.value().zip(dim.value()).is_none_or(|(a, b)| a.checked_add(b).is_some());
        cx.require("C5", fits, || {
            Fault::new(codes::E0803, "the dimensions along axis add up to more than an int64").at(tensor.axis(axis), "")
        })?;
        sum = cx.types.symbols.arith(SymbolOp::Add, sum, dim);
    }
    Ok(SDim::new(sum, From::Rule("C5")))
}

/// The dimension in which all tensors agree. Where some are not known, it is not either, unless the concatenation is along
/// an unknown dimension itself (`src/relay/op/tensor/transform.h`).
fn common_dim(cx: &RelCx, rule: &'static str, data: &[TensorTy], at: usize, dynamic: bool) -> RelResult<SDim> {
    let mut known = data.iter().filter(|tensor| tensor.shape[at] != Dim::Any);
    let Some(first) = known.next() else { return Ok(data[0].dim(at)) };
    for tensor in known {
        let (expected, found) = (first.shape[at], tensor.shape[at]);
        cx.require(rule, expected.compatible(found), || {
            let (i, j) = (first.field.unwrap_or(0), tensor.field.unwrap_or(0));
            Fault::shape(format!("tensors {i} and {j} differ in axis {at}: {expected} and {found}"))
                .at(tensor.axis(at), "")
                .at(first.axis(at), "")
                .equation(format!("data.{j}[{at}] == data.{i}[{at}]"), format!("{found} == {expected}"))
        })?;
    }
    let unknown = data.iter().find(|tensor| tensor.shape[at] == Dim::Any);
    Ok(unknown.filter(|_| !dynamic).unwrap_or(first).dim(at))
}

fn concatenate_eval(cx: &EvalCx) -> EvalResult {
    let data = cx.tuple(0);
    let axis = ConcatenateAttrs::read(cx.attrs).axis.rem_euclid(data[0].rank() as i64) as usize;
    Ok(crate::tensor::Tensor::concat(data, axis).expect("the relation required tensors that fit").into())
}

/// Tensors side by side along a new axis.
pub const STACK: OpDef = OpDef {
    name: "stack",
    doc: "The tensors of the tuple, all of one shape, side by side along a new axis (`src/relay/op/tensor/transform.cc`).",
    args: &[Arg::tensor("data")],
    attrs: Some(StackAttrs::SCHEMA),
    rules: &[
        "C1: there is at least one tensor",
        "C2: all tensors have one rank and one dtype",
        "C3: axis is in -rank-1…rank",
        "C4: all tensors have the same dimensions",
    ],
    rel: stack_rel,
    eval: stack_eval,
    lower: Some(Lower::Stack(|call| call.axis(StackAttrs::read(call.attrs).axis.unwrap_or(0), call.out().shape.len()))),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

fn stack_rel(cx: &mut RelCx) -> RelResult {
    let attrs = StackAttrs::read(cx.attrs);
    let data = cx.tuple(0)?;
    let dtype = require_alike(cx, ("C1", "C2"), &data)?;
    let axis = cx.axis("C3", "axis", attrs.axis.unwrap_or(0), data[0].rank() + 1)?;
    let mut shape = data[0].dims();
    for at in 0..data[0].rank() {
        common_dim(cx, "C4", &data, at, true)?;
    }
    shape.insert(axis, SDim::known(data.len() as i64, From::Rule("C1")));
    cx.set_out(shape, dtype)
}

fn stack_eval(cx: &EvalCx) -> EvalResult {
    let data = cx.tuple(0);
    let axis = StackAttrs::read(cx.attrs).axis.unwrap_or(0).rem_euclid(data[0].rank() as i64 + 1) as usize;
    let mut one = data[0].shape().to_vec();
    one.insert(axis, 1);
    let layers: Option<Vec<_>> = data.iter().map(|tensor| tensor.reshape(&one)).collect();
    let stacked = layers.and_then(|layers| crate::tensor::Tensor::concat(&layers, axis));
    Ok(stacked.expect("the relation required tensors of one shape").into())
}

/// Cuts into pieces.
pub const SPLIT: OpDef = OpDef {
    name: "split",
    doc: "A tuple of the pieces of `data` along `axis`: `indices_or_sections` is the number of equal pieces, or the list of \
          positions before which to cut (`src/relay/op/tensor/transform.cc`).",
    args: &[Arg::tensor("data")],
    attrs: Some(SplitAttrs::SCHEMA),
    rules: &[
        "C1: axis is in -rank(data)…rank(data)-1",
        "C2: 1 <= sections <= 65536, and data[axis] % sections == 0",
        "C3: indices ascend, the first is at least 1, the last is less than data[axis]",
    ],
    rel: split_rel,
    eval: split_eval,
    lower: Some(Lower::Split(split_views)),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

fn split_rel(cx: &mut RelCx) -> RelResult {
    let attrs = SplitAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    let axis = cx.axis("C1", "axis", attrs.axis, data.rank())?;
    let lengths = match &attrs.indices_or_sections {
        IntOrInts::Int(sections) => equal_pieces(cx, &data, axis, *sections)?,
        IntOrInts::Ints(indices) => pieces_between(cx, &data, axis, indices)?,
    };
    let piece = |length: Dim| {
        let mut shape = data.dims();
        shape[axis] = SDim::new(length, From::Attr("indices_or_sections"));
        (shape, data.dtype)
    };
    cx.set_out_tuple(lengths.into_iter().map(piece).collect())
}

fn equal_pieces(cx: &mut RelCx, data: &TensorTy, axis: usize, sections: i64) -> RelResult<Vec<Dim>> {
    let dim = data.shape[axis];
    cx.require("C2", (1..=MAX_SECTIONS).contains(&sections), || {
        Fault::attr("indices_or_sections", format!("expected 1 to {MAX_SECTIONS} sections, found {sections}"))
    })?;
    cx.require("C2", dim.value().is_none_or(|dim| dim % sections == 0), || {
        let fault = Fault::attr("indices_or_sections", format!("cannot cut {dim} positions into {sections} equal pieces"))
            .at(data.axis(axis), "")
            .equation(format!("data[{axis}] % sections == 0"), format!("{dim} % {sections} == 0"));
        // The nearest numbers of pieces on both sides.
        let fits = |n: &i64| dim.value().is_some_and(|dim| dim % n == 0);
        let near = (2..sections).rev().find(fits).into_iter().chain((sections + 1..=2 * sections).find(fits));
        near.fold(fault, |fault, n| fault.set_number("indices_or_sections", sections, n))
    })?;
    let symbols = &mut cx.types.symbols;
    Ok((0..sections).map(|_| symbols.arith(SymbolOp::FloorDiv, dim, Dim::known(sections))).collect())
}

fn pieces_between(cx: &mut RelCx, data: &TensorTy, axis: usize, indices: &[i64]) -> RelResult<Vec<Dim>> {
    let mut begin = 0;
    let mut lengths = Vec::new();
    for &index in indices {
        cx.require("C3", index > begin, || {
            Fault::attr("indices_or_sections", format!("expected a position behind {begin}, found {index}"))
        })?;
        lengths.push(Dim::known(index - begin));
        begin = index;
    }
    let dim = data.shape[axis];
    cx.require("C3", dim.value().is_none_or(|dim| begin < dim), || {
        Fault::attr("indices_or_sections", format!("cannot cut {dim} positions before position {begin}"))
            .at(data.axis(axis), "")
            .equation(format!("the last of indices < data[{axis}]"), format!("{begin} < {dim}"))
    })?;
    lengths.push(cx.types.symbols.arith(SymbolOp::Sub, dim, Dim::known(begin)));
    Ok(lengths)
}

fn split_views(call: &Call, view: &View) -> Option<Vec<View>> {
    let axis = call.axis(SplitAttrs::read(call.attrs).axis, view.rank())?;
    let mut begin = 0;
    let pieces = call.outs.iter().map(|out| {
        let n = out.shape[axis];
        begin += n as i64;
        view.slice(axis, begin - n as i64, 1, n)
    });
    Some(pieces.collect())
}

fn split_eval(cx: &EvalCx) -> EvalResult {
    let data = cx.tensor(0);
    let axis = SplitAttrs::read(cx.attrs).axis.rem_euclid(data.rank() as i64) as usize;
    let mut begin = 0;
    let piece = |out: &super::eval::OutTy| {
        let n = out.shape[axis];
        begin += n;
        data.take_range(axis, (begin - n) as i64, 1, n)
    };
    Ok(Outputs::Tuple(cx.out.iter().map(piece).collect()))
}

/// A part, by steps.
pub const STRIDED_SLICE: OpDef = OpDef {
    name: "strided_slice",
    doc: "The positions `begin`, `begin + stride`, … before `end` of each axis in `axes`, or of the first axes where that is \
          `None`; all others whole. Positions count from the end where negative and are then limited to the axis. With \
          `slice_mode=\"size\"`, `end` says how many positions to take, all for a negative one, and the strides are 1 \
          (`src/relay/op/tensor/transform.cc`, `include/tvm/topi/detail/strided_slice.h`).",
    args: &[Arg::tensor("data")],
    attrs: Some(StridedSliceAttrs::SCHEMA),
    rules: &[
        "C1: begin, end and strides are given, none longer than rank(data), or as long as axes",
        "C2: slice_mode is \"end\" or \"size\"",
        "C3: axes are in 0…rank(data)-1, none twice",
        "C4: no stride is 0",
        "C5: begin does not lie behind end, in the direction of the stride",
    ],
    rel: strided_slice_rel,
    eval: strided_slice_eval,
    blocks: Some(Blocks::Same(strided_slice_blocks)),
    lower: Some(Lower::View(strided_slice_view)),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

/// Channels that are not cut may lie in blocks.
fn strided_slice_blocks(_: &AttrSchema, attrs: &[AttrValue], _: Channels) -> Option<Vec<AttrValue>> {
    let StridedSliceAttrs { begin, axes, .. } = StridedSliceAttrs::read(attrs);
    let cuts_channels = match axes.0 {
        Some(axes) => axes.contains(&1),
        None => begin.0.is_none_or(|begin| begin.len() > 1),
    };
    (!cuts_channels).then(|| attrs.to_vec())
}

/// What to take of one axis.
struct AxisSlice {
    axis: usize,
    begin: i64,
    end: i64,
    stride: i64,
}

impl AxisSlice {
    /// The first position and how many there are, for an axis of this length; `None` where begin lies behind end.
    fn on(&self, length: i64) -> Option<(i64, i64)> {
        let back = self.stride < 0;
        let limits = if back { (-1, length - 1) } else { (0, length) };
        let limited = |at: i64| if at < 0 { at.saturating_add(length) } else { at }.clamp(limits.0, limits.1.max(limits.0));
        let (begin, end) = (limited(self.begin), limited(self.end));
        let distance = if back { begin - end } else { end - begin };
        let n = u64::try_from(distance).ok()?.div_ceil(self.stride.unsigned_abs());
        Some((begin, n as i64))
    }
}

/// The slices of all axes, from attributes of any length; missing strides are 1, and missing bounds are the axis's.
fn axis_slices(attrs: &StridedSliceAttrs, rank: usize) -> Vec<AxisSlice> {
    let list = |ints: &OptInts| ints.0.clone().unwrap_or_default();
    let (begins, ends, strides) = (list(&attrs.begin), list(&attrs.end), list(&attrs.strides));
    let axes = attrs.axes.0.clone().unwrap_or_else(|| (0..rank as i64).collect());
    let sized = attrs.slice_mode == "size";
    let slice = |(i, axis): (usize, i64)| {
        let stride = strides.get(i).copied().unwrap_or(1);
        let begin = begins.get(i).copied().unwrap_or(if stride > 0 { 0 } else { i64::MAX });
        let end = match ends.get(i).copied() {
            Some(size) if sized && size >= 0 => begin.saturating_add(size),
            Some(_) if sized => i64::MAX,
            Some(end) => end,
            // A missing end of a walk back is 0, not before it: TVM leaves out the first position.
            None => {
                if stride > 0 {
                    i64::MAX
                } else {
                    0
                }
            }
        };
        AxisSlice { axis: axis as usize, begin, end, stride: if sized { 1 } else { stride } }
    };
    axes.into_iter().enumerate().map(slice).collect()
}

fn strided_slice_rel(cx: &mut RelCx) -> RelResult {
    let attrs = StridedSliceAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    require_slices(cx, &attrs, data.rank())?;
    let mut shape = data.dims();
    for (i, slice) in axis_slices(&attrs, data.rank()).into_iter().enumerate() {
        let Some(length) = data.shape[slice.axis].value() else {
            shape[slice.axis] = SDim::new(Dim::Any, From::Rule("C5"));
            continue;
        };
        let taken = slice.on(length);
        cx.require("C5", taken.is_some(), || {
            let message = format!("from {} to {} in steps of {} there is nothing", slice.begin, slice.end, slice.stride);
            Fault::attr("begin", message).at(super::rel::Place::attr("end"), "").at(data.axis(slice.axis), "")
        })?;
        // TVM takes the width of the literal from the dimension numbered as the slice, not from the one it cuts.
        let (value, wide) = (taken.map_or(0, |(_, count)| count), shape[i].dim.is_wide());
        let whole = value == length && shape[slice.axis].dim.is_wide() == wide;
        if !whole {
            shape[slice.axis] = SDim::new(Dim::Known { value, wide }, From::Rule("C5"));
        }
    }
    cx.set_out(shape, data.dtype)
}

/// The rules on the attributes alone.
fn require_slices(cx: &RelCx, attrs: &StridedSliceAttrs, rank: usize) -> RelResult {
    for (name, list) in [("begin", &attrs.begin), ("end", &attrs.end), ("strides", &attrs.strides)] {
        let length = list.0.as_ref().map(Vec::len);
        let fits = match &attrs.axes.0 {
            Some(axes) => length == Some(axes.len()),
            None => length.is_some_and(|length| length <= rank),
        };
        cx.require("C1", fits, || {
            let wanted = match &attrs.axes.0 {
                Some(axes) => format!("{}, as axes has", count(axes.len(), "number")),
                None => format!("at most {}", count(rank, "number")),
            };
            Fault::attr(name, format!("expected {wanted}, found {}", length.map_or("none".into(), |n| n.to_string())))
        })?;
    }
    cx.require("C2", ["end", "size"].contains(&attrs.slice_mode.as_str()), || {
        let message = format!("expected slice_mode \"end\" or \"size\", found {:?}", attrs.slice_mode);
        Fault::attr("slice_mode", message).set_attr("slice_mode", "\"end\"")
    })?;
    let mut named = vec![false; rank];
    for &axis in attrs.axes.0.iter().flatten() {
        let at = usize::try_from(axis).ok().filter(|&at| at < rank && !named[at]);
        cx.require("C3", at.is_some(), || {
            Fault::attr("axes", format!("expected axes in 0…{}, each once, found {axis}", rank as i64 - 1))
        })?;
        named[at.unwrap_or(0)] = true;
    }
    let zero = attrs.strides.0.iter().flatten().any(|&stride| stride == 0);
    cx.require("C4", !zero, || Fault::attr("strides", "a stride of 0 never arrives"))
}

fn strided_slice_view(call: &Call, view: &View) -> Option<View> {
    let mut result = view.clone();
    for slice in axis_slices(&StridedSliceAttrs::read(call.attrs), view.rank()) {
        let (begin, count) = slice.on(view.dims[slice.axis] as i64)?;
        result = result.slice(slice.axis, begin, slice.stride, count as u64);
    }
    Some(result)
}

fn strided_slice_eval(cx: &EvalCx) -> EvalResult {
    let (data, attrs) = (cx.tensor(0), StridedSliceAttrs::read(cx.attrs));
    let mut result = data.clone();
    for slice in axis_slices(&attrs, data.rank()) {
        let length = data.shape()[slice.axis];
        let (begin, count) = slice.on(length as i64).expect("the relation required begin before end");
        if (begin, count, slice.stride) != (0, length as i64, 1) {
            result = result.take_range(slice.axis, begin, slice.stride, count as usize);
        }
    }
    Ok(result.into())
}

// ---- In ONNX ----

pub const ONNX: &[(&str, Onnx)] = &[
    (CONCATENATE.name, Onnx::Nodes(concatenate_onnx)),
    (STACK.name, Onnx::Nodes(stack_onnx)),
    (SPLIT.name, Onnx::Nodes(split_onnx)),
    (STRIDED_SLICE.name, Onnx::Nodes(strided_slice_onnx)),
];

fn concatenate_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (axis, data) = (ConcatenateAttrs::read(cx.attrs).axis, cx.tuple(0).to_vec());
    Ok(cx.node("Concat", &data).int("axis", axis).one().into())
}

fn stack_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (axis, data) = (StackAttrs::read(cx.attrs).axis.unwrap_or(0), cx.tuple(0).to_vec());
    let axes = cx.ints("axes", &[axis]);
    let layers: Vec<_> = data.iter().map(|&layer| cx.node("Unsqueeze", &[layer, axes]).one()).collect();
    Ok(cx.node("Concat", &layers).int("axis", axis).one().into())
}

fn split_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let data = cx.tensor(0);
    let axis = SplitAttrs::read(cx.attrs).axis.rem_euclid(cx.rank(data) as i64);
    let lengths: Option<Vec<i64>> = cx.out.iter().map(|(dims, _)| dims[axis as usize].value()).collect();
    let lengths = lengths.ok_or("pieces whose lengths are not known before running")?;
    let sizes = cx.ints("split", &lengths);
    Ok(Results(cx.node("Split", &[data, sizes]).int("axis", axis).many(lengths.len())))
}

/// Positions and ends as they are on axes of the lengths known, so that nothing depends on how limits are read.
fn strided_slice_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (attrs, data) = (StridedSliceAttrs::read(cx.attrs), cx.tensor(0));
    let slices = axis_slices(&attrs, cx.rank(data));
    let (mut starts, mut ends, mut axes, mut steps) = (vec![], vec![], vec![], vec![]);
    for slice in slices {
        let length = cx.dim(data, slice.axis)?;
        let (begin, count) = slice.on(length).ok_or("a begin behind its end")?;
        if (begin, count, slice.stride) == (0, length, 1) {
            continue;
        }
        let end = begin + count * slice.stride;
        starts.push(begin);
        // Before the first position there is no number: -1 is the last.
        ends.push(if end < 0 { i64::MIN } else { end });
        axes.push(slice.axis as i64);
        steps.push(slice.stride);
    }
    if axes.is_empty() {
        return Ok(data.into());
    }
    let inputs = [("starts", starts), ("ends", ends), ("axes", axes), ("steps", steps)];
    let inputs = inputs.map(|(what, values)| cx.ints(what, &values));
    Ok(cx.node("Slice", &[data, inputs[0], inputs[1], inputs[2], inputs[3]]).one().into())
}

pub const FAMILY: &[OpDef] = &[CONCATENATE, STACK, SPLIT, STRIDED_SLICE];

#[cfg(test)]
mod tests {
    use super::super::eval::ArgValue;
    use super::super::testing::{ANY, Attrs, Operand, eval, eval_all, hostile, rel, t};
    use crate::ir::attrs::AttrValue;
    use crate::tensor::Tensor;
    use crate::types::DType;

    fn tuple(shapes: &[&[i64]]) -> Operand {
        Operand::Tuple(shapes.iter().map(|shape| (shape.to_vec(), DType::F32)).collect())
    }

    fn joined(name: &str, shapes: &[&[i64]], axis: i64) -> String {
        rel(name, &[tuple(shapes)], &[("axis", AttrValue::int(axis))])
    }

    #[test]
    fn concatenation_adds_along_an_axis() {
        assert_eq!(joined("concatenate", &[&[5, 3, 3], &[5, 3, 1]], -1), "Tensor[(5, 3, 4), float32]");
        assert_eq!(joined("concatenate", &[&[1, 3], &[1, ANY]], 0), "Tensor[(2, ?), float32]");
        assert_eq!(joined("concatenate", &[&[ANY, 3], &[ANY, ANY]], 0), "Tensor[(?, 3), float32]");
        assert_eq!(joined("concatenate", &[], 0), "E0308 C1");
        assert_eq!(joined("concatenate", &[&[1, 3, 2], &[3, 3]], -2), "E0303 C2");
        assert_eq!(joined("concatenate", &[&[1], &[2]], 1), "E0404 C3");
        assert_eq!(joined("concatenate", &[&[1, 3], &[1, 4]], 0), "E0308 C4");
        assert_eq!(joined("concatenate", &[&[i64::MAX, 0], &[1, 0]], 0), "E0803 C5");
        assert_eq!(joined("stack", &[&[2, 3], &[2, 3]], -1), "Tensor[(2, 3, 2), float32]");
        assert_eq!(joined("stack", &[&[2, 3], &[2, 4]], 0), "E0308 C4");
        hostile("concatenate", &[tuple(&[&[2, 3], &[2, 3]])], &[], &["axis"], &[]);
        hostile("stack", &[tuple(&[&[2, 3], &[2, 3]])], &[], &["axis"], &[]);
    }

    #[test]
    fn joining_moves_elements() {
        let (x, y) = (Tensor::from_vec(&[2, 1], vec![1, 2]), Tensor::from_vec(&[2, 2], vec![3, 4, 5, 6]));
        let both = [ArgValue::Tuple(vec![x.clone(), y])];
        let z = eval_all("concatenate", &both, &[("axis", AttrValue::int(1))]).expect("no trap").remove(0);
        assert_eq!(z.to_vec::<i32>(), Some(vec![1, 3, 4, 2, 5, 6]));
        let twice = [ArgValue::Tuple(vec![x.clone(), x])];
        let z = eval_all("stack", &twice, &[("axis", AttrValue::int(1))]).expect("no trap").remove(0);
        assert_eq!((z.shape(), z.to_vec::<i32>()), (&[2usize, 2, 1][..], Some(vec![1, 1, 2, 2])));
    }

    fn split(shape: &[i64], parts: AttrValue) -> String {
        rel("split", &[t(shape, DType::F32)], &[("indices_or_sections", parts), ("axis", AttrValue::int(-1))])
    }

    #[test]
    fn pieces_of_a_split() {
        assert_eq!(split(&[ANY, 4], AttrValue::int(2)), "(Tensor[(?, 2), float32], Tensor[(?, 2), float32])");
        assert_eq!(split(&[12], AttrValue::ints(&[8])), "(Tensor[(8), float32], Tensor[(4), float32])");
        assert_eq!(split(&[ANY], AttrValue::ints(&[8])), "(Tensor[(8), float32], Tensor[(?), float32])");
        assert_eq!(split(&[], AttrValue::int(1)), "E0404 C1");
        assert_eq!(split(&[5], AttrValue::int(2)), "E0404 C2");
        assert_eq!(split(&[0], AttrValue::int(1 << 40)), "E0404 C2");
        assert_eq!(split(&[5], AttrValue::ints(&[2, 2])), "E0404 C3");
        assert_eq!(split(&[5], AttrValue::ints(&[5])), "E0404 C3");
        let sections = ["indices_or_sections", "axis"];
        hostile("split", &[t(&[4, 6], DType::F32)], &[("indices_or_sections", AttrValue::int(2))], &sections, &sections[..1]);
        let x = Tensor::from_fn(&[2, 3], |i| i as i32);
        let attrs = [("indices_or_sections", AttrValue::ints(&[1])), ("axis", AttrValue::int(1))];
        let pieces = eval_all("split", &[ArgValue::Tensor(x)], &attrs).expect("no trap");
        let elements: Vec<_> = pieces.iter().map(|piece| piece.to_vec::<i32>().expect("i32")).collect();
        assert_eq!(elements, [vec![0, 3], vec![1, 2, 4, 5]]);
    }

    fn slice_attrs(begin: &[i64], end: &[i64], strides: &[i64], axes: Option<&[i64]>) -> Vec<(&'static str, AttrValue)> {
        let axes = axes.map_or(AttrValue::None, AttrValue::ints);
        let lists = [("begin", begin), ("end", end), ("strides", strides)];
        lists.into_iter().map(|(name, list)| (name, AttrValue::ints(list))).chain([("axes", axes)]).collect()
    }

    fn slice(shape: &[i64], attrs: Attrs) -> String {
        rel("strided_slice", &[t(shape, DType::F32)], attrs)
    }

    #[test]
    fn shapes_of_slices() {
        let text = |dims: &str| format!("Tensor[({dims}), float32]");
        let shape = [3, 4, 3];
        assert_eq!(slice(&shape, &slice_attrs(&[1, 1, 0], &[4, 1000, 3], &[1], None)), text("2, 3, 3"));
        assert_eq!(slice(&shape, &slice_attrs(&[1, 1], &[4, 4, 3], &[1], None)), text("2, 3, 3"));
        assert_eq!(slice(&shape, &slice_attrs(&[0, 0, 0], &[4, -5, 4], &[1, -1, 2], None)), text("3, 1, 2"));
        assert_eq!(slice(&shape, &slice_attrs(&[-1, -1, -1], &[-5, -5, -5], &[-1, -1, -1], None)), text("3, 4, 3"));
        assert_eq!(slice(&[1, 3], &slice_attrs(&[1, 1], &[1, -1], &[1, 1], None)), text("0, 1"));
        assert_eq!(slice(&shape, &slice_attrs(&[], &[], &[], None)), text("3, 4, 3"));
        assert_eq!(slice(&shape, &slice_attrs(&[], &[], &[], Some(&[]))), text("3, 4, 3"));
        assert_eq!(slice(&[3, ANY], &slice_attrs(&[0], &[i64::MAX], &[1], Some(&[1]))), text("3, ?"));
        let mut size = slice_attrs(&[0, 1, 0], &[-1, -1, 1], &[1, 1, 1], None);
        size.push(("slice_mode", AttrValue::str("size")));
        assert_eq!(slice(&[2, 3, 4], &size), text("2, 2, 1"));
    }

    #[test]
    fn rules_of_slices() {
        assert_eq!(slice(&[3], &slice_attrs(&[0, 0], &[1], &[1], None)), "E0404 C1");
        assert_eq!(slice(&[3], &slice_attrs(&[0], &[1], &[], Some(&[0]))), "E0404 C1");
        assert_eq!(slice(&[3], &[("end", AttrValue::ints(&[]))]), "E0404 C1");
        let mut mode = slice_attrs(&[0], &[1], &[1], None);
        mode.push(("slice_mode", AttrValue::str("middle")));
        assert_eq!(slice(&[3], &mode), "E0404 C2");
        assert_eq!(slice(&[3], &slice_attrs(&[0], &[1], &[1], Some(&[-1]))), "E0404 C3");
        assert_eq!(slice(&[3, 3], &slice_attrs(&[0, 0], &[1, 1], &[1, 1], Some(&[0, 0]))), "E0404 C3");
        assert_eq!(slice(&[3], &slice_attrs(&[0], &[1], &[0], None)), "E0404 C4");
        assert_eq!(slice(&[3], &slice_attrs(&[2], &[1], &[1], None)), "E0404 C5");
        let all = ["begin", "end", "strides", "axes"];
        for shape in [&[3, 0][..], &[ANY, 4], &[]] {
            hostile("strided_slice", &[t(shape, DType::F32)], &slice_attrs(&[0], &[1], &[1], None), &[], &all);
            hostile("strided_slice", &[t(shape, DType::F32)], &slice_attrs(&[2, 0], &[0, 3], &[-1, 2], None), &[], &all);
        }
    }

    #[test]
    fn slices_walk_both_ways() {
        let x = Tensor::from_fn(&[2, 5], |i| i as i32);
        let of = |begin: &[i64], end: &[i64], strides: &[i64]| {
            let attrs = slice_attrs(begin, end, strides, Some(&[1]));
            eval("strided_slice", std::slice::from_ref(&x), &attrs).expect("no trap").to_vec::<i32>().expect("i32")
        };
        assert_eq!(of(&[1], &[4], &[2]), [1, 3, 6, 8]);
        assert_eq!(of(&[1_000_000], &[-1_000_000], &[-2]), [4, 2, 0, 9, 7, 5]);
        assert_eq!(of(&[-2], &[i64::MAX], &[1]), [3, 4, 8, 9]);
        assert_eq!(of(&[5], &[5], &[1]), [0i32; 0]);
    }
}
