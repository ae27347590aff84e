//! Evaluates resizing: computes the coordinates of each axis, then interpolates.

use super::{BOX, CropAndResizeAttrs, RESIZE2D, Resize, Sampling};
use crate::eval::{MAX_TENSOR_BYTES, table};
use crate::interpolation::{self, Point, Taps};
use crate::prelude::*;
use relayc_ir::tensor::{Acc, Float};
use smallvec::SmallVec;

/// Planes of the data that are sampled at the same coordinates.
struct View<T> {
    first_plane: usize,
    n_planes: usize,
    /// For each axis of a plane, the taps of each position of the result; `None` is outside.
    axes: SmallVec<[Vec<Option<Taps<T>>>; 3]>,
}

pub(super) fn resize_eval(cx: &EvalCx, resize: &Resize) -> EvalResult {
    let layout = Layout::parse(&resize.layout).expect("the relation read it");
    let data = layout.unpack(resize.letters, cx.tensor(0));
    let roi = resize.roi.clone().unwrap_or_default();
    let ty = cx.known_out()?;
    let out = resized(&data, &layout.whole(&resize.letters[2..], &ty.shape), &roi, &resize.sampling, ty.dtype)?;
    Ok(layout.pack(resize.letters, &out).into())
}

pub(super) fn dyn_resize2d_eval(cx: &EvalCx) -> EvalResult {
    let resize = Resize::of("NCHW", cx.attrs);
    let layout = Layout::parse(&resize.layout).expect("the relation read it");
    let data = layout.unpack("NCHW", cx.tensor(0));
    let dtype = resize.out_dtype.unwrap_or(data.dtype());
    let size = cx.tensor(1).to_ints();
    let shape = cx.actual_shape(&[data.shape()[0] as i128, data.shape()[1] as i128, size[0], size[1]], dtype)?;
    let dims = &shape[2..];
    if dims.iter().zip("HW".chars()).any(|(&dim, letter)| dim as i64 % layout.block(letter) != 0) {
        return Err(Trap::new(codes::E0308, format!("the layout's blocks do not divide {size:?}")));
    }
    let sampling = Sampling { whole_ratios: false, ..resize.sampling };
    let out = resized(&data, dims, &cx.tensor(2).to_f64s(), &sampling, dtype)?;
    Ok(layout.pack("NCHW", &out).into())
}

/// The static operator, if size and region are known.
pub(super) fn dyn_resize2d_fixed(known: &KnownFacts) -> Option<Fixed> {
    let value = |arg: usize| known.values.get(arg).and_then(Option::as_ref);
    let size: Option<Vec<i64>> = value(1)?.to_ints().into_iter().map(|dim| i64::try_from(dim).ok()).collect();
    let roi = value(2)?.to_f64s().into_iter().map(|value| AttrValue::Float { value, bits: 32 });
    let given = [AttrValue::ints(&size?), AttrValue::List(roi.collect())];
    let attrs = given.into_iter().chain(known.attrs[2..].iter().cloned()).collect();
    Some(Fixed::Call { def: &RESIZE2D, kept: &[0], attrs })
}

/// Resizes data `(N, C, …)` along the axes behind `C`.
pub(crate) fn resized(data: &Tensor, size: &[usize], roi: &[f64], sampling: &Sampling, dtype: DType) -> Result<Tensor, Trap> {
    fn view<T: Float>(data: &Tensor, size: &[usize], roi: &[f64], sampling: &Sampling) -> Result<View<T>, Trap> {
        let (n, planes) = (size.len(), &data.shape()[2..]);
        let axis = |i: usize| sampling.axis(planes[i], size[i], (roi[i], roi[i + n]));
        let axes = (0..n).map(axis).collect::<Result<_, Trap>>()?;
        Ok(View { first_plane: 0, n_planes: data.shape()[0] * data.shape()[1], axes })
    }
    let shape = [&data.shape()[..2], size].concat();
    if shape.contains(&0) {
        return Tensor::full(dtype, &shape, 0.0).ok_or_else(|| Trap::no_tensor(dtype));
    }
    let (is_nearest, fill) = (sampling.method == "nearest_neighbor", sampling.extrapolation);
    match data.to_acc() {
        Acc::F32(_) => sampled::<f32>(data, &shape, &[view(data, size, roi, sampling)?], is_nearest, fill, dtype),
        Acc::F64(_) | Acc::I64(_) => sampled::<f64>(data, &shape, &[view(data, size, roi, sampling)?], is_nearest, fill, dtype),
    }
}

/// The views one after the other. A nearest element is taken as it is.
fn sampled<T: Float>(
    data: &Tensor,
    shape: &[usize],
    views: &[View<T>],
    is_nearest: bool,
    fill: f64,
    dtype: DType,
) -> Result<Tensor, Trap> {
    let no_tensor = || Trap::no_tensor(dtype);
    let dims = &data.shape()[2..];
    let plane: usize = dims.iter().product();
    if is_nearest {
        let mut sources = Vec::with_capacity(shape.iter().product());
        each_point(views, |at, point| sources.push(point.and_then(|point| Some(at * plane + interpolation::only(dims, point)?))));
        return Ok(data.cast(dtype).ok_or_else(no_tensor)?.pick(shape, fill, |i| sources[i]));
    }
    let elements = T::elements(&data.to_acc());
    let mut out = Vec::with_capacity(shape.iter().product());
    each_point(views, |at, point| {
        out.push(point.map_or(T::at(fill), |point| interpolation::interpolate(&elements[at * plane..][..plane], dims, point)));
    });
    Tensor::from_vec(shape, out).cast(dtype).ok_or_else(no_tensor)
}

/// Calls `f` with the plane and the taps of each element of the result.
fn each_point<T: Float>(views: &[View<T>], mut f: impl FnMut(usize, Option<&Point<T>>)) {
    for view in views {
        let n_points: usize = view.axes.iter().map(Vec::len).product();
        for plane in view.first_plane..view.first_plane + view.n_planes {
            (0..n_points).for_each(|i| f(plane, point(&view.axes, i).as_ref()));
        }
    }
}

/// The taps of the position `i`, in row-major order.
fn point<T: Float>(axes: &[Vec<Option<Taps<T>>>], mut i: usize) -> Option<Point<'_, T>> {
    let mut point = Point::new();
    for axis in axes.iter().rev() {
        point.push(axis[i % axis.len()].as_ref()?);
        i /= axis.len();
    }
    point.reverse();
    Some(point)
}

impl Sampling {
    /// The interpolation points of each position of an axis that is resized from `from` elements to `to`.
    pub(super) fn axis<T: Float>(&self, from: usize, to: usize, roi: (f64, f64)) -> Result<Vec<Option<Taps<T>>>, Trap> {
        let whole = self.whole_ratios && self.mode == "asymmetric" && self.method == "nearest_neighbor";
        match whole.then(|| whole_ratio(from, to)).flatten() {
            Some(ratio) => table(to, MAX_TENSOR_BYTES, |x| Some(interpolation::clamped(&[((x / ratio) as i64, T::ONE)], from))),
            None => table(to, MAX_TENSOR_BYTES, |x| self.taps(self.coordinate(x, from, to, roi), from)),
        }
    }

    /// Where position `x` lies in the data (`get_inx` of `python/tvm/topi/image/resize.py`).
    fn coordinate<T: Float>(&self, x: usize, from: usize, to: usize, (start, end): (f64, f64)) -> T {
        let n = |n: usize| T::at(n as f64);
        let (half, scale, last) = (T::at(0.5), n(from) / n(to), n(from) - T::ONE);
        let (x, one) = (n(x), to == 1);
        match self.mode.as_str() {
            "align_corners" if one => T::ZERO,
            "align_corners" => last / (n(to) - T::ONE) * x,
            "asymmetric" => scale * x,
            "pytorch_half_pixel" if one => T::ZERO,
            "tf_half_pixel_for_nn" => (x + half) * scale,
            "tf_crop_and_resize" | BOX if one => half * (T::at(start) + T::at(end)) * last,
            "tf_crop_and_resize" => T::at(start) * last + x * (T::at(end) - T::at(start)) * last / (n(to) - T::ONE),
            BOX => T::at(start) * last + last * (T::at(end) - T::at(start)) / (n(to) - T::ONE) * x,
            _ => (x + half) * scale - half,
        }
    }

    /// The positions and weights for a coordinate; `None` if it is outside and `ends` is set.
    fn taps<T: Float>(&self, x: T, n: usize) -> Option<Taps<T>> {
        let is_inside = x >= T::ZERO && x <= T::at(n as f64) - T::ONE;
        if self.ends && !is_inside {
            return None;
        }
        Some(match self.method.as_str() {
            "nearest_neighbor" => interpolation::clamped(&[(self.rounded(x), T::ONE)], n),
            "linear" => interpolation::clamped(&interpolation::linear(x), n),
            _ if self.exclude => normal(interpolation::inside(&interpolation::cubic(x, self.alpha), n)),
            _ => interpolation::clamped(&interpolation::cubic(x, self.alpha), n),
        })
    }

    /// Rounds a coordinate to a position. `floor` treats a coordinate just below a position as the position, and `ceil` one just
    /// above.
    fn rounded<T: Float>(&self, x: T) -> i64 {
        let (half, little) = (T::at(0.5), T::at(1e-5));
        let rounding = match (self.rounding.as_str(), self.mode.as_str()) {
            ("", "align_corners") => "round",
            ("", _) => "floor",
            (rounding, _) => rounding,
        };
        (match rounding {
            "round" => x.to_f64().round(),
            "round_prefer_floor" => (x - half).to_f64().ceil(),
            "round_prefer_ceil" => (x + half).to_f64().floor(),
            "floor" => (x + little).to_f64().floor(),
            _ => (x - little).to_f64().ceil(),
        }) as i64
    }
}

/// How many times `from` is in `to`, where it is a whole number and so small that TVM divides integers
/// (`can_convert_multiply_to_intdiv` of `python/tvm/topi/image/resize.py`).
fn whole_ratio(from: usize, to: usize) -> Option<usize> {
    let ratio = to.checked_div(from).filter(|ratio| ratio * from == to && *ratio > 0)?;
    (ratio as f64 <= 1.0 / (1e-5 * (from as f64 + 1.0))).then_some(ratio)
}

/// Weights that sum to one.
fn normal<T: Float>(mut taps: Taps<T>) -> Taps<T> {
    let sum = taps.iter().map(|&(_, weight)| weight).fold(T::ZERO, |a, b| a + b);
    taps.iter_mut().for_each(|(_, weight)| *weight = *weight / sum);
    taps
}

pub(super) fn crop_and_resize_eval(cx: &EvalCx) -> EvalResult {
    fn views<T: Float>(
        data: &Tensor,
        boxes: &Tensor,
        images: &[usize],
        size: [usize; 2],
        crop: &Sampling,
    ) -> Result<Vec<View<T>>, Trap> {
        let corners = boxes.to_f64s();
        let (channels, planes) = (data.shape()[1], &data.shape()[2..]);
        let axis = |b: usize, i: usize| crop.axis(planes[i], size[i], (corners[4 * b + i], corners[4 * b + i + 2]));
        let view = |(b, image): (usize, &usize)| {
            let axes = [axis(b, 0)?, axis(b, 1)?].into_iter().collect();
            Ok(View { first_plane: image * channels, n_planes: channels, axes })
        };
        images.iter().enumerate().map(view).collect()
    }
    let attrs = CropAndResizeAttrs::read(cx.attrs);
    let layout = Layout::parse(&attrs.layout).expect("the relation read it");
    let data = layout.unpack("NCHW", cx.tensor(0));
    let n_images = data.shape()[0];
    let image = |index: i128| usize::try_from(index).ok().filter(|&image| image < n_images).ok_or(index);
    let images: Result<Vec<usize>, i128> = cx.tensor(2).to_ints().into_iter().map(image).collect();
    let outside = |index| Trap::new(codes::E0501, format!("image {index} is outside of a batch of {n_images}"));
    let images = images.map_err(outside)?;
    let ty = cx.known_out()?;
    let (size, dtype) = (layout.whole("HW", &ty.shape), ty.dtype);
    let (is_nearest, fill) = (attrs.method.to_lowercase() == "nearest_neighbor", attrs.extrapolation_value);
    let crop = Sampling {
        method: if is_nearest { "nearest_neighbor" } else { "linear" }.to_owned(),
        mode: BOX.to_owned(),
        ends: true,
        rounding: "round".to_owned(),
        alpha: 0.0,
        exclude: false,
        extrapolation: fill,
        whole_ratios: false,
    };
    let (boxes, size) = (cx.tensor(1), [size[0], size[1]]);
    let shape = [images.len(), data.shape()[1], size[0], size[1]];
    let out = match data.to_acc() {
        Acc::F32(_) => sampled::<f32>(&data, &shape, &views(&data, boxes, &images, size, &crop)?, is_nearest, fill, dtype),
        Acc::F64(_) | Acc::I64(_) => {
            sampled::<f64>(&data, &shape, &views(&data, boxes, &images, size, &crop)?, is_nearest, fill, dtype)
        }
    };
    Ok(layout.pack("NCHW", &out?).into())
}

#[cfg(test)]
mod tests {
    use super::super::{CROP_AND_RESIZE, METHODS, MODES, RESIZE1D, ResizeAttrs};
    use super::*;
    use crate::eval::ArgValue;
    use crate::trial::{Trial, call};

    fn floats(values: &[f64]) -> AttrValue {
        AttrValue::List(values.iter().map(|&value| AttrValue::Float { value, bits: 32 }).collect())
    }

    fn one(size: i64) -> Trial {
        call(&RESIZE1D).ints("size", &[size]).attr("roi", floats(&[0.0, 1.0]))
    }

    #[test]
    fn no_data_or_one_element() {
        let nothing = Tensor::from_vec::<f32>(&[1, 1, 0], vec![]);
        for mode in MODES {
            for method in METHODS {
                for size in [0, 1, 3] {
                    let trial = || one(size).text("coordinate_transformation_mode", mode).text("method", method);
                    assert_eq!(trial().values(&[&nothing]), vec![0.0; size as usize]);
                    trial().values(&[&Tensor::from_vec(&[1, 1, 1], vec![u64::MAX])]);
                }
            }
        }
    }

    #[test]
    fn whole_ratios_of_small_numbers() {
        assert_eq!((whole_ratio(4, 8), whole_ratio(4, 9), whole_ratio(0, 0), whole_ratio(4, 0)), (Some(2), None, None, None));
        assert_eq!(whole_ratio(1000, 200_000), None);
    }

    #[test]
    fn integers_are_taken_exactly() {
        let trial = one(2).text("method", "nearest_neighbor").text("coordinate_transformation_mode", "asymmetric");
        let data = Tensor::from_vec(&[1, 1, 1], vec![i64::MAX]);
        assert_eq!(trial.eval(&[&data]).expect("it runs")[0].to_vec::<i64>(), Some(vec![i64::MAX; 2]));
    }

    #[test]
    fn sizes_and_images_that_data_decides() {
        let data = Tensor::from_vec(&[1, 1, 1, 1], vec![1f32]);
        let roi = Tensor::from_vec(&[4], vec![0f32; 4]);
        let dynamic = |size: Vec<i64>| {
            let args = [&data, &Tensor::from_vec(&[2], size), &roi].map(|arg| ArgValue::Tensor(arg.clone()));
            let attrs: Vec<AttrValue> =
                ResizeAttrs::schema::<2>().fields.iter().map(|field| field.default.expect("all have one")()).collect();
            dyn_resize2d_eval(&EvalCx { args: &args, attrs: &attrs, out: &[], max_bytes: 1 << 20 }).map_err(|trap| trap.code)
        };
        assert!(dynamic(vec![2, 3]).is_ok());
        assert_eq!(dynamic(vec![2, -3]).expect_err("a trap"), codes::E0310);
        assert_eq!(dynamic(vec![1 << 40, 1 << 40]).expect_err("a trap"), codes::E0803);
        let boxes = Tensor::from_vec(&[1, 4], vec![0f32, 0.0, 1.0, 1.0]);
        for image in [-1, 1] {
            let trap = call(&CROP_AND_RESIZE)
                .ints("crop_size", &[1, 1])
                .eval(&[&data, &boxes, &Tensor::from_vec(&[1], vec![image])])
                .expect_err("a trap");
            assert_eq!(trap.code, codes::E0501);
        }
    }
}
