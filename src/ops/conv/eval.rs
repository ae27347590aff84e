//! The values of convolution.

use super::Conv2dAttrs;
use crate::ops::eval::{EvalCx, EvalResult};
use crate::ops::layout::Layout;
use crate::ops::window::{self, Window};
use crate::tensor::{Acc, Real, Tensor};
use rayon::prelude::*;

/// The sizes of a convolution in NCHW and OIHW.
struct Sizes {
    batch: usize,
    groups: usize,
    /// Input channels of one group.
    inputs: usize,
    /// All output channels.
    outputs: usize,
    windows: [Window; 2],
    /// Height and width.
    kernel: [usize; 2],
    data: [usize; 2],
    out: [usize; 2],
}

pub(super) fn conv2d_eval(cx: &EvalCx) -> EvalResult {
    let attrs = Conv2dAttrs::read(cx.attrs);
    let layout = |text: &str| Layout::parse(text).expect("the relation read it");
    let dtype = cx.out_dtype();
    let data = layout(&attrs.data_layout).unpack("NCHW", &cx.tensor_as(0, dtype)?);
    let weight = layout(&attrs.kernel_layout).unpack("OIHW", &cx.tensor_as(1, dtype)?);
    let sizes = Sizes::new(&attrs, data.shape(), weight.shape());
    let out = match data.to_acc() {
        Acc::F32(_) => convolve::<f32>(&data, &weight, &sizes),
        Acc::F64(_) => convolve::<f64>(&data, &weight, &sizes),
        Acc::I64(_) => convolve::<i64>(&data, &weight, &sizes),
    };
    let out = out.into_tensor(dtype);
    let out_layout = if attrs.out_layout.is_empty() { &attrs.data_layout } else { &attrs.out_layout };
    Ok(layout(out_layout).pack("NCHW", &out).into())
}

impl Sizes {
    fn new(attrs: &Conv2dAttrs, data: &[usize], weight: &[usize]) -> Sizes {
        let groups = attrs.groups as usize;
        let kernel = [weight[2], weight[3]];
        let windows = window::windows(&kernel.map(|n| n as i64), &attrs.strides, &attrs.dilation, &attrs.padding);
        let windows = [windows[0], windows[1]];
        // The outputs of a depthwise weight lie on both axes; in memory, they are those of a grouped weight with I = 1.
        let inputs = data[1] / groups;
        let outputs = if inputs == 1 { weight[0] * weight[1] } else { weight[0] };
        let out = [windows[0].n_positions(data[2], false), windows[1].n_positions(data[3], false)];
        Sizes { batch: data[0], groups, inputs, outputs, windows, kernel, data: [data[2], data[3]], out }
    }
}

/// Every output plane on its own, so that the sums do not depend on the number of threads.
fn convolve<T: Real>(data: &Tensor, weight: &Tensor, sizes: &Sizes) -> Acc {
    let (data, weight) = (T::elements(&data.to_acc()), T::elements(&weight.to_acc()));
    let [height, width] = sizes.out;
    let mut out = vec![T::ZERO; sizes.batch * sizes.outputs * height * width];
    let (image_len, kernel_len) = (sizes.data.iter().product::<usize>(), sizes.kernel.iter().product::<usize>());
    if !out.is_empty() {
        out.par_chunks_mut(height * width).enumerate().for_each(|(plane, sums)| {
            let (n, o) = (plane / sizes.outputs, plane % sizes.outputs);
            let group = o / (sizes.outputs / sizes.groups);
            for i in 0..sizes.inputs {
                let image = &data[((n * sizes.groups + group) * sizes.inputs + i) * image_len..][..image_len];
                let kernel = &weight[(o * sizes.inputs + i) * kernel_len..][..kernel_len];
                add_plane(sums, image, kernel, sizes);
            }
        });
    }
    T::from_elements(&[sizes.batch, sizes.outputs, height, width], out)
}

/// Adds to each output the window over one input channel times the kernel, in the order of the kernel's elements.
fn add_plane<T: Real>(sums: &mut [T], image: &[T], kernel: &[T], sizes: &Sizes) {
    let ([_, kernel_width], [height, width], [out_height, out_width]) = (sizes.kernel, sizes.data, sizes.out);
    let [down, along] = &sizes.windows;
    for (at, &tap) in kernel.iter().enumerate() {
        let (ky, kx) = (at / kernel_width, at % kernel_width);
        let columns = along.inside(kx, width, out_width);
        if columns.is_empty() {
            continue;
        }
        let first = along.input(columns.start, kx);
        for y in down.inside(ky, height, out_height) {
            let row = &image[down.input(y, ky) * width..][..width];
            let sums = &mut sums[y * out_width..][columns.clone()];
            if along.stride == 1 {
                sums.iter_mut().zip(&row[first..]).for_each(|(sum, &x)| *sum = sum.add(tap.mul(x)));
            } else {
                let inputs = row[first..].iter().step_by(along.stride as usize);
                sums.iter_mut().zip(inputs).for_each(|(sum, &x)| *sum = sum.add(tap.mul(x)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::attrs::AttrValue;
    use crate::ops::conv::CONV2D;
    use crate::ops::trial::call;
    use crate::types::DType;

    /// The definition, one output after the other.
    fn reference(
        data: &Tensor,
        weight: &Tensor,
        strides: [i64; 2],
        padding: [i64; 4],
        dilation: [i64; 2],
        groups: usize,
    ) -> Vec<f64> {
        let ([n, c, h, w], [o, i, kh, kw]) = (data.shape(), weight.shape()) else { panic!("four axes each") };
        let (x, k) = (data.to_f64s(), weight.to_f64s());
        let size = |input: usize, kernel: usize, at: usize| {
            (input as i64 + padding[at] + padding[at + 2] - (kernel as i64 - 1) * dilation[at] - 1) / strides[at] + 1
        };
        let mut out = vec![];
        for (b, oc) in (0..*n).flat_map(|b| (0..*o).map(move |oc| (b, oc))) {
            for (oy, ox) in (0..size(*h, *kh, 0)).flat_map(|y| (0..size(*w, *kw, 1)).map(move |x| (y, x))) {
                let mut sum = 0.0;
                for at in 0..i * kh * kw {
                    let (ic, ky, kx) = (at / (kh * kw), at / kw % kh, at % kw);
                    let y = oy * strides[0] + ky as i64 * dilation[0] - padding[0];
                    let x_at = ox * strides[1] + kx as i64 * dilation[1] - padding[1];
                    if (0..*h as i64).contains(&y) && (0..*w as i64).contains(&x_at) {
                        let channel = oc / (o / groups) * i + ic;
                        sum += x[((b * c + channel) * h + y as usize) * w + x_at as usize] * k[oc * i * kh * kw + at];
                    }
                }
                out.push(sum);
            }
        }
        out
    }

    /// Small whole numbers, whose sums are exact.
    fn ramp(shape: &[usize]) -> Tensor {
        Tensor::from_fn(shape, |i| (i * 7 % 11) as f32 - 5.0)
    }

    #[test]
    fn agrees_with_the_definition() {
        let (data, weight) = (ramp(&[2, 4, 9, 7]), ramp(&[6, 2, 3, 2]));
        for (strides, padding, dilation) in [
            ([1, 1], [0, 0, 0, 0], [1, 1]),
            ([1, 1], [1, 2, 3, 0], [1, 2]),
            ([2, 3], [0, 1, 2, 5], [2, 1]),
            ([3, 1], [9, 9, 9, 9], [1, 3]),
        ] {
            let conv =
                call(&CONV2D).ints("strides", &strides).ints("padding", &padding).ints("dilation", &dilation).int("groups", 2);
            let expected = reference(&data, &weight, strides, padding, dilation, 2);
            assert_eq!(conv.values(&[&data, &weight]), expected, "{strides:?} {padding:?} {dilation:?}");
        }
    }

    #[test]
    fn a_value_by_hand() {
        let data = Tensor::from_vec(&[1, 1, 2, 2], vec![1i8, 2, 3, 100]);
        let weight = Tensor::from_vec(&[1, 1, 1, 2], vec![2i8, 1]);
        assert_eq!(call(&CONV2D).values(&[&data, &weight]), [4.0, 106.0]);
        let padded = call(&CONV2D).ints("padding", &[0, 0, 0, 1]);
        assert_eq!(padded.values(&[&data, &weight]), [4.0, 4.0, 106.0, -56.0]);
        let wide = call(&CONV2D).ints("padding", &[0, 0, 0, 1]).attr("out_dtype", AttrValue::DType(Some(DType::I32)));
        assert_eq!(wide.values(&[&data, &weight]), [4.0, 4.0, 106.0, 200.0]);
    }

    #[test]
    fn layouts_only_move_elements() {
        let (data, weight) = (ramp(&[1, 4, 5, 6]), ramp(&[8, 4, 3, 3]));
        let plain = call(&CONV2D).eval(&[&data, &weight]).expect("it runs").remove(0);
        let nhwc = call(&CONV2D).text("data_layout", "NHWC").text("kernel_layout", "HWIO");
        let (data_nhwc, weight_hwio) = (data.permute(&[0, 2, 3, 1]), weight.permute(&[2, 3, 1, 0]));
        let moved = [&data_nhwc, &weight_hwio];
        assert_eq!(nhwc.eval(&moved).expect("it runs")[0], plain.permute(&[0, 2, 3, 1]));
        let nchw = nhwc.text("out_layout", "NCHW");
        assert_eq!(nchw.eval(&moved).expect("it runs")[0], plain);
        let blocked = call(&CONV2D).text("out_layout", "NCHW4c").eval(&[&data, &weight]).expect("it runs").remove(0);
        let expected = plain.reshape(&[1, 2, 4, 3, 4]).expect("as many").permute(&[0, 1, 3, 4, 2]);
        assert_eq!(blocked, expected);
    }

    #[test]
    fn depthwise_weights_with_several_outputs() {
        let (data, weight) = (ramp(&[1, 3, 4, 4]), ramp(&[3, 2, 2, 2]));
        let conv = call(&CONV2D).int("groups", 3).int("channels", 6).ints("kernel_size", &[2, 2]);
        let flat = weight.reshape(&[6, 1, 2, 2]).expect("as many");
        let expected = reference(&data, &flat, [1, 1], [0; 4], [1, 1], 3);
        assert_eq!(conv.values(&[&data, &weight]), expected);
    }

    #[test]
    fn empty_operands() {
        let none = |shape: &[usize]| Tensor::from_vec::<f32>(shape, vec![]);
        assert_eq!(call(&CONV2D).values(&[&none(&[1, 0, 2, 2]), &none(&[1, 0, 2, 2])]), [0.0]);
        assert!(call(&CONV2D).values(&[&none(&[0, 1, 2, 2]), &ramp(&[1, 1, 2, 2])]).is_empty());
        assert!(call(&CONV2D).int("groups", 2).values(&[&ramp(&[1, 2, 2, 2]), &none(&[0, 1, 2, 2])]).is_empty());
    }
}
