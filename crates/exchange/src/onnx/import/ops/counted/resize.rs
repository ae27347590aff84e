//! Converts `Resize` and `Upsample`.
//!
//! Each axis is resized on its own. If `image.resize2d` means exactly the same, it becomes one call. That operator does not
//! support scales that are not quotients of sizes, antialiasing, or axes other than those of an image. Otherwise every axis is
//! a `take` of the nearest elements, or a product with a matrix with a row of weights for each new position. The weights are
//! the sums of the standard's reference (`onnx/reference/ops/op_resize.py`), computed during the import; those of an axis of a
//! size that only a run knows are computed by the program (`resize_open.rs`).

use super::super::super::build::Element;
use super::building_blocks::*;
use super::interpolation::{How, Mode, known_words, mode};
use super::resize_open::{self, NewSize, OpenAxis};
use super::{Converter, op};
use relayc_ir::types::{Dim, SymbolOp, dims_of};

/// One resized axis.
struct Axis {
    at: usize,
    from: i64,
    to: i64,
    scale: f64,
    /// Start and end, as fractions, for `tf_crop_and_resize`.
    roi: (f64, f64),
}

fn upsample(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let name = cx.text("mode", "nearest")?;
    let how = How { mode: mode(&name)?, coordinates: "asymmetric".into(), nearest: "floor".into(), ..How::plain() };
    one(match cx.version < 9 {
        true => {
            let scales = cx.floats("scales")?.unwrap_or_default();
            by_scales(cx, x, &how, &scales)?
        }
        false => by_given_scales(cx, x, &how)?,
    })
}

/// Resizes all axes by scales that are an operand.
fn by_given_scales(cx: &mut Cx, x: Val, how: &How) -> Result {
    if let Some(axes) = by_ratios(cx, x, 1, &[])? {
        return open_resized(cx, x, how, axes);
    }
    let scales = cx.given_floats(1, "scales")?;
    by_scales(cx, x, how, &scales)
}

/// Resizes all axes by scales.
fn by_scales(cx: &mut Cx, x: Val, how: &How, scales: &[f64]) -> Result {
    match open_scaled(cx, x, scales, &[])? {
        Some(axes) => open_resized(cx, x, how, axes),
        None => {
            let axes = scaled(cx, x, scales, &[], &[])?;
            resized(cx, x, how, axes)
        }
    }
}

/// Operator set 10 has scales only, and the coordinates of `Upsample`.
fn resize(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let name = cx.text("mode", "nearest")?;
    let mode = mode(&name)?;
    if cx.version < 11 {
        let how = How { mode, coordinates: "asymmetric".into(), nearest: "floor".into(), ..How::plain() };
        return one(by_given_scales(cx, x, &how)?);
    }
    let how = How {
        mode,
        coordinates: cx.text("coordinate_transformation_mode", "half_pixel")?,
        nearest: cx.text("nearest_mode", "round_prefer_floor")?,
        cubic_a: cx.float("cubic_coeff_a", -0.75)?,
        exclude_outside: cx.flag("exclude_outside", false)?,
        antialias: cx.flag("antialias", false)?,
        extrapolation: cx.float("extrapolation_value", 0.0)?,
    };
    // Of sizes only.
    let policy = cx.text("keep_aspect_ratio_policy", "stretch")?;
    known_words(&how)?;
    let chosen = cx.small_ints("axes")?.unwrap_or_default();
    let crops = how.coordinates == "tf_crop_and_resize";
    if crops && cx.known(cx.input(1)?).is_none() {
        return one(cropped(cx, x, &how, &chosen)?);
    }
    let roi = if crops { cx.given_floats(1, "roi")? } else { vec![] };
    // An operand without elements is one that is left out, as operator set 11 has it.
    let has_sizes = match cx.opt(3) {
        Some(sizes) => cx.dims(sizes)?.first().is_some_and(|&n| n > 0),
        None => false,
    };
    if let Some(open) = open_sizes(cx, x, has_sizes, &chosen)? {
        if !roi.is_empty() || policy != "stretch" {
            return Err(refuse("a part of an image of unknown size, or one that keeps its proportions"));
        }
        return one(open_resized(cx, x, &how, open)?);
    }
    let axes = if has_sizes {
        let Some(sizes) = cx.known_sizes(cx.input(3)?) else {
            if !roi.is_empty() || policy != "stretch" {
                return Err(refuse(FOUND));
            }
            let axes = found_axes(cx, x, &chosen)?;
            let picture = found_picture(cx, x, &how, &axes)?;
            return one(picture.map_or_else(|| open_resized(cx, x, &how, axes), Ok)?);
        };
        // What stays as it is need not be known.
        let all = axes_of(cx, x, &chosen, sizes.len())?;
        let shape = cx.shape(x)?;
        let stays = |(at, to): (&usize, &Dim)| roi.is_empty() && policy == "stretch" && to.is_named() && to.same(shape[*at]);
        let changed = all.iter().zip(&sizes).filter(|&pair| !stays(pair));
        let (axes, sizes): (Vec<usize>, Vec<Dim>) = changed.map(|(&at, &to)| (at, to)).unzip();
        let sizes = dims_of(&sizes).ok_or_else(|| refuse(FOUND))?;
        sized(cx, x, &sizes, &axes, &roi, &policy)?
    } else {
        let scales = cx.given_floats(2, "scales")?;
        scaled(cx, x, &scales, &chosen, &roi)?
    };
    one(resized(cx, x, &how, axes)?)
}

/// The axes in `chosen`, or all axes if it is empty.
fn axes_of(cx: &Cx, x: Val, chosen: &[i64], n: usize) -> Result<Vec<usize>> {
    let chosen = Some(chosen.to_vec()).filter(|chosen| !chosen.is_empty());
    let axes = cx.axes_or_all(chosen, cx.rank(x)?)?;
    if axes.len() != n {
        return Err(refuse(format!("{n} sizes or scales for {} axes", axes.len())));
    }
    Ok(axes)
}

/// Start and end of the cropped part of an axis; the list has all starts, then all ends.
fn roi_of(roi: &[f64], i: usize, n: usize) -> Result<(f64, f64)> {
    match roi.len() {
        0 => Ok((0.0, 1.0)),
        len if len == 2 * n => Ok((roi[i], roi[i + n])),
        len => Err(Refusal::wrong(format!("`roi` has {len} numbers, expected {}", 2 * n))),
    }
}

fn scaled(cx: &Cx, x: Val, scales: &[f64], chosen: &[i64], roi: &[f64]) -> Result<Vec<Axis>> {
    let axes = axes_of(cx, x, chosen, scales.len())?;
    // What stays as it is need not be known.
    let stays = |i: usize, at: usize| scales[i] == 1.0 && roi.is_empty() && cx.size(x, at).is_err();
    let axis = |(i, &at): (usize, &usize)| {
        let (from, scale) = (cx.size(x, at)?, scales[i]);
        // Scales are float32, and so is the product: ten elements by 0.7 are seven.
        let to = (from as f32 * scale as f32).floor() as i64;
        Ok(Axis { at, from, to, scale, roi: roi_of(roi, i, scales.len())? })
    };
    axes.iter().enumerate().filter(|&(i, &at)| !stays(i, at)).map(axis).collect()
}

const FOUND: &str = "sizes that only a run knows, of a part of an image or of one that keeps its proportions";

/// The axes that change, if the old or the new size of one is a named one.
fn open_sizes(cx: &mut Cx, x: Val, has_sizes: bool, chosen: &[i64]) -> Result<Option<Vec<OpenAxis>>> {
    if !has_sizes {
        if let Some(axes) = by_ratios(cx, x, 2, chosen)? {
            return Ok(Some(axes));
        }
        let scales = cx.given_floats(2, "scales")?;
        return open_scaled(cx, x, &scales, chosen);
    }
    let given = cx.input(3)?;
    let Some(sizes) = cx.known_sizes(given) else { return Ok(None) };
    let from = cx.shape(x)?;
    let axis = |(index, (at, to)): (usize, (usize, Dim))| {
        let new = NewSize::Given { sizes: given, index: i64::try_from(index).unwrap_or(i64::MAX) };
        OpenAxis { at, to, new }
    };
    let all = axes_of(cx, x, chosen, sizes.len())?.into_iter().zip(sizes).enumerate();
    let axes: Vec<OpenAxis> = all.filter(|(_, (at, to))| !to.same(from[*at])).map(axis).collect();
    Ok(axes.iter().any(|axis| axis.to.is_named() || from[axis.at].is_named()).then_some(axes))
}

/// The axes that change, by scales of which each is 1 or a named size over that of the axis.
fn by_ratios(cx: &Cx, x: Val, operand: usize, chosen: &[i64]) -> Result<Option<Vec<OpenAxis>>> {
    let scales = cx.input(operand)?;
    let Some(scales) = cx.b.elements(scales).filter(|_| cx.known(scales).is_none()) else { return Ok(None) };
    let from = cx.shape(x)?;
    let mut axes = vec![];
    for (at, scale) in axes_of(cx, x, chosen, scales.len())?.into_iter().zip(scales) {
        match scale {
            Element::Size(one) if one.value() == Some(1) => {}
            Element::Ratio(to, of) if of.same(from[at]) && to.same(of) => {}
            Element::Ratio(to, of) if of.same(from[at]) => axes.push(OpenAxis { at, to, new: NewSize::Named }),
            _ => return Ok(None),
        }
    }
    Ok(Some(axes))
}

/// The same of scales that are fractions of small numbers.
fn open_scaled(cx: &mut Cx, x: Val, scales: &[f64], chosen: &[i64]) -> Result<Option<Vec<OpenAxis>>> {
    let from = cx.shape(x)?;
    let mut axes = vec![];
    for (&at, &scale) in axes_of(cx, x, chosen, scales.len())?.iter().zip(scales).filter(|(_, scale)| **scale != 1.0) {
        let Some(fraction) = fraction(scale) else { return Ok(None) };
        let parts = cx.b.size_arith(SymbolOp::Mul, from[at], Dim::known(fraction.0));
        let to = cx.b.size_arith(SymbolOp::FloorDiv, parts, Dim::known(fraction.1));
        axes.push(OpenAxis { at, to, new: NewSize::Scaled { scale, fraction } });
    }
    Ok(axes.iter().any(|axis| from[axis.at].is_named()).then_some(axes))
}

/// The fraction with the least denominator that rounds to a scale, which is a float32. The floor of a size times the fraction is
/// that of its float32 product with the scale, unless the product is above 2^24 over the denominator.
fn fraction(scale: f64) -> Option<(i64, i64)> {
    const MOST: i64 = 64;
    let above = |below: i64| (scale * below as f64).round();
    let fits = |&below: &i64| (1.0..1e6).contains(&above(below)) && (above(below) / below as f64) as f32 == scale as f32;
    let below = (1..=MOST).find(fits)?;
    Some((above(below) as i64, below))
}

/// Resizes axes of which some have an old or a new size that only a run knows.
fn open_resized(cx: &mut Cx, x: Val, how: &How, axes: Vec<OpenAxis>) -> Result {
    if let Some(picture) = open_picture(cx, x, how, &axes)? {
        return Ok(picture);
    }
    let dtype = cx.dtype(x)?;
    let mut data = if how.mode == Mode::Nearest { x } else { cx.cast(x, if dtype == DType::F64 { dtype } else { DType::F32 })? };
    for axis in &axes {
        data = match (cx.size(data, axis.at), axis.to.value()) {
            (Ok(from), Some(to)) => {
                let scale = match axis.new {
                    NewSize::Scaled { scale, .. } => scale,
                    NewSize::Given { .. } | NewSize::Named => to as f64 / from as f64,
                };
                resized(cx, data, how, vec![Axis { at: axis.at, from, to, scale, roi: (0.0, 1.0) }])?
            }
            _ => resize_open::resized_axis(cx, data, how, axis)?,
        };
    }
    cx.cast(data, dtype)
}

/// One call of `image.resize2d` or its siblings for an image whose size is a named one, if it means the same.
fn open_picture(cx: &mut Cx, x: Val, how: &How, axes: &[OpenAxis]) -> Result<Option<Val>> {
    let mut size = cx.shape(x)?;
    let (mut exact, mut whole, mut spatial) = (true, true, true);
    for axis in axes {
        let from = size[axis.at];
        let quotient = cx.b.size_arith(SymbolOp::FloorDiv, axis.to, from);
        let times = quotient.value().filter(|_| cx.b.size_arith(SymbolOp::Mul, from, quotient).same(axis.to));
        exact &= times.is_some() || matches!(axis.new, NewSize::Given { .. } | NewSize::Named);
        whole &= times.is_some();
        spatial &= axis.at >= 2;
        size[axis.at] = axis.to;
    }
    let all = size.iter().all(|dim| dim.is_sized());
    match all && spatial && exact && is_picture(cx, x, how, whole)? {
        true => picture(cx, x, how, &size[2..]).map(Some),
        false => Ok(None),
    }
}

/// The axes that may change, to sizes of which only a run knows some.
fn found_axes(cx: &mut Cx, x: Val, chosen: &[i64]) -> Result<Vec<OpenAxis>> {
    let given = cx.input(3)?;
    let n = cx.dims(given)?.first().and_then(|&n| usize::try_from(n).ok()).unwrap_or(0);
    let elements = cx.b.elements(given).unwrap_or_default();
    let from = cx.shape(x)?;
    let mut axes = vec![];
    for (index, at) in axes_of(cx, x, chosen, n)?.into_iter().enumerate() {
        let to = match elements.get(index) {
            Some(&Element::Axis(of, axis)) if (of, axis) == (x, at) => continue,
            Some(&Element::Size(size)) if size.same(from[at]) => continue,
            Some(&Element::Size(size)) => size,
            _ => Dim::Any,
        };
        axes.push(OpenAxis { at, to, new: NewSize::Given { sizes: given, index: i64::try_from(index).unwrap_or(i64::MAX) } });
    }
    Ok(axes)
}

/// One call of `dyn.image.resize2d` to a height and width that only a run knows, if it means the same.
fn found_picture(cx: &mut Cx, x: Val, how: &How, axes: &[OpenAxis]) -> Result<Option<Val>> {
    let sizes = cx.input(3)?;
    let all = cx.dims(sizes)? == [4] && cx.rank(x)? == 4;
    if !all || !axes.iter().all(|axis| axis.at >= 2) || !is_picture(cx, x, how, false)? {
        return Ok(None);
    }
    let size = cx.slice(sizes, 0, 2, 4)?;
    let roi = cx.put(Tensor::from_vec(&[4], vec![0f32; 4]))?;
    let attrs = resize_attrs(how, "NCHW");
    cx.call("dyn.image.resize2d", &[x, size, roi], &attrs).map(Some)
}

/// Crops pictures to a part that only a run knows, and resizes them. That there are parts of batch and channels is of no account, as in
/// ONNX Runtime (`onnxruntime/core/providers/cpu/tensor/upsample.cc`): these axes keep their sizes.
fn cropped(cx: &mut Cx, x: Val, how: &How, chosen: &[i64]) -> Result {
    const PART: &str =
        "a part of an image that only a run knows, if not of height and width to given sizes by linear interpolation";
    let (roi, shape) = (cx.input(1)?, cx.shape(x)?);
    let sizes = cx.opt(3).filter(|_| shape.len() == 4 && how.mode == Mode::Linear && !how.antialias);
    let elements = sizes.and_then(|sizes| cx.b.elements(sizes)).ok_or_else(|| refuse(PART))?;
    let axes = axes_of(cx, x, chosen, elements.len())?;
    let mut to = [None; 2];
    for (element, at) in elements.iter().zip(&axes) {
        match *element {
            Element::Axis(of, axis) if at < &2 && (of, axis) == (x, *at) => {}
            Element::Size(size) if at < &2 && size.same(shape[*at]) => {}
            Element::Size(size) if at >= &2 => to[at - 2] = size.value(),
            _ => return Err(refuse(PART)),
        }
    }
    let [Some(height), Some(width)] = to else { return Err(refuse(PART)) };
    let places: Option<Vec<usize>> = [2, 3].iter().map(|at| axes.iter().position(|axis| axis == at)).collect();
    let [row, column] = places.unwrap_or_default()[..] else { return Err(refuse(PART)) };
    let bounds = [row, column, row + axes.len(), column + axes.len()].map(|at| i64::try_from(at).unwrap_or(i64::MAX));
    let part = cx.take(roi, bounds.to_vec(), 0)?;
    let part = cx.cast(part, DType::F32)?;
    let part = cx.reshape(part, &[1, 4])?;
    // The same part of every picture.
    let n = cx.shape_of(x)?;
    let n = cx.slice(n, 0, 0, 1)?;
    let one = cx.put(Tensor::scalar(1i64))?;
    let ones = cx.full(one, n, DType::I64)?;
    let pictures = cx.call("cumsum", &[ones], &[("axis", AttrValue::int(0)), ("exclusive", AttrValue::Bool(true))])?;
    let pictures = cx.cast(pictures, DType::I32)?;
    let ones = cx.cast(ones, DType::F32)?;
    let ones = cx.expand_dims(ones, 1, 1)?;
    let parts = cx.binary("multiply", ones, part)?;
    let attrs = [
        ("crop_size", ints(&[height, width])),
        ("layout", AttrValue::str("NCHW")),
        ("method", AttrValue::str("bilinear")),
        ("extrapolation_value", AttrValue::float(how.extrapolation)),
    ];
    cx.call("image.crop_and_resize", &[x, parts, pictures], &attrs)
}

fn sized(cx: &Cx, x: Val, sizes: &[i64], axes: &[usize], roi: &[f64], policy: &str) -> Result<Vec<Axis>> {
    let from: Vec<i64> = axes.iter().map(|&at| cx.size(x, at)).collect::<Result<_>>()?;
    let scales = sizes.iter().zip(&from).map(|(&to, &from)| to as f64 / from as f64);
    // One scale for all, with which every size is at most, or at least, what was asked for.
    let common = match policy {
        "stretch" => None,
        "not_larger" => Some(scales.clone().fold(f64::INFINITY, f64::min)),
        "not_smaller" => Some(scales.clone().fold(0.0, f64::max)),
        other => return Err(refuse(format!("the policy `{other}`"))),
    };
    let axis = |(i, (&at, scale)): (usize, (&usize, f64))| {
        let to = common.map_or(sizes[i], |common| (common * from[i] as f64 + 0.5).floor() as i64);
        Ok(Axis { at, from: from[i], to, scale: common.unwrap_or(scale), roi: roi_of(roi, i, sizes.len())? })
    };
    axes.iter().zip(scales).enumerate().map(axis).collect()
}

fn resized(cx: &mut Cx, x: Val, how: &How, axes: Vec<Axis>) -> Result {
    let identity = |axis: &Axis| axis.from == axis.to && axis.scale == 1.0 && how.coordinates != "tf_crop_and_resize";
    let axes: Vec<Axis> = axes.into_iter().filter(|axis| !identity(axis)).collect();
    if let Some(axis) = axes.iter().find(|axis| axis.to < 0 || axis.from < 1 || !axis.scale.is_finite() || axis.scale <= 0.0) {
        return Err(refuse(format!("{} elements made of {}", axis.to, axis.from)));
    }
    if axes.is_empty() {
        return Ok(x);
    }
    if let Some(result) = as_picture(cx, x, how, &axes)? {
        return Ok(result);
    }
    if let Some(axis) = axes.iter().find(|axis| axis.to > MAX_CONSTANT) {
        return Err(refuse(format!("an axis of {} positions, each of which would be written out", axis.to)));
    }
    let dtype = cx.dtype(x)?;
    let mut data = if how.mode == Mode::Nearest { x } else { cx.cast(x, if dtype == DType::F64 { dtype } else { DType::F32 })? };
    for axis in &axes {
        data = match how.mode {
            Mode::Nearest => nearest(cx, data, how, axis)?,
            Mode::Linear | Mode::Cubic => weighted(cx, data, how, axis)?,
        };
    }
    cx.cast(data, dtype)
}

/// One call of `image.resize2d` or its siblings, if it means the same.
fn as_picture(cx: &mut Cx, x: Val, how: &How, axes: &[Axis]) -> Result<Option<Val>> {
    let spatial = axes.iter().all(|axis| axis.at >= 2);
    let exact = axes.iter().all(|axis| axis.to as f64 == axis.from as f64 * axis.scale);
    let whole = axes.iter().all(|axis| axis.to % axis.from == 0);
    if !spatial || !exact || !is_picture(cx, x, how, whole)? {
        return Ok(None);
    }
    let mut size = cx.shape(x)?.split_off(2);
    for axis in axes {
        size[axis.at - 2] = Dim::known(axis.to);
    }
    picture(cx, x, how, &size).map(Some)
}

/// Whether `image.resize2d` or a sibling means the same, for factors that are exact, and `whole` or not.
fn is_picture(cx: &Cx, x: Val, how: &How, whole: bool) -> Result<bool> {
    let rank = cx.rank(x)?;
    let fits = match how.mode {
        // Ties of roundings are left to whole factors, where both say the same.
        Mode::Nearest => whole && how.coordinates == "asymmetric" && how.nearest == "floor",
        Mode::Linear => matches!(&*how.coordinates, "half_pixel" | "align_corners" | "asymmetric"),
        Mode::Cubic => rank == 4 && matches!(&*how.coordinates, "half_pixel" | "align_corners" | "asymmetric"),
    };
    Ok((3..=5).contains(&rank) && fits && !how.antialias && cx.dtype(x)?.is_float())
}

/// The call of `image.resize2d` or a sibling.
fn picture(cx: &mut Cx, x: Val, how: &How, size: &[Dim]) -> Result {
    let (op, layout) = [("image.resize1d", "NCW"), ("image.resize2d", "NCHW"), ("image.resize3d", "NCDHW")][size.len() - 1];
    let zeros: Vec<AttrValue> = size.iter().chain(size).map(|_| AttrValue::Float { value: 0.0, bits: 32 }).collect();
    let [layout, method, transformation, rounding, alpha, exclude] = resize_attrs(how, layout);
    let size = ("size", dims_attr(size));
    let roi = ("roi", AttrValue::List(zeros.into()));
    cx.call(op, &[x], &[size, roi, layout, method, transformation, rounding, alpha, exclude])
}

/// The attributes that say how, for all operators of resizing.
fn resize_attrs(how: &How, layout: &str) -> [(&'static str, AttrValue); 6] {
    let method = match how.mode {
        Mode::Nearest => "nearest_neighbor",
        Mode::Linear => "linear",
        Mode::Cubic => "cubic",
    };
    [
        ("layout", AttrValue::str(layout)),
        ("method", AttrValue::str(method)),
        ("coordinate_transformation_mode", AttrValue::str(&how.coordinates)),
        ("rounding_method", AttrValue::str(if how.mode == Mode::Nearest { "floor" } else { "" })),
        ("cubic_alpha", AttrValue::float(how.cubic_a)),
        ("cubic_exclude", AttrValue::int(i64::from(how.exclude_outside))),
    ]
}

impl Axis {
    /// The coordinate of a new position among the old ones; `None` outside the cropped part.
    fn coordinate(&self, how: &How, x: i64) -> Option<f64> {
        let (x, from) = (x as f64, self.from as f64);
        // Not the size that the result has, which is a whole number.
        let to = self.scale * from;
        // Runtimes divide in float32: 17 by 1.7 is 10, whose floor is another than that of the number before it.
        let nearby = |at: f64| if how.mode == Mode::Nearest { f64::from(at as f32) } else { at };
        let half = nearby((x + 0.5) / self.scale) - 0.5;
        Some(match &*how.coordinates {
            "align_corners" => {
                if to == 1.0 {
                    0.0
                } else {
                    nearby(x * (from - 1.0) / (to - 1.0))
                }
            }
            "asymmetric" => nearby(x / self.scale),
            "tf_half_pixel_for_nn" => nearby((x + 0.5) / self.scale),
            "pytorch_half_pixel" if to == 1.0 => 0.0,
            "half_pixel_symmetric" => {
                let adjustment = self.to as f64 / to;
                from / 2.0 * (1.0 - adjustment) + half
            }
            "tf_crop_and_resize" => {
                let (start, end) = self.roi;
                let width = (end - start) * (from - 1.0);
                let at = start * (from - 1.0) + if to == 1.0 { width / 2.0 } else { x * width / (to - 1.0) };
                return (at >= 0.0 && at <= from - 1.0).then_some(at);
            }
            _ => half,
        })
    }
}

fn nearest(cx: &mut Cx, data: Val, how: &How, axis: &Axis) -> Result {
    let rounded = |at: f64| match &*how.nearest {
        "round_prefer_floor" => (at - 0.5).ceil(),
        "round_prefer_ceil" => (at + 0.5).floor(),
        "ceil" => at.ceil(),
        _ => at.floor(),
    };
    cx.charge(axis.to)?;
    let mut outside = vec![];
    let mut positions = vec![];
    for x in 0..axis.to {
        let at = axis.coordinate(how, x);
        outside.push(at.is_none());
        positions.push((rounded(at.unwrap_or(0.0)) as i64).clamp(0, axis.from - 1));
    }
    let taken = cx.take(data, positions, axis.at)?;
    filled(cx, taken, how, axis, &outside)
}

/// Replaces positions outside by `extrapolation_value`.
fn filled(cx: &mut Cx, data: Val, how: &How, axis: &Axis, outside: &[bool]) -> Result {
    if !outside.contains(&true) {
        return Ok(data);
    }
    let n_behind = cx.rank(data)? - axis.at - 1;
    let shape: Vec<usize> = std::iter::once(outside.len()).chain(std::iter::repeat_n(1, n_behind)).collect();
    let outside = cx.put(Tensor::from_vec(&shape, outside.to_vec()))?;
    let value = cx.like(data, how.extrapolation)?;
    cx.select(outside, value, data)
}

/// Multiplies by the weights of each new position, along one axis.
fn weighted(cx: &mut Cx, data: Val, how: &How, axis: &Axis) -> Result {
    let (n, from) = (axis.to as usize, axis.from as usize);
    if n.checked_mul(from).is_none_or(|n| n > MAX_WEIGHTS) {
        return Err(refuse(format!("an axis of {from} elements made one of {n} with weights of its own for each")));
    }
    cx.charge((n * from) as i64)?;
    let mut matrix = vec![0f64; n * from];
    let mut outside = vec![false; n];
    for (x, row) in matrix.chunks_exact_mut(from.max(1)).enumerate() {
        match axis.coordinate(how, x as i64) {
            Some(at) => weights(how, axis.scale, at, row),
            None => outside[x] = true,
        }
    }
    let dtype = cx.dtype(data)?;
    let matrix = cx.put_as(Tensor::from_vec(&[n, from], matrix), dtype)?;
    // The axis goes to the end and comes back.
    let mut swap: Vec<usize> = (0..cx.rank(data)?).collect();
    let last = swap.len() - 1;
    swap.swap(axis.at, last);
    let moved = cx.transpose(data, &swap)?;
    let product = cx.call("nn.dense", &[moved, matrix], &[("units", AttrValue::int(axis.to))])?;
    let back = cx.transpose(product, &swap)?;
    filled(cx, back, how, axis, &outside)
}

/// Maximum number of elements in a matrix of weights, to bound the size of the model.
const MAX_WEIGHTS: usize = 1 << 24;

/// Adds the weight of each old element at the coordinate `at` to a row.
fn weights(how: &How, scale: f64, at: f64, row: &mut [f64]) {
    // A coordinate on an element is one step behind the element before it.
    let base = (at.ceil() - 1.0) as i64;
    let ratio = at - base as f64;
    let scale = if how.antialias { scale.min(1.0) } else { 1.0 };
    let reach = if how.mode == Mode::Linear { 1.0 } else { 2.0 };
    let first = (-reach / scale).floor() as i64 + 1;
    let shape = |x: f64| if how.mode == Mode::Linear { (1.0 - x.abs()).max(0.0) } else { cubic(how.cubic_a, x.abs()) };
    let n = row.len() as i64;
    let mut total = 0.0;
    for i in first..2 - first {
        let position = base.saturating_add(i);
        if how.exclude_outside && !(0..n).contains(&position) {
            continue;
        }
        let weight = shape((i as f64 - ratio) * scale);
        total += weight;
        row[position.clamp(0, n - 1) as usize] += weight;
    }
    if (how.antialias || how.exclude_outside) && total != 0.0 {
        row.iter_mut().for_each(|weight| *weight /= total);
    }
}

/// The convolution kernel of Keys (1981), for `x >= 0`.
fn cubic(a: f64, x: f64) -> f64 {
    if x <= 1.0 {
        ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
    } else {
        0.0
    }
}

pub(crate) const FAMILY: &[Converter] = &[
    op("Resize", &[10, 11, 13, 18, 19], resize).but(
        "scales that only a run knows, unless they are sizes over others; sizes that only a run knows, of a part of an image or of one that keeps its proportions",
    ),
    op("Upsample", &[7, 9], upsample).but("scales that only a run knows, unless they are sizes over others"),
];
