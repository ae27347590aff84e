//! Converts convolutions.

use super::super::build::Val;
use super::super::cx::{Cx, Result, Results};
use super::super::errors::Refusal;
use super::counted::same_padding;
use super::window::{n_spatial, window};
use super::{Converter, op};
use relayc_ir::AttrValue;

pub(super) fn conv(cx: &mut Cx) -> Results {
    let (x, weight) = (cx.input(0)?, cx.input(1)?);
    let out = convolve(cx, x, weight)?;
    Ok(vec![match cx.opt(2) {
        Some(bias) => cx.binary("nn.bias_add", out, bias)?,
        None => out,
    }])
}

/// The convolution of the node's attributes, without a bias.
pub(crate) fn convolve(cx: &mut Cx, x: Val, weight: Val) -> Result {
    let shape = cx.shape(x)?;
    let n = n_spatial(shape.len())?;
    let of_weight = cx.dims(weight)?;
    let Some((&channels, kernel)) = of_weight.split_first().and_then(|(channels, rest)| Some((channels, rest.get(1..)?))) else {
        return Err(Refusal::wrong("a weight of rank below 2"));
    };
    if kernel.len() != n {
        return Err(Refusal::wrong(format!("a weight of rank {} for data of rank {}", of_weight.len(), shape.len())));
    }
    let kernel = kernel.to_vec();
    if cx.ints("kernel_shape")?.is_some_and(|said| said != kernel) {
        return Err(Refusal::wrong("`kernel_shape` is not that of the weight"));
    }
    let window = window(cx, &shape, kernel)?;
    let groups = cx.int("group", 1)?;
    let relay = ["nn.conv1d", "nn.conv2d", "nn.conv3d"].get(n.saturating_sub(1)).copied().unwrap_or_default();
    let mut attrs = window.attrs().to_vec();
    attrs.extend([
        ("groups", AttrValue::int(groups)),
        ("channels", AttrValue::int(channels)),
        ("kernel_size", AttrValue::ints(&window.kernel)),
    ]);
    let padded = same_padding::padded(cx, x, &window, 0.0)?;
    let out = cx.call(relay, &[padded, weight], &attrs)?;
    same_padding::results(cx, out, x, &window)
}

pub(crate) const FAMILY: &[Converter] =
    &[op("Conv", &[1, 11, 22], conv).but("more than three spatial axes; a weight of unknown shape")];
