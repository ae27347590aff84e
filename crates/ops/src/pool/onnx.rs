//! Exports pools to ONNX, which supports channels first.

use super::{
    ADAPTIVE_AVG_POOL1D, ADAPTIVE_AVG_POOL2D, ADAPTIVE_AVG_POOL3D, ADAPTIVE_MAX_POOL1D, ADAPTIVE_MAX_POOL2D, ADAPTIVE_MAX_POOL3D,
    AVG_POOL1D, AVG_POOL2D, AVG_POOL3D, AdaptivePool2dAttrs, AvgPool2dAttrs, GLOBAL_AVG_POOL2D, GLOBAL_MAX_POOL2D,
    GlobalPool2dAttrs, MAX_POOL1D, MAX_POOL2D, MAX_POOL3D, MaxPool2dAttrs,
};
use crate::prelude::*;
use crate::window::{self, DHW, HW, W, Window};

pub(crate) const ONNX: &[(&str, Onnx)] = &[
    (MAX_POOL1D.name, Onnx::Nodes(|cx| max_pool_onnx(cx, W))),
    (MAX_POOL2D.name, Onnx::Nodes(|cx| max_pool_onnx(cx, HW))),
    (MAX_POOL3D.name, Onnx::Nodes(|cx| max_pool_onnx(cx, DHW))),
    (AVG_POOL1D.name, Onnx::Nodes(|cx| avg_pool_onnx(cx, W))),
    (AVG_POOL2D.name, Onnx::Nodes(|cx| avg_pool_onnx(cx, HW))),
    (AVG_POOL3D.name, Onnx::Nodes(|cx| avg_pool_onnx(cx, DHW))),
    (GLOBAL_AVG_POOL2D.name, Onnx::Nodes(|cx| global_pool_onnx(cx, "GlobalAveragePool"))),
    (GLOBAL_MAX_POOL2D.name, Onnx::Nodes(|cx| global_pool_onnx(cx, "GlobalMaxPool"))),
    (ADAPTIVE_AVG_POOL1D.name, Onnx::Nodes(|cx| adaptive_onnx(cx, W, AVERAGE))),
    (ADAPTIVE_AVG_POOL2D.name, Onnx::Nodes(|cx| adaptive_onnx(cx, HW, AVERAGE))),
    (ADAPTIVE_AVG_POOL3D.name, Onnx::Nodes(|cx| adaptive_onnx(cx, DHW, AVERAGE))),
    (ADAPTIVE_MAX_POOL1D.name, Onnx::Nodes(|cx| adaptive_onnx(cx, W, MAX))),
    (ADAPTIVE_MAX_POOL2D.name, Onnx::Nodes(|cx| adaptive_onnx(cx, HW, MAX))),
    (ADAPTIVE_MAX_POOL3D.name, Onnx::Nodes(|cx| adaptive_onnx(cx, DHW, MAX))),
];

/// A node with windows, and the one over everything.
type Kinds = (&'static str, &'static str);
const AVERAGE: Kinds = ("AveragePool", "GlobalAveragePool");
const MAX: Kinds = ("MaxPool", "GlobalMaxPool");

/// How the axes of a layout are to be permuted to be channels first, and back.
struct Turn {
    there: Vec<usize>,
    back: Vec<usize>,
}

impl Turn {
    fn of(layout: &str, spatial: &str) -> Result<Turn, String> {
        let order = Layout::parse(layout).ok().and_then(|read| read.order(&format!("NC{spatial}")));
        let there = order.ok_or_else(|| format!("the layout {layout}"))?;
        let back = (0..there.len()).map(|at| there.iter().position(|&axis| axis == at).unwrap_or(at)).collect();
        Ok(Turn { there, back })
    }
}

/// The ONNX form of windows over an operand.
struct Windows {
    size: Vec<i64>,
    strides: Vec<i64>,
    dilation: Vec<i64>,
    /// Before and after each axis.
    sides: Vec<(i64, i64)>,
    /// The number of positions by which the last windows extend beyond that.
    beyond: Vec<i64>,
    /// Whether that number is known only when the model runs, for some axis.
    ceil: bool,
}

impl Windows {
    /// Where the last window may reach over the end, that is padding too: runtimes differ in how they count such windows. They agree
    /// where each begins on data, so an axis of a size that only a run knows is left to them then.
    fn of(cx: &OnnxCx, attrs: &MaxPool2dAttrs, turn: &Turn) -> Result<Windows, String> {
        let windows = window::windows(&attrs.pool_size, &attrs.strides, &attrs.dilation, &attrs.padding);
        let (mut beyond, mut ceil) = (vec![0; windows.len()], false);
        for (at, window) in windows.iter().enumerate().filter(|_| attrs.ceil_mode) {
            match cx.dim(cx.tensor(0), turn.there[2 + at]) {
                Ok(input) => beyond[at] = reach(window, input).ok_or("a window of that size")?,
                Err(_) if begins_on_data(window) => ceil = true,
                Err(why) => return Err(why),
            }
        }
        let sides = windows.iter().map(|window| (window.before, window.after)).collect::<Vec<_>>();
        Ok(Windows {
            size: attrs.pool_size.clone(),
            strides: attrs.strides.clone(),
            dilation: attrs.dilation.clone(),
            sides,
            beyond,
            ceil,
        })
    }

    /// The padding including positions beyond it, in ONNX's order.
    fn pads(&self) -> Vec<i64> {
        let after = self.sides.iter().zip(&self.beyond).map(|(side, beyond)| side.1 + beyond);
        self.sides.iter().map(|side| side.0).chain(after).collect()
    }

    /// Whether a window may cover nothing but padding, which ONNX does not allow.
    fn are_wide(&self) -> bool {
        (0..self.size.len()).any(|at| self.sides[at].0.max(self.sides[at].1 + self.beyond[at]) >= self.size[at])
    }

    fn may_reach_beyond(&self) -> bool {
        self.ceil || self.beyond.iter().any(|&beyond| beyond > 0)
    }
}

/// Whether no window begins behind the data, whatever its size: the last one begins less than a stride behind the last that fits.
fn begins_on_data(window: &Window) -> bool {
    window.after + window.stride <= (window.kernel - 1).saturating_mul(window.dilation).saturating_add(1)
}

/// How far the last window reaches beyond data and padding, where it may.
fn reach(window: &Window, input: i64) -> Option<i64> {
    let positions = i64::try_from(window.n_positions(usize::try_from(input).ok()?, true)).ok()?;
    let extent = (window.kernel - 1).checked_mul(window.dilation)?.checked_add(1)?;
    let last = positions.checked_sub(1)?.checked_mul(window.stride)?.checked_add(extent)?;
    Some((last - input - window.before - window.after).max(0))
}

fn max_pool_onnx(cx: &mut OnnxCx, spatial: &str) -> OnnxResult {
    let attrs = MaxPool2dAttrs::read(cx.attrs);
    let (turn, dtype) = (Turn::of(&attrs.layout, spatial)?, cx.out_dtype());
    if !(dtype.is_int() && dtype.bits == 8) {
        DTypeClass::Ieee.require(dtype)?;
    }
    let windows = Windows::of(cx, &attrs, &turn)?;
    let mut data = cx.transposed(cx.tensor(0), &turn.there);
    let mut pads = windows.pads();
    if windows.are_wide() {
        let widths: Vec<i64> = pads.chunks(windows.size.len()).flat_map(|side| [&[0, 0], side].concat()).collect();
        let (widths, least) = (cx.ints("padding", &widths), cx.scalar("least", dtype, super::eval::least(dtype))?);
        data = cx.node("Pad", &[data, widths, least]).one();
        pads.fill(0);
    }
    let node = cx.node("MaxPool", &[data]).ints("kernel_shape", &windows.size).ints("strides", &windows.strides);
    let node = node.ints("pads", &pads).ints("dilations", &windows.dilation);
    let out = node.int("ceil_mode", windows.ceil.into()).one();
    Ok(cx.transposed(out, &turn.back).into())
}

fn avg_pool_onnx(cx: &mut OnnxCx, spatial: &str) -> OnnxResult {
    let (attrs, include_pad) = (MaxPool2dAttrs::read(cx.attrs), AvgPool2dAttrs::read(cx.attrs).count_include_pad);
    let turn = Turn::of(&attrs.layout, spatial)?;
    DTypeClass::Ieee.require(cx.out_dtype())?;
    if attrs.dilation.iter().any(|&dilation| dilation != 1) {
        return Err("the mean of windows with gaps".into());
    }
    let windows = Windows::of(cx, &attrs, &turn)?;
    if windows.are_wide() {
        return Err("padding as wide as the window".into());
    }
    let mut data = cx.transposed(cx.tensor(0), &turn.there);
    let (mut pads, mut counted) = (windows.pads(), include_pad);
    // Padding counts, what lies beyond it does not: the padding becomes data.
    if include_pad && windows.may_reach_beyond() {
        let before = [0, 0].into_iter().chain(windows.sides.iter().map(|side| side.0));
        let widths: Vec<i64> = before.chain([0, 0]).chain(windows.sides.iter().map(|side| side.1)).collect();
        let widths = cx.ints("padding", &widths);
        data = cx.node("Pad", &[data, widths]).one();
        pads = vec![0; windows.beyond.len()].into_iter().chain(windows.beyond.iter().copied()).collect();
        counted = false;
    }
    let node = cx.node("AveragePool", &[data]).ints("kernel_shape", &windows.size).ints("strides", &windows.strides);
    let node = node.ints("pads", &pads).int("count_include_pad", counted.into());
    let out = node.int("ceil_mode", windows.ceil.into()).one();
    Ok(cx.transposed(out, &turn.back).into())
}

fn global_pool_onnx(cx: &mut OnnxCx, kind: &'static str) -> OnnxResult {
    let turn = Turn::of(&GlobalPool2dAttrs::read(cx.attrs).layout, HW)?;
    let data = cx.tensor(0);
    over_all(cx, kind, data, &turn)
}

fn over_all(cx: &mut OnnxCx, kind: &'static str, data: ValueId, turn: &Turn) -> OnnxResult {
    DTypeClass::Ieee.require(cx.out_dtype())?;
    let data = cx.transposed(data, &turn.there);
    let out = cx.node(kind, &[data]).one();
    Ok(cx.transposed(out, &turn.back).into())
}

/// Where the windows are all of one size and do not overlap, they are those of a pool.
fn adaptive_onnx(cx: &mut OnnxCx, spatial: &str, (kind, global): Kinds) -> OnnxResult {
    let attrs = AdaptivePool2dAttrs::read(cx.attrs);
    let turn = Turn::of(&attrs.layout, spatial)?;
    let (data, dtype) = (cx.tensor(0), cx.out_dtype());
    let out = cx.out_shape()?;
    if kind == AVERAGE.0 && !dtype.is_float() && turn.there[2..].iter().all(|&axis| out[axis] == 1) {
        return mean_of_ints(cx, data, &turn.there[2..]);
    }
    DTypeClass::Ieee.require(dtype)?;
    if turn.there[2..].iter().all(|&axis| out[axis] == 1) {
        return over_all(cx, global, data, &turn);
    }
    let shape = cx.shape(data)?;
    if turn.there[2..].iter().any(|&axis| out[axis] < 1 || shape[axis] % out[axis] != 0) {
        return Err("windows of several sizes".into());
    }
    let size: Vec<i64> = turn.there[2..].iter().map(|&axis| shape[axis] / out[axis]).collect();
    let data = cx.transposed(data, &turn.there);
    let out = cx.node(kind, &[data]).ints("kernel_shape", &size).ints("strides", &size).one();
    Ok(cx.transposed(out, &turn.back).into())
}

/// The sum in int64 by the number of elements, rounded towards zero.
fn mean_of_ints(cx: &mut OnnxCx, data: ValueId, axes: &[usize]) -> OnnxResult {
    let dtype = cx.out_dtype();
    let dims = axes.iter().map(|&axis| cx.dim(data, axis)).collect::<Result<Vec<i64>, String>>()?;
    let n = dims.into_iter().try_fold(1i64, i64::checked_mul).filter(|&n| n > 0).ok_or("the mean of nothing")?;
    let wide = cx.cast(data, dtype, DType::I64)?;
    let axes: Vec<i64> = axes.iter().map(|&axis| axis as i64).collect();
    let (axes, n) = (cx.ints("axes", &axes), cx.constant("count", Tensor::scalar(n)));
    let sum = cx.node("ReduceSum", &[wide, axes]).one();
    let mean = cx.node("Div", &[sum, n]).one();
    Ok(cx.cast(mean, DType::I64, dtype)?.into())
}
