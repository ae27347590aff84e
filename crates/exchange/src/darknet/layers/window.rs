//! Layers over windows and channels without weights: pools, upsampling, local response norms, L2 norms.

use super::super::cx::{Cx, Image, Layer, Result, unsupported, wrong};
use super::{Kind, kind};
use relayc_ir::attrs::AttrValue;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::DType;

pub(super) const FAMILY: &[Kind] = &[
    kind(&["maxpool", "max"], maxpool),
    kind(&["avgpool", "avg"], |cx| {
        let (data, image) = cx.image()?;
        let val = cx.call("nn.global_avg_pool2d", &[data], &[])?;
        Ok(Layer::of(val, Image { h: 1, w: 1, ..image }))
    }),
    kind(&["upsample"], upsample),
    kind(&["normalization", "lrn"], normalization),
    kind(&["l2norm"], |cx| {
        let (data, image) = cx.image()?;
        let attrs = [("eps", AttrValue::float(0.0)), ("axis", AttrValue::ints(&[1]))];
        let val = cx.call("nn.l2_normalize", &[data], &attrs)?;
        Ok(Layer::of(val, image))
    }),
];

/// `padding` is that of both sides together; the odd one is below and to the right.
fn maxpool(cx: &mut Cx) -> Result {
    cx.refuse(&["maxpool_depth", "antialiasing", "maxpool_zero_nonmax"])?;
    let stride = cx.positive("stride", 1)?;
    let strides = [cx.positive("stride_y", stride)?, cx.positive("stride_x", stride)?];
    let size = cx.positive("size", stride)?;
    let padding = cx.natural("padding", size.saturating_sub(1))?;
    let (data, image) = cx.image()?;
    let before = padding / 2;
    let after = padding.saturating_sub(before);
    let length = |length: i64, stride: i64| {
        let room = length.saturating_add(padding).saturating_sub(size);
        let fits = format!("a window of {size} does not fit into {length} with padding {padding}");
        let steps = room.checked_div(stride).filter(|_| room >= 0);
        steps.map(|steps| steps.saturating_add(1)).ok_or_else(|| wrong(fits))
    };
    let attrs = [
        ("pool_size", AttrValue::ints(&[size, size])),
        ("strides", AttrValue::ints(&strides)),
        ("padding", AttrValue::ints(&[before, before, after, after])),
    ];
    let image = Image { h: length(image.h, strides[0])?, w: length(image.w, strides[1])?, ..image };
    let val = cx.call("nn.max_pool2d", &[data], &attrs)?;
    Ok(Layer::of(val, image))
}

/// Repeats each pixel; a negative stride adds them up instead.
fn upsample(cx: &mut Cx) -> Result {
    let (stride, scale) = (cx.int("stride", 2)?, cx.float("scale", 1.0)?);
    let (data, image) = cx.image()?;
    let by = stride.saturating_abs();
    let numbers = |n: i64| f64::from(i32::try_from(n).unwrap_or(i32::MAX));
    let (val, image, scale) = match stride {
        0 => return Err(wrong("`stride` is 0")),
        1.. => {
            let attrs = [("scale_h", AttrValue::float(numbers(by))), ("scale_w", AttrValue::float(numbers(by)))];
            let val = cx.call("nn.upsampling", &[data], &attrs)?;
            (val, Image { h: image.h.saturating_mul(by), w: image.w.saturating_mul(by), ..image }, scale)
        }
        _ => {
            let (h, w) = (image.h.checked_div(by).unwrap_or(0), image.w.checked_div(by).unwrap_or(0));
            if h.saturating_mul(by) != image.h || w.saturating_mul(by) != image.w {
                return Err(wrong(format!("{by} does not divide the image, {} by {}", image.h, image.w)));
            }
            let attrs = [("pool_size", AttrValue::ints(&[by, by])), ("strides", AttrValue::ints(&[by, by]))];
            let val = cx.call("nn.avg_pool2d", &[data], &attrs)?;
            (val, Image { h, w, ..image }, scale * numbers(by) * numbers(by))
        }
    };
    let val = if scale == 1.0 { val } else { cx.with("multiply", val, scale)? };
    Ok(Layer::of(val, image))
}

/// `x * (kappa + alpha * s)^-beta`, `s` the sum of squares over the channels around each one. Darknet begins its running sum one
/// channel too early: the square of channel `size / 2` is missing in every sum. Here the sums are a convolution of the squares.
fn normalization(cx: &mut Cx) -> Result {
    let (alpha, beta, kappa) = (cx.float("alpha", 1e-4)?, cx.float("beta", 0.75)?, cx.float("kappa", 1.0)?);
    let size = cx.positive("size", 5)?;
    let (data, image) = cx.image()?;
    let c = image.c;
    let (before, after) = (size.saturating_sub(1) / 2, size / 2);
    if after >= c {
        return Err(unsupported(format!("a `size` of {size} over {c} channels: Darknet reads past them")));
    }
    let n = usize::try_from(c).unwrap_or(0);
    let Some(elements) = n.checked_mul(n) else { return Err(unsupported("so many channels")) };
    cx.b.charge_elements(elements, DType::F32)?;
    let mut matrix = vec![0f32; elements];
    for (row, sums) in (0i64..).zip(matrix.chunks_mut(n.max(1))) {
        for (channel, weight) in (0i64..).zip(sums) {
            let inside = channel >= row.saturating_sub(before) && channel <= row.saturating_add(after);
            *weight = if inside { 1.0 } else { 0.0 } - if channel == after { 1.0 } else { 0.0 };
        }
    }
    let matrix = Tensor::from_vec(&[n, n, 1, 1], matrix);
    let matrix = cx.supply.known(cx.b, &format!("{}_sums", cx.name), matrix);
    let squares = cx.call("multiply", &[data, data], &[])?;
    let attrs = [("channels", AttrValue::int(c)), ("kernel_size", AttrValue::ints(&[1, 1]))];
    let sums = cx.call("nn.conv2d", &[squares, matrix], &attrs)?;
    let sums = cx.with("multiply", sums, alpha)?;
    let norms = cx.with("add", sums, kappa)?;
    let factors = cx.with("power", norms, -beta)?;
    let val = cx.call("multiply", &[data, factors], &[])?;
    Ok(Layer::of(val, image))
}
