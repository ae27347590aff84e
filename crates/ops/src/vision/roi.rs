//! Regions of interest, brought to one size, and a reordering of images.

use super::{RoiAlignAttrs, RoiPoolAttrs, YoloReorgAttrs, require_shape};
use crate::choice::one_of;
use crate::gather_lowering::gather_each;
use crate::interpolation::{self, Taps};
use crate::lower::lane;
use crate::prelude::*;
use relayc_ir::kernel::{Boxes, OfBin, Regions, Routine};
use relayc_ir::tensor::{Acc, Float};
use smallvec::smallvec;

/// The most points read in one bin: a region may be as large as a float.
const MAX_POINTS: f64 = 16_777_216.0;

pub(super) fn roi_align_rel(cx: &mut RelCx) -> RelResult {
    let attrs = RoiAlignAttrs::read(cx.attrs);
    one_of(cx, "C5", "mode", &attrs.mode.0, &["avg", "max"])?;
    roi_rel(cx, attrs.pooled_size.0.unwrap_or_default(), &attrs.layout.0)
}

pub(super) fn roi_pool_rel(cx: &mut RelCx) -> RelResult {
    let attrs = RoiPoolAttrs::read(cx.attrs);
    roi_rel(cx, attrs.pooled_size.0.unwrap_or_default(), &attrs.layout.0)
}

fn roi_rel(cx: &mut RelCx, size: Vec<Dim>, layout: &str) -> RelResult {
    one_of(cx, "C1", "layout", layout, &["NCHW", "NHWC"])?;
    let n = size.len();
    cx.require("C3", n == 2, || Fault::attr("pooled_size", format!("expected 2 values, found {n}")))?;
    let some = size.iter().all(|dim| dim.value().is_none_or(|value| value >= 1));
    cx.require("C3", some, || Fault::attr("pooled_size", "expected values of at least 1"))?;
    let (data, rois) = (cx.tensor(0)?, cx.tensor(1)?);
    cx.require("C1", data.rank() == 4, || Fault::rank(4, &data))?;
    require_shape(cx, "C2", &rois, &[Dim::Any, Dim::known(5)], "rows of 5 numbers")?;
    rel::require_float(cx, "C4", &data)?;
    rel::require_float(cx, "C4", &rois)?;
    let [h, w] = [0, 1].map(|i| SDim::new(size[i], DimOrigin::Attr("pooled_size")));
    let n = rois.dim(0);
    let shape = if layout == "NCHW" { [n, data.dim(1), h, w] } else { [n, h, w, data.dim(3)] };
    cx.set_out(Shape::from_slice(&shape), data.dtype)
}

/// Evaluates both operators: `region` computes an image's channels at each bin of a row of `rois`.
struct Rois<'a, T> {
    /// `(N, C, H, W)`.
    data: &'a [T],
    channels: usize,
    dims: [usize; 2],
    pooled: [usize; 2],
    scale: T,
}

impl<T: Float> Rois<'_, T> {
    fn plane(&self, picture: usize, channel: usize) -> &[T] {
        let n = self.dims[0] * self.dims[1];
        &self.data[(picture * self.channels + channel) * n..][..n]
    }

    /// Start and size of a region along an axis, which is at least 1.
    fn side(&self, roi: &[T], axis: usize) -> (T, T) {
        let (start, end) = (roi[2 - axis] * self.scale, roi[4 - axis] * self.scale);
        (start, (end - start).most(T::ONE))
    }
}

/// Runs `region` for each row, with the image it names, and packs the results: `(C, height, width)`.
fn each_roi<T: Float>(
    cx: &EvalCx,
    layout: &str,
    scale: f64,
    region: impl Fn(&Rois<T>, usize, &[T], &mut Vec<T>) -> Result<(), TooMany>,
) -> EvalResult {
    let layout = Layout::parse(layout).expect("the relation required a layout");
    let data = layout.unpack("NCHW", cx.tensor(0));
    let ty = cx.known_out()?;
    let pooled = layout.whole("HW", &ty.shape);
    let (n_pictures, channels) = (data.shape()[0], data.shape()[1]);
    let (elements, table) = (T::elements(&data.to_acc()), T::elements(&cx.tensor(1).to_acc()));
    let dims = [data.shape()[2], data.shape()[3]];
    let rois = Rois { data: &elements, channels, dims, pooled: [pooled[0], pooled[1]], scale: T::at(scale) };
    let mut out = Vec::with_capacity(ty.shape.iter().product());
    for (row, roi) in table.chunks_exact(5).enumerate() {
        let number = roi[0].to_f64();
        let picture = Some(number as usize).filter(|&picture| number > -1.0 && picture < n_pictures);
        let outside = || Trap::new(codes::E0501, format!("row {row} of rois names a picture outside of a batch of {n_pictures}"));
        let too_many = |TooMany| Trap::new(codes::E0506, format!("row {row} of rois has too many points in each bin"));
        region(&rois, picture.ok_or_else(outside)?, roi, &mut out).map_err(too_many)?;
    }
    let out = Tensor::from_vec(&[table.len() / 5, channels, pooled[0], pooled[1]], out);
    Ok(layout.pack("NCHW", &out.cast(ty.dtype).expect("the dtype of a tensor")).into())
}

pub(super) fn roi_align_eval(cx: &EvalCx) -> EvalResult {
    let attrs = RoiAlignAttrs::read(cx.attrs);
    let (layout, scale) = (&attrs.layout.0, attrs.spatial_scale);
    match (cx.tensor(0).to_acc(), cx.tensor(1).to_acc()) {
        (Acc::F32(_), Acc::F32(_)) => {
            each_roi::<f32>(cx, layout, scale, |rois, at, roi, out| aligned(rois, at, roi, &attrs, out))
        }
        _ => each_roi::<f64>(cx, layout, scale, |rois, at, roi, out| aligned(rois, at, roi, &attrs, out)),
    }
}

/// A bin of more than [`MAX_POINTS`].
struct TooMany;

fn aligned<T: Float>(rois: &Rois<T>, picture: usize, roi: &[T], attrs: &RoiAlignAttrs, out: &mut Vec<T>) -> Result<(), TooMany> {
    let bin = |axis: usize| rois.side(roi, axis).1 / T::at(rois.pooled[axis] as f64);
    let n_points = |axis: usize| if attrs.sample_ratio > 0 { attrs.sample_ratio as f64 } else { bin(axis).to_f64().ceil() };
    let n = [0, 1].map(n_points);
    if n[0] * n[1] > MAX_POINTS {
        return Err(TooMany);
    }
    // For each bin of an axis, the taps of its points; `None` is outside.
    let points = |axis: usize| -> Vec<Vec<Option<Taps<T>>>> {
        let (start, bin, dim) = (rois.side(roi, axis).0, bin(axis), rois.dims[axis]);
        let first = |p: usize| start + T::at(p as f64) * bin;
        let at = |p: usize, i: usize| first(p) + (T::at(i as f64) + T::at(0.5)) * bin / T::at(n[axis]);
        (0..rois.pooled[axis]).map(|p| (0..n[axis] as usize).map(|i| point(at(p, i), dim)).collect()).collect()
    };
    let (rows, columns) = (points(0), points(1));
    let count = T::at(n[0] * n[1]);
    for channel in 0..rois.channels {
        let plane = rois.plane(picture, channel);
        for (ys, xs) in rows.iter().flat_map(|ys| columns.iter().map(move |xs| (ys, xs))) {
            let value = |y: &Option<Taps<T>>, x: &Option<Taps<T>>| match (y, x) {
                (Some(y), Some(x)) => interpolation::interpolate(plane, &rois.dims, &[y, x]),
                _ => T::ZERO,
            };
            let values = ys.iter().flat_map(|y| xs.iter().map(move |x| value(y, x)));
            out.push(match attrs.mode.0.as_str() {
                "max" => values.fold(T::at(f64::NEG_INFINITY), |a, b| a.max(b)),
                _ => values.fold(T::ZERO, |sum, value| sum + value / count),
            });
        }
    }
    Ok(())
}

/// The positions and weights for a coordinate: none more than an element outside, and the border up to there.
fn point<T: Float>(x: T, n: usize) -> Option<Taps<T>> {
    if n == 0 || x < -T::ONE || x > T::at(n as f64) {
        return None;
    }
    let x = x.most(T::ZERO);
    if x >= T::at(n as f64 - 1.0) {
        Some(smallvec![(n - 1, T::ONE)])
    } else {
        Some(interpolation::inside(&interpolation::linear(x), n))
    }
}

pub(super) fn roi_pool_eval(cx: &EvalCx) -> EvalResult {
    let attrs = RoiPoolAttrs::read(cx.attrs);
    let (layout, scale) = (&attrs.layout.0, attrs.spatial_scale);
    match (cx.tensor(0).to_acc(), cx.tensor(1).to_acc()) {
        (Acc::F32(_), Acc::F32(_)) => each_roi::<f32>(cx, layout, scale, pooled),
        _ => each_roi::<f64>(cx, layout, scale, pooled),
    }
}

fn pooled<T: Float>(rois: &Rois<T>, picture: usize, roi: &[T], out: &mut Vec<T>) -> Result<(), TooMany> {
    // The elements of each bin along an axis.
    let bins = |axis: usize| -> Vec<std::ops::Range<usize>> {
        let rounded = |x: T| (x * rois.scale).to_f64().round() as i64;
        let (start, end) = (rounded(roi[2 - axis]), rounded(roi[4 - axis]));
        let size = end.saturating_sub(start).saturating_add(1).max(1);
        let bin = T::at(size as f64) / T::at(rois.pooled[axis] as f64);
        // A little more or less, so that rounding does not add an element.
        let little = T::at(1e-5);
        let inside = |at: f64| start.saturating_add(at as i64).clamp(0, rois.dims[axis] as i64) as usize;
        let first = |p: usize| inside((T::at(p as f64) * bin + little).to_f64().floor());
        let last = |p: usize| inside((T::at(p as f64 + 1.0) * bin - little).to_f64().ceil());
        (0..rois.pooled[axis]).map(|p| first(p)..last(p)).collect()
    };
    let (rows, columns, width) = (bins(0), bins(1), rois.dims[1]);
    for channel in 0..rois.channels {
        let plane = rois.plane(picture, channel);
        for (ys, xs) in rows.iter().flat_map(|ys| columns.iter().map(move |xs| (ys, xs))) {
            let elements = ys.clone().flat_map(|y| xs.clone().map(move |x| plane[y * width + x]));
            out.push(elements.reduce(|a, b| a.max(b)).unwrap_or(T::ZERO));
        }
    }
    Ok(())
}

pub(super) fn roi_align_routine(call: &Call) -> Option<Routine> {
    let attrs = RoiAlignAttrs::read(call.attrs);
    let of_bin = if attrs.mode.0 == "max" { OfBin::Largest } else { OfBin::Mean };
    regions(call, &attrs.layout.0, attrs.spatial_scale, of_bin, u64::try_from(attrs.sample_ratio).unwrap_or(0))
}

pub(super) fn roi_pool_routine(call: &Call) -> Option<Routine> {
    let attrs = RoiPoolAttrs::read(call.attrs);
    regions(call, &attrs.layout.0, attrs.spatial_scale, OfBin::LargestElement, 0)
}

fn regions(call: &Call, layout: &str, scale: f64, of_bin: OfBin, points: u64) -> Option<Routine> {
    let (data, rois, out) = (call.arg(0), call.arg(1), call.out());
    lane(data.dtype)?;
    lane(rois.dtype)?;
    let channels_last = layout == "NHWC";
    let [channels, height, width] = if channels_last { [3, 1, 2] } else { [1, 2, 3] };
    Some(Routine::Boxes(Boxes::Regions(Regions {
        images: data.shape[0],
        channels: data.shape[channels],
        dims: [data.shape[height], data.shape[width]],
        channels_last,
        rows: rois.shape[0],
        bins: [out.shape[height], out.shape[width]],
        scale_bits: scale.to_bits(),
        element: data.dtype,
        row: rois.dtype,
        of_bin,
        points,
    })))
}

pub(super) fn yolo_reorg_rel(cx: &mut RelCx) -> RelResult {
    let stride = YoloReorgAttrs::read(cx.attrs).stride.unwrap_or(Dim::known(0));
    let value = stride.value().unwrap_or(0);
    cx.require("C2", value >= 1, || Fault::attr("stride", format!("expected at least 1, found {stride}")))?;
    let data = cx.tensor(0)?;
    cx.require("C1", data.rank() == 4, || Fault::rank(4, &data))?;
    let symbols = &mut cx.types.symbols;
    let mut by_stride = symbols.by(stride);
    let channels = by_stride.built(symbols, SymbolOp::Mul, data.shape[1]);
    let channels = by_stride.built(symbols, SymbolOp::Mul, channels);
    let [h, w] = [2, 3].map(|axis| by_stride.built(symbols, SymbolOp::FloorDiv, data.shape[axis]));
    let rule = |dim: Dim| SDim::new(dim, DimOrigin::Rule("C3"));
    cx.set_out(Shape::from_slice(&[data.dim(0), rule(channels), rule(h), rule(w)]), data.dtype)?;
    let square = i128::from(value) * i128::from(value);
    for (axis, divisor) in [(1, square), (2, value.into()), (3, value.into())] {
        let dim = data.shape[axis];
        cx.require("C3", dim.value().is_none_or(|dim| i128::from(dim) % divisor == 0), || {
            let fault = Fault::shape(format!("{dim} is not a multiple of {divisor}"))
                .at(data.axis(axis), "")
                .at(Place::attr("stride"), "")
                .equation(format!("data[{axis}] % {divisor} == 0"), format!("{dim} % {divisor} == 0"));
            Fault { typed: true, ..fault }
        })?;
    }
    Ok(())
}

pub(super) fn yolo_reorg_eval(cx: &EvalCx) -> EvalResult {
    let stride = YoloReorgAttrs::read(cx.attrs).stride.and_then(Dim::value).unwrap_or(1) as usize;
    let data = cx.tensor(0);
    let &[_, channels, height, width] = data.shape() else { unreachable!("the relation required rank 4") };
    Ok(data.pick(cx.out_shape(), 0.0, |i| Some(reordered(i, stride, [channels, height, width]))).into())
}

/// Where the element `i` comes from.
fn reordered(i: usize, stride: usize, [channels, height, width]: [usize; 3]) -> usize {
    let few = channels / stride / stride;
    let (rest, x) = (i / width, i % width);
    let (rest, y) = (rest / height, rest % height);
    let (picture, c) = (rest / channels, rest % channels);
    let (x, y) = (x * stride + c / few % stride, y * stride + c / few / stride);
    ((picture * few + c % few) * height * stride + y) * width * stride + x
}

pub(super) fn yolo_reorg_nest(call: &Call) -> Option<Template> {
    let stride = YoloReorgAttrs::read(call.attrs).stride.and_then(Dim::value)? as usize;
    let &[_, channels, height, width] = call.arg(0).shape.as_slice() else { return None };
    gather_each(call, |i| reordered(i, stride, [channels, height, width].map(|dim| dim as usize)))
}

#[cfg(test)]
mod tests {
    use super::super::{ROI_ALIGN, ROI_POOL, YOLO_REORG};
    use super::*;
    use crate::trial::{Trial, call, extremes};
    use relayc_ir::attrs::AttrValue;

    fn region(def: &'static crate::OpDef, h: i64, w: i64) -> Trial {
        call(def).ints("pooled_size", &[h, w]).attr("spatial_scale", AttrValue::float(1.0))
    }

    #[test]
    fn shapes() {
        let args = ["(1, 3i64, 8, 9) float16", "(?, 5) float32"];
        for def in [&ROI_ALIGN, &ROI_POOL] {
            assert_eq!(region(def, 2, 4).out(&args), "Tensor[(?, 3i64, 2, 4), float16]");
            let last = region(def, 2, 4).text("layout", "NHWC");
            assert_eq!(last.out(&args), "Tensor[(?, 2, 4, 9), float16]");
            extremes(|| region(def, 2, 4), &args);
        }
        assert_eq!(
            call(&YOLO_REORG).int("stride", 2).out(&["(?, 8, 4i64, ?) int8"]),
            "Tensor[(?, 32, 2i64, FloorDiv(?, 2)), int8]"
        );
        extremes(|| call(&YOLO_REORG).int("stride", 2), &["(1, 8, 4, 4) int8"]);
    }

    #[test]
    fn wild_regions() {
        let wild = [f32::NAN, f32::INFINITY, -f32::INFINITY, 1e30, -1e30, 0.0];
        for shape in [[1, 1, 0, 3], [1, 1, 3, 0], [1, 0, 3, 3], [1, 2, 3, 3]] {
            let data = Tensor::from_fn(&shape, |i| i as f32);
            for (a, b) in wild.iter().flat_map(|&a| wild.iter().map(move |&b| (a, b))) {
                let rois = Tensor::from_vec(&[1, 5], vec![0.0, a, 0.0, b, 2.0]);
                let _ = region(&ROI_ALIGN, 2, 3).eval(&[&data, &rois]);
                let _ = region(&ROI_ALIGN, 2, 3).int("sample_ratio", i64::MAX).eval(&[&data, &rois]);
                assert!(region(&ROI_POOL, 2, 3).eval(&[&data, &rois]).is_ok());
            }
            for picture in [-1.0, 1.0, f32::NAN, f32::INFINITY] {
                let rois = Tensor::from_vec(&[1, 5], vec![picture, 0.0, 0.0, 1.0, 1.0]);
                let code = |def| region(def, 1, 1).eval(&[&data, &rois]).map_err(|trap| trap.code);
                assert_eq!((code(&ROI_ALIGN), code(&ROI_POOL)), (Err(codes::E0501), Err(codes::E0501)));
            }
        }
    }

    #[test]
    fn channels_of_rows_and_columns() {
        // The picture seen as (1, 4, 4) holds its positions; each channel of the result takes every second row and column.
        let data = Tensor::from_fn(&[1, 4, 2, 2], |i| i as i32);
        let out = call(&YOLO_REORG).int("stride", 2).eval(&[&data]).expect("it runs");
        let expected = [0, 2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15];
        assert_eq!((out[0].shape(), out[0].to_vec::<i32>()), (&[1, 16, 1, 1][..], Some(expected.to_vec())));
        let none = Tensor::from_vec::<i32>(&[1, 0, 2, 2], vec![]);
        assert!(call(&YOLO_REORG).int("stride", 2).values(&[&none]).is_empty());
    }
}
