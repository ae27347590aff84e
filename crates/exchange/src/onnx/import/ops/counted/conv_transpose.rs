//! Converts transposed convolutions.

use super::building_blocks::*;
use super::window::{Window, n_spatial};
use super::{Converter, op};

/// The window of a weight, whose spatial axes follow the first two.
pub(super) struct Shape {
    pub(super) n: usize,
    pub(super) weight: Vec<i64>,
    pub(super) window: Window,
}

pub(super) fn shape(cx: &mut Cx, x: Val, weight: Val) -> Result<Shape> {
    let (rank, weight) = (cx.rank(x)?, cx.sizes(weight)?);
    let n = n_spatial(rank)?;
    if weight.len() != n + 2 {
        return Err(Refusal::wrong(format!("a weight of rank {} for data of rank {}", weight.len(), rank)));
    }
    let kernel = weight[2..].to_vec();
    if cx.ints("kernel_shape")?.is_some_and(|said| said != kernel) {
        return Err(Refusal::wrong("`kernel_shape` is not that of the weight"));
    }
    let strides = list(cx, "strides", n, 1)?;
    let dilations = list(cx, "dilations", n, 1)?;
    let pads = list(cx, "pads", 2 * n, 0)?;
    if strides.iter().chain(&dilations).chain(&kernel).any(|&value| value < 1) {
        return Err(Refusal::wrong("a kernel, a stride or a dilation below 1"));
    }
    Ok(Shape { n, weight, window: Window { kernel, strides, dilations, pads, same: None } })
}

/// A list of `n` numbers.
fn list(cx: &mut Cx, name: &'static str, n: usize, default: i64) -> Result<Vec<i64>> {
    let list = cx.small_ints(name)?.unwrap_or_else(|| vec![default; n]);
    match list.len() == n {
        true => Ok(list),
        false => Err(Refusal::wrong(format!("`{name}` has {} numbers, expected {n}", list.len()))),
    }
}

impl Shape {
    /// How much of an axis's full result is cut before and after it for a requested length, and how many zeros extend a short
    /// one.
    fn cut(&self, axis: usize, length: i64, more: i64, wanted: i64, upper: bool) -> (i64, i64, i64) {
        let Window { kernel, strides, dilations, .. } = &self.window;
        let reach = (kernel[axis] - 1) * dilations[axis] + 1;
        let whole = ((length - 1) * strides[axis]).saturating_add(reach).saturating_add(more);
        let total = whole.saturating_sub(wanted);
        if total < 0 {
            return (0, 0, more.saturating_sub(total));
        }
        let (less, rest) = (total / 2, total - total / 2);
        if upper { (less, rest, more) } else { (rest, less, more) }
    }
}

/// The padding follows from the length of the result if `output_shape` or `auto_pad` states it.
fn conv_transpose(cx: &mut Cx) -> Results {
    let (x, weight) = (cx.input(0)?, cx.input(1)?);
    let mut shape = shape(cx, x, weight)?;
    let (n, groups) = (shape.n, cx.int("group", 1)?);
    let mut more = list(cx, "output_padding", n, 0)?;
    let auto = cx.text("auto_pad", "NOTSET")?;
    let wanted = cx.small_ints("output_shape")?;
    match auto.as_str() {
        "" | "NOTSET" => {}
        "VALID" => shape.window.pads = vec![0; 2 * n],
        "SAME_UPPER" | "SAME_LOWER" => {}
        other => return Err(Refusal::wrong(format!("`auto_pad` is {other:?}"))),
    }
    if wanted.is_some() || auto.starts_with("SAME") {
        let (lengths, wanted) = match wanted {
            Some(wanted) => ((2..n + 2).map(|axis| cx.size(x, axis)).collect::<Result<Vec<i64>>>()?, wanted),
            // What is cut from `stride` results for each element is the same for any number of elements.
            None => (vec![1; n], shape.window.strides.clone()),
        };
        // Some models give the whole shape.
        let wanted = wanted.get(wanted.len().saturating_sub(n)..).filter(|wanted| wanted.len() == n);
        let wanted = wanted.ok_or_else(|| Refusal::wrong("`output_shape` has not a number for each spatial axis"))?;
        if let Some(below) = wanted.iter().find(|&&n| n < 0) {
            return Err(Refusal::wrong(format!("`output_shape` has the number {below}")));
        }
        for axis in 0..n {
            let (before, behind, rest) = shape.cut(axis, lengths[axis], more[axis], wanted[axis], auto == "SAME_UPPER");
            shape.window.pads[axis] = before;
            shape.window.pads[axis + n] = behind;
            more[axis] = rest;
        }
    }
    let (op, layout) = [("nn.conv1d_transpose", "IOW"), ("nn.conv2d_transpose", "IOHW"), ("nn.conv3d_transpose", "IODHW")][n - 1];
    let mut attrs = shape.window.attrs().to_vec();
    attrs.extend([
        ("groups", AttrValue::int(groups)),
        ("channels", AttrValue::int(shape.weight[1].saturating_mul(groups))),
        ("kernel_size", ints(&shape.window.kernel)),
        ("kernel_layout", AttrValue::str(layout)),
        ("output_padding", ints(&more)),
    ]);
    let out = cx.call(op, &[x, weight], &attrs)?;
    biased(cx, out, 2)
}

/// Adds the bias of each channel, if the node has one.
pub(super) fn biased(cx: &mut Cx, out: Val, index: usize) -> Results {
    one(match cx.opt(index) {
        Some(bias) => cx.binary("nn.bias_add", out, bias)?,
        None => out,
    })
}

pub(crate) const FAMILY: &[Converter] = &[op("ConvTranspose", &[1, 11, 22], conv_transpose)
    .but("more than three spatial axes; a weight of unknown shape; `output_shape` over unknown dimensions")];
