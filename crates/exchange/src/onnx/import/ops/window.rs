//! Windows: kernels, strides, dilations and padding, which convolutions and pools share.

use super::super::cx::{Cx, Result};
use super::super::errors::Refusal;
use relayc_ir::AttrValue;
use relayc_ir::types::Dim;

/// How a window moves over the spatial axes; all lists have their number of elements.
pub(crate) struct Window {
    pub(crate) kernel: Vec<i64>,
    pub(crate) strides: Vec<i64>,
    pub(crate) dilations: Vec<i64>,
    /// Padding before each axis, then after each: ONNX and Relay have the same order.
    pub(crate) pads: Vec<i64>,
    /// Padding in place of `pads` that depends on sizes which only a run knows (`counted/same_padding.rs`).
    pub(crate) same: Option<Same>,
}

/// Padding with which a window of stride 1 gives as many results as there is data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Same {
    /// Of an odd number, one more behind the data.
    Upper,
    /// One more before it.
    Lower,
}

impl Same {
    /// Splits padding into that before the data and that behind it.
    pub(crate) fn split(self, padding: i64) -> (i64, i64) {
        let (less, more) = (padding / 2, padding.saturating_sub(padding / 2));
        match self {
            Same::Upper => (less, more),
            Same::Lower => (more, less),
        }
    }
}

impl Window {
    pub(crate) fn attrs(&self) -> [(&'static str, AttrValue); 3] {
        let [strides, dilation, padding] = [&self.strides, &self.dilations, &self.pads].map(|list| AttrValue::ints(list));
        [("strides", strides), ("dilation", dilation), ("padding", padding)]
    }

    /// Span of the window along an axis in elements, its stride, and the padding before and after.
    pub(crate) fn along(&self, axis: usize) -> (i64, i64, i64, i64) {
        let at = |list: &[i64], axis: usize| list.get(axis).copied().unwrap_or(1);
        let span = at(&self.kernel, axis).saturating_sub(1).saturating_mul(at(&self.dilations, axis)).saturating_add(1);
        let behind = axis.saturating_add(self.kernel.len());
        (span, at(&self.strides, axis), at(&self.pads, axis), at(&self.pads, behind))
    }

    /// Whether rounding up could give an axis a window that begins after the data, in the padding.
    pub(crate) fn may_begin_behind(&self, axis: usize) -> bool {
        let (span, stride, _, behind) = self.along(axis);
        behind.saturating_add(stride) > span
    }

    /// The padding of an axis with which there is a result for each stride of its data, as far as it goes; `None` if it depends on a
    /// length that is not known.
    pub(crate) fn same_padding(&self, axis: usize, dim: Option<i64>) -> Option<i64> {
        let (span, stride, ..) = self.along(axis);
        let behind_last = match dim {
            _ if stride == 1 || span == 1 => 0,
            dim => dim?.saturating_sub(1).rem_euclid(stride),
        };
        Some(span.saturating_sub(1).saturating_sub(behind_last).max(0))
    }

    /// The padding after an axis with which rounding down gives the windows of ONNX's rounding up. Those are the windows that
    /// begin in data or in the padding before it (`ceil_mode` of `MaxPool`).
    pub(crate) fn end_padding(&self, axis: usize, dim: i64) -> i64 {
        let (span, stride, before, behind) = self.along(axis);
        let ahead = dim.saturating_add(before);
        let room = ahead.saturating_add(behind).saturating_sub(span);
        if room < 0 || dim < 1 {
            return behind;
        }
        let up = |n: i64| n.saturating_add(stride.saturating_sub(1)).checked_div(stride).unwrap_or(0);
        // The positions from 0 up to the last one, and the last one before the end of the data.
        let last = up(room).min(up(ahead).saturating_sub(1));
        last.saturating_mul(stride).saturating_add(span).saturating_sub(ahead).max(0)
    }
}

/// The number of spatial axes of a tensor: one, two or three after batch and channels.
pub(crate) fn n_spatial(rank: usize) -> Result<usize> {
    match rank.checked_sub(2) {
        Some(n @ 1..=3) => Ok(n),
        _ => Err(Refusal::unsupported(format!("an operand of rank {rank}, where Relay has one, two or three spatial axes"))),
    }
}

/// Reads the attributes of a window with this kernel over a tensor of this shape.
pub(crate) fn window(cx: &mut Cx, shape: &[Dim], kernel: Vec<i64>) -> Result<Window> {
    let n = kernel.len();
    let list = |list: Option<Vec<i64>>, name: &str, n: usize, default: i64| {
        let list = list.unwrap_or_else(|| vec![default; n]);
        match list.len() == n {
            true => Ok(list),
            false => Err(Refusal::wrong(format!("`{name}` has {} numbers, expected {n}", list.len()))),
        }
    };
    let strides = list(cx.ints("strides")?, "strides", n, 1)?;
    let dilations = list(cx.ints("dilations")?, "dilations", n, 1)?;
    let pads = list(cx.ints("pads")?, "pads", n.saturating_mul(2), 0)?;
    if strides.iter().chain(&dilations).chain(&kernel).any(|&value| value < 1) {
        return Err(Refusal::wrong("a kernel, a stride or a dilation below 1"));
    }
    let mut window = Window { kernel, strides, dilations, pads, same: None };
    let same = match cx.text("auto_pad", "NOTSET")?.as_str() {
        "" | "NOTSET" => return Ok(window),
        "VALID" => None,
        "SAME_UPPER" => Some(Same::Upper),
        "SAME_LOWER" => Some(Same::Lower),
        other => return Err(Refusal::wrong(format!("`auto_pad` is {other:?}"))),
    };
    window.pads = vec![0; n.saturating_mul(2)];
    let Some(same) = same else { return Ok(window) };
    let dims = (0..n).map(|axis| shape.get(axis.saturating_add(2)).and_then(|dim| dim.value()));
    let padding: Option<Vec<i64>> = dims.enumerate().map(|(axis, dim)| window.same_padding(axis, dim)).collect();
    match padding {
        Some(padding) => {
            let (before, behind): (Vec<i64>, Vec<i64>) = padding.into_iter().map(|padding| same.split(padding)).unzip();
            window.pads = [before, behind].concat();
        }
        None => window.same = Some(same),
    }
    Ok(window)
}
