//! Sequences of different lengths in one tensor, and sliding windows over a tensor.

use super::attrs::Dims;
use super::gather_lowering::{constant, copy, read};
use super::index::require_same_dim;
use super::lower::{IndexMode, Positions, lane, tabled};
use crate::prelude::*;
use relayc_ir::types::DTypeCode;

attrs! {
    "relay.attrs.SequenceMaskAttrs" =>
    pub(crate) struct SequenceMaskAttrs {
        /// The value after the end of a sequence.
        pub(crate) mask_value: f64 = 0.0;
        /// The axis along which a sequence runs, 0 or 1; the other one counts sequences.
        pub(crate) axis: i64 = 0;
    }

    "relay.attrs.ReverseSequenceAttrs" =>
    pub(crate) struct ReverseSequenceAttrs {
        /// The axis along which a sequence runs; a negative axis counts from the end.
        pub(crate) seq_axis: Option<i64> = Some(1);
        /// The axis that counts sequences; a negative axis counts from the end.
        pub(crate) batch_axis: Option<i64> = Some(0);
    }

    "relay.attrs.SlidingWindowAttrs" =>
    pub(crate) struct SlidingWindowAttrs {
        /// The first axis along which the window slides; it also slides along all later axes.
        pub(crate) axis: i64;
        /// The window's dimensions, one for each of these axes.
        pub(crate) window_shape: Dims;
        /// The step of the window along each of these axes.
        pub(crate) strides: Dims;
    }
}

pub(crate) const SEQUENCE_MASK: OpDef = OpDef {
    name: "sequence_mask",
    doc: "`data` with `mask_value`, converted to its dtype, wherever the position along `axis`, converted to the dtype of \
          `valid_length`, is not below the length of its sequence (`include/tvm/topi/transform.h`).",
    args: &[Arg::tensor("data"), Arg::tensor("valid_length")],
    attrs: Some(SequenceMaskAttrs::SCHEMA),
    rules: &["C1: axis is 0 or 1", "C2: rank(data) >= 2", "C3: rank(valid_length) == 1, and valid_length[0] == data[1 - axis]"],
    rel: sequence_mask_rel,
    eval: sequence_mask_eval,
    lower: Some(Lower::Nest(sequence_mask_nest)),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

fn sequence_mask_rel(cx: &mut RelCx) -> RelResult {
    let attrs = SequenceMaskAttrs::read(cx.attrs);
    let (data, lengths) = (cx.tensor(0)?, cx.tensor(1)?);
    cx.require("C1", [0, 1].contains(&attrs.axis), || {
        Fault::attr("axis", format!("expected axis 0 or 1, found {}", attrs.axis))
    })?;
    cx.require("C2", data.rank() >= 2, || Fault::rank("at least 2", &data))?;
    cx.require("C3", lengths.rank() == 1, || Fault::rank(1, &lengths))?;
    require_same_dim(cx, "C3", ("data", &data, 1 - attrs.axis as usize), ("valid_length", &lengths, 0))?;
    cx.set_out(data.dims(), data.dtype)
}

fn sequence_mask_eval(cx: &EvalCx) -> EvalResult {
    let (data, lengths, attrs) = (cx.tensor(0), cx.tensor(1), SequenceMaskAttrs::read(cx.attrs));
    let (rows, columns) = (data.shape()[0], data.shape()[1]);
    let inner: usize = data.shape()[2..].iter().product();
    // Positions and lengths are compared as numbers of the lengths' dtype, floats among them.
    let along = relayc_ir::tensor::Tensor::from_fn(&[rows, columns], |i| {
        if attrs.axis == 0 { (i / columns) as i64 } else { (i % columns) as i64 }
    });
    let across = if attrs.axis == 0 { [1, columns] } else { [rows, 1] };
    let lengths = lengths.reshape(&across).expect("the relation required one length for each sequence");
    let inside = along
        .cast(lengths.dtype())
        .and_then(|along| along.compare(&lengths, |at, length| at < length || length.is_nan(), |at, length| at < length))
        .expect("they broadcast")
        .to_ints();
    Ok(data.pick(data.shape(), attrs.mask_value, |i| (inside[i / inner] != 0).then_some(i)).into())
}

fn sequence_mask_nest(call: &Call) -> Option<Template> {
    let attrs = SequenceMaskAttrs::read(call.attrs);
    let (data, lengths) = (call.arg(0), call.arg(1));
    let lane_of_data = lane(data.dtype)?;
    let axis = usize::try_from(attrs.axis).ok()?;
    tabled(data.shape[axis])?;
    let n = data.shape[axis] as i32;
    let table = match lengths.dtype {
        DType::I32 => Table::ints(0..n),
        DType::F32 => Table::floats((0..n).map(|at| at as f32)),
        _ => return None,
    };
    let mut template = Template { dims: data.shape.clone(), ..Template::default() };
    let mut body = Body::new();
    let place = read(&mut template, &mut body, Read::table(table, AxisMap::of(axis)));
    let length = read(&mut template, &mut body, Read::of(Source::Arg(1), vec![AxisMap::of(1 - axis)]));
    let x = read(&mut template, &mut body, Read::of(Source::Arg(0), (0..data.shape.len()).map(AxisMap::of).collect()));
    // Below a length that is no number is everything.
    let behind = body.cmp(Cmp::Ge, place, length);
    let mask = constant(&mut body, lane_of_data, attrs.mask_value)?;
    let val = body.select(behind, mask, x);
    template.finish(body, val)
}

pub(crate) const REVERSE_SEQUENCE: OpDef = OpDef {
    name: "reverse_sequence",
    doc: "`data` with the first `seq_lengths[b]` positions of `seq_axis` in reverse order, for each position `b` of \
          `batch_axis`. A length beyond the axis is its length, one below 1 is 1 (`include/tvm/topi/transform.h`).",
    args: &[Arg::tensor("data"), Arg::tensor("seq_lengths")],
    attrs: Some(ReverseSequenceAttrs::SCHEMA),
    rules: &[
        "C1: seq_lengths is a vector of signed integers",
        "C2: batch_axis and seq_axis are in -rank(data)…rank(data)-1",
        "C3: seq_lengths[0] == data[batch_axis]",
    ],
    rel: reverse_sequence_rel,
    eval: reverse_sequence_eval,
    lower: Some(Lower::Nest(reverse_sequence_nest)),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

fn reverse_sequence_rel(cx: &mut RelCx) -> RelResult {
    let attrs = ReverseSequenceAttrs::read(cx.attrs);
    let (data, lengths) = (cx.tensor(0)?, cx.tensor(1)?);
    cx.require("C1", lengths.rank() == 1, || Fault::rank(1, &lengths))?;
    cx.require("C1", lengths.dtype.code == DTypeCode::Int, || {
        Fault::dtype(format!("expected a signed integer dtype, found `{}`", lengths.dtype)).at(lengths.place(), "")
    })?;
    let batch = cx.axis("C2", "batch_axis", attrs.batch_axis.unwrap_or(0), data.rank())?;
    require_same_dim(cx, "C3", ("data", &data, batch), ("seq_lengths", &lengths, 0))?;
    cx.axis("C2", "seq_axis", attrs.seq_axis.unwrap_or(1), data.rank())?;
    cx.set_out(data.dims(), data.dtype)
}

fn reverse_sequence_eval(cx: &EvalCx) -> EvalResult {
    let (data, attrs) = (cx.tensor(0), ReverseSequenceAttrs::read(cx.attrs));
    let axis = |axis: Option<i64>, default| axis.unwrap_or(default).rem_euclid(data.rank() as i64) as usize;
    let inner = |axis: usize| data.shape()[axis + 1..].iter().product::<usize>();
    let (sequence, batch) = (axis(attrs.seq_axis, 1), axis(attrs.batch_axis, 0));
    let (step, batch_step, n) = (inner(sequence), inner(batch), data.shape()[sequence]);
    let lengths: Vec<usize> = cx.tensor(1).to_ints().iter().map(|&length| length.clamp(0, n as i128) as usize).collect();
    let source = |i: usize| {
        let (at, length) = (i / step % n, lengths[i / batch_step % lengths.len()]);
        Some(if at < length { i - at * step + (length - 1 - at) * step } else { i })
    };
    Ok(data.pick(data.shape(), 0.0, source).into())
}

fn reverse_sequence_nest(call: &Call) -> Option<Template> {
    let (data, attrs) = (call.arg(0), ReverseSequenceAttrs::read(call.attrs));
    lane(data.dtype)?;
    (!data.shape.contains(&0)).then_some(())?;
    let rank = data.shape.len();
    let (sequence, batch) = (call.axis(attrs.seq_axis.unwrap_or(1), rank)?, call.axis(attrs.batch_axis.unwrap_or(0), rank)?);
    tabled(data.shape[sequence])?;
    let n = data.shape[sequence] as i32;
    let mut template = Template { dims: data.shape.clone(), ..Template::default() };
    let mut body = Body::new();
    let place = read(&mut template, &mut body, Read::table(Table::ints(0..n), AxisMap::of(sequence)));
    let length = read(&mut template, &mut body, Read::of(Source::Arg(1), vec![AxisMap::of(batch)]));
    let (zero, most, one) = (body.i32(0), body.i32(n), body.i32(1));
    let length = if call.arg(1).dtype == DType::I32 {
        let length = body.bin(BinaryOp::Max, length, zero);
        body.bin(BinaryOp::Min, length, most)
    } else {
        template.positions.push(Positions { arg: 1, lengths: vec![data.shape[sequence] + 1], outside: IndexMode::Nearest });
        length
    };
    let last = body.bin(BinaryOp::Sub, length, one);
    let turned = body.bin(BinaryOp::Sub, last, place);
    let inside = body.cmp(Cmp::Lt, place, length);
    let from = body.select(inside, turned, place);
    let mut index: Vec<AxisMap> = (0..rank).map(AxisMap::of).collect();
    index[sequence] = AxisMap::zero();
    let val = read(&mut template, &mut body, Read { picked: vec![(sequence, from)], ..Read::of(Source::Arg(0), index) });
    template.finish(body, val)
}

pub(crate) const SLIDING_WINDOW: OpDef = OpDef {
    name: "sliding_window",
    doc: "The positions of a window that moves by `strides` along `axis` and the axes after it: the axes before `axis`, then the \
          positions of the window along each axis, then the window's own axes (`include/tvm/topi/transform.h`).",
    args: &[Arg::tensor("data")],
    attrs: Some(SlidingWindowAttrs::SCHEMA),
    rules: &[
        "C1: axis is in 0…rank(data)-1",
        "C2: window_shape and strides have a number for each axis from axis on",
        "C3: strides are at least 1, and so are the window's dimensions",
        "C4: window_shape[i] - 1 <= data[axis + i]",
    ],
    rel: sliding_window_rel,
    eval: sliding_window_eval,
    lower: Some(Lower::Nest(sliding_window_nest)),
    ..OpDef::BASE
};

fn sliding_window_rel(cx: &mut RelCx) -> RelResult {
    let attrs = SlidingWindowAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    let axis = usize::try_from(attrs.axis).ok().filter(|&axis| axis < data.rank());
    cx.require("C1", axis.is_some(), || {
        Fault::attr("axis", format!("expected axis in 0…{}, found {}", data.rank() as i64 - 1, attrs.axis)).at(data.place(), "")
    })?;
    let axis = axis.unwrap_or(0);
    let n = data.rank() - axis;
    let window = require_numbers(cx, "window_shape", attrs.window_shape, n)?;
    let strides = require_numbers(cx, "strides", attrs.strides, n)?;
    let mut shape: Shape = (0..axis).map(|at| data.dim(at)).collect();
    for (i, (&size, &stride)) in window.iter().zip(&strides).enumerate() {
        let length = data.shape[axis + i];
        let fits = size.value().zip(length.value()).is_none_or(|(size, length)| size - 1 <= length);
        cx.require("C4", fits, || {
            Fault::attr("window_shape", format!("a window of {size} does not fit in {length}"))
                .at(data.axis(axis + i), "")
                .equation(format!("window_shape[{i}] - 1 <= data[{}]", axis + i), format!("{size} - 1 <= {length}"))
        })?;
        // As TVM counts them: floordiv(length - (size - 1) + stride - 1, stride).
        let symbols = &mut cx.types.symbols;
        let (one, mut by_stride) = (Dim::known(1), symbols.by(stride));
        let reach = symbols.built(SymbolOp::Sub, size, one);
        let starts = symbols.built(SymbolOp::Sub, length, reach);
        let positions = match (starts.value(), stride.value()) {
            // The sum may overflow an int64; the quotient does not.
            (Some(n), Some(step)) => {
                let n = (i128::from(n) + i128::from(step) - 1).div_euclid(i128::from(step));
                Dim::number(n as i64, starts.is_wide() || stride.is_wide())
            }
            _ => {
                let sum = by_stride.built(symbols, SymbolOp::Add, starts);
                let sum = symbols.built(SymbolOp::Sub, sum, one);
                by_stride.built(symbols, SymbolOp::FloorDiv, sum)
            }
        };
        shape.push(SDim::new(positions, DimOrigin::Rule("C4")));
    }
    shape.extend(window.iter().map(|&size| SDim::new(size, DimOrigin::Attr("window_shape"))));
    cx.set_out(shape, data.dtype)
}

/// As many numbers as there are axes to slide along.
fn require_numbers(cx: &RelCx, name: &'static str, list: Dims, n: usize) -> RelResult<Vec<Dim>> {
    let list = list.0.unwrap_or_default();
    cx.require("C2", list.len() == n, || Fault::attr(name, format!("expected {n} numbers, found {}", list.len())))?;
    let wrong = list.iter().find(|dim| dim.value().is_none_or(|value| value < 1));
    cx.require("C3", wrong.is_none(), || {
        Fault::attr(name, format!("expected at least 1, found {}", wrong.unwrap_or(&Dim::Any)))
    })?;
    Ok(list)
}

fn sliding_window_eval(cx: &EvalCx) -> EvalResult {
    let (data, attrs) = (cx.tensor(0), SlidingWindowAttrs::read(cx.attrs));
    let axis = attrs.axis as usize;
    let strides: Vec<usize> =
        attrs.strides.0.unwrap_or_default().iter().map(|stride| stride.value().unwrap_or(1) as usize).collect();
    let out = cx.out_shape();
    let source = |i: usize| {
        // The indices of the result, of which the last axes say the place in the window.
        let (mut rest, mut index) = (i, vec![0; out.len()]);
        for (at, &n) in index.iter_mut().zip(out).rev() {
            (*at, rest) = (rest % n, rest / n);
        }
        let position = |at: usize| match at.checked_sub(axis) {
            Some(slid) => index[at] * strides[slid] + index[at + strides.len()],
            None => index[at],
        };
        Some(data.shape().iter().enumerate().fold(0, |to, (at, &n)| to * n + position(at)))
    };
    Ok(data.pick(out, 0.0, source).into())
}

fn sliding_window_nest(call: &Call) -> Option<Template> {
    let attrs = SlidingWindowAttrs::read(call.attrs);
    let axis = usize::try_from(attrs.axis).ok()?;
    let strides: Vec<i64> = attrs.strides.0?.iter().map(|stride| stride.value()).collect::<Option<_>>()?;
    let of = |at: usize| match at.checked_sub(axis) {
        Some(slid) => AxisMap { offset: 0, terms: vec![(at, strides[slid]), (at + strides.len(), 1)] },
        None => AxisMap::of(at),
    };
    let out = &call.out().shape;
    copy(call, out.clone(), (0..call.arg(0).shape.len()).map(of).collect(), (0..out.len()).map(AxisMap::of).collect())
}

pub(crate) const ONNX: &[(&str, Onnx)] = &[(REVERSE_SEQUENCE.name, Onnx::Nodes(reverse_sequence_onnx))];

/// Lengths that no sequence has are brought inside first.
fn reverse_sequence_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (attrs, data, lengths) = (ReverseSequenceAttrs::read(cx.attrs), cx.tensor(0), cx.tensor(1));
    DTypeClass::Older.require(cx.out_dtype())?;
    let axis = |axis: Option<i64>, default: i64| axis.unwrap_or(default).rem_euclid(cx.rank(data) as i64);
    let (time, batch) = (axis(attrs.seq_axis, 1), axis(attrs.batch_axis, 0));
    if !matches!((time, batch), (0, 1) | (1, 0)) {
        return Err("other axes than the first two".into());
    }
    let least = cx.ints("least", &[1]);
    let most = match cx.dim(data, time as usize) {
        Ok(longest) => cx.ints("most", &[longest.max(1)]),
        Err(_) => {
            let longest = cx.length(data, time as usize);
            cx.node("Max", &[longest, least]).one()
        }
    };
    let lengths = cx.cast(lengths, cx.dtype(lengths), DType::I64)?;
    let lengths = cx.node("Max", &[lengths, least]).one();
    let lengths = cx.node("Min", &[lengths, most]).one();
    Ok(cx.node("ReverseSequence", &[data, lengths]).int("time_axis", time).int("batch_axis", batch).one().into())
}

pub(crate) const FAMILY: &[OpDef] = &[SEQUENCE_MASK, REVERSE_SEQUENCE, SLIDING_WINDOW];

#[cfg(test)]
mod tests {
    use super::super::testing::{ANY, Attrs, hostile, rel, t};
    use super::*;
    use crate::trial::{call, extremes};
    use relayc_ir::attrs::AttrValue;
    use relayc_ir::tensor::Tensor;
    use relayc_ir::types::DType;

    #[test]
    fn masks() {
        let mask = || call(&SEQUENCE_MASK).int("axis", 1);
        assert_eq!(mask().out(&["(5, ?, 3) float64", "(5) float32"]), "Tensor[(5, ?, 3), float64]");
        assert_eq!(mask().fault(&["(5, 8) int8", "(8) int32"]).rule, "C3");
        assert_eq!(mask().fault(&["(5, 8) int8", "(5, 1) int32"]).rule, "C3");
        assert_eq!(mask().fault(&["(5) int8", "(5) int32"]).rule, "C2");
        assert_eq!(call(&SEQUENCE_MASK).int("axis", -1).fault(&["(5, 8) int8", "(5) int32"]).rule, "C1");
        extremes(mask, &["(5, 8) float32", "(5) int32"]);
        let data = Tensor::from_fn(&[2, 3], |i| i as i8);
        let lengths = Tensor::from_vec(&[2], vec![f32::NAN, 1.5]);
        let masked = mask().attr("mask_value", AttrValue::float(-7.5)).values(&[&data, &lengths]);
        assert_eq!(masked, [0.0, 1.0, 2.0, 3.0, 4.0, -7.0]);
        let columns = call(&SEQUENCE_MASK).values(&[&data, &Tensor::from_vec(&[3], vec![0i64, 1, 9])]);
        assert_eq!(columns, [0.0, 1.0, 2.0, 0.0, 0.0, 5.0]);
    }

    #[test]
    fn reversed_beginnings() {
        let reverse = |seq, batch| call(&REVERSE_SEQUENCE).int("seq_axis", seq).int("batch_axis", batch);
        assert_eq!(reverse(-1, 0).out(&["(4, ?) int8", "(?) int64"]), "Tensor[(4, ?), int8]");
        assert_eq!(reverse(1, 0).fault(&["(4, 3) int8", "(3) int64"]).rule, "C3");
        assert_eq!(reverse(2, 0).fault(&["(4, 3) int8", "(4) int64"]).rule, "C2");
        assert_eq!(reverse(1, 0).fault(&["(4, 3) int8", "(4) uint8"]).rule, "C1");
        extremes(|| reverse(1, 0), &["(5, 8) float32", "(5) int32"]);
        let data = Tensor::from_fn(&[2, 3], |i| i as i32);
        let lengths = |lengths: &[i32]| Tensor::from_vec(&[lengths.len()], lengths.into());
        assert_eq!(reverse(1, 0).values(&[&data, &lengths(&[2, 9])]), [1.0, 0.0, 2.0, 5.0, 4.0, 3.0]);
        assert_eq!(reverse(0, 1).values(&[&data, &lengths(&[2, -1, 2])]), [3.0, 1.0, 5.0, 0.0, 4.0, 2.0]);
        assert_eq!(reverse(1, 1).values(&[&data, &lengths(&[3, 3, 0])]), [2.0, 1.0, 2.0, 5.0, 4.0, 5.0]);
    }

    fn window(shape: &[i64], attrs: Attrs) -> String {
        rel("sliding_window", &[t(shape, DType::F32)], attrs)
    }

    #[test]
    fn windows() {
        let attrs = |axis, size: &[i64], strides: &[i64]| {
            [("axis", AttrValue::int(axis)), ("window_shape", AttrValue::ints(size)), ("strides", AttrValue::ints(strides))]
        };
        let shape = window(&[2, 3, 32, 32], &attrs(1, &[3, 4, 5], &[1, 2, 3]));
        assert_eq!(shape, "Tensor[(2, 1, 15, 10, 3, 4, 5), float32]");
        assert_eq!(window(&[2, ANY], &attrs(1, &[3], &[1])), "Tensor[(2, Sub(Add(Sub(?, 2), 1), 1), 3), float32]");
        assert_eq!(window(&[2], &attrs(0, &[3], &[1])), "Tensor[(0, 3), float32]");
        assert_eq!(window(&[2], &attrs(1, &[3], &[1])), "E0404 C1");
        assert_eq!(window(&[2, 2], &attrs(0, &[1], &[1])), "E0404 C2");
        assert_eq!(window(&[2], &attrs(0, &[1], &[0])), "E0404 C3");
        assert_eq!(window(&[2], &attrs(0, &[4], &[1])), "E0404 C4");
        let given = attrs(0, &[1, 1], &[1, 1]);
        hostile("sliding_window", &[t(&[2, 3], DType::F32)], &given, &["axis"], &["window_shape", "strides"]);
        let data = Tensor::from_fn(&[2, 5], |i| i as i32);
        let slid = call(&SLIDING_WINDOW).int("axis", 1).ints("window_shape", &[3]).ints("strides", &[2]).values(&[&data]);
        assert_eq!(slid, [0.0, 1.0, 2.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 7.0, 8.0, 9.0]);
    }
}
