//! Exports convolutions to ONNX, which supports floats, channels first.

use super::rel::letters;
use super::{CONV1D, CONV1D_TRANSPOSE, CONV2D, CONV2D_TRANSPOSE, CONV3D, CONV3D_TRANSPOSE, Conv2dAttrs, read_transpose};
use crate::onnx::pads;
use crate::prelude::*;
use crate::window::{DHW, HW, W};

pub(crate) const ONNX: &[(&str, Onnx)] = &[
    (CONV1D.name, Onnx::Nodes(|cx| conv_onnx(cx, W))),
    (CONV2D.name, Onnx::Nodes(|cx| conv_onnx(cx, HW))),
    (CONV3D.name, Onnx::Nodes(|cx| conv_onnx(cx, DHW))),
    (CONV1D_TRANSPOSE.name, Onnx::Nodes(|cx| transpose_onnx(cx, W))),
    (CONV2D_TRANSPOSE.name, Onnx::Nodes(|cx| transpose_onnx(cx, HW))),
    (CONV3D_TRANSPOSE.name, Onnx::Nodes(|cx| transpose_onnx(cx, DHW))),
];

fn conv_onnx(cx: &mut OnnxCx, spatial: &str) -> OnnxResult {
    let attrs = Conv2dAttrs::read(cx.attrs);
    DTypeClass::Ieee.require(cx.out_dtype())?;
    let data = operand(cx, 0, &attrs.data_layout, &letters("NC", spatial))?;
    let (mut weight, mut shape) = weight(cx, &attrs, spatial, 'O')?;
    // A depthwise weight may hold several outputs of a channel side by side on I: (O, M, …) is (O * M, 1, …) then.
    let channels = size(cx, 0, &attrs.data_layout, 'C')?;
    if shape[1].checked_mul(attrs.groups) != Some(channels) {
        shape = [&[shape[0] * shape[1], 1], &shape[2..]].concat();
        weight = cx.reshaped(weight, &shape);
    }
    let n = spatial.len();
    let node = cx.node("Conv", &[data, weight]).ints("kernel_shape", &shape[2..]).ints("strides", &attrs.strides);
    let node = node.ints("pads", &pads(&attrs.padding, n)).ints("dilations", &attrs.dilation).int("group", attrs.groups);
    let out = node.one();
    result(cx, &attrs, spatial, out)
}

fn transpose_onnx(cx: &mut OnnxCx, spatial: &str) -> OnnxResult {
    let (output_padding, attrs) = read_transpose(cx.attrs);
    DTypeClass::Ieee.require(cx.out_dtype())?;
    if attrs.groups > 1 && attrs.channels.is_none() {
        return Err("groups without `channels`, which does not run".into());
    }
    let data = operand(cx, 0, &attrs.data_layout, &letters("NC", spatial))?;
    let (weight, shape) = weight(cx, &attrs, spatial, 'I')?;
    let node = cx.node("ConvTranspose", &[data, weight]).ints("kernel_shape", &shape[2..]).ints("strides", &attrs.strides);
    let node = node.ints("pads", &pads(&attrs.padding, spatial.len())).ints("dilations", &attrs.dilation);
    let out = node.int("group", attrs.groups).ints("output_padding", &output_padding[..spatial.len()]).one();
    result(cx, &attrs, spatial, out)
}

/// The order of a layout's axes that puts these letters into theirs.
fn order(layout: &str, letters: &str) -> Result<Vec<usize>, String> {
    Layout::parse(layout).ok().and_then(|read| read.order(letters)).ok_or_else(|| format!("the layout {layout}"))
}

/// The size of a letter's axis of an operand.
fn size(cx: &OnnxCx, arg: usize, layout: &str, letter: char) -> Result<i64, String> {
    let axis = Layout::parse(layout).ok().and_then(|layout| layout.axis(letter));
    cx.dim(cx.tensor(arg), axis.ok_or_else(|| format!("the layout {layout}"))?)
}

/// An operand with its axes in the order of the letters, of the result's dtype.
fn operand(cx: &mut OnnxCx, arg: usize, layout: &str, letters: &str) -> Result<ValueId, String> {
    let order = order(layout, letters)?;
    let operand = cx.operand_as_out(arg)?;
    Ok(cx.transposed(operand, &order))
}

/// The weight with the axis `first`, the other of O and I, and the spatial axes, and its shape. Groups with an axis of their
/// own become part of the first.
fn weight(cx: &mut OnnxCx, attrs: &Conv2dAttrs, spatial: &str, first: char) -> Result<(ValueId, Vec<i64>), String> {
    let layout = &attrs.kernel_layout;
    let own = letters(if first == 'O' { "OI" } else { "IO" }, spatial);
    let grouped = layout.contains('G');
    let all = if grouped { format!("G{own}") } else { own };
    let mut shape = all.chars().map(|letter| size(cx, 1, layout, letter)).collect::<Result<Vec<i64>, String>>()?;
    let mut weight = operand(cx, 1, layout, &all)?;
    if grouped {
        let groups = shape.remove(0);
        shape[0] *= groups;
        weight = cx.reshaped(weight, &shape);
    }
    Ok((weight, shape))
}

/// The result, which is channels first, in its layout.
fn result(cx: &mut OnnxCx, attrs: &Conv2dAttrs, spatial: &str, out: ValueId) -> OnnxResult {
    let layout = if attrs.out_layout.is_empty() { &attrs.data_layout } else { &attrs.out_layout };
    let order = order(layout, &letters("NC", spatial))?;
    let back: Vec<usize> = (0..order.len()).map(|at| order.iter().position(|&axis| axis == at).unwrap_or(at)).collect();
    Ok(cx.transposed(out, &back).into())
}
