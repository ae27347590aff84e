//! Padding: adds positions around the elements, or between them.

use super::attrs::Dims;
use super::blocks::{Blocks, Channels};
use super::dynamic::ints;
use super::gather_lowering::{AxisOrigin, Fill, gather};
use crate::prelude::*;
use relayc_base::text::count;
use relayc_ir::types::{Arith, Symbols};

attrs! {
    "relay.attrs.PadAttrs" =>
    pub struct PadAttrs {
        /// For each axis, the number of positions to add before and after; negative numbers remove positions.
        pub pad_width: Vec<Vec<i64>>;
        /// The values of the new positions: `constant`, `edge` or `reflect`.
        pub pad_mode: String = "constant";
    }

    "relay.attrs.MirrorPadAttrs" =>
    pub(crate) struct MirrorPadAttrs {
        /// The position of the mirror: behind the outermost element (`SYMMETRIC`) or on it (`REFLECT`).
        pub(crate) mode: String = "SYMMETRIC";
        /// For each axis, the number of positions to add before and after.
        pub(crate) pad_width: Vec<Vec<i64>>;
    }

    "relay.attrs.DilateAttrs" =>
    pub(crate) struct DilateAttrs {
        /// For each axis, the distance from one element to the next.
        pub(crate) strides: Dims = Some(&[1, 1]);
        /// The value between the elements.
        pub(crate) dilation_value: f64 = 0.0;
    }
}

pub const PAD: OpDef = OpDef {
    name: "nn.pad",
    doc: "`data` with `pad_width[i][0]` positions before and `pad_width[i][1]` after axis `i`; negative widths take positions \
          away. New ones hold `pad_val` converted to the dtype of `data` (`constant`), the nearest element (`edge`), or what \
          a mirror at the outermost element shows (`reflect`) (`src/relay/op/nn/pad.cc`).",
    args: &[Arg::tensor("data"), Arg::tensor("pad_val")],
    attrs: Some(PadAttrs::SCHEMA),
    rules: &[
        "C1: pad_width has a pair for each axis of data",
        "C2: pad_mode is \"constant\", \"edge\" or \"reflect\"",
        "C3: 0 <= before + data[i] + after for each axis, an int64",
        "C4: edge needs an element on each padded axis; reflect one more than it pads on either side",
    ],
    rel: pad_rel,
    eval: pad_eval,
    lower: Some(Lower::Padded(pad_margins, pad_nest)),
    blocks: Some(Blocks::Same(pad_blocks)),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

pub(crate) const DYN_PAD: OpDef = OpDef {
    name: "dyn.nn.pad",
    doc: "As `nn.pad`, with the widths in the rows of operand 1; the attribute `pad_width` is ignored \
          (`src/relay/op/dyn/nn/pad.cc`).",
    args: &[Arg::tensor("data"), Arg::tensor("pad_width"), Arg::of("pad_val", "double")],
    rules: &[
        "C1: the operand pad_width is (rank(data), 2), of an integer dtype",
        "C2: pad_mode is \"constant\", \"edge\" or \"reflect\"",
        "C3: rank(data) >= 1",
    ],
    rel: dyn_pad_rel,
    eval: dyn_pad_eval,
    fixed: Some(dyn_pad_fixed),
    lower: None,
    blocks: None,
    ..PAD
};

pub(crate) const MIRROR_PAD: OpDef = OpDef {
    name: "nn.mirror_pad",
    doc: "`data` with `pad_width[i][0]` positions before and `pad_width[i][1]` after axis `i`, which hold what a mirror behind the \
          outermost element (`SYMMETRIC`) or on it (`REFLECT`) shows (`src/relay/op/nn/pad.cc`).",
    args: &[Arg::tensor("data")],
    attrs: Some(MirrorPadAttrs::SCHEMA),
    rules: &[
        "C1: pad_width has a pair for each axis of data",
        "C2: mode is \"SYMMETRIC\" or \"REFLECT\"",
        "C3: pad_width >= 0, and before + data[i] + after is an int64",
        "C4: pad_width <= data[i], for REFLECT < data[i]",
    ],
    rel: mirror_pad_rel,
    eval: mirror_pad_eval,
    lower: Some(Lower::Nest(mirror_pad_nest)),
    blocks: None,
    ..PAD
};

pub(crate) const DILATE: OpDef = OpDef {
    name: "nn.dilate",
    doc: "The elements of `x`, `strides[i]` apart along axis `i`, and `dilation_value` between them: `(x[i] - 1) * strides[i] + 1` \
          elements, none where there are none (`src/relay/op/nn/nn.cc`).",
    args: &[Arg::of("x", "1D Tensor")],
    // TVM registers no attribute type with it; a call brings its own, in the metadata section.
    attrs: Some(&AttrSchema { declared: false, ..*DilateAttrs::SCHEMA }),
    rules: &["C1: strides has a value for each axis of x, each a number >= 1", "C2: the dimensions of the result are int64"],
    rel: dilate_rel,
    eval: dilate_eval,
    lower: Some(Lower::Nest(dilate_nest)),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

// ---- Types ----

/// Channels without padding may lie in blocks, which are not padded either.
fn pad_blocks(schema: &AttrSchema, attrs: &[AttrValue], _: Channels) -> Option<Vec<AttrValue>> {
    let mut widths = PadAttrs::read(attrs).pad_width;
    if widths.len() != 4 || widths[1].iter().any(|&width| width != 0) {
        return None;
    }
    widths.push(vec![0, 0]);
    let mut attrs = attrs.to_vec();
    attrs[schema.position("pad_width")?] = AttrValue::List(widths.iter().map(|pair| AttrValue::ints(pair)).collect());
    Some(attrs)
}

fn pad_rel(cx: &mut RelCx) -> RelResult {
    let attrs = PadAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    require_pairs(cx, &data, &attrs.pad_width)?;
    require_mode(cx, &attrs.pad_mode)?;
    let mut shape = Shape::new();
    for (axis, widths) in attrs.pad_width.iter().enumerate() {
        require_source(cx, &data, axis, widths, &attrs.pad_mode)?;
        shape.push(padded(cx, Symbols::arith, &data, axis, widths)?);
    }
    cx.set_out(shape, data.dtype)
}

fn mirror_pad_rel(cx: &mut RelCx) -> RelResult {
    let attrs = MirrorPadAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    require_pairs(cx, &data, &attrs.pad_width)?;
    cx.require("C2", ["SYMMETRIC", "REFLECT"].contains(&attrs.mode.as_str()), || {
        Fault::attr("mode", format!("expected \"SYMMETRIC\" or \"REFLECT\", found {:?}", attrs.mode))
            .set_attr("mode", "\"SYMMETRIC\"")
    })?;
    let mut shape = Shape::new();
    for (axis, widths) in attrs.pad_width.iter().enumerate() {
        cx.require("C3", widths.iter().all(|&width| width >= 0), || {
            Fault::attr("pad_width", format!("expected widths of at least 0, found {} and {}", widths[0], widths[1]))
        })?;
        require_source(cx, &data, axis, widths, &attrs.mode)?;
        shape.push(padded(cx, Symbols::built, &data, axis, widths)?);
    }
    cx.set_out(shape, data.dtype)
}

/// `C1`.
fn require_pairs(cx: &RelCx, data: &TensorTy, pad_width: &[Vec<i64>]) -> RelResult {
    let (n, rank) = (pad_width.len(), data.rank());
    cx.require("C1", n == rank, || {
        Fault::attr("pad_width", format!("expected {}, found {n}", count(rank, "pair")))
            .at(data.place(), "")
            .equation("length(pad_width) == rank(data)", format!("{n} == {rank}"))
    })?;
    for (axis, widths) in pad_width.iter().enumerate() {
        cx.require("C1", widths.len() == 2, || {
            Fault::attr("pad_width", format!("expected a pair for axis {axis}, found {}", count(widths.len(), "number")))
        })?;
    }
    Ok(())
}

/// `C2` of `pad_mode`.
fn require_mode(cx: &RelCx, mode: &str) -> RelResult {
    cx.require("C2", ["constant", "edge", "reflect"].contains(&mode), || {
        Fault::attr("pad_mode", format!("expected \"constant\", \"edge\" or \"reflect\", found {mode:?}"))
            .set_attr("pad_mode", "\"constant\"")
    })
}

/// The dimension after padding. `of` determines the result for `?`.
fn padded(cx: &mut RelCx, of: Arith, data: &TensorTy, axis: usize, widths: &[i64]) -> RelResult<SDim> {
    let dim = data.dim(axis);
    if widths == [0, 0] {
        return Ok(dim);
    }
    let total = |dim: i64| widths[0].checked_add(widths[1])?.checked_add(dim).filter(|&total| total >= 0);
    cx.require("C3", dim.value().is_none_or(|dim| total(dim).is_some()), || {
        Fault::attr("pad_width", format!("cannot pad {} positions by {} and {}", dim.dim, widths[0], widths[1]))
            .at(data.axis(axis), "")
            .equation("0 <= before + data[i] + after", format!("0 <= {} + {} + {}", widths[0], dim.dim, widths[1]))
    })?;
    let more = widths[0].checked_add(widths[1]).map_or(Dim::Any, Dim::known);
    Ok(SDim::new(of(&mut cx.types.symbols, SymbolOp::Add, dim.dim, more), DimOrigin::Attr("pad_width")))
}

/// How many elements an axis needs for what a mode repeats of it.
fn least_source(widths: &[i64], mode: &str) -> i64 {
    match (mode, widths.iter().copied().max().unwrap_or(0)) {
        (_, ..=0) => 0,
        ("edge", _) => 1,
        ("reflect" | "REFLECT", width) => width.saturating_add(1),
        ("SYMMETRIC", width) => width,
        _ => 0,
    }
}

/// The rule that a mode finds what to repeat.
fn require_source(cx: &RelCx, data: &TensorTy, axis: usize, widths: &[i64], mode: &str) -> RelResult {
    let (attr, least) = ("pad_width", least_source(widths, mode));
    let dim = data.shape[axis];
    cx.require("C4", dim.value().is_none_or(|dim| dim >= least), || {
        Fault::attr(attr, format!("{mode} needs at least {least} positions on axis {axis}, found {dim}")).at(data.axis(axis), "")
    })
}

fn dyn_pad_rel(cx: &mut RelCx) -> RelResult {
    let attrs = PadAttrs::read(cx.attrs);
    require_mode(cx, &attrs.pad_mode)?;
    let (data, widths) = (cx.tensor(0)?, cx.tensor(1)?);
    cx.tensor(2)?;
    cx.require("C3", data.rank() >= 1, || Fault::rank("1 or more", &data))?;
    cx.require("C1", widths.rank() == 2, || Fault::rank(2, &widths))?;
    for (axis, expected) in [data.rank() as i64, 2].into_iter().enumerate() {
        cx.require("C1", widths.shape[axis].compatible(Dim::known(expected)), || {
            Fault::shape(format!("expected {expected} for axis {axis} of pad_width, found {}", widths.shape[axis]))
                .at(widths.axis(axis), "")
                .at(data.place(), "")
        })?;
    }
    cx.require("C1", widths.dtype.is_int(), || {
        Fault::dtype(format!("expected an integer dtype, found `{}`", widths.dtype)).at(widths.place(), "")
    })?;
    cx.set_out(Shape::from_elem(SDim::new(Dim::Any, DimOrigin::Op), data.rank()), data.dtype)
}

fn dilate_rel(cx: &mut RelCx) -> RelResult {
    let strides = DilateAttrs::read(cx.attrs).strides.0.unwrap_or_default();
    let x = cx.tensor(0)?;
    cx.require("C1", strides.len() == x.rank(), || {
        Fault::attr("strides", format!("expected {}, found {}", count(x.rank(), "value"), strides.len()))
            .at(x.place(), "")
            .equation("length(strides) == rank(x)", format!("{} == {}", strides.len(), x.rank()))
    })?;
    cx.require("C1", strides.iter().all(|stride| stride.value().is_some_and(|stride| stride >= 1)), || {
        Fault::attr("strides", "expected values of at least 1")
    })?;
    let mut shape = Shape::new();
    for (axis, &stride) in strides.iter().enumerate() {
        let dim = x.dim(axis);
        let size = dim.value().zip(stride.value()).map(|(dim, stride)| dilated(dim, stride));
        cx.require("C2", size != Some(None), || {
            Fault::new(codes::E0803, format!("{} elements {stride} apart are more than an int64", dim.dim)).at(x.axis(axis), "")
        })?;
        let wide = dim.dim.is_wide() || stride.is_wide();
        let dim = match size.flatten() {
            Some(value) => Dim::number(value, wide),
            None => {
                let symbols = &mut cx.types.symbols;
                let gaps = symbols.arith(SymbolOp::Sub, dim.dim, Dim::known(1));
                let reach = symbols.arith(SymbolOp::Mul, gaps, stride);
                symbols.arith(SymbolOp::Add, reach, Dim::known(1))
            }
        };
        shape.push(SDim::new(dim, DimOrigin::Attr("strides")));
    }
    cx.set_out(shape, x.dtype)
}

/// The size of an axis after dilation, where it is an int64.
fn dilated(dim: i64, stride: i64) -> Option<i64> {
    if dim == 0 { Some(0) } else { dim.checked_sub(1)?.checked_mul(stride)?.checked_add(1) }
}

// ---- Values ----

fn pad_eval(cx: &EvalCx) -> EvalResult {
    let attrs = PadAttrs::read(cx.attrs);
    let before: Vec<i64> = attrs.pad_width.iter().map(|widths| widths[0]).collect();
    Ok(pad_with(cx, 1, &before, cx.out_shape(), &attrs.pad_mode)?.into())
}

fn dyn_pad_eval(cx: &EvalCx) -> EvalResult {
    let (data, mode) = (cx.tensor(0), PadAttrs::read(cx.attrs).pad_mode);
    let widths = cx.tensor(1).to_ints();
    let mut shape = Vec::new();
    let mut before = Vec::new();
    for (widths, &dim) in widths.chunks(2).zip(data.shape()) {
        let pair: Option<Vec<i64>> = widths.iter().map(|&width| i64::try_from(width).ok()).collect();
        let size = usize::try_from(widths[0] + dim as i128 + widths[1]).ok();
        let (Some(pair), Some(size)) = (pair, size) else {
            return Err(Trap::new(codes::E0404, format!("cannot pad {dim} positions by {} and {}", widths[0], widths[1])));
        };
        if (dim as i64) < least_source(&pair, &mode) {
            return Err(Trap::new(codes::E0404, format!("{mode} cannot pad {dim} positions by {} and {}", pair[0], pair[1])));
        }
        before.push(pair[0]);
        shape.push(size);
    }
    cx.check_size(&shape, data.dtype())?;
    Ok(pad_with(cx, 2, &before, &shape, &mode)?.into())
}

/// The static operator, if the widths are known.
fn dyn_pad_fixed(known: &KnownFacts) -> Option<Fixed> {
    let widths = ints(known, 1)?;
    let pairs = AttrValue::List(widths.as_list()?.chunks(2).map(|pair| AttrValue::List(pair.into())).collect());
    let attrs = vec![pairs, AttrValue::str(&PadAttrs::read(known.attrs).pad_mode)];
    Some(Fixed::Call { def: &PAD, kept: &[0, 2], attrs })
}

/// Operand 0 padded with the first element of operand `value`.
fn pad_with(cx: &EvalCx, value: usize, before: &[i64], shape: &[usize], mode: &str) -> Result<Tensor, Trap> {
    let data = cx.tensor(0);
    let value = cx.tensor_as(value, data.dtype())?;
    if value.is_empty() {
        return Err(Trap::new(codes::E0501, "pad_val has no element"));
    }
    // The first element of pad_val stands behind those of data.
    let n = data.len();
    let value = value.reshape(&[value.len()]).map(|value| value.take_range(0, 0, 1, 1));
    let flat = [data.reshape(&[n]), value].map(|tensor| tensor.expect("as many elements"));
    let elements = Tensor::concat(&flat, 0).expect("two vectors of one dtype");
    let at = places(data.shape(), before, shape, mode);
    Ok(elements.pick(shape, 0.0, |i| Some(at(i).unwrap_or(n))))
}

fn mirror_pad_eval(cx: &EvalCx) -> EvalResult {
    let attrs = MirrorPadAttrs::read(cx.attrs);
    let before: Vec<i64> = attrs.pad_width.iter().map(|widths| widths[0]).collect();
    let data = cx.tensor(0);
    Ok(data.pick(cx.out_shape(), 0.0, places(data.shape(), &before, cx.out_shape(), &attrs.mode)).into())
}

/// For each element of the padded tensor, the element of the data it shows, or nothing.
fn places(data: &[usize], before: &[i64], shape: &[usize], mode: &str) -> impl Fn(usize) -> Option<usize> {
    move |mut i| {
        let (mut at, mut stride) = (0, 1);
        for axis in (0..shape.len()).rev() {
            at += source(((i % shape[axis]) as i64).saturating_sub(before[axis]), data[axis] as i64, mode)? * stride;
            i /= shape[axis];
            stride *= data[axis];
        }
        Some(at)
    }
}

/// The position of an axis that a position of the padded axis shows, or nothing.
fn source(at: i64, length: i64, mode: &str) -> Option<usize> {
    let inside = match mode {
        "edge" => at.clamp(0, length - 1),
        "reflect" | "REFLECT" if at < 0 => -at,
        "reflect" | "REFLECT" if at >= length => 2 * length - at - 2,
        "SYMMETRIC" if at < 0 => -at - 1,
        "SYMMETRIC" if at >= length => 2 * length - at - 1,
        _ => at,
    };
    (0..length).contains(&inside).then_some(inside as usize)
}

fn dilate_eval(cx: &EvalCx) -> EvalResult {
    let attrs = DilateAttrs::read(cx.attrs);
    let strides: Vec<usize> = attrs.strides.0.iter().flatten().map(|stride| stride.value().unwrap_or(1) as usize).collect();
    let (x, out) = (cx.tensor(0), cx.out_shape());
    let pick = |mut i: usize| {
        let (mut at, mut step) = (0, 1);
        for axis in (0..out.len()).rev() {
            let place = i % out[axis];
            i /= out[axis];
            if !place.is_multiple_of(strides[axis]) {
                return None;
            }
            at += place / strides[axis] * step;
            step *= x.shape()[axis];
        }
        Some(at)
    };
    Ok(x.pick(out, attrs.dilation_value, pick).into())
}

// ---- As loops ----

/// The widths of constant padding, if nothing is cut off.
fn pad_margins(call: &Call) -> Option<Vec<(u64, u64)>> {
    let attrs = PadAttrs::read(call.attrs);
    let pair = |widths: &Vec<i64>| Some((u64::try_from(widths[0]).ok()?, u64::try_from(widths[1]).ok()?));
    (attrs.pad_mode == "constant").then(|| attrs.pad_width.iter().map(pair).collect())?
}

fn pad_nest(call: &Call) -> Option<Template> {
    let attrs = PadAttrs::read(call.attrs);
    gather(call, &alongs(call, &attrs.pad_width, &attrs.pad_mode)?, Fill::Arg(1))
}

fn mirror_pad_nest(call: &Call) -> Option<Template> {
    let attrs = MirrorPadAttrs::read(call.attrs);
    gather(call, &alongs(call, &attrs.pad_width, &attrs.mode)?, Fill::Number(0.0))
}

fn alongs(call: &Call, pad_width: &[Vec<i64>], mode: &str) -> Option<Vec<AxisOrigin>> {
    let (data, out) = (&call.arg(0).shape, &call.out().shape);
    let along = |(axis, widths): (usize, &Vec<i64>)| match widths[..] {
        [0, 0] => Some(AxisOrigin::Same),
        _ => AxisOrigin::table(out[axis], |at| source((at as i64).saturating_sub(widths[0]), data[axis] as i64, mode)),
    };
    pad_width.iter().enumerate().map(along).collect()
}

fn dilate_nest(call: &Call) -> Option<Template> {
    let attrs = DilateAttrs::read(call.attrs);
    let strides: Vec<usize> = attrs.strides.0.iter().flatten().map(|stride| stride.value().unwrap_or(1) as usize).collect();
    let along = |(axis, &stride): (usize, &usize)| match stride {
        1 => Some(AxisOrigin::Same),
        _ => AxisOrigin::table(call.out().shape[axis], |at| (at as usize).is_multiple_of(stride).then_some(at as usize / stride)),
    };
    let axes = strides.iter().enumerate().map(along).collect::<Option<Vec<AxisOrigin>>>()?;
    gather(call, &axes, Fill::Number(attrs.dilation_value))
}

// ---- In ONNX ----

pub(crate) const ONNX: &[(&str, Onnx)] = &[
    (PAD.name, Onnx::Nodes(pad_onnx)),
    (DYN_PAD.name, Onnx::Nodes(dyn_pad_onnx)),
    (MIRROR_PAD.name, Onnx::Nodes(mirror_pad_onnx)),
];

/// Widths as ONNX writes them: all before, then all after.
fn widths_onnx(pairs: &[Vec<i64>]) -> Vec<i64> {
    [0, 1].iter().flat_map(|&side| pairs.iter().map(move |pair| pair[side])).collect()
}

fn pad_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let widths = cx.ints("pads", &widths_onnx(&PadAttrs::read(cx.attrs).pad_width));
    padded_onnx(cx, widths, 1)
}

fn dyn_pad_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let pairs = cx.tensor(1);
    let columns = cx.transposed(pairs, &[1, 0]);
    let widths = cx.reshaped(columns, &[-1]);
    let widths = cx.cast(widths, cx.dtype(pairs), DType::I64)?;
    padded_onnx(cx, widths, 2)
}

/// The data padded by widths, with the operand of the value.
fn padded_onnx(cx: &mut OnnxCx, widths: ValueId, value: usize) -> OnnxResult {
    let (data, mode) = (cx.tensor(0), PadAttrs::read(cx.attrs).pad_mode);
    if mode != "constant" {
        return Ok(cx.node("Pad", &[data, widths]).str("mode", &mode).one().into());
    }
    let n_values = cx.shape(cx.tensor(value))?.iter().product::<i64>();
    let is_scalar = cx.rank(cx.tensor(value)) == 0;
    let mut value = cx.operand_as_out(value)?;
    if n_values != 1 {
        // The first of several counts.
        let (row, first) = (cx.reshaped(value, &[-1]), cx.scalar("first", DType::I64, 0.0)?);
        value = cx.node("Gather", &[row, first]).one();
    } else if !is_scalar {
        value = cx.reshaped(value, &[]);
    }
    Ok(cx.node("Pad", &[data, widths, value]).one().into())
}

fn mirror_pad_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let attrs = MirrorPadAttrs::read(cx.attrs);
    if attrs.mode != "REFLECT" {
        return Err("a mirror behind the outermost element".into());
    }
    let (data, widths) = (cx.tensor(0), cx.ints("pads", &widths_onnx(&attrs.pad_width)));
    Ok(cx.node("Pad", &[data, widths]).str("mode", "reflect").one().into())
}

pub(crate) const FAMILY: &[OpDef] = &[PAD, DYN_PAD, MIRROR_PAD, DILATE];

#[cfg(test)]
mod tests {
    use super::super::testing::{ANY, Attrs, Operand, eval, hostile, rel, t};
    use super::*;
    use relayc_ir::attrs::AttrValue;
    use relayc_ir::types::DType;

    fn width(pairs: &[&[i64]]) -> (&'static str, AttrValue) {
        ("pad_width", AttrValue::List(pairs.iter().map(|pair| AttrValue::ints(pair)).collect()))
    }

    fn mode(mode: &str) -> (&'static str, AttrValue) {
        ("pad_mode", AttrValue::str(mode))
    }

    fn padded(shape: &[i64], attrs: Attrs) -> String {
        rel("nn.pad", &[t(shape, DType::F32), t(&[], DType::I32)], attrs)
    }

    #[test]
    fn shapes_and_rules() {
        let all = width(&[&[-1, -1], &[2, -2], &[0, -2], &[4, 4]]);
        assert_eq!(padded(&[4, 6, 3, 5], &[all]), "Tensor[(2, 6, 1, 13), float32]");
        assert_eq!(padded(&[ANY, 2], &[width(&[&[1, 1], &[0, 1]])]), "Tensor[(?, 3), float32]");
        assert_eq!(padded(&[2], &[width(&[])]), "E0404 C1");
        assert_eq!(padded(&[2], &[width(&[&[1]])]), "E0404 C1");
        assert_eq!(padded(&[2], &[width(&[&[0, 0]]), mode("wrap")]), "E0404 C2");
        assert_eq!(padded(&[2], &[width(&[&[-2, -1]])]), "E0404 C3");
        assert_eq!(padded(&[2], &[width(&[&[i64::MAX, 1]])]), "E0404 C3");
        assert_eq!(padded(&[2], &[width(&[&[2, 0]]), mode("reflect")]), "E0404 C4");
        assert_eq!(padded(&[0], &[width(&[&[1, 0]]), mode("edge")]), "E0404 C4");
        hostile("nn.pad", &[t(&[2], DType::F32), t(&[], DType::F32)], &[], &[], &["pad_width"]);
        for a in [i64::MIN, -1, i64::MAX] {
            for b in [i64::MIN, -1, i64::MAX] {
                padded(&[2], &[width(&[&[a, b]]), mode("reflect")]);
                padded(&[ANY], &[width(&[&[a, b]]), mode("edge")]);
            }
        }
    }

    #[test]
    fn what_new_positions_hold() {
        let x = Tensor::from_vec(&[3], vec![1i64, 2, 3]);
        let of = |value: i64, attrs: Attrs| {
            eval("nn.pad", &[x.clone(), Tensor::scalar(value)], attrs).expect("no trap").to_vec::<i64>().expect("i64")
        };
        assert_eq!(of(i64::MAX, &[width(&[&[1, 2]])]), [i64::MAX, 1, 2, 3, i64::MAX, i64::MAX]);
        assert_eq!(of(0, &[width(&[&[1, 2]]), mode("edge")]), [1, 1, 2, 3, 3, 3]);
        assert_eq!(of(0, &[width(&[&[1, 2]]), mode("reflect")]), [2, 1, 2, 3, 2, 1]);
        assert_eq!(of(9, &[width(&[&[-1, 1]])]), [2, 3, 9]);
        let y = Tensor::from_vec(&[1, 2], vec![1i8, 2]);
        let both = eval("nn.pad", &[y, Tensor::scalar(0i8)], &[width(&[&[1, 0], &[0, 1]])]).expect("no trap");
        assert_eq!(both.to_vec::<i8>(), Some(vec![0, 0, 0, 1, 2, 0]));
    }

    #[test]
    fn mirrors() {
        let x = Tensor::from_vec(&[3], vec![1i8, 2, 3]);
        let side = |name: &str| ("mode", AttrValue::str(name));
        let of =
            |attrs: Attrs| eval("nn.mirror_pad", std::slice::from_ref(&x), attrs).expect("no trap").to_vec::<i8>().expect("int8");
        assert_eq!(of(&[width(&[&[3, 2]])]), [3, 2, 1, 1, 2, 3, 3, 2]);
        assert_eq!(of(&[width(&[&[2, 1]]), side("REFLECT")]), [3, 2, 1, 2, 3, 2]);
        let padded = |attrs: Attrs| rel("nn.mirror_pad", &[t(&[3, ANY], DType::F32)], attrs);
        assert_eq!(padded(&[width(&[&[3, 2], &[9, 0]])]), "Tensor[(8, Add(?, 9)), float32]");
        assert_eq!(padded(&[width(&[&[3, 2]])]), "E0404 C1");
        assert_eq!(padded(&[width(&[&[3], &[1]])]), "E0404 C1");
        assert_eq!(padded(&[width(&[&[3, 2], &[9, 0]]), side("symmetric")]), "E0404 C2");
        assert_eq!(padded(&[width(&[&[3, -2], &[9, 0]])]), "E0404 C3");
        assert_eq!(padded(&[width(&[&[4, 2], &[9, 0]])]), "E0404 C4");
        assert_eq!(padded(&[width(&[&[3, 2], &[9, 0]]), side("REFLECT")]), "E0404 C4");
        hostile("nn.mirror_pad", &[t(&[2], DType::F32)], &[], &[], &["pad_width"]);
    }

    #[test]
    fn widths_as_data() {
        let rel = |widths: Operand| rel("dyn.nn.pad", &[t(&[1, ANY], DType::F32), widths, t(&[], DType::F64)], &[]);
        assert_eq!(rel(t(&[2, ANY], DType::I32)), "Tensor[(?, ?), float32]");
        assert_eq!(rel(t(&[3, 2], DType::I32)), "E0308 C1");
        assert_eq!(rel(t(&[4], DType::I32)), "E0303 C1");
        assert_eq!(rel(t(&[2, 2], DType::F32)), "E0305 C1");
    }

    #[test]
    fn positions_between() {
        let of =
            |shape: &[i64], strides: &[i64]| rel("nn.dilate", &[t(shape, DType::F32)], &[("strides", AttrValue::ints(strides))]);
        assert_eq!(of(&[3, ANY, 0], &[4, 2, 3]), "Tensor[(9, ?, 0), float32]");
        assert_eq!(of(&[3], &[4, 2]), "E0404 C1");
        assert_eq!(of(&[3], &[0]), "E0404 C1");
        assert_eq!(of(&[1 << 40], &[1 << 40]), "E0803 C2");
        hostile("nn.dilate", &[t(&[2], DType::F32)], &[], &[], &["strides"]);
        let x = Tensor::from_vec(&[2, 2], vec![1u8, 2, 3, 4]);
        let attrs = [("strides", AttrValue::ints(&[2, 3])), ("dilation_value", AttrValue::float(9.0))];
        let out = eval("nn.dilate", &[x], &attrs).expect("no trap");
        assert_eq!(out.to_vec::<u8>(), Some(vec![1, 9, 9, 2, 9, 9, 9, 9, 3, 9, 9, 4]));
    }
}
