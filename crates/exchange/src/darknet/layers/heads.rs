//! Layers at the end of a network: softmax, and what detects. Beside a layer that detects, the program gives what its boxes are
//! read by, as TVM's importer does: `…_mask`, `…_bias` (the anchors) and `…_attr` (its numbers).

use super::super::cx::{Cx, Detections, Image, Layer, Result, unsupported, wrong};
use super::{Kind, kind, linear};
use crate::onnx::import::build::Val;
use relayc_ir::attrs::AttrValue;
use relayc_ir::tensor::Tensor;

pub(super) const FAMILY: &[Kind] =
    &[kind(&["softmax", "soft"], softmax), kind(&["yolo"], yolo), kind(&["region"], region), kind(&["detection"], detection)];

/// Over groups of the numbers; `spatial`, over the channels of each pixel.
fn softmax(cx: &mut Cx) -> Result {
    cx.refuse(&["tree"])?;
    let (groups, temperature) = (cx.positive("groups", 1)?, cx.float("temperature", 1.0)?);
    let spatial = cx.float("spatial", 0.0)? != 0.0;
    if temperature == 0.0 {
        return Err(wrong("`temperature` is 0"));
    }
    let scaled = |cx: &mut Cx, val: Val| if temperature == 1.0 { Ok(val) } else { cx.with("divide", val, temperature) };
    if spatial {
        let (data, image) = cx.image()?;
        let data = scaled(cx, data)?;
        let val = cx.call("nn.softmax", &[data], &[("axis", AttrValue::int(1))])?;
        return Ok(Layer::of(val, image));
    }
    let size = cx.input.size;
    let data = cx.flat()?;
    let data = scaled(cx, data)?;
    if groups == 1 {
        return Ok(linear::vector(cx.call("nn.softmax", &[data], &[])?, size));
    }
    let each = size.checked_div(groups).unwrap_or(0);
    if each.saturating_mul(groups) != size {
        return Err(wrong(format!("{groups} groups do not divide {size} numbers")));
    }
    let parts = cx.reshape(data, &[groups, each])?;
    let parts = cx.call("nn.softmax", &[parts], &[])?;
    Ok(linear::vector(cx.reshape(parts, &[size])?, size))
}

/// Integers as a weight.
fn ints(cx: &mut Cx, part: &str, values: &[i64]) -> (String, Val) {
    let values: Vec<i32> = values.iter().map(|&value| i32::try_from(value).unwrap_or(i32::MAX)).collect();
    let name = format!("{}_{part}", cx.name);
    let val = cx.supply.known(cx.b, &name, Tensor::from_vec(&[values.len()], values));
    (name, val)
}

/// The anchors of all boxes: pairs of width and height, 0.5 where none is given.
fn anchors(cx: &mut Cx, boxes: i64) -> Result<(String, Val)> {
    /// The most boxes of a pixel.
    const MAX_BOXES: i64 = 4096;
    let n = usize::try_from(boxes.saturating_mul(2)).unwrap_or(0);
    if boxes > MAX_BOXES {
        return Err(wrong(format!("`num` is {boxes}, the limit is {MAX_BOXES}")));
    }
    let mut values = cx.floats("anchors")?.unwrap_or_default();
    if values.len() > n {
        return Err(wrong(format!("{} numbers of anchors, a pair for each of {boxes} boxes is {n}", values.len())));
    }
    values.resize(n, 0.5);
    let name = format!("{}_bias", cx.name);
    let val = cx.supply.known(cx.b, &name, Tensor::from_vec(&[n], values));
    Ok((name, val))
}

/// The input as boxes: `(rows, boxes, numbers of a box, h, w)`.
fn boxes(cx: &mut Cx, boxes: i64, numbers: i64) -> Result<(Val, Image)> {
    let (data, image) = cx.image()?;
    let wanted = boxes.saturating_mul(numbers);
    if image.c != wanted {
        let words = format!("{boxes} boxes of {numbers} numbers are {wanted} channels, found {}", image.c);
        return Err(wrong(format!("{words}: the layer before has `filters={wanted}`")));
    }
    Ok((cx.reshape(data, &[boxes, numbers, image.h, image.w])?, image))
}

fn sigmoid(cx: &mut Cx, val: Val) -> Result<Val> {
    cx.call("sigmoid", &[val], &[])
}

fn yolo(cx: &mut Cx) -> Result {
    let squared = cx.flag("new_coords")?;
    let (classes, total) = (cx.positive("classes", 20)?, cx.positive("num", 1)?);
    let mask = cx.ints("mask")?.unwrap_or_else(|| (0..total.min(4097)).collect());
    if let Some(strange) = mask.iter().find(|&&number| number < 0 || number >= total) {
        return Err(wrong(format!("`mask` names box {strange}, `num` is {total}")));
    }
    let stretch = cx.float("scale_x_y", 1.0)?;
    let n = i64::try_from(mask.len()).unwrap_or(i64::MAX);
    let (data, image) = boxes(cx, n, classes.saturating_add(5))?;
    let anchors = anchors(cx, total)?;
    let parts = cx.split(data, &[2, 4], 2)?;
    let [place, size, scores] = parts[..] else { return Err(wrong("no parts")) };
    // With `new_coords` the layer before has passed a sigmoid, and a size is the anchor times `4 * x²` instead of `exp(x)`: here its
    // logarithm, so that boxes are read in one way.
    let (mut place, size, scores) = if squared {
        let doubled = cx.with("multiply", size, 2.0)?;
        let log = cx.call("log", &[doubled], &[])?;
        (place, cx.with("multiply", log, 2.0)?, scores)
    } else {
        (sigmoid(cx, place)?, size, sigmoid(cx, scores)?)
    };
    if stretch != 1.0 {
        place = cx.with("multiply", place, stretch)?;
        place = cx.with("subtract", place, (stretch - 1.0) / 2.0)?;
    }
    let val = cx.concat(&[place, size, scores], 2)?;
    let val = cx.reshape(val, &[image.c, image.h, image.w])?;
    let parts = vec![ints(cx, "mask", &mask), anchors, ints(cx, "attr", &[n, image.c, image.h, image.w, classes, total])];
    cx.extra.detections.push(Detections { layer: cx.index, parts });
    Ok(Layer::of(val, image))
}

fn region(cx: &mut Cx) -> Result {
    cx.refuse(&["tree"])?;
    let (coords, classes, n) = (cx.positive("coords", 4)?, cx.positive("classes", 20)?, cx.positive("num", 1)?);
    let (softmax, background) = (cx.flag("softmax")?, cx.flag("background")?);
    cx.word("sqrt");
    if coords < 4 {
        return Err(wrong(format!("`coords` is {coords}, a box has 4")));
    }
    let scores = coords.saturating_add(1);
    let (data, image) = boxes(cx, n, classes.saturating_add(scores))?;
    let anchors = anchors(cx, n)?;
    // Place, size and whatever else a box has; how sure it is that there is something; classes.
    let cuts = if background && softmax { vec![2, coords] } else { vec![2, coords, scores] };
    let mut parts = cx.split(data, &cuts, 2)?;
    for (at, part) in parts.iter_mut().enumerate() {
        *part = match at {
            0 => sigmoid(cx, *part)?,
            2 if !background => sigmoid(cx, *part)?,
            2 if softmax => cx.call("nn.softmax", &[*part], &[("axis", AttrValue::int(2))])?,
            3 if softmax => cx.call("nn.softmax", &[*part], &[("axis", AttrValue::int(2))])?,
            3 => sigmoid(cx, *part)?,
            _ => *part,
        };
    }
    let val = cx.concat(&parts, 2)?;
    let val = cx.reshape(val, &[image.c, image.h, image.w])?;
    let numbers = [n, image.c, image.h, image.w, classes, coords, i64::from(background)];
    let parts = vec![anchors, ints(cx, "attr", &numbers)];
    cx.extra.detections.push(Detections { layer: cx.index, parts });
    Ok(Layer::of(val, image))
}

/// The first YOLO: for each cell of a grid its classes, then for each box how sure it is, then the boxes.
fn detection(cx: &mut Cx) -> Result {
    let (coords, classes) = (cx.positive("coords", 1)?, cx.positive("classes", 1)?);
    let (n, side) = (cx.positive("num", 1)?, cx.positive("side", 7)?);
    let (softmax, squared) = (cx.flag("softmax")?, cx.flag("sqrt")?);
    let size = cx.input.size;
    let cells = side.saturating_mul(side);
    let each = coords.saturating_add(1).saturating_mul(n).saturating_add(classes);
    if cells.saturating_mul(each) != size {
        let words =
            format!("{side} by {side} cells of {classes} classes and {n} boxes are {} numbers", cells.saturating_mul(each));
        return Err(wrong(format!("{words}, found {size}")));
    }
    if coords != 4 {
        return Err(unsupported(format!("`coords={coords}`: a box has 4")));
    }
    let mut val = cx.flat()?;
    if softmax {
        let scores = cells.saturating_mul(classes);
        let parts = cx.split(val, &[scores], 1)?;
        let [classified, rest] = parts[..] else { return Err(wrong("no parts")) };
        let classified = cx.reshape(classified, &[cells, classes])?;
        let classified = cx.call("nn.softmax", &[classified], &[])?;
        let classified = cx.reshape(classified, &[scores])?;
        val = cx.concat(&[classified, rest], 1)?;
    }
    let parts = vec![ints(cx, "attr", &[n, side, classes, coords, i64::from(squared)])];
    cx.extra.detections.push(Detections { layer: cx.index, parts });
    Ok(Layer::flat(val, size))
}
