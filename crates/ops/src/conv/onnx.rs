//! Exports convolutions to ONNX, which supports floats and bytes, channels first.
//!
//! Products of bytes are those of `ConvInteger`, also where the program makes the bytes wider and subtracts zero points first. Others of
//! integers go through floats where these hold every sum exactly.

use super::rel::letters;
use super::{CONV1D, CONV1D_TRANSPOSE, CONV2D, CONV2D_TRANSPOSE, CONV3D, CONV3D_TRANSPOSE, Conv2dAttrs, read_transpose};
use crate::onnx::{pads, whole};
use crate::prelude::*;
use crate::window::{DHW, HW, W};

pub(crate) const ONNX: &[(&str, Onnx)] = &[
    (CONV1D.name, Onnx::Nodes(|cx| conv_onnx(cx, W, None))),
    (CONV2D.name, Onnx::Nodes(|cx| conv_onnx(cx, HW, None))),
    (CONV3D.name, Onnx::Nodes(|cx| conv_onnx(cx, DHW, None))),
    (CONV1D_TRANSPOSE.name, Onnx::Nodes(|cx| transpose_onnx(cx, W, None))),
    (CONV2D_TRANSPOSE.name, Onnx::Nodes(|cx| transpose_onnx(cx, HW, None))),
    (CONV3D_TRANSPOSE.name, Onnx::Nodes(|cx| transpose_onnx(cx, DHW, None))),
];

/// The zero points of data and weight, of which the products are to be taken without them.
type ZeroPoints = Option<[Tensor; 2]>;

/// In which numbers the products are taken.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Arithmetic {
    /// In int32, of bytes.
    Bytes,
    /// In floats, whose sums are at most so large, if they stand for integers.
    Floats(DType, f64),
}

impl Arithmetic {
    /// For an element of the result, there are as many terms as the product of these dimensions.
    fn of(cx: &OnnxCx, zero_points: &ZeroPoints, terms: &[i64], bytes: bool) -> Result<Arithmetic, String> {
        let out = cx.out_dtype();
        if out.is_float() || out.is_bool() {
            DTypeClass::Ieee.require(out)?;
            return Ok(Arithmetic::Floats(out, 0.0));
        }
        let of_bytes = |arg: usize| {
            let dtype = cx.dtype(cx.tensor(arg));
            let zero_point = zero_points.as_ref().map(|zero_points| &zero_points[arg]);
            let fits = |point: &Tensor| point.len() == 1 && point.cast(dtype).is_some_and(|own| own.to_ints() == point.to_ints());
            [DType::I8, DType::U8].contains(&dtype) && zero_point.is_none_or(fits)
        };
        let largest = |arg: usize| largest(cx.dtype(cx.tensor(arg)), zero_points.as_ref().map(|zero_points| &zero_points[arg]));
        let sum = terms.iter().map(|&dim| dim as f64).product::<f64>() * largest(0)? * largest(1)?;
        if bytes && of_bytes(0) && of_bytes(1) && (out.bits <= 32 || sum < 2f64.powi(31)) {
            return Ok(Arithmetic::Bytes);
        }
        match sum {
            _ if sum <= 2f64.powi(24) => Ok(Arithmetic::Floats(DType::F32, sum)),
            _ if sum <= 2f64.powi(53) => Ok(Arithmetic::Floats(DType::F64, sum)),
            _ => Err("sums of integers that no float is sure to hold".into()),
        }
    }
}

/// The largest difference, without its sign, of an integer of a dtype from the zero points.
fn largest(dtype: DType, zero_points: Option<&Tensor>) -> Result<f64, String> {
    let ends = match dtype {
        DType::I8 => [-128, 127],
        DType::U8 => [0, 255],
        DType::I16 => [-32_768, 32_767],
        DType::U16 => [0, 65_535],
        _ => return Err(format!("products of `{dtype}`, whose sums no float is sure to hold")),
    };
    let points = zero_points.map_or(vec![0], Tensor::to_ints);
    let differences: Vec<i128> = points.iter().flat_map(|point| ends.map(|end: i128| end - point)).collect();
    // Beyond, those of a transposed convolution wrap.
    if zero_points.is_some() && differences.iter().any(|&difference| i16::try_from(difference).is_err()) {
        return Err("differences from a zero point that are no int16".into());
    }
    Ok(differences.iter().map(|difference| difference.abs()).max().unwrap_or(0) as f64)
}

/// A convolution of the first two operands.
pub(crate) fn conv_onnx(cx: &mut OnnxCx, spatial: &str, zero_points: ZeroPoints) -> OnnxResult {
    let attrs = Conv2dAttrs::read(cx.attrs);
    let mut shape = weight_shape(cx, &attrs, spatial, 'O')?;
    // A depthwise weight may hold several outputs of a channel side by side on I: (O, M, …) is (O * M, 1, …) then.
    let may_be = shape[0] == attrs.groups && shape[1] != 1;
    if may_be && shape[1].checked_mul(attrs.groups) != Some(size(cx, 0, &attrs.data_layout, 'C')?) {
        shape = [&[shape[0] * shape[1], 1], &shape[2..]].concat();
    }
    let of_ints =
        zero_points.is_none() && [0, 1].map(|arg| cx.dtype(cx.tensor(arg))) == [DType::I32; 2] && cx.out_dtype() == DType::I32;
    if of_ints
        && let Some(data) = centred(cx, 0)
        && let Some(weight) = centred(cx, 1)
    {
        let values = [data.bytes, weight.bytes];
        let inputs = operands(cx, &attrs, spatial, ('O', &shape), values, &None, Arithmetic::Bytes)?;
        let inputs = inputs.into_iter().map(Some).chain([data.zero_point, weight.zero_point]).collect();
        return convolved(cx, &attrs, spatial, ("ConvInteger", inputs), &shape, Arithmetic::Bytes);
    }
    let arithmetic = Arithmetic::of(cx, &zero_points, &shape[1..], true)?;
    let values = [cx.tensor(0), cx.tensor(1)];
    let mut inputs = operands(cx, &attrs, spatial, ('O', &shape), values, &zero_points, arithmetic)?;
    let kind = if arithmetic == Arithmetic::Bytes { "ConvInteger" } else { "Conv" };
    if arithmetic == Arithmetic::Bytes {
        for (arg, zero_point) in zero_points.iter().flatten().enumerate() {
            let own = zero_point.cast(cx.dtype(cx.tensor(arg))).and_then(|own| own.reshape(&[]));
            inputs.push(cx.constant("zero_point", own.ok_or("several zero points")?));
        }
    }
    let inputs = inputs.into_iter().map(Some).collect();
    convolved(cx, &attrs, spatial, (kind, inputs), &shape, arithmetic)
}

/// The node of a convolution with a weight of this shape, and its result.
fn convolved(
    cx: &mut OnnxCx,
    attrs: &Conv2dAttrs,
    spatial: &str,
    (kind, inputs): (&'static str, Vec<Option<ValueId>>),
    shape: &[i64],
    arithmetic: Arithmetic,
) -> OnnxResult {
    let node = cx.node_of(kind, inputs).ints("kernel_shape", &shape[2..]).ints("strides", &attrs.strides);
    let node = node.ints("pads", &pads(&attrs.padding, spatial.len())).ints("dilations", &attrs.dilation);
    let out = node.int("group", attrs.groups).one();
    result(cx, attrs, spatial, out, arithmetic)
}

/// An operand of int32 as the bytes it is made of, and their zero point, a scalar of their dtype.
struct Centred {
    bytes: ValueId,
    zero_point: Option<ValueId>,
}

/// An operand of int32 whose elements are bytes without their zero point: a constant, or what is computed of bytes.
fn centred(cx: &mut OnnxCx, arg: usize) -> Option<Centred> {
    let operand = cx.tensor(arg);
    if let Some(known) = cx.known(operand) {
        let (shape, ints) = (known.shape().to_vec(), known.to_ints());
        let (low, high) = (ints.iter().min()?, ints.iter().max()?);
        let dtype = if *low >= 0 { DType::U8 } else { DType::I8 };
        // Of differences of bytes the least is that of a zero point.
        let point = if *low < -128 || *high > 255 || dtype == DType::I8 && *high > 127 { -128 - low } else { 0 };
        let bytes = Tensor::from_vec(&shape, ints.iter().map(|int| (int + point) as i64).collect::<Vec<_>>());
        let is_same = |bytes: &Tensor| bytes.to_ints().iter().zip(&ints).all(|(byte, int)| *byte == int + point);
        let bytes = bytes.cast(dtype).filter(is_same)?;
        let zero_point = Tensor::scalar(point as i64).cast(dtype).filter(|own| own.to_ints() == [point])?;
        let zero_point = (point != 0).then(|| cx.constant("zero_point", zero_point));
        return Some(Centred { bytes: cx.constant("bytes", bytes), zero_point });
    }
    if let Some((bytes, _)) = widened(cx, operand) {
        return Some(Centred { bytes, zero_point: None });
    }
    let &[Some(wide), Some(point)] = made_by(cx, operand, "Sub")? else { return None };
    let (bytes, dtype) = widened(cx, wide)?;
    let zero_point = match cx.known(point) {
        Some(known) => {
            let own = known.cast(dtype).filter(|own| own.to_ints() == known.to_ints())?.reshape(&[])?;
            cx.constant("zero_point", own)
        }
        None => widened(cx, point).filter(|&(point, own)| own == dtype && cx.rank(point) == 0)?.0,
    };
    (cx.rank(operand) == cx.rank(bytes)).then_some(Centred { bytes, zero_point: Some(zero_point) })
}

/// The bytes that a value of int32 is, and their dtype.
fn widened(cx: &OnnxCx, value: ValueId) -> Option<(ValueId, DType)> {
    let &[Some(bytes)] = made_by(cx, value, "Cast")? else { return None };
    let (_, dtype) = cx.graph.values[bytes].ty.as_ref()?;
    [DType::I8, DType::U8].contains(dtype).then_some((bytes, *dtype))
}

/// The inputs of the node that makes a value, if it is one of this kind. It comes shortly before what takes the value.
fn made_by<'c>(cx: &'c OnnxCx, value: ValueId, kind: &str) -> Option<&'c [Option<ValueId>]> {
    let node = cx.graph.nodes.iter().rev().find(|node| node.outputs.contains(&value))?;
    (node.kind == kind).then_some(&node.inputs[..])
}

/// A transposed convolution of the first two operands.
pub(crate) fn transpose_onnx(cx: &mut OnnxCx, spatial: &str, zero_points: ZeroPoints) -> OnnxResult {
    let (output_padding, attrs) = read_transpose(cx.attrs);
    if attrs.groups > 1 && attrs.channels.is_none() {
        return Err("groups without `channels`, which does not run".into());
    }
    let shape = weight_shape(cx, &attrs, spatial, 'I')?;
    let terms = [&[shape[0] / attrs.groups.max(1)], &shape[2..]].concat();
    let arithmetic = Arithmetic::of(cx, &zero_points, &terms, false)?;
    let values = [cx.tensor(0), cx.tensor(1)];
    let inputs = operands(cx, &attrs, spatial, ('I', &shape), values, &zero_points, arithmetic)?;
    let node = cx.node("ConvTranspose", &inputs).ints("kernel_shape", &shape[2..]).ints("strides", &attrs.strides);
    let node = node.ints("pads", &pads(&attrs.padding, spatial.len())).ints("dilations", &attrs.dilation);
    let out = node.int("group", attrs.groups).ints("output_padding", &output_padding[..spatial.len()]).one();
    result(cx, &attrs, spatial, out, arithmetic)
}

fn parsed(layout: &str) -> Result<Layout, String> {
    Layout::parse(layout).map_err(|_| format!("the layout {layout}"))
}

/// The size of a letter in an operand.
fn size(cx: &OnnxCx, arg: usize, layout: &str, letter: char) -> Result<i64, String> {
    let (parsed, operand) = (parsed(layout)?, cx.tensor(arg));
    match parsed.axes_of(letter)[..] {
        [axis] => cx.dim(operand, axis),
        [] => Err(format!("the layout {layout}")),
        _ => Ok(whole(cx.axes(operand), &parsed, &letter.to_string())?[0]),
    }
}

/// The letters of a weight: `first`, the other of O and I, and the spatial axes, perhaps behind those of groups.
fn weight_letters(attrs: &Conv2dAttrs, spatial: &str, first: char) -> (bool, String) {
    let own = letters(if first == 'O' { "OI" } else { "IO" }, spatial);
    let grouped = attrs.kernel_layout.contains('G');
    (grouped, if grouped { format!("G{own}") } else { own })
}

/// The shape of a weight with its axes in order. Groups with an axis of their own are part of the first.
fn weight_shape(cx: &OnnxCx, attrs: &Conv2dAttrs, spatial: &str, first: char) -> Result<Vec<i64>, String> {
    let (grouped, all) = weight_letters(attrs, spatial, first);
    let mut shape = all.chars().map(|letter| size(cx, 1, &attrs.kernel_layout, letter)).collect::<Result<Vec<i64>, String>>()?;
    if grouped {
        let groups = shape.remove(0);
        shape[0] *= groups;
    }
    Ok(shape)
}

/// Data and weight, which are these values, in the numbers of the arithmetic, channels first. The weight is one with `first` before
/// the other of O and I, of this shape.
fn operands(
    cx: &mut OnnxCx,
    attrs: &Conv2dAttrs,
    spatial: &str,
    (first, shape): (char, &[i64]),
    values: [ValueId; 2],
    zero_points: &ZeroPoints,
    arithmetic: Arithmetic,
) -> Result<Vec<ValueId>, String> {
    let (grouped, weight_letters) = weight_letters(attrs, spatial, first);
    let mut operands = vec![];
    for (arg, layout, letters) in [(0, &attrs.data_layout, letters("NC", spatial)), (1, &attrs.kernel_layout, weight_letters)] {
        let (parsed, mut value) = (parsed(layout)?, values[arg]);
        let dims = cx.axes(value).to_vec();
        if let Arithmetic::Floats(float, _) = arithmetic {
            value = cx.cast(value, cx.dtype(value), float)?;
        }
        value = cx.unpacked(value, &dims, &parsed, &letters)?;
        if arg == 1 && (grouped || whole(&dims, &parsed, &letters)? != shape) {
            value = cx.reshaped(value, shape);
        }
        if let (Arithmetic::Floats(float, _), Some(zero_points)) = (arithmetic, zero_points) {
            value = without(cx, value, &zero_points[arg], float, if arg == 1 { shape } else { &[] }, first)?;
        }
        operands.push(value);
    }
    Ok(operands)
}

/// A value of a float dtype without its zero points: one, or one for each output channel of a weight.
fn without(
    cx: &mut OnnxCx,
    value: ValueId,
    zero_points: &Tensor,
    float: DType,
    shape: &[i64],
    first: char,
) -> Result<ValueId, String> {
    if zero_points.to_ints().iter().all(|&point| point == 0) {
        return Ok(value);
    }
    let mut own = vec![1; shape.len()];
    match usize::from(first == 'I') {
        _ if zero_points.len() == 1 => own.clear(),
        at if shape.get(at) == Some(&(zero_points.len() as i64)) => own[at] = zero_points.len(),
        _ => return Err("zero points of another number than channels".into()),
    }
    let points = zero_points.cast(float).and_then(|points| points.reshape(&own)).ok_or("zero points that are no numbers")?;
    let points = cx.constant("zero_point", points);
    Ok(cx.node("Sub", &[value, points]).one())
}

/// The result, which is channels first, in its layout and of its dtype.
fn result(cx: &mut OnnxCx, attrs: &Conv2dAttrs, spatial: &str, out: ValueId, arithmetic: Arithmetic) -> OnnxResult {
    let layout = if attrs.out_layout.is_empty() { &attrs.data_layout } else { &attrs.out_layout };
    let (dims, dtype) = cx.out[0].clone();
    let own = match arithmetic {
        Arithmetic::Bytes => cx.cast(out, DType::I32, dtype)?,
        // To narrower integers than the sums, int64 wraps.
        Arithmetic::Floats(float, sum) if sum >= 2f64.powi(i32::from(dtype.bits) - 1) => {
            let wide = cx.cast(out, float, DType::I64)?;
            cx.cast(wide, DType::I64, dtype)?
        }
        Arithmetic::Floats(float, _) => cx.cast(out, float, dtype)?,
    };
    Ok(cx.packed(own, &dims, &parsed(layout)?, &letters("NC", spatial))?.into())
}
