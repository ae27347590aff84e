//! Layers that move numbers, combine layers, or leave their input as it is.

use super::super::cx::{Cx, Image, Layer, Result, unsupported, wrong};
use super::{Kind, activation, kind};
use crate::onnx::import::build::Val;
use relayc_ir::attrs::AttrValue;

pub(super) const FAMILY: &[Kind] = &[
    kind(&["route"], route),
    kind(&["shortcut"], shortcut),
    kind(&["sam"], |cx| {
        let (val, image) = cx.image()?;
        let (other, size) = one_source(cx)?;
        if image != size {
            return Err(wrong(format!("{} cannot be multiplied with {}", text(image), text(size))));
        }
        combined(cx, val, other, image)
    }),
    kind(&["scale_channels"], |cx| {
        cx.refuse(&["scale_wh"])?;
        let (val, image) = cx.image()?;
        let (other, size) = one_source(cx)?;
        if image != (Image { c: size.c, h: 1, w: 1 }) {
            return Err(wrong(format!("{} is no scale for each channel of {}", text(image), text(size))));
        }
        combined(cx, other, val, size)
    }),
    kind(&["reorg"], reorg),
    kind(&["crop"], crop),
    kind(&["dropout"], |cx| {
        let rate = cx.float("probability", 0.5)?;
        for key in ["dropblock", "dropblock_size_rel", "dropblock_size_abs"] {
            cx.word(key);
        }
        let dropped = cx.call("nn.dropout", &[cx.input.val], &[("rate", AttrValue::float(rate))])?;
        // The second result is the mask of training.
        let val = cx.b.field(dropped, 0).unwrap_or(dropped);
        Ok(Layer { val, ..cx.input })
    }),
    kind(&["cost"], |cx| {
        for key in ["type", "ratio", "noobj"] {
            cx.word(key);
        }
        Ok(cx.input)
    }),
    kind(&["blank", "empty", "silence"], |cx| Ok(cx.input)),
];

fn text(image: Image) -> String {
    format!("an image of {} channels, {} by {}", image.c, image.h, image.w)
}

/// The only layer that `from` names, as an image.
fn one_source(cx: &mut Cx) -> Result<(Val, Image)> {
    match cx.sources("from")?[..] {
        [one] => cx.image_of(one),
        ref all => Err(wrong(format!("`from` names {} layers, expected one", all.len()))),
    }
}

/// A product of two tensors, and its activation.
fn combined(cx: &mut Cx, a: Val, b: Val, image: Image) -> Result {
    let val = cx.call("multiply", &[a, b], &[])?;
    let val = activation::activated(cx, val, "linear")?;
    Ok(Layer::of(val, image))
}

/// The channels of layers one after another; of each only one group, if there are groups.
fn route(cx: &mut Cx) -> Result {
    let sources = cx.sources("layers")?;
    let (groups, group) = (cx.positive("groups", 1)?, cx.natural("group_id", 0)?);
    if group >= groups {
        return Err(wrong(format!("there is no group {group}, `groups` is {groups}")));
    }
    let images: Option<Vec<Image>> = sources.iter().map(|source| source.image).collect();
    let alike = images
        .filter(|images| images.iter().all(|image| images.first().is_some_and(|first| (first.h, first.w) == (image.h, image.w))));
    let Some(images) = alike else {
        if groups > 1 {
            return Err(unsupported("groups of layers that are no images of one size"));
        }
        // Numbers one after another.
        let size = sources.iter().fold(0i64, |sum, source| sum.saturating_add(source.size));
        let vals = sources.into_iter().map(|source| cx.flat_of(source)).collect::<Result<Vec<Val>>>()?;
        return Ok(Layer::flat(cx.concat(&vals, 1)?, size));
    };
    let (mut vals, mut channels) = (vec![], 0i64);
    for (source, image) in sources.into_iter().zip(&images) {
        let each = image.c.checked_div(groups).unwrap_or(0);
        if each.saturating_mul(groups) != image.c {
            return Err(wrong(format!("{groups} groups do not divide {} channels", image.c)));
        }
        let (val, _) = cx.image_of(source)?;
        let begin = each.saturating_mul(group);
        vals.push(if groups == 1 { val } else { cx.slice(val, &[1], &[begin], &[begin.saturating_add(each)], &[1])? });
        channels = channels.saturating_add(each);
    }
    let image = images.first().map_or(Image { c: channels, h: 1, w: 1 }, |first| Image { c: channels, ..*first });
    Ok(Layer::of(cx.concat(&vals, 1)?, image))
}

/// `alpha * x + beta * other` where both are. A larger image gives every so many pixels, a smaller one goes to every so many;
/// channels that one does not have are not added (`shortcut_cpu` in `src/blas.c` of Darknet).
fn shortcut(cx: &mut Cx) -> Result {
    cx.refuse(&["weights_type", "weights_normalization"])?;
    let sources = cx.sources("from")?;
    let (alpha, beta) = (cx.float("alpha", 1.0)?, cx.float("beta", 1.0)?);
    let (mut val, image) = cx.image()?;
    for source in sources {
        let (mut other, size) = cx.image_of(source)?;
        if alpha != 1.0 && size != image {
            return Err(unsupported("`alpha` with layers of different sizes"));
        }
        val = if alpha == 1.0 { val } else { cx.with("multiply", val, alpha)? };
        other = fitted(cx, other, size, image)?;
        other = if beta == 1.0 { other } else { cx.with("multiply", other, beta)? };
        val = cx.call("add", &[val, other], &[])?;
    }
    let val = activation::activated(cx, val, "linear")?;
    Ok(Layer::of(val, image))
}

/// An image brought to the size of another.
fn fitted(cx: &mut Cx, mut val: Val, size: Image, to: Image) -> Result<Val> {
    let ratio = |from: i64, to: i64| from.checked_div(to).unwrap_or(0);
    let (down, up) = (ratio(size.h, to.h), ratio(to.h, size.h));
    if (down, up) != (ratio(size.w, to.w), ratio(to.w, size.w)) {
        return Err(wrong(format!("{} cannot be added to {}", text(size), text(to))));
    }
    if down > 1 {
        let end = [to.h, to.w].map(|n| n.saturating_sub(1).saturating_mul(down).saturating_add(1));
        val = cx.slice(val, &[2, 3], &[0, 0], &end, &[down, down])?;
    } else if up > 1 {
        val = cx.call("nn.dilate", &[val], &[("strides", AttrValue::ints(&[1, 1, up, up]))])?;
    } else if (size.h, size.w) != (to.h, to.w) {
        return Err(unsupported(format!("{} added to {}", text(size), text(to))));
    }
    if size.c > to.c {
        val = cx.slice(val, &[1], &[0], &[to.c], &[1])?;
    }
    // Where a smaller image has no pixels, and channels that it does not have, zeros are added.
    let covered = |n: i64| n.saturating_sub(1).saturating_mul(up.max(1)).saturating_add(1);
    let rest = |to: i64, n: i64| to.saturating_sub(n).max(0);
    let (h, w) = if up > 1 { (rest(to.h, covered(size.h)), rest(to.w, covered(size.w))) } else { (0, 0) };
    let channels = rest(to.c, size.c);
    if (channels, h, w) == (0, 0, 0) {
        return Ok(val);
    }
    let widths = [[0, 0], [0, channels], [0, h], [0, w]];
    let widths = AttrValue::List(widths.iter().map(|width| AttrValue::ints(width)).collect());
    let zero = cx.scalar(0.0)?;
    cx.call("nn.pad", &[val, zero], &[("pad_width", widths)])
}

/// Pixels become channels, in the order of Darknet; `reverse` is the other way.
fn reorg(cx: &mut Cx) -> Result {
    let (stride, reverse) = (cx.positive("stride", 1)?, cx.flag("reverse")?);
    let (flatten, extra) = (cx.flag("flatten")?, cx.natural("extra", 0)?);
    let (data, image) = cx.image()?;
    let Image { c, h, w } = image;
    let square = stride.saturating_mul(stride);
    if extra > 0 && !flatten {
        let flat = cx.flat()?;
        let zero = cx.scalar(0.0)?;
        let widths = AttrValue::List([[0, 0], [0, extra]].iter().map(|width| AttrValue::ints(width)).collect());
        let val = cx.call("nn.pad", &[flat, zero], &[("pad_width", widths)])?;
        return Ok(Layer::flat(val, cx.input.size.saturating_add(extra)));
    }
    let out = match reverse {
        true => Image { c: c.checked_div(square).unwrap_or(0), h: h.saturating_mul(stride), w: w.saturating_mul(stride) },
        false => {
            Image { c: c.saturating_mul(square), h: h.checked_div(stride).unwrap_or(0), w: w.checked_div(stride).unwrap_or(0) }
        }
    };
    let divided = c.checked_rem(square) == Some(0);
    if out.len() != image.len() || (!flatten && !divided) {
        return Err(wrong(format!("a stride of {stride} does not divide {}", text(image))));
    }
    let places = h.saturating_mul(w);
    let each = c.checked_div(square).unwrap_or(0);
    let val = if flatten {
        // The numbers of a pixel lie together, or are taken to.
        let rows = if reverse { [places, c] } else { [c, places] };
        let matrix = cx.reshape(data, &rows)?;
        cx.transpose(matrix, &[0, 2, 1])?
    } else if reverse {
        let parts = cx.reshape(data, &[stride, stride, each, h, w])?;
        cx.transpose(parts, &[0, 3, 4, 1, 5, 2])?
    } else {
        let val = cx.call("vision.yolo_reorg", &[data], &[("stride", AttrValue::int(stride))])?;
        return Ok(Layer::of(val, out));
    };
    let val = cx.reshape(val, &[out.c, out.h, out.w])?;
    Ok(Layer::of(val, out))
}

/// The middle of an image; without `noadjust` from -1 to 1 instead of 0 to 1.
fn crop(cx: &mut Cx) -> Result {
    let (h, w) = (cx.positive("crop_height", 1)?, cx.positive("crop_width", 1)?);
    let plain = cx.flag("noadjust")?;
    cx.word("shift");
    let (data, image) = cx.image()?;
    if h > image.h || w > image.w {
        return Err(wrong(format!("{h} by {w} cannot be cut out of {}", text(image))));
    }
    let begin = [(image.h, h), (image.w, w)].map(|(all, part)| all.saturating_sub(part) / 2);
    let end = [begin[0].saturating_add(h), begin[1].saturating_add(w)];
    let mut val = cx.slice(data, &[2, 3], &begin, &end, &[1, 1])?;
    if !plain {
        val = cx.with("multiply", val, 2.0)?;
        val = cx.with("subtract", val, 1.0)?;
    }
    Ok(Layer::of(val, Image { h, w, ..image }))
}
