//! The gradient of a convolution with respect to its weight: windows of the data times the result's gradient.

use super::Conv2dAttrs;
use super::eval::{self, Sizes};
use super::rel::require_positive;
use crate::prelude::*;
use crate::window;
use relayc_ir::tensor::{Acc, Real};

pub(super) fn backward_weight_rel(cx: &mut RelCx) -> RelResult {
    let attrs = Conv2dAttrs::read(cx.attrs);
    let grad_layout = layout_attr("C1", "data_layout", &attrs.data_layout, |layout| layout.of("NCHW"))?;
    let data_layout = layout_attr("C1", "kernel_layout", &attrs.kernel_layout, |layout| layout.of("NCHW"))?;
    let out_layout = layout_attr("C2", "out_layout", &attrs.out_layout, |layout| layout.of("OIHW"))?;
    window::sizes(cx, "C4", "strides", &attrs.strides, 2)?;
    window::sizes(cx, "C4", "dilation", &attrs.dilation, 2)?;
    cx.require("C4", attrs.kernel_size.is_some(), || Fault::attr("kernel_size", "expected the window's size, found none"))?;
    let size = attrs.kernel_size.clone().unwrap_or_default();
    window::sizes(cx, "C4", "kernel_size", &size, 2)?;
    window::padding(cx, "C5", &attrs.padding, 2)?;
    require_positive(cx, "C6", "groups", attrs.groups)?;

    let (grad, data) = (cx.tensor(0)?, cx.tensor(1)?);
    let grad_dims = grad_layout.dims(cx, "C3", &grad, "NCHW")?;
    let data_dims = data_layout.dims(cx, "C3", &data, "NCHW")?;
    require_divides(cx, grad_dims[1], attrs.groups)?;
    require_divides(cx, data_dims[1], attrs.groups)?;
    let channels = attrs.channels.map_or(grad_dims[1], |channels| SDim::known(channels, DimOrigin::Attr("channels")));
    cx.require("C8", channels.dim.compatible(grad_dims[1].dim) && channels.value().is_none_or(|channels| channels >= 0), || {
        Fault::attr("channels", format!("expected {}, found {}", grad_dims[1].dim, channels.dim))
            .at(grad_dims[1].place(), "")
            .set_attr("channels", grad_dims[1].dim)
    })?;
    cx.require("C9", grad_dims[0].dim.compatible(data_dims[0].dim), || {
        Fault::shape(format!("expected one batch, found {} and {}", grad_dims[0].dim, data_dims[0].dim))
            .at(data_dims[0].place(), "")
            .at(grad_dims[0].place(), "")
    })?;
    for (at, (letter, window)) in "HW".chars().zip(windows(&attrs, &size)).enumerate() {
        let expected = window::out_dim(cx, "C10", letter, data_dims[2 + at], Some(window), false)?;
        let found = grad_dims[2 + at];
        cx.require("C10", found.dim.compatible(expected.dim), || {
            Fault::shape(format!("expected {} windows along {letter}, found {}", expected.dim, found.dim))
                .at(found.place(), "")
                .at(data_dims[2 + at].place(), "")
        })?;
    }
    let inputs = data_dims[1].dim.map(|inputs| inputs.checked_div(attrs.groups));
    let mut dims = vec![channels, SDim::new(inputs, data_dims[1].from)];
    dims.extend(size.iter().map(|&size| SDim::known(size, DimOrigin::Attr("kernel_size"))));
    let shape = out_layout.shape(cx, "C11", "OIHW", &dims)?;
    cx.set_out(shape, attrs.out_dtype.unwrap_or(grad.dtype))
}

/// The windows of the convolution it is the gradient of.
fn windows(attrs: &Conv2dAttrs, size: &[i64]) -> Vec<window::Window> {
    window::windows(size, &attrs.strides, &attrs.dilation, &attrs.padding)
}

/// `C7` of one operand's channels.
fn require_divides(cx: &RelCx, c: SDim, groups: i64) -> RelResult {
    let Some(value) = c.value() else { return Ok(()) };
    cx.require("C7", value % groups == 0, || {
        Fault::shape(format!("{value} channels do not fall into {groups} groups")).at(c.place(), "").at(Place::attr("groups"), "")
    })
}

pub(super) fn backward_weight_eval(cx: &EvalCx) -> EvalResult {
    let attrs = Conv2dAttrs::read(cx.attrs);
    let grad = eval::operand(cx, 0, &attrs.data_layout, "NCHW")?;
    let data = eval::operand(cx, 1, &attrs.kernel_layout, "NCHW")?;
    let out = match grad.to_acc() {
        Acc::F32(_) => correlate::<f32>(&attrs, &grad, &data),
        Acc::F64(_) => correlate::<f64>(&attrs, &grad, &data),
        Acc::I64(_) => correlate::<i64>(&attrs, &grad, &data),
    };
    Ok(eval::read_layout(&attrs.out_layout).pack("OIHW", &out.into_tensor(cx.out_dtype())).into())
}

fn correlate<T: Real>(attrs: &Conv2dAttrs, grad: &Tensor, data: &Tensor) -> Acc {
    let size: Vec<usize> = attrs.kernel_size.iter().flatten().map(|&size| size as usize).collect();
    let sizes = Sizes::new(attrs, &data.shape()[2..], &size, &grad.shape()[2..]);
    let (groups, batch, outputs, channels) = (attrs.groups as usize, grad.shape()[0], grad.shape()[1], data.shape()[1]);
    let inputs = channels / groups;
    let (grad, data) = (T::elements(&grad.to_acc()), T::elements(&data.to_acc()));
    let (grad_len, image_len) = (sizes.out_len(), sizes.data_len());
    let mut out = vec![T::ZERO; outputs * inputs * sizes.kernel_len()];
    T::each_part(&mut out, sizes.kernel_len(), &|plane, kernel| {
        let (o, i) = (plane / inputs, plane % inputs);
        let channel = o / (outputs / groups) * inputs + i;
        for (at, tap) in kernel.iter_mut().enumerate() {
            for n in 0..batch {
                let grad = &grad[(n * outputs + o) * grad_len..][..grad_len];
                let image = &data[(n * channels + channel) * image_len..][..image_len];
                sizes.rows(at, |out, data, n| {
                    let inputs = image[data..].iter().step_by(sizes.stride());
                    let sum = grad[out..][..n].iter().zip(inputs).fold(T::ZERO, |sum, (&g, &x)| sum.add(g.mul(x)));
                    *tap = tap.add(sum);
                });
            }
        }
    });
    T::from_elements(&[outputs, inputs, size[0], size[1]], out)
}

/// The number of multiplications: each element of the gradient times the window over the input channels of a group.
pub(super) fn backward_weight_macs(shapes: &Shapes) -> u128 {
    let out_layout = Conv2dAttrs::read(shapes.attrs).out_layout;
    let layout = Layout::parse(&out_layout).expect("the relation has read it");
    let window: u128 = "IHW".chars().map(|letter| layout.size(letter, shapes.out)).product();
    Shapes::elements(&shapes.args[0]) * window
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conv::{CONV2D, CONV2D_BACKWARD_WEIGHT};
    use crate::trial::{Trial, call, extremes};

    fn gradient(size: &[i64]) -> Trial {
        call(&CONV2D_BACKWARD_WEIGHT).ints("kernel_size", size).text("kernel_layout", "NCHW").text("out_layout", "OIHW")
    }

    const GRAD: &str = "(2, 6, 5, 5) float32";
    const DATA: &str = "(2, 4, 7, 6) float32";

    #[test]
    fn types() {
        assert_eq!(gradient(&[3, 2]).out(&[GRAD, DATA]), "Tensor[(6, 4, 3, 2), float32]");
        let moved = gradient(&[3, 2]).text("out_layout", "HWIO2o").int("groups", 2).int("channels", 6);
        assert_eq!(moved.out(&[GRAD, DATA]), "Tensor[(3, 2, 2, 3, 2), float32]");
        assert_eq!(gradient(&[3, 2]).out(&["(?, 6, ?, 5) int8", "(2, 4, 7, ?) int8"]), "Tensor[(6, 4, 3, 2), int8]");
        let unknown = ["(2, ?, 5, 5) int8", "(2, ?, 7, 6) int8"];
        assert_eq!(gradient(&[3, 2]).out(&unknown), "Tensor[(?, ?, 3, 2), int8]");
        assert_eq!(gradient(&[3, 2]).int("channels", 6).out(&unknown), "Tensor[(6, ?, 3, 2), int8]");
        let depthwise = gradient(&[3, 3]).int("groups", 3).int("channels", 3).ints("padding", &[1, 1, 1, 1]);
        assert_eq!(depthwise.out(&["(1, 3, 9, 9) int8", "(1, 3, 9, 9) int8"]), "Tensor[(3, 1, 3, 3), int8]");
    }

    #[test]
    fn faults() {
        let rule = |trial: Trial| trial.fault(&[GRAD, DATA]).rule;
        assert_eq!(rule(gradient(&[3, 2]).text("kernel_layout", "OIHW")), "C1");
        assert_eq!(rule(gradient(&[3, 2]).text("out_layout", "")), "C2");
        assert_eq!(gradient(&[3, 2]).fault(&["(6, 5, 5) int8", DATA]).rule, "C3");
        assert_eq!(rule(gradient(&[3])), "C4");
        assert_eq!(rule(gradient(&[3, 2]).ints("padding", &[-1])), "C5");
        assert_eq!(rule(gradient(&[3, 2]).int("groups", 0)), "C6");
        assert_eq!(rule(gradient(&[3, 2]).int("groups", 3)), "C7");
        assert_eq!(rule(gradient(&[3, 2]).int("channels", -6)), "C8");
        assert_eq!(rule(gradient(&[3, 2]).int("channels", 4)), "C8");
        assert_eq!(gradient(&[3, 2]).fault(&["(1, 6, 5, 5) int8", DATA]).rule, "C9");
        assert_eq!(rule(gradient(&[3, 3])), "C10");
        assert_eq!(rule(gradient(&[3, 2]).text("out_layout", "OIHW4o")), "C11");
        extremes(|| gradient(&[3, 2]), &[GRAD, DATA]);
    }

    /// The convolution is linear in its weight: `conv(x, w) · y == w · gradient(y, x)`.
    #[test]
    fn it_is_the_gradient() {
        let ramp = |shape: &[usize]| Tensor::from_fn(shape, |i| (i * 5 % 13) as f64 - 6.0);
        let dot = |a: &Tensor, b: &Tensor| -> f64 { a.to_f64s().iter().zip(b.to_f64s()).map(|(a, b)| a * b).sum() };
        for (strides, padding, dilation, groups) in
            [([1, 1], [0, 0, 0, 0], [1, 1], 1), ([2, 3], [1, 0, 2, 2], [2, 1], 2), ([1, 2], [3, 3, 3, 3], [1, 2], 4)]
        {
            let (x, w) = (ramp(&[2, 4, 7, 6]), ramp(&[8, 4 / groups, 3, 2]));
            let set = |trial: Trial| {
                trial.ints("strides", &strides).ints("padding", &padding).ints("dilation", &dilation).int("groups", groups as i64)
            };
            let out = set(call(&CONV2D)).eval(&[&x, &w]).expect("it runs").remove(0);
            let y = Tensor::from_fn(out.shape(), |i| (i * 3 % 7) as f64 - 3.0);
            let dw = set(gradient(&[3, 2])).eval(&[&y, &x]).expect("it runs").remove(0);
            assert_eq!(dot(&out, &y), dot(&w, &dw), "{strides:?} {groups}");
        }
    }
}
