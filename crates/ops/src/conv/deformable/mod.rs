//! Deformable convolution: an operand displaces each point of each window.

mod nest;

pub(super) use nest::deformable_nest;

use super::eval::{self, Sizes};
use super::read_deformable;
use super::rel::{self, letters, require_positive};
use crate::prelude::*;
use crate::rel::{require_float, require_same_dtype};
use relayc_ir::tensor::Real;

pub(super) fn deformable_rel(cx: &mut RelCx) -> RelResult {
    let (deformable_groups, attrs) = read_deformable(cx.attrs);
    let conv = rel::read(cx, attrs, "HW", 'O')?;
    cx.require("C2", conv.weight.layout.axis('G').is_none(), || {
        Fault::attr("kernel_layout", "expected the axes O, I, H and W only").set_attr("kernel_layout", "\"OIHW\"")
    })?;
    require_positive(cx, "C6", "deformable_groups", deformable_groups)?;
    let data = cx.tensor(0)?;
    require_float(cx, "C15", &data)?;
    let dims = conv.data.dims(cx, "C3", &data, "NCHW")?;
    require_parts(cx, dims[1], deformable_groups)?;
    let kernel = rel::kernel(cx, &conv, &dims, 2, data.dtype)?;
    let positions = conv.positions(cx, &dims[2..], &kernel)?;

    let moved = kernel.size.iter().try_fold(2i64.checked_mul(deformable_groups), |product, size| {
        Some(product.and_then(|product| product.checked_mul(size.value()?)))
    });
    let moved = SDim::new(moved.flatten().map_or(Dim::Any, Dim::known), DimOrigin::Rule("C13"));
    let expected = Shape::from_slice(&[dims[0], moved, positions[0], positions[1]]);
    match cx.known_tensor(1)? {
        None => {
            let shape = conv.data.shape(cx, "C12", "NCHW", &expected)?;
            cx.set_arg("C13", 1, shape, data.dtype)?;
        }
        Some(offset) => {
            require_same_dtype(cx, "C15", &data, &offset)?;
            let found = conv.data.dims(cx, "C3", &offset, "NCHW")?;
            for ((found, expected), letter) in found.iter().zip(&expected).zip("NCHW".chars()) {
                cx.require("C13", found.dim.compatible(expected.dim), || {
                    Fault::shape(format!("expected {letter} = {}, found {}", expected.dim, found.dim)).at(found.place(), "")
                })?;
            }
        }
    }
    let mut out = Shape::from_slice(&[dims[0], kernel.channels]);
    out.extend(positions);
    conv.set_out(cx, &out, data.dtype)
}

/// `C14`.
fn require_parts(cx: &RelCx, c: SDim, deformable_groups: i64) -> RelResult {
    let Some(value) = c.value() else { return Ok(()) };
    cx.require("C14", value % deformable_groups == 0, || {
        Fault::shape(format!("{value} input channels do not fall into {deformable_groups} deformable groups"))
            .at(Place::attr("deformable_groups"), "")
            .at(c.place(), "")
            .equation("data.C % deformable_groups == 0", format!("{value} % {deformable_groups} == 0"))
    })
}

pub(super) fn deformable_eval(cx: &EvalCx) -> EvalResult {
    let (parts, attrs) = read_deformable(cx.attrs);
    let (parts, groups) = (parts as usize, attrs.groups as usize);
    // Points are where they are in the dtype of the data, whatever that of the result is.
    let unpack = |arg: usize| eval::read_layout(&attrs.data_layout).unpack(&letters("NC", "HW"), cx.tensor(arg)).to_f64s();
    let shape = |arg: usize| eval::read_layout(&attrs.data_layout).whole("NCHW", cx.tensor(arg).shape());
    let (data_shape, offset_shape) = (shape(0), shape(1));
    let weight = eval::weight(cx, 2, &attrs.kernel_layout, "HW", 'O')?;
    let sizes = Sizes::new(&attrs, &data_shape[2..], &weight.shape()[2..], &offset_shape[2..]);
    let (outputs, channels) = (weight.shape()[0], data_shape[1]);
    let (data, offset, weight) = (unpack(0), unpack(1), f64::elements(&weight.to_acc()));

    let (inputs, kernel_len, out_len) = (channels / groups, sizes.kernel_len(), sizes.out_len());
    let mut out = vec![0.0; data_shape[0] * outputs * out_len];
    f64::each_part(&mut out, out_len, &|plane, sums| {
        let (n, o) = (plane / outputs, plane % outputs);
        for i in 0..inputs {
            let channel = o / (outputs / groups) * inputs + i;
            let image = &data[(n * channels + channel) * sizes.data_len()..][..sizes.data_len()];
            let part = channel / (channels / parts);
            for at in 0..kernel_len {
                let tap = weight[(o * inputs + i) * kernel_len + at];
                let moves = (n * parts + part) * kernel_len + at;
                let (down, along) = (&offset[2 * moves * out_len..][..out_len], &offset[(2 * moves + 1) * out_len..][..out_len]);
                add_moved(sums, image, tap, &sizes, at, down, along);
            }
        }
    });
    let mut shape = vec![data_shape[0], outputs];
    shape.extend(&offset_shape[2..]);
    eval::result(cx, &attrs, "HW", <f64 as Real>::from_elements(&shape, out))
}

/// Adds to each output the moved point `at` of its window times the tap.
fn add_moved(sums: &mut [f64], image: &[f64], tap: f64, sizes: &Sizes, at: usize, down: &[f64], along: &[f64]) {
    let ([_, height, width], [_, _, out_width]) = (sizes.data, sizes.out);
    let place = |window: usize, position: usize, k: usize| {
        let window = &sizes.windows[window];
        (position as i128 * i128::from(window.stride) + k as i128 * i128::from(window.dilation) - i128::from(window.before))
            as f64
    };
    let (ky, kx) = (at / sizes.kernel[2], at % sizes.kernel[2]);
    for (position, sum) in sums.iter_mut().enumerate() {
        let y = place(1, position / out_width, ky) + down[position];
        let x = place(2, position % out_width, kx) + along[position];
        *sum += tap * sample(image, height, width, y, x);
    }
}

/// The image at a point between its elements. Elements outside the image are 0. So is any point left of or above the first
/// element, or at least a whole step behind the last.
fn sample(image: &[f64], height: usize, width: usize, y: f64, x: f64) -> f64 {
    let inside = |at: f64, n: usize| at >= 0.0 && at < n as f64;
    if !inside(y, height) || !inside(x, width) {
        return 0.0;
    }
    let (top, left) = (y as usize, x as usize);
    let (low, right) = (y - top as f64, x - left as f64);
    let at = |y: usize, x: usize| if y < height && x < width { image[y * width + x] } else { 0.0 };
    let mut sum = 0.0;
    for (weight, y, x) in [
        ((1.0 - low) * (1.0 - right), top, left),
        ((1.0 - low) * right, top, left + 1),
        (low * (1.0 - right), top + 1, left),
        (low * right, top + 1, left + 1),
    ] {
        // A weight of 0 hides no infinity that is not met.
        if weight != 0.0 {
            sum += weight * at(y, x);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conv::{CONV2D, DEFORMABLE_CONV2D};
    use crate::trial::{Trial, call, extremes};
    use relayc_ir::tensor::Tensor;

    fn conv(size: i64) -> Trial {
        call(&DEFORMABLE_CONV2D).int("channels", 4).ints("kernel_size", &[size, size])
    }

    const DATA: &str = "(1, 4, 6, 7) float32";

    #[test]
    fn types() {
        let all = conv(3).int("deformable_groups", 2).ints("padding", &[1, 1]).infer(&[DATA, "_", "_"]).expect("it holds");
        assert_eq!(all.args[1..], ["Tensor[(1, 36, 6, 7), float32]", "Tensor[(4, 4, 3, 3), float32]"]);
        assert_eq!(all.out, "Tensor[(1, 4, 6, 7), float32]");
        let nhwc = conv(3).text("data_layout", "NHWC").text("kernel_layout", "HWIO").int("groups", 2);
        let nhwc = nhwc.infer(&["(?, 6, ?, 4) float16", "_", "_"]).expect("it holds");
        assert_eq!(nhwc.args[1..], ["Tensor[(?, 4, ?, 18), float16]", "Tensor[(3, 3, 2, 4), float16]"]);
    }

    #[test]
    fn faults() {
        let offset = "(1, 18, 4, 5) float32";
        let rule = |trial: Trial, offset: &str| trial.fault(&[DATA, offset, "_"]).rule;
        assert_eq!(rule(conv(3).int("groups", 2).text("kernel_layout", "GOIHW"), offset), "C2");
        assert_eq!(rule(conv(3), "(1, 18, 4) float32"), "C3");
        assert_eq!(rule(conv(3).int("deformable_groups", 0), offset), "C6");
        assert_eq!(rule(conv(3), "(1, 18, 4, 6) float32"), "C13");
        assert_eq!(rule(conv(3).int("deformable_groups", 3), offset), "C14");
        assert_eq!(rule(conv(3), "(1, 18, 4, 5) int8"), "C15");
        assert_eq!(conv(3).fault(&["(1, 4, 6, 7) int8", offset, "_"]).rule, "C15");
        extremes(|| conv(3), &[DATA, offset, "(4, 4, 3, 3) float32"]);
    }

    /// Points that stay where they are make it a convolution; whole steps move the image.
    #[test]
    fn points_that_do_not_move() {
        let ramp = |shape: &[usize]| Tensor::from_fn(shape, |i| (i * 7 % 11) as f32 - 5.0);
        let (data, weight) = (ramp(&[2, 4, 5, 6]), ramp(&[6, 2, 3, 2]));
        let set =
            |trial: Trial| trial.ints("strides", &[2, 1]).ints("padding", &[1, 0]).ints("dilation", &[1, 2]).int("groups", 2);
        let plain = set(call(&CONV2D)).eval(&[&data, &weight]).expect("it runs").remove(0);
        let still = Tensor::from_fn(&[2, 24, 3, 4], |_| 0f32);
        let moved = set(call(&DEFORMABLE_CONV2D)).int("deformable_groups", 2);
        assert_eq!(moved.eval(&[&data, &still, &weight]).expect("it runs")[0], plain);
    }

    #[test]
    fn points_between_elements() {
        let image = [1.0, 2.0, 4.0, 8.0];
        let at = |y: f64, x: f64| sample(&image, 2, 2, y, x);
        assert_eq!(at(0.5, 0.25), 0.75 * 2.5 + 0.25 * 5.0);
        assert_eq!(at(1.5, 1.0), 4.0);
        assert_eq!([at(-0.5, 0.0), at(2.0, 0.0), at(0.0, f64::NAN), at(0.0, 1e300)], [0.0; 4]);
    }
}
