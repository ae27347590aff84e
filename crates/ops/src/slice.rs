//! Slices tensors by steps along axes.

use super::attrs::{OptDims, OptInts};
use super::blocks::{Blocks, Channels};
use crate::attrs::AttrField;
use crate::prelude::*;
use relayc_base::text::count;
use relayc_ir::kernel::View;
use relayc_ir::types::Symbols;

attrs! {
    "relay.attrs.StridedSliceAttrs" =>
    pub struct StridedSliceAttrs {
        /// The first position on each axis; negative positions count from the end.
        pub(crate) begin: OptInts;
        /// The position before which to stop on each axis, or the number of positions to take if `slice_mode` is `size`.
        pub(crate) end: OptInts;
        /// The step on each axis; negative steps go backwards.
        pub strides: OptInts;
        /// `end` or `size`.
        pub slice_mode: String = "end";
        /// The axes to slice; the first ones for `None`.
        pub(crate) axes: OptInts;
    }
}

pub const STRIDED_SLICE: OpDef = OpDef {
    name: "strided_slice",
    doc: "The positions `begin`, `begin + stride`, … before `end` of each axis in `axes`, or of the first axes where that is \
          `None`; all others whole. Positions count from the end where negative and are then limited to the axis. There are none \
          where begin lies behind end, which TVM refuses. With `slice_mode=\"size\"`, `end` says how many positions to take, all for \
          a negative one, and the strides are 1 (`src/relay/op/tensor/transform.cc`, `include/tvm/topi/detail/strided_slice.h`).",
    args: &[Arg::tensor("data")],
    attrs: Some(StridedSliceAttrs::SCHEMA),
    rules: &[
        "C1: begin, end and strides are given, none longer than rank(data), or as long as axes",
        "C2: slice_mode is \"end\" or \"size\"",
        "C3: axes are in 0…rank(data)-1, none twice",
        "C4: no stride is 0",
    ],
    rel: strided_slice_rel,
    eval: strided_slice_eval,
    blocks: Some(Blocks::Same(strided_slice_blocks)),
    lower: Some(Lower::View(strided_slice_view)),
    caution: Some(strided_slice_caution),
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

/// The slice of one axis.
struct AxisSlice {
    axis: usize,
    begin: i64,
    end: i64,
    stride: i64,
}

impl AxisSlice {
    /// The first position and how many there are, for an axis of this length.
    fn on(&self, length: i64) -> (i64, i64) {
        let back = self.stride < 0;
        let limits = if back { (-1, length - 1) } else { (0, length) };
        let limited = |at: i64| if at < 0 { at.saturating_add(length) } else { at }.clamp(limits.0, limits.1.max(limits.0));
        let (begin, end) = (limited(self.begin), limited(self.end));
        let distance = if back { begin - end } else { end - begin };
        let n = u64::try_from(distance).unwrap_or(0).div_ceil(self.stride.unsigned_abs());
        (begin, n as i64)
    }

    /// Whether begin lies behind end whatever the length is: both count from the same side.
    fn is_backwards(&self) -> bool {
        let behind = if self.stride > 0 { self.begin > self.end } else { self.begin < self.end };
        (self.begin < 0) == (self.end < 0) && behind
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
    let named = NamedBounds::read(cx.attrs);
    for (i, slice) in axis_slices(&attrs, data.rank()).into_iter().enumerate() {
        let dim = data.shape[slice.axis];
        let bounds = named.at(i);
        if slice.stride > 0 && attrs.slice_mode == "end" && (bounds.is_some() || dim.is_named()) {
            let (begin, end) = bounds.unwrap_or((Dim::known(slice.begin), Dim::known(slice.end)));
            let taken = match bounds.is_none() && slice.is_backwards() {
                true => Dim::known(0),
                false => named_count(&mut cx.types.symbols, dim, begin, end, slice.stride),
            };
            shape[slice.axis] = SDim::new(taken, DimOrigin::Attr("end"));
            continue;
        }
        let Some(length) = dim.value() else {
            let taken = match dim.is_named() && bounds.is_none() {
                true => named_count_back(&mut cx.types.symbols, dim, &slice),
                false => Dim::Any,
            };
            shape[slice.axis] = SDim::new(taken, DimOrigin::Attr("end"));
            continue;
        };
        // TVM takes the width of the literal from the dimension numbered as the slice, not from the one it cuts.
        let ((_, value), wide) = (slice.on(length), shape[i].dim.is_wide());
        let whole = value == length && shape[slice.axis].dim.is_wide() == wide;
        if !whole {
            shape[slice.axis] = SDim::new(Dim::number(value, wide), DimOrigin::Attr("end"));
        }
    }
    cx.set_out(shape, data.dtype)
}

/// Bounds among which are named sizes; axes of these are counted by [`named_count`].
struct NamedBounds {
    begin: Vec<Dim>,
    end: Vec<Dim>,
}

impl NamedBounds {
    fn read(attrs: &[AttrValue]) -> NamedBounds {
        let list = |at: usize| attrs.get(at).map(|value| OptDims::read(value).0.unwrap_or_default()).unwrap_or_default();
        NamedBounds { begin: list(0), end: list(1) }
    }

    /// The bounds of a slice, if one is a named size.
    fn at(&self, i: usize) -> Option<(Dim, Dim)> {
        let (begin, end) = (*self.begin.get(i)?, *self.end.get(i)?);
        (begin.is_sized() && end.is_sized() && (begin.is_named() || end.is_named())).then_some((begin, end))
    }
}

/// The number of positions from `begin` to `end` in steps forward, for an axis whose length or bounds are named sizes. A begin may
/// lie before the axis and an end behind it, where both do not count from the end; a run finds other bounds outside, and a size of
/// 0 of which one position is taken. `?` for an axis of unknown length.
fn named_count(symbols: &mut Symbols, length: Dim, begin: Dim, end: Dim, stride: i64) -> Dim {
    let from_end = |at: Dim| at.value().filter(|&number| number < 0);
    let whole = end.value().is_some_and(|number| number >= i64::from(i32::MAX));
    let distance = match (from_end(begin), from_end(end)) {
        (Some(-1), _) if whole => Dim::known(1),
        (Some(last), _) if whole => symbols.arith(SymbolOp::Min, Dim::known(last.saturating_neg()), length),
        (from, to) => {
            let begin = match from {
                Some(from) => {
                    let begin = symbols.arith(SymbolOp::Add, length, Dim::known(from));
                    if to.is_some() { begin } else { symbols.arith(SymbolOp::Max, begin, Dim::known(0)) }
                }
                None => begin,
            };
            let end = match (to, end.value()) {
                (Some(to), _) => symbols.arith(SymbolOp::Add, length, Dim::known(to)),
                _ if whole => length,
                (None, Some(1)) if length.is_var() => Dim::known(1),
                _ => symbols.arith(SymbolOp::Min, end, length),
            };
            symbols.arith(SymbolOp::Sub, end, begin)
        }
    };
    let rounded = symbols.arith(SymbolOp::Add, distance, Dim::known(stride - 1));
    symbols.arith(SymbolOp::FloorDiv, rounded, Dim::known(stride))
}

/// The number of positions of a slice in steps back from the last positions or a number to before the first one, for an axis whose
/// length is a named size; `?` for another slice.
fn named_count_back(symbols: &mut Symbols, length: Dim, slice: &AxisSlice) -> Dim {
    let (first, step) = (slice.begin, slice.stride.saturating_neg());
    if step <= 0 || slice.end > -i64::from(i32::MAX) {
        return Dim::Any;
    }
    let distance = match first {
        -1 => length,
        ..-1 => {
            let distance = symbols.arith(SymbolOp::Add, length, Dim::known(first.saturating_add(1)));
            symbols.arith(SymbolOp::Max, distance, Dim::known(0))
        }
        _ if first >= i64::from(i32::MAX) => length,
        _ => symbols.arith(SymbolOp::Min, Dim::known(first + 1), length),
    };
    let rounded = symbols.arith(SymbolOp::Add, distance, Dim::known(step - 1));
    symbols.arith(SymbolOp::FloorDiv, rounded, Dim::known(step))
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

fn strided_slice_caution(attrs: &[AttrValue]) -> Option<Caution> {
    if attrs.iter().any(|value| value.named_size().is_some()) {
        return None;
    }
    let attrs = StridedSliceAttrs::read(attrs);
    let rank = attrs.begin.0.as_ref().map_or(0, Vec::len);
    let slices = if attrs.slice_mode == "end" { axis_slices(&attrs, rank) } else { vec![] };
    slices.into_iter().find(AxisSlice::is_backwards).map(|slice| Caution {
        attr: "begin",
        message: format!("from {} to {} in steps of {} there is nothing", slice.begin, slice.end, slice.stride),
        note: "the result is empty; TVM v0.14.0 refuses this",
    })
}

fn strided_slice_view(call: &Call, view: &View) -> Option<View> {
    let mut result = view.clone();
    for slice in axis_slices(&StridedSliceAttrs::read(call.attrs), view.rank()) {
        let (begin, count) = slice.on(view.dims[slice.axis] as i64);
        result = result.slice(slice.axis, begin, slice.stride, count as u64);
    }
    Some(result)
}

fn strided_slice_eval(cx: &EvalCx) -> EvalResult {
    let (data, attrs) = (cx.tensor(0), StridedSliceAttrs::read(cx.attrs));
    let mut result = data.clone();
    for slice in axis_slices(&attrs, data.rank()) {
        let length = data.shape()[slice.axis];
        let (begin, count) = slice.on(length as i64);
        if (begin, count, slice.stride) != (0, length as i64, 1) {
            result = result.take_range(slice.axis, begin, slice.stride, count as usize);
        }
    }
    Ok(result.into())
}

pub(crate) const ONNX: &[(&str, Onnx)] = &[(STRIDED_SLICE.name, Onnx::Sized(strided_slice_onnx))];

fn strided_slice_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (attrs, data) = (StridedSliceAttrs::read(cx.attrs), cx.tensor(0));
    let slices = axis_slices(&attrs, cx.rank(data));
    let named = NamedBounds::read(cx.attrs);
    let (mut starts, mut ends, mut axes, mut steps) = (vec![], vec![], vec![], vec![]);
    for (i, slice) in slices.into_iter().enumerate() {
        let bounds = named.at(i);
        let open = bounds.is_some() || cx.dim(data, slice.axis).is_err();
        // Without a number of positions, ONNX limits bounds to the axis in the same way, but for a walk back that begins before the
        // first position.
        let same = match slice.stride > 0 {
            true => attrs.slice_mode == "end" || slice.begin >= 0,
            false => slice.begin >= -1,
        };
        if open && same {
            let (begin, end) = bounds.unwrap_or((Dim::known(slice.begin), Dim::known(slice.end)));
            starts.push(begin);
            ends.push(end);
            axes.push(slice.axis as i64);
            steps.push(slice.stride);
            continue;
        }
        let length = cx.dim(data, slice.axis)?;
        let (begin, count) = slice.on(length);
        if (begin, count, slice.stride) == (0, length, 1) {
            continue;
        }
        // Before the first position there is no number: -1 is the last. Where nothing is taken, a walk back may begin there.
        let begin = if count == 0 { 0 } else { begin };
        let end = count.saturating_mul(slice.stride).saturating_add(begin);
        starts.push(Dim::known(begin));
        ends.push(Dim::known(if end < 0 { i64::MIN } else { end }));
        axes.push(slice.axis as i64);
        steps.push(slice.stride);
    }
    if axes.is_empty() {
        return Ok(data.into());
    }
    let (starts, ends) = (cx.dims("starts", &starts)?, cx.dims("ends", &ends)?);
    let (axes, steps) = (cx.ints("axes", &axes), cx.ints("steps", &steps));
    Ok(cx.node("Slice", &[data, starts, ends, axes, steps]).one().into())
}

pub(crate) const FAMILY: &[OpDef] = &[STRIDED_SLICE];

#[cfg(test)]
mod tests {
    use super::super::testing::{ANY, Attrs, eval, hostile, rel, t};
    use super::*;
    use relayc_ir::tensor::Tensor;
    use relayc_ir::types::DType;

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
        assert_eq!(slice(&[3], &slice_attrs(&[2], &[1], &[1], None)), text("0"));
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
